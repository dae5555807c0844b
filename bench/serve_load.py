"""The page's own questions at a steady rate, on a large archive that a collector is adding to.

The service has one core. The collector shares it, or works on the other one beside the writer of
the log and whoever asks: both are measured. Requests leave at fixed times whether or not earlier
ones were answered, so a slow answer shows in the figures instead of slowing the asking down.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import big_store
import httpx
import psutil
from measure import AUDIT, Table, facts

HERE = Path(__file__).parent
OUT = HERE / "SERVE.md"
SHARED, OWN = "0", "1"
WARM_UP_S = 20.0
COLUMNS = "seq,ts,kind,decision,sandbox,correlation_id,process,pid,resource,access,path,dst,target"
# As the page: the whole minute in which the last 24 hours began.
DAY = "since={day}"
TOP_BY = "by=path&by=dst_host&by=process&by=policy_rule"
# What the page asks when it is opened, and when somebody narrows it; (weight, name, path).
QUESTIONS = (
    (4, "timeline, 24 h", f"/v1/counts?by=decision&bucket=auto&{DAY}"),
    (4, "newest 200, 24 h", f"/v1/events?limit=200&columns={COLUMNS}&{DAY}"),
    (3, "top denied, 24 h", f"/v1/top?{TOP_BY}&decision=deny&n=8&{DAY}"),
    (2, "timeline of refusals, 24 h", f"/v1/counts?by=decision&bucket=auto&decision=deny&{DAY}"),
    (2, "refusals of a sandbox", f"/v1/events?limit=200&decision=deny&sandbox=agent-3&{DAY}"),
    (1, "timeline, 20 days", "/v1/counts?by=decision&bucket=auto&since={days}"),
    (1, "gaps", f"/v1/gaps?{DAY}"),
    (1, "status", "/v1/status"),
    (1, "runs", "/v1/runs?limit=50"),
    (1, "an event and its rule", "/v1/events/{newest}"),
)  # fmt: skip


@dataclass
class Asked:
    """Latencies in ms by question, and answers that were none."""

    ms: dict[str, list[float]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Ingest:
    """Events stored a second, how far behind the log in ms (median, worst), collector CPU share."""

    rate: float
    lag_ms: float
    worst_ms: float
    cpu: float


def write_log(log: str, rate: int) -> None:
    """Append at a steady rate until killed; every hundredth of a second its share of lines."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    start, written = time.perf_counter(), 0
    while True:
        due = int((time.perf_counter() - start) * rate)
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        lines = (line(now, n) for n in range(written, due))
        os.write(descriptor, "".join(lines).encode())
        written = due
        time.sleep(0.01)


def line(now: str, n: int) -> str:
    """One decision; one in ten is a refusal."""
    denied, file = n % 10 == 3, n * 7 % 20_000
    record = {
        "ts": now, "sandbox": f"agent-{n % 8}", "correlation_id": f"live{n // 50_000}",
        "syscall": "open", "resource": "filesystem", "access": "read",
        "path": f"/workspace/src/package{file % 97}/file{file}.py",
        "decision": "deny" if denied else "allow",
        "policy_rule": "filesystem.deny[1]" if denied else "filesystem.allow[0]",
        "latency_us": 30, "process": f"tool{n % 11}", "pid": 4000 + n % 50,
    }  # fmt: skip
    return json.dumps(record, separators=(",", ":")) + "\n"


