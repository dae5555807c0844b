"""What an account without sudo sees of a daemon's store: what its owner sees, read-only."""

import grp
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit import wiring
from tests.audit.readkit import NOBODY, Daemon, until
from tests.audit.terminal import ROOT

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")


@pytest.fixture(scope="module")
def daemon() -> Iterator[Daemon]:
    """A collector that has sealed some events and holds some more."""
    room = Path(tempfile.mkdtemp(prefix="rs-"))
    room.chmod(0o711)
    groups = [g for g in grp.getgrall() if g.gr_gid not in (0, NOBODY)]
    here = Daemon(room, next(g for g in groups if "nobody" not in g.gr_mem))
    try:
        here.write(300, "first")
        until(lambda: list((here.store / "events").glob("date=*/*.parquet")))
        yield here
    finally:
        here.process.kill()
        here.process.wait()
        shutil.rmtree(room)


@needs_root
def test_another_account_gets_the_owners_answer(daemon: Daemon) -> None:
    """Table, data, numbers and the reason of an empty answer, while the store stays closed."""
    words = [
        *("query", "--deny", "-n", "5", "++"),
        *("query", "--json", "-n", "0", "++"),
        *("query", "--count", "--path", "/first", "++"),
        *("query", "--path", "/nowhere", "++"),
        *("gaps", "--json", "++"),
        *("query", "--columns", "path,seq", "-n", "+3"),
    ]
    theirs, ours = daemon.theirs(*words), daemon.ours(*words)
    assert (theirs.returncode, theirs.stdout) == (ours.returncode, ours.stdout)
    assert theirs.stderr == ours.stderr
    assert theirs.stdout.count("/first/299") == 2
    assert daemon.store.stat().st_mode & 0o077 == 0


@needs_root
def test_another_account_sees_the_state(daemon: Daemon) -> None:
    """`status` is answered through the socket; a command that is not says so."""
    state = daemon.theirs("status", "++", "sql", "SELECT 1")
    assert "1 of 1 healthy" in state.stdout
    assert state.returncode == 2
    assert "a read socket answers some questions only" in state.stderr


@needs_root
def test_an_account_outside_the_group_is_refused(daemon: Daemon) -> None:
    """By the folder's mode, and by its credentials where somebody loosened the mode."""
    outside = daemon.theirs("query", gid=NOBODY)
    assert outside.returncode == 5
    assert "this account may not use it" in outside.stderr
    modes = [(path, path.stat().st_mode & 0o777) for path in (daemon.path.parent, daemon.path)]
    assert [oct(mode) for _, mode in modes] == ["0o750", "0o660"]
    try:
        for path, _ in modes:
            path.chmod(0o777)
        loosened = daemon.theirs("query", gid=NOBODY)
    finally:
        for path, mode in modes:
            path.chmod(mode)
    assert loosened.returncode == 5
    assert "this account may not read here" in loosened.stderr
    assert loosened.stdout == outside.stdout == ""


@needs_root
def test_tail_follows_through_seals_and_restarts(daemon: Daemon) -> None:
    """An event is there within a second, each once, and a restart is told and not felt."""
    process = subprocess.Popen(
        daemon.words("tail", "-f", "-n", "0", "--json", "--path", "/live"),
        env=daemon.environment(f"unix:{daemon.path}"), cwd=ROOT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    lines: list[str] = []
    words: list[str] = []
    for pipe, into in ((process.stdout, lines), (process.stderr, words)):
        assert pipe is not None
        threading.Thread(target=into.extend, args=(pipe,), daemon=True).start()
    try:
        _first_event(daemon, lines)
        seen = len(lines)
        written = time.monotonic()
        daemon.write(3, "live")
        until(lambda: len(lines) == seen + 3)
        assert time.monotonic() - written < 1.5
        time.sleep(1.5)  # sealed
        daemon.stop()
        until(lambda: any("no collector is running" in word for word in words))
        daemon.write(4, "live")
        daemon.start()
        until(lambda: any("collector started" in word for word in words))
        until(lambda: len(lines) == seen + 7)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    finally:
        process.kill()
        process.wait()
    seqs = [json.loads(line)["seq"] for line in lines]
    assert seqs == sorted(set(seqs))


def _first_event(daemon: Daemon, lines: list[str]) -> None:
    """`tail` follows once it shows something."""

    def shown() -> bool:
        daemon.write(1, "live")
        time.sleep(0.3)
        return bool(lines)

    until(shown)
    time.sleep(0.6)


@needs_root
@pytest.mark.skipif(wiring.READ_FOLDER.exists(), reason="a read socket of this machine is there")
def test_the_default_place_is_found(daemon: Daemon) -> None:
    """Without any setting by who may read, and named to who may not (T2)."""
    wiring.READ_FOLDER.mkdir(mode=0o750)
    try:
        os.chown(wiring.READ_FOLDER, -1, daemon.group.gr_gid)
        (wiring.READ_FOLDER / "7kq2m.sock").symlink_to(daemon.path)
        inside, outside = (
            subprocess.run(
                daemon.words("query", "--count", gid=gid),
                env=daemon.environment(""), cwd=ROOT,
                capture_output=True, text=True, check=False, timeout=60,
            )
            for gid in (daemon.group.gr_gid, NOBODY)
        )  # fmt: skip
    finally:
        shutil.rmtree(wiring.READ_FOLDER)
    assert int(inside.stdout) >= 300
    assert outside.returncode == 5
    assert f"read sockets of group {daemon.group.gr_name}, which this account is not in" in (
        outside.stderr
    )
