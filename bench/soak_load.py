"""What the soak writes: four sources at a steady rate, each event with a number of its own.

Run as a script: folder, events a second, seconds. Prints how many events each source was given.
"""

import importlib.util
import json
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
# Shares of the rate; the sum is one.
SHARES = {"renamed": 0.6, "dated": 0.275, "socket": 0.1, "oslog": 0.025}
BEAT_S = 0.02
PROBE_EVERY_S = 0.5
ROTATE_EVERY_S = 30.0
# Older ones are removed, as log rotation does: 6 minutes, more than any outage here.
KEPT_FILES = 12
RUN_S = 10
PROBE = "probe"
PIDS_OF_A_RUN = 5


def now_text() -> str:
    """The time of day in RFC 3339."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def line(number: int, sandbox: str = "agent-soak") -> bytes:
    """An event as a layer writes it; its latency is its number."""
    run, denied = int(time.monotonic()) // RUN_S, number % 7 == 0
    pid = 4000 + run % 500 * PIDS_OF_A_RUN + number % PIDS_OF_A_RUN
    words = {
        "ts": now_text(), "sandbox": sandbox, "correlation_id": f"{sandbox}-{run}",
        "syscall": "open", "resource": "filesystem",
        "path": f"/workspace/src/pkg{number % 97}/f{number}",
        "access": "write" if denied else "read", "decision": "deny" if denied else "allow",
        "policy_rule": "filesystem.deny[1]" if denied else "filesystem.allow[0]",
        "latency_us": number, "pid": pid if sandbox != PROBE else 3999,
    }  # fmt: skip
    return json.dumps(words, separators=(",", ":")).encode() + b"\n"


def report(number: int) -> bytes:
    """An entry as macOS's log has it; the file's name is its number."""
    run = int(time.monotonic()) // RUN_S
    pid = 4000 + run % 500 * PIDS_OF_A_RUN
    words = {
        "messageType": "Error", "eventType": "logEvent", "formatString": "%s", "userID": 0,
        "threadID": number % 7, "bootUUID": "", "processImagePath": "/kernel",
        "timestamp": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S.%f}+0000", "processID": 0,
        "senderImagePath": "/System/Library/Extensions/Sandbox.kext/Contents/MacOS/Sandbox",
        "machTimestamp": time.monotonic_ns() * 24 // 1000,
        "eventMessage": f"Sandbox: sh({pid}) deny(1) file-read-data /private/etc/f{number}",
    }  # fmt: skip
    return json.dumps(words, separators=(",", ":")).replace("/", "\\/").encode() + b"\n"


class Renamed:
    """A log that is moved aside when it is due, and a probe in it now and then."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._live = folder, folder / "decisions.jsonl"
        self._files, self._due = 0, time.monotonic() + ROTATE_EVERY_S
        self._probe_due = time.monotonic()

    def write(self, numbers: range) -> None:
        """Append, in two pieces that do not end with lines."""
        out = b"".join(self._one(number) for number in numbers)
        with self._live.open("ab", buffering=0) as file:
            file.write(out[: len(out) * 2 // 3])
            file.write(out[len(out) * 2 // 3 :])
        if time.monotonic() >= self._due:
            self._due += ROTATE_EVERY_S
            self._files += 1
            self._live.rename(self._folder / f"decisions.jsonl.{self._files}")
            old = self._folder / f"decisions.jsonl.{self._files - KEPT_FILES}"
            old.unlink(missing_ok=True)

    def _one(self, number: int) -> bytes:
        if time.monotonic() < self._probe_due:
            return line(number)
        self._probe_due += PROBE_EVERY_S
        return line(number, PROBE)


class Dated:
    """A log that begins a new file under a new name when it is due."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files, self._due = 0, time.monotonic() + ROTATE_EVERY_S

    def write(self, numbers: range) -> None:
        """Append."""
        if time.monotonic() >= self._due:
            self._due += ROTATE_EVERY_S
            self._files += 1
            self._path(self._files - KEPT_FILES).unlink(missing_ok=True)
        with self._path(self._files).open("ab", buffering=0) as file:
            file.write(b"".join(map(line, numbers)))

    def _path(self, number: int) -> Path:
        return self._folder / f"dated-{number:06}.jsonl"


class Oslog:
    """What the stand-in for macOS's `log` shows and streams."""

    def __init__(self, folder: Path) -> None:
        self._truth = folder / "truth"

    def write(self, numbers: range) -> None:
        """Append."""
        with self._truth.open("ab", buffering=0) as file:
            file.write(b"".join(map(report, numbers)))


class Socket:
    """The writer that we ship; a new one, with a new connection, when it is due."""

    def __init__(self, folder: Path) -> None:
        self._path, self._due = folder / "in.sock", time.monotonic() + ROTATE_EVERY_S
        spec = importlib.util.spec_from_file_location(
            "socket_writer", ROOT / "examples" / "socket_writer.py"
        )
        assert spec is not None
        assert spec.loader is not None
        self._module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._module)
        self._writer = self._module.SocketWriter(self._path, "soak", first=1)

    def write(self, numbers: range) -> None:
        """Send; waits while too much is not stored yet."""
        for number in numbers:
            self._writer.write(line(number))
        if time.monotonic() >= self._due:
            self._due += ROTATE_EVERY_S
            self.finish()
            self._writer = self._module.SocketWriter(self._path, "soak", first=numbers.stop)

    def finish(self) -> None:
        """Returns when all is stored."""
        self._writer.flush()
        self._writer.close()


def paced(write: Callable[[range], None], rate: float, seconds: float) -> int:
    """Write numbers 1, 2, … at the rate, on time after any delay; how many."""
    start, done = time.monotonic(), 0
    while (passed := time.monotonic() - start) < seconds:
        due = int(rate * passed)
        # Small pieces, so that what was late is not one huge write.
        due = min(due, done + int(rate) + 1)
        if due > done:
            write(range(done + 1, due + 1))
            done = due
        time.sleep(BEAT_S)
    return done


def main() -> None:
    """Write all of it."""
    folder, rate, seconds = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    socket = Socket(folder / "run")
    targets = {
        "renamed": Renamed(folder / "log").write, "dated": Dated(folder / "log").write,
        "socket": socket.write, "oslog": Oslog(folder / "bin").write,
    }  # fmt: skip
    given: dict[str, int] = {}

    def work(name: str) -> None:
        given[name] = paced(targets[name], rate * SHARES[name], seconds)
        if name == "socket":
            socket.finish()

    threads = [threading.Thread(target=work, args=(name,)) for name in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps(given))


if __name__ == "__main__":
    main()
