"""Fifty writers on one socket, a collector that is killed: every line is stored once."""

import atexit
import importlib.util
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from tests.collector.trail_check import check, line, snapshot

VICTIM = Path(__file__).with_name("socket_victim.py")
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "socket_writer.py"
STEPS = ("spool.after-rows", "spool.before-commit", "spool.after-commit", "reconcile.after-commit")
WRITERS = 50


def example() -> ModuleType:
    """The writer that we ship, so that what is shown is what users copy."""
    spec = importlib.util.spec_from_file_location("socket_writer", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.RETRY_MOST_S = 0.2
    return module


def wait_until_up(folder: Path, victim: subprocess.Popen[bytes]) -> None:
    """Until it serves, or is dead."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and victim.poll() is None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            try:
                probe.connect(str(folder / "run" / "in.sock"))
            except OSError:
                time.sleep(0.02)
            else:
                return


def last_seq(folder: Path) -> int:
    """How much is stored, at little cost."""
    uri = f"{(folder / 'store' / 'spool.db').as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=5)) as db:
            row = db.execute("SELECT value FROM meta WHERE key = 'last_seq'").fetchone()
            return int(row[0]) if row else 0
    except sqlite3.Error:
        return 0


def wait_until_stored(folder: Path, more: int) -> None:
    """Until so many events more are stored, or for two seconds: a kill shall hit work."""
    target, deadline = last_seq(folder) + more, time.monotonic() + 2
    while last_seq(folder) < target and time.monotonic() < deadline:
        time.sleep(0.005)


def pids_of(folder: Path) -> list[int]:
    """Events stored; none while a store that is being made has no watermarks yet."""
    try:
        return snapshot(folder / "store").pids
    except (KeyError, sqlite3.Error):
        return []


def collect(folder: Path, **options: object) -> subprocess.Popen[bytes]:
    """A collector that serves `folder`/run/in.sock."""
    with (folder / "stderr").open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, str(VICTIM), str(folder), json.dumps(options)],
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
    atexit.register(process.kill)
    return process


def numbers(writer: int, lines: int) -> Iterator[int]:
    """The events of one writer; all writers together give 1, 2, 3, …"""
    return iter(range(writer + 1, WRITERS * lines + 1, WRITERS))


def write_all(module: ModuleType, folder: Path, writer: int, lines: int, pause_s: float) -> None:
    """One writer's life: its lines, in its own time, until all are stored."""
    out = module.SocketWriter(folder / "run" / "in.sock", f"w{writer}", first=1)
    for number in numbers(writer, lines):
        out.write(line(number))
        time.sleep(pause_s)
    out.flush()
    out.close()


def kill_run(folder: Path, kills: int, seed: int, lines: int, pause_s: float) -> None:
    """`kills` deaths while fifty writers write, then the truth."""
    rng = random.Random(seed)
    print(f"seed {seed}, {kills} kills")
    module = example()
    threads = [
        threading.Thread(target=write_all, args=(module, folder, n, lines, pause_s), daemon=True)
        for n in range(WRITERS)
    ]
    for thread in threads:
        thread.start()
    for number in range(kills):
        if number % 2:
            victim = collect(folder, step=rng.choice(STEPS), nth=rng.randint(1, 12))
            wait_until_up(folder, victim)
            try:
                victim.wait(1.0)
            except subprocess.TimeoutExpired:
                victim.kill()
        else:
            victim = collect(folder)
            wait_until_up(folder, victim)
            wait_until_stored(folder, rng.randint(1, 400))
            victim.kill()
        victim.wait()
        pids = pids_of(folder)
        assert len(set(pids)) == len(pids)
    stored = len(pids_of(folder))
    assert stored > 0, "the collector was never up"
    assert stored < WRITERS * lines, "the kills came too late to show anything"
    last = collect(folder)
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    last.send_signal(signal.SIGTERM)
    assert last.wait(30) == 0
    seen = snapshot(folder / "store")
    check(seen)
    assert len(seen.pids) == WRITERS * lines
    print(f"{len(seen.pids)} events of {WRITERS} writers, {stored} before the last start, all once")


def test_ten_kills_lose_and_repeat_nothing_of_fifty_writers(tmp_path: Path) -> None:
    """Whatever was not acknowledged is sent again, and only what is stored is acknowledged."""
    seed = int(os.environ.get("SANDTRAIL_SEED", "20261129"))
    kill_run(tmp_path, 10, seed, lines=250, pause_s=0.02)


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("round_", range(2))
def test_fifty_kills_lose_and_repeat_nothing_of_fifty_writers(tmp_path: Path, round_: int) -> None:
    """The same in full."""
    kill_run(tmp_path, 50, random.SystemRandom().randrange(1 << 30) + round_, 2_000, 0.04)
