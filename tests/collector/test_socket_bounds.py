"""The socket source: what bounds a writer that is slow, endless, silent or one too many."""

import gc
import socket
import threading
from pathlib import Path

import pytest

from audit_events.schema import MAX_LINE_BYTES
from collector.contracts import Reason, Warned
from collector.sources import socket_server
from tests.collector.socketkit import EVENT, Ledger, connect, said_by, serving, until


def open_files() -> int:
    """Descriptors of this process, without those that only wait for the garbage collector."""
    gc.collect()
    return sum(1 for _ in Path("/dev/fd").iterdir())


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
