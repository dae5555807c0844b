"""From a line appended to a log to the same event printed by `audit tail -f` in another process."""

import argparse
import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from measure import AUDIT, Cost, Table, finished

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WARM_UP_S = 2.0
# A tail that says nothing for so long has lost events.
PATIENCE_S = 20.0


def append(log: str, rate: int, seconds: float) -> None:
    """Append lines at a steady rate, each with the moment of its own write inside."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND)
    start = time.perf_counter()
    for n in range(int(rate * seconds)):
        delay = start + n / rate - time.perf_counter()
        if delay > 0:
            time.sleep(delay)
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        record = {
            "ts": now, "sandbox": "agent-live", "syscall": "open", "resource": "filesystem",
            "path": f"/workspace/file{n}", "access": "read", "decision": "allow",
            "policy_rule": "filesystem.allow[0]", "latency_us": 30, "pid": 4021,
        }  # fmt: skip
        os.write(descriptor, json.dumps(record).encode() + b"\n")


def micros(stamp: str) -> int:
    """Microseconds since 1970 of a stamp."""
    return (datetime.fromisoformat(stamp) - EPOCH) // timedelta(microseconds=1)


@contextlib.contextmanager
def process(command: list[str], env: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A background process, stopped at the end if it still runs."""
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **env}
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
            child.wait()


def stop(child: subprocess.Popen[bytes], how: signal.Signals) -> Cost | None:
    """Ask to stop and take the cost; None if the process ends with a signal's code."""
    child.send_signal(how)
    try:
        return finished(child, time.perf_counter())
    except RuntimeError:
        return None


def latencies(tail: subprocess.Popen[bytes], count: int) -> list[float]:
    """Milliseconds from append to print of that many events; each must come once."""
    assert tail.stdout
    signal.signal(signal.SIGALRM, lambda *_: tail.kill())
    seen: set[str] = set()
    delays: list[float] = []
    while len(delays) < count:
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
        line = tail.stdout.readline()
        if not line:
            raise RuntimeError(f"tail ended after {len(delays)} of {count} events")
        now = time.time_ns() // 1000
        event = json.loads(line)
        if event.get("sandbox") != "agent-live":
            continue
        delays.append((now - micros(event["ts"])) / 1000)
        seen.add(event["path"])
    signal.setitimer(signal.ITIMER_REAL, 0)
    if len(seen) != count:
        raise RuntimeError(f"{count} lines printed, but only {len(seen)} different events")
    return delays


def measured(rate: int, seconds: float) -> list[Table]:
    """Run collector, tail and writer as three processes and measure in a fourth."""
    with tempfile.TemporaryDirectory(prefix="sandtrail-bench-") as room:
        log, env = Path(room, "live.jsonl"), {"XDG_CONFIG_HOME": f"{room}/config"}
        log.touch()
        store = ["--store", f"{room}/store"]
        with process([AUDIT, "collect", str(log), *store], env) as collector:
            wait_for(Path(room, "store", "spool.db"), collector)
            command = [AUDIT, "tail", "-f", "--json", "-n", "0", *store]
            with process(command, {**env, "PYTHONUNBUFFERED": "1"}) as tail:
                time.sleep(WARM_UP_S)
                write = [sys.executable, __file__, "--write", str(log)]
                write += ["--rate", str(rate), "--seconds", str(seconds)]
                with process(write, {}) as writer:
                    delays = latencies(tail, int(rate * seconds))
                    writer.wait()
                stop(tail, signal.SIGINT)
            cost = stop(collector, signal.SIGTERM)
    return [report(rate, delays, cost, seconds)]


def wait_for(path: Path, collector: subprocess.Popen[bytes]) -> None:
    """Until the collector has made its store, or has ended."""
    deadline = time.monotonic() + PATIENCE_S
    while not path.exists():
        if collector.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the collector made no store")
        time.sleep(0.05)


def report(rate: int, delays: list[float], cost: Cost | None, seconds: float) -> Table:
    """The figures as a table."""
    table = Table(
        "Live: append to print",
        "The moment of the append stands in the line; every event is printed exactly once, which "
        "the bench checks. The processor time is the collector's, in percent of one core.",
        ("events/s", "events", "p50 ms", "p99 ms", "max ms", "collector cpu"),
    )
    cuts = statistics.quantiles(delays, n=100)
    share = f"{100 * cost.cpu_s / (seconds + WARM_UP_S):.0f} %" if cost else "?"
    figures = (f"{value:.1f}" for value in (statistics.median(delays), cuts[98], max(delays)))
    table.add(f"{rate:,}", f"{len(delays):,}", *figures, share)
    return table


def main() -> None:
    """Print the table, or be the writer."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=int, default=1_000, help="events a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--write", metavar="LOG", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        append(args.write, args.rate, args.seconds)
        return
    for table in measured(args.rate, args.seconds):
        print(table.markdown())


if __name__ == "__main__":
    main()