@contextlib.contextmanager
def background(core: str, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process on one core, ended at the end."""
    taskset = shutil.which("taskset")
    words = [taskset, "-c", core, *command] if taskset else list(command)
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        yield child
    finally:
        child.terminate()
        try:
            child.wait(30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def stored(store: Path) -> int:
    """The newest seq."""
    with contextlib.closing(sqlite3.connect(f"file:{store / 'spool.db'}?mode=ro", uri=True)) as con:
        return int(con.execute("SELECT value FROM meta WHERE key = 'last_seq'").fetchone()[0])


async def watch(store: Path, collector: int, seconds: float) -> Ingest:
    """Look twice a second how much is stored and how old the newest stored event is."""
    process = psutil.Process(collector)
    begin, start, cpu = stored(store), time.perf_counter(), sum(process.cpu_times()[:2])
    lags = []
    while time.perf_counter() - start < seconds:
        await asyncio.sleep(0.5)
        lags.append(await asyncio.to_thread(lag_ms, store))
    spent = time.perf_counter() - start
    used = sum(process.cpu_times()[:2]) - cpu
    rate = (stored(store) - begin) / spent
    return Ingest(rate, statistics.median(lags), max(lags), used / spent)


def lag_ms(store: Path) -> float:
    """How old the newest event is that a reader can see."""
    with contextlib.closing(sqlite3.connect(f"file:{store / 'spool.db'}?mode=ro", uri=True)) as con:
        row = con.execute("SELECT max(max_ts) FROM batches").fetchone()
        if row[0] is None:
            return 0.0
        return time.time() * 1000 - int(row[0]) / 1000


async def ask(base: str, token: str, store: Path, rate: int, seconds: float) -> Asked:
    """Send at fixed times; wait for all answers at the end."""
    found, names = Asked(), [q for weight, *q in QUESTIONS for _ in range(weight)]
    newest = stored(store)
    headers = {"Authorization": f"Bearer {token}"}
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
    async with httpx.AsyncClient(base_url=base, headers=headers, limits=limits, timeout=60) as http:
        start, tasks = time.perf_counter(), []
        for n in range(int(rate * seconds)):
            await asyncio.sleep(max(start + n / rate - time.perf_counter(), 0))
            name, path = names[n * 7 % len(names)]
            url = path.replace("{newest}", str(newest - n % 1000))
            url = url.replace("{day}", minute(1)).replace("{days}", minute(20))
            tasks.append(asyncio.create_task(one(http, name, url, found)))
        await asyncio.gather(*tasks)
    return found


async def one(http: httpx.AsyncClient, name: str, url: str, found: Asked) -> None:
    """One question."""
    start = time.perf_counter()
    answer = await http.get(url)
    spent = (time.perf_counter() - start) * 1000
    found.ms.setdefault(name, []).append(spent)
    if answer.status_code != 200:
        found.failed.append(f"{answer.status_code} {name}: {answer.text[:200]}")


def minute(days: int) -> str:
    """The whole minute so many days ago."""
    at = datetime.now(UTC) - timedelta(days=days)
    return at.replace(second=0, microsecond=0).strftime("%Y-%m-%dT%H:%M:%SZ")


def free_port() -> int:
    """A port nobody uses now."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


async def ready(base: str) -> None:
    """Until the service answers; RuntimeError after a minute."""
    async with httpx.AsyncClient(base_url=base) as http:
        for _ in range(600):
            with contextlib.suppress(httpx.HTTPError):
                if (await http.get("/healthz")).is_success:
                    return
            await asyncio.sleep(0.1)
    raise RuntimeError("the service does not answer")


def quantile(values: Sequence[float], part: float) -> float:
    """The nearest rank."""
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


async def measured(store: Path, core: str, args: argparse.Namespace) -> list[Table]:
    """Ingest alone, then with the questions; the collector works on `core`."""
    create = [AUDIT, "serve", "token", "create", "--name", f"bench-{os.getpid()}-{core}"]
    said = subprocess.run(
        [*create, "--store", str(store)], capture_output=True, text=True, check=True
    )
    token, port = said.stdout.split()[-1], free_port()
    base = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "live.jsonl"
        log.touch()
        collect = [AUDIT, "collect", str(log), "--store", str(store)]
        serve = [AUDIT, "serve", "--port", str(port), "--store", str(store)]
        writer = [sys.executable, __file__, "--write", str(log), "--ingest", str(args.ingest)]
        with (
            background(core, *collect) as collector, background(SHARED, *serve) as service,
            background(OWN, *writer),
        ):  # fmt: skip
            await ready(base)
            await asyncio.sleep(10)
            alone = await watch(store, collector.pid, args.seconds / 2)
            # A service that has just started has counted nothing yet.
            await ask(base, token, store, 2, WARM_UP_S)
            both = await asyncio.gather(
                watch(store, collector.pid, args.seconds),
                ask(base, token, store, args.rate, args.seconds),
            )
            rss = psutil.Process(service.pid).memory_info().rss / 1e6
    where = "on the core of the service" if core == SHARED else "on the other core"
    return tables(alone, both[0], both[1], (rss, where), args)


def tables(
    alone: Ingest, loaded: Ingest, found: Asked, what: tuple[float, str], args: argparse.Namespace
) -> list[Table]:
    """The figures as tables."""
    rss, where = what
    every = [ms for values in found.ms.values() for ms in values]
    asked = Table(
        f"Questions, the collector {where}",
        f"{args.rate} requests a second for {args.seconds:.0f} s, {len(found.failed)} failed;"
        f" the service's memory at the end {rss:.0f} MB. Goal: p99 of all at most 400 ms.",
        ("question", "asked", "p50 ms", "p99 ms", "worst ms"),
    )
    for name, values in [*sorted(found.ms.items()), ("all", every)]:
        cells = (statistics.median(values), quantile(values, 0.99), max(values))
        asked.add(name, len(values), *(f"{ms:.0f}" for ms in cells))
    ingest = Table(
        f"Ingest, the collector {where}",
        f"{args.ingest:,} events a second are written. Goal: at most 10 % slower.",
        ("", "events/s stored", "median lag ms", "worst lag ms", "collector's share of the core"),
    )  # fmt: skip
    for name, i in (("alone", alone), ("with the questions", loaded)):
        ingest.add(name, f"{i.rate:,.0f}", f"{i.lag_ms:.0f}", f"{i.worst_ms:.0f}", f"{i.cpu:.0%}")
    ingest.add("ratio", f"{loaded.rate / alone.rate:.2f}", "", "", "")
    for problem in found.failed[:5]:
        print(problem, file=sys.stderr)
    return [asked, ingest]


def main() -> None:
    """Build what is missing, measure, write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(tempfile.gettempdir()) / "sandtrail-big")
    parser.add_argument("--events", type=int, default=20_000_000)
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--rate", type=int, default=20)
    parser.add_argument("--ingest", type=int, default=5_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=OUT)
    args = parser.parse_args()
    if args.write:
        return write_log(args.write, args.ingest)
    store = big_store.build(args.root, args.events, args.days)
    setting = [f"- {args.events:,} events of {args.days} days", *facts()]
    found = [table for core in (OWN, SHARED) for table in asyncio.run(measured(store, core, args))]
    title = "# The service under load\n\nWritten by `bench/serve_load.py`; do not edit."
    parts = [title, (__doc__ or "").strip(), "\n".join(setting), *(t.markdown() for t in found)]
    args.out.write_text("\n\n".join(parts))
    print(args.out.read_text())
    return None


if __name__ == "__main__":
    main()
