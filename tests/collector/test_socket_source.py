"""The socket source: who may write, what is acknowledged when, and what bounds a writer."""

import gc
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from audit_events.errors import SourceError
from audit_events.schema import MAX_LINE_BYTES
from collector.contracts import Block, Closed, Emission, Idle, Lost, Reason, StreamPosition, Warned
from collector.sources import socket_server
from collector.sources.socket import SocketSource
from collector.sources.socket_path import MAX_PATH_BYTES
from collector.sources.socket_server import SocketOptions

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


def open_files() -> int:
    """Descriptors of this process, without those that only wait for the garbage collector."""
    gc.collect()
    return sum(1 for _ in Path("/dev/fd").iterdir())


def test_the_socket_is_private_and_goes_with_its_source(tmp_path: Path) -> None:
    """0600 in a 0700 folder; the name is gone afterwards."""
    path = tmp_path / "run" / "in.sock"
    with serving(path, Ledger()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert not path.exists()


def test_a_stale_socket_is_taken_over_and_a_living_one_is_not(tmp_path: Path) -> None:
    """What a killed collector left is no obstacle; another collector is."""
    path = tmp_path / "in.sock"
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stale.bind(str(path))
    stale.close()
    with serving(path, Ledger()):
        with pytest.raises(SourceError, match="another process listens"), serving(path, Ledger()):
            pass
        assert answers(path)


def test_a_file_is_never_removed_for_a_socket(tmp_path: Path) -> None:
    """Only sockets are stale."""
    path = tmp_path / "in.sock"
    path.write_text("mine")
    with pytest.raises(SourceError, match="is no socket"), serving(path, Ledger()):
        pass
    assert path.read_text() == "mine"


def test_a_path_beyond_the_system_s_limit_is_named_with_the_limit(tmp_path: Path) -> None:
    """Not cut, not guessed."""
    path = tmp_path / ("x" * MAX_PATH_BYTES)
    with pytest.raises(SourceError, match=f"may have {MAX_PATH_BYTES}"), serving(path, Ledger()):
        pass


def test_a_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    """They could put their own socket there."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(SourceError, match="others can write"), serving(folder / "s", Ledger()):
        pass


def test_an_ok_never_comes_before_the_commit(tmp_path: Path) -> None:
    """Heard is not stored."""
    path, ledger = tmp_path / "in.sock", Ledger()
    ledger.commits = False
    with serving(path, ledger), connect(path) as sock:
        sock.sendall(b"ack 1 w\n")
        assert said_by(sock, b"\n") == b"next 1\n"
        sock.sendall(EVENT * 3)
        until(lambda: bool(ledger.blocks))
        sock.settimeout(0.3)
        with pytest.raises(TimeoutError):
            sock.recv(100)
        sock.settimeout(5)
        for block in ledger.blocks:
            ledger.commit(block)
        said_by(sock, b"ok 3\n")


def test_a_writer_goes_on_after_a_restart_where_the_store_stands(tmp_path: Path) -> None:
    """Lines that were heard and not stored are asked for again, stored ones are not."""
    path, ledger = tmp_path / "in.sock", Ledger()
    with serving(path, ledger), connect(path) as sock:
        sock.sendall(b"ack 1 w\n" + EVENT * 5)
        said_by(sock, b"ok 5\n")
        ledger.commits = False
        sock.sendall(EVENT * 2)
        until(lambda: sum(b.data.count(b"\n") for b in ledger.blocks) == 7)
    ledger.commits = True
    with serving(path, ledger), connect(path) as sock:
        sock.sendall(b"ack 1 w\n")
        assert b"next 6\n" in said_by(sock, b"next 6\n")


def test_an_unfinished_record_is_asked_for_again_without_repeating_what_is_stored(
    tmp_path: Path,
) -> None:
    """The decoder may still need lines that lie before what the commit covered."""
    path, ledger = tmp_path / "in.sock", Ledger()
    ledger.commits = False
    lines = [b"line %d\n" % n for n in range(1, 7)]
    with serving(path, ledger), connect(path) as sock:
        sock.sendall(b"ack 1 w\n")
        said_by(sock, b"next 1\n")
        for count, part in enumerate((lines[:2], lines[2:6]), 1):
            sock.sendall(b"".join(part))
            until(lambda count=count: len(ledger.blocks) == count)  # type: ignore[misc]
        ledger.commit(ledger.blocks[0])
        # Of the second block only the first two lines are out: a record is open from line 5 on.
        second = ledger.blocks[1]
        ledger.commit(second, resume=second.start + 2 * len(lines[0]))
    ledger.said.clear()
    with serving(path, ledger), connect(path) as sock:
        sock.sendall(b"ack 1 w\n")
        wanted = int(said_by(sock, b"\n").split()[1])
        assert wanted <= 5
        sock.sendall(b"".join(lines[wanted - 1 :]))
        until(lambda: b"".join(b.data for b in ledger.blocks) == b"line 5\nline 6\n")


def test_lines_that_a_writer_no_longer_has_are_a_gap_of_known_size(tmp_path: Path) -> None:
    """`from` jumps forward, says how many are missing, and never back."""
    path, ledger = tmp_path / "in.sock", Ledger()
    with serving(path, ledger):
        with connect(path) as sock:
            sock.sendall(b"ack 1 w\n" + EVENT)
            said_by(sock, b"ok 1\n")
        with connect(path) as sock:
            sock.sendall(b"ack 1 w\n")
            said_by(sock, b"next 2\n")
            sock.sendall(b"from 12\n" + EVENT)
            said_by(sock, b"ok 12\n")
        with connect(path) as sock:
            sock.sendall(b"ack 1 w\nfrom 3\n")
            said_by(sock, b"error")
    assert [said.count for said in ledger.said if isinstance(said, Lost)] == [10]


def test_a_name_belongs_to_its_user_and_its_newest_connection(tmp_path: Path) -> None:
    """The stream's name holds the uid; an older connection of the name is closed."""
    path, ledger = tmp_path / "in.sock", Ledger()
    with serving(path, ledger), connect(path) as old, connect(path) as new:
        old.sendall(b"ack 1 w\n")
        said_by(old, b"next 1\n")
        new.sendall(b"ack 1 w\n" + EVENT)
        said_by(new, b"ok 1\n")
        assert old.recv(10) == b""
        assert list(ledger.positions) == [f"ack:{os.geteuid()}:w"]


@pytest.mark.parametrize("line", [b"ack 2 w\n", b"ack 1 \n", b"ack 1 a b\n", b"ack x w\n"])
def test_a_first_line_that_is_not_understood_is_answered_not_guessed(
    tmp_path: Path, line: bytes
) -> None:
    """Else a writer would believe that it is counted."""
    path, ledger = tmp_path / "in.sock", Ledger()
    with serving(path, ledger), connect(path) as sock:
        sock.sendall(line)
        assert said_by(sock, b"\n").startswith(b"error ")
        assert sock.recv(10) == b""
    assert ledger.blocks == []


def test_a_writer_without_ack_is_at_least_once_and_status_says_so(tmp_path: Path) -> None:
    """Half a line at its end is taken; while it is open its stream has no mark."""
    path, ledger = tmp_path / "in.sock", Ledger()
    with serving(path, ledger) as source:
        with connect(path) as sock:
            sock.sendall(EVENT + b'{"half":1}')
            until(lambda: "1 at-least-once" in source.location)
            assert [position.mark for position in ledger.positions.values()] == [b""]
        until(lambda: any(isinstance(said, Closed) for said in ledger.said))
        assert [b.data for b in ledger.blocks] == [EVENT, b'{"half":1}']
        assert ledger.blocks[-1].final
        assert ledger.positions == {}


def test_every_event_carries_the_peer_that_the_kernel_names(tmp_path: Path) -> None:
    """Not what the writer says."""
    path, ledger = tmp_path / "in.sock", Ledger()
    boxes = frozenset({"agent-demo"})
    with serving(path, ledger, allow_sandboxes=boxes), connect(path) as sock:
        sock.sendall(EVENT)
        until(lambda: bool(ledger.blocks))
    peer = ledger.blocks[0].peer
    assert peer is not None
    assert (peer.uid, peer.sandboxes) == (os.geteuid(), boxes)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_foreign_uid_is_refused_and_counted(tmp_path: Path) -> None:
    """Also where the file's mode would let it in."""
    folder = Path("/tmp") / f"sandtrail-test-{os.getpid()}"
    folder.mkdir(mode=0o711)
    path, ledger = folder / "in.sock", Ledger()
    try:
        with serving(path, ledger):
            path.chmod(0o666)
            program = (
                "import os,socket,sys; os.setuid(65534); s=socket.socket(socket.AF_UNIX);"
                "s.connect(sys.argv[1]); s.settimeout(5); print(s.recv(99).decode(), end='')"
            )
            said = subprocess.run(
                [sys.executable, "-c", program, str(path)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            assert said.stdout == "error uid 65534 is not allowed\n"
            until(lambda: any(isinstance(w, Warned) and "65534" in w.text for w in ledger.said))
            assert ledger.blocks == []
    finally:
        folder.rmdir()


def test_a_line_too_long_is_one_reject_and_the_next_is_whole(tmp_path: Path) -> None:
    """It is never held."""
    path, ledger = tmp_path / "in.sock", Ledger()
    with serving(path, ledger), connect(path) as sock:
        sock.sendall(b"ack 1 w\n")
        for _ in range(5):
            sock.sendall(b"x" * MAX_LINE_BYTES)
        sock.sendall(b"\n" + EVENT)
        said_by(sock, b"ok 2\n")
    assert ledger.reasons() == [Reason.TOO_LONG]
    assert b"".join(b.data for b in ledger.blocks) == EVENT


def test_a_line_that_is_never_finished_ends_its_connection(tmp_path: Path) -> None:
    """One byte a second is not a way to hold a place; a greeting must be whole too."""
    path, ledger = tmp_path / "in.sock", Ledger()
    with serving(path, ledger, line_s=0.3), connect(path) as slow, connect(path) as shy:
        slow.sendall(b'{"slow')
        shy.sendall(b"ack")
        assert slow.recv(10) == b""
        assert shy.recv(10) == b""
        until(lambda: any(isinstance(w, Warned) and "in time (2)" in w.text for w in ledger.said))
    assert b"".join(ledger.lines.values()) in (b'{"slowack', b'ack{"slow')


def test_unfinished_lines_of_all_writers_together_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest goes."""
    monkeypatch.setattr(socket_server, "MAX_HELD_BYTES", 1000)
    path, ledger = tmp_path / "in.sock", Ledger()
    with serving(path, ledger), connect(path) as large, connect(path) as small:
        large.sendall(b"x" * 900)
        small.sendall(b"y" * 300)
        assert large.recv(10) == b""
        small.sendall(b"\n")
        until(lambda: any(b.data == b"y" * 300 + b"\n" for b in ledger.blocks))


def test_connections_are_bounded(tmp_path: Path) -> None:
    """One too many is told so."""
    path = tmp_path / "in.sock"
    with serving(path, Ledger(), max_connections=3):
        writers = [connect(path) for _ in range(3)]
        for number, sock in enumerate(writers):
            sock.sendall(b"ack 1 w%d\n" % number)
            said_by(sock, b"next")
        with connect(path) as late:
            assert said_by(late, b"\n") == b"error too many connections\n"
        for sock in writers:
            sock.close()


def test_connections_leave_no_descriptor(tmp_path: Path) -> None:
    """However they end: at once, in the middle of a line, refused."""
    path, ledger = tmp_path / "in.sock", Ledger()
    before = open_files()
    with serving(path, ledger):
        serving_files = open_files()
        for number in range(150):
            with connect(path) as sock:
                sock.sendall((EVENT, b'{"half', b"ack 9 w\n")[number % 3])
        until(lambda: open_files() == serving_files)
    assert open_files() == before


def test_an_endless_writer_does_not_starve_the_others(tmp_path: Path) -> None:
    """Each has its turn."""
    path, ledger = tmp_path / "in.sock", Ledger()
    done = threading.Event()

    def flood(sock: socket.socket) -> None:
        while not done.is_set():
            sock.sendall(EVENT * 2_000)

    with serving(path, ledger), connect(path) as loud, connect(path) as quiet:
        thread = threading.Thread(target=flood, args=(loud,))
        thread.start()
        try:
            quiet.sendall(b"ack 1 q\n")
            said_by(quiet, b"next 1\n")
            for n in range(1, 21):
                quiet.sendall(EVENT)
                said_by(quiet, b"ok %d\n" % n)
        finally:
            done.set()
            thread.join()


def test_a_writer_that_never_reads_its_answers_is_still_heard(tmp_path: Path) -> None:
    """What waits for it is one line, not a queue."""
    path, ledger = tmp_path / "in.sock", Ledger()
    with serving(path, ledger), connect(path) as sock:
        sock.sendall(b"ack 1 w\n")
        for _ in range(3_000):
            sock.sendall(EVENT)
        until(lambda: sum(b.data.count(b"\n") for b in ledger.blocks) == 3_000, 20)


def test_a_socket_has_no_end_to_wait_for(tmp_path: Path) -> None:
    """`--once` is refused."""
    source = SocketSource("in", SocketOptions(tmp_path / "s", frozenset()))
    with pytest.raises(SourceError, match="no end"):
        source.run({}, lambda _: None, threading.Event(), once=True)
