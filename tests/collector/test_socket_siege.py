"""A real collector under writers that mean it ill: it stays small, and an honest one is served."""

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from collector.sources.socket_server import MAX_LINE_S
from tests.collector.socketkit import collect, connect, said_by, until, wait_until_up
from tests.collector.trail_check import line, snapshot

ENDLESS_LINES, ENDLESS_EVENTS, DRIPPING, DEAF = 4, 1, 40, 10
HONEST_LINES = 10
# What an unfinished line of each connection and the flow's queue may take, and the engines' own.
MOST_MB = 600
# An answer waits for what was heard before it: a second where two cores are free, half a minute
# where the machine is ten times too small. A writer that is starved waits for ever.
MOST_S = 60.0
JUNK = b"what is this\n" * 2_000


@dataclass
class Siege:
    """Bad writers on one socket, each in a thread of its own until `over`."""

    path: Path
    over: threading.Event = field(default_factory=threading.Event)
    sent_bytes: int = 0
    let_go: int = 0

    def endless_line(self) -> None:
        """One line that never ends, as fast as it is taken."""
        self._pour(b"x" * 65_536)

    def endless_events(self) -> None:
        """Lines that are no events, as fast as they are taken."""
        self._pour(JUNK)

    def dripping(self) -> None:
        """A byte now and then, of a line that never ends."""
        with connect(self.path) as sock:
            while not self.over.wait(0.2):
                try:
                    sock.sendall(b"x")
                except OSError:
                    self.let_go += 1
                    return

    def deaf(self) -> None:
        """A counted writer that never reads what it is told."""
        with connect(self.path) as sock, suppress(OSError):
            sock.sendall(f"ack 1 deaf-{threading.get_ident()}\n".encode())
            while not self.over.wait(0.05):
                sock.sendall(b"\n" * 100)

    def _pour(self, data: bytes) -> None:
        with connect(self.path) as sock, suppress(OSError):
            while not self.over.is_set():
                with suppress(TimeoutError):
                    self.sent_bytes += sock.send(data)


@contextmanager
def besieged(path: Path) -> Iterator[Siege]:
    """All of them at once."""
    siege = Siege(path)
    kinds: list[tuple[Callable[[], None], int]] = [
        (siege.endless_line, ENDLESS_LINES), (siege.endless_events, ENDLESS_EVENTS),
        (siege.dripping, DRIPPING), (siege.deaf, DEAF),
    ]  # fmt: skip
    threads = [threading.Thread(target=kind) for kind, number in kinds for _ in range(number)]
    for thread in threads:
        thread.start()
    try:
        yield siege
    finally:
        siege.over.set()
        for thread in threads:
            thread.join(20)
            assert not thread.is_alive()


def memory_mb(pid: int) -> float:
    """What a process has in memory."""
    said = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, check=True)
    return int(said.stdout) * 1024 / 1e6


def honest(path: Path, pid: int) -> tuple[float, float]:
    """Line by line, each after the `ok` of the one before: (slowest in s, most memory in MB)."""
    slowest = most = 0.0
    with connect(path) as sock:
        sock.settimeout(MOST_S)
        sock.sendall(b"ack 1 honest\n")
        said_by(sock, b"next 1\n")
        for number in range(1, HONEST_LINES + 1):
            started = time.monotonic()
            sock.sendall(line(number))
            said_by(sock, b"ok %d\n" % number)
            slowest = max(slowest, time.monotonic() - started)
            most = max(most, memory_mb(pid))
    return slowest, most


@pytest.mark.torture
@pytest.mark.timeout(1200)
def test_slow_endless_and_deaf_writers_take_neither_memory_nor_turns(tmp_path: Path) -> None:
    """An honest writer is answered in time; the collector is bounded, and ends when told."""
    path = tmp_path / "run" / "in.sock"
    victim = collect(tmp_path)
    wait_until_up(tmp_path, victim)
    assert path.exists(), "the collector did not come up"
    with besieged(path) as siege:
        slowest, most = honest(path, victim.pid)
        until(lambda: siege.let_go == DRIPPING, 3 * MAX_LINE_S)
        most = max(most, memory_mb(victim.pid))
    victim.send_signal(signal.SIGTERM)
    assert victim.wait(60) == 0
    seen = snapshot(tmp_path / "store")
    assert sorted(seen.pids) == list(range(1, HONEST_LINES + 1))
    assert most < MOST_MB
    print(
        f"{ENDLESS_LINES} endless lines and {ENDLESS_EVENTS} endless writers"
        f" ({siege.sent_bytes / 1e6:,.0f} MB), {DRIPPING} dripping, {DEAF} deaf:"
        f" {HONEST_LINES} honest lines stored once, slowest answer {slowest:.2f} s,"
        f" collector at most {most:.0f} MB, all dripping ones let go"
    )
