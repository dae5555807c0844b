"""A socket source at work, here or in a process of its own, and writers that talk to it."""

import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from collector.contracts import Block, Closed, Emission, Idle, Reason, StreamPosition
from collector.sources.socket import SocketSource
from collector.sources.socket_server import SocketOptions
from tests.forked import Forked, start

EVENT = b'{"sandbox":"agent-demo","n":1}\n'


class Ledger:
    """What a spool would hold; commits at once, or when told to."""

    def __init__(self) -> None:
        self.positions: dict[str, StreamPosition] = {}
        self.said: list[Emission] = []
        self.lines: dict[str, bytes] = {}
        self.commits = True
        self.up = False
        self.source: SocketSource | None = None

    def take(self, said: Emission) -> None:
        """The source's `emit`."""
        self.up = True
        if not isinstance(said, Idle):
            self.said.append(said)
        if isinstance(said, Closed):
            self.positions.pop(said.stream, None)
        if isinstance(said, Block):
            self.lines[said.stream] = self.lines.get(said.stream, b"") + said.data
            if self.commits:
                self.commit(said)

    def commit(self, block: Block, resume: int | None = None) -> None:
        """As the flow does after its transaction."""
        assert self.source is not None
        at = block.end if resume is None else resume
        self.positions[block.stream] = StreamPosition(block.stream, at, (), block.end, block.mark)
        self.source.consumed(block.stream, at, block.end)

    @property
    def blocks(self) -> list[Block]:
        """Blocks with bytes."""
        return [said for said in self.said if isinstance(said, Block) and said.data]

    def reasons(self) -> list[Reason]:
        """Why lines never reached a decoder."""
        blocks = [said for said in self.said if isinstance(said, Block)]
        return [reject.reason for block in blocks for reject in block.rejects]


@contextmanager
def serving(path: Path, ledger: Ledger, **options: object) -> Iterator[SocketSource]:
    """A source at work; whatever it raised is raised again."""
    plain = SocketOptions(path, frozenset({os.geteuid(), 0}))
    source = SocketSource("in", replace(plain, **options))  # type: ignore[arg-type]
    ledger.source, ledger.up, stop, failed = source, False, threading.Event(), []

    def run() -> None:
        try:
            source.run(dict(ledger.positions), ledger.take, stop, once=False)
        except Exception as error:  # noqa: BLE001 - raised again below
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        until(lambda: bool(failed) or ledger.up)
        if failed:
            raise failed[0]
        yield source
    finally:
        stop.set()
        thread.join(5)
        assert not thread.is_alive()


def answers(path: Path) -> bool:
    """Whether somebody listens."""
    try:
        connect(path).close()
    except OSError:
        return False
    return True


def connect(path: Path) -> socket.socket:
    """A writer."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(5)
    sock.connect(str(path))
    return sock


def until(true: Callable[[], bool], timeout: float = 8) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)


def said_by(sock: socket.socket, words: bytes) -> bytes:
    """What the source answers, up to and with `words`."""
    heard = b""
    while words not in heard:
        data = sock.recv(4096)
        assert data, f"closed after {heard!r}"
        heard += data
    return heard


def collect(folder: Path, **options: object) -> Forked | subprocess.Popen[bytes]:
    """A collector that serves `folder`/run/in.sock."""
    with (folder / "stderr").open("ab") as errors:
        return start("tests.collector.socket_victim", str(folder), json.dumps(options),
                     stderr=errors)  # fmt: skip


def wait_until_up(folder: Path, victim: Forked | subprocess.Popen[bytes]) -> None:
    """Until it serves, or is dead."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and victim.poll() is None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(folder / "run" / "in.sock"))
            except OSError:
                time.sleep(0.02)
            else:
                return
