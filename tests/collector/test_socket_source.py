"""The socket source: who may write, and what is acknowledged when."""

import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from audit_events.errors import SourceError
from collector.contracts import Closed, Lost, Warned
from collector.sources.socket import SocketSource
from collector.sources.socket_path import MAX_PATH_BYTES
from collector.sources.socket_server import SocketOptions
from tests.collector.socketkit import EVENT, Ledger, answers, connect, said_by, serving, until


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


def test_a_socket_has_no_end_to_wait_for(tmp_path: Path) -> None:
    """`--once` is refused."""
    source = SocketSource("in", SocketOptions(tmp_path / "s", frozenset()))
    with pytest.raises(SourceError, match="no end"):
        source.run({}, lambda _: None, threading.Event(), once=True)
