"""Fifty writers on one socket, a collector that is killed: every line is stored once."""

import importlib.util
import os
import random
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.collector.socketkit import collect, wait_until_up
from tests.collector.trail_check import check, line, snapshot

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


def write_all(out: Any, numbers: Iterator[int], over: threading.Event, pause_s: float) -> None:
    """One writer's life: lines in its own time until it is over, then until all are stored.

    All writers take their events from one row of numbers, so that together they give 1, 2, 3, …
    """
    while not over.wait(pause_s):
        out.write(line(next(numbers)))
    out.flush()
    out.close()


def counting(module: ModuleType, folder: Path, writer: int) -> Any:
    """The writer we ship, and how many lines it had sent before when it sent them: `again`."""

    class Counting(module.SocketWriter):  # type: ignore[misc, name-defined]
        sent = again = 0

        def _pump(self, *, wait: bool) -> None:
            super()._pump(wait=wait)
            if self._socket is not None:
                self.sent = (self._number or 1) - 1

        def _greet(self, connection: socket.socket) -> None:
            super()._greet(connection)
            never_sent = sum(number > self.sent for number, _ in self._kept)
            self.again += max(len(self._unsent) - never_sent, 0)

    return Counting(folder / "run" / "in.sock", f"w{writer}", first=1)


def kill_run(folder: Path, kills: int, seed: int, pause_s: float) -> None:
    """`kills` deaths while fifty writers write, then the truth."""
    rng, module, over, numbers = random.Random(seed), example(), threading.Event(), count(1)
    print(f"seed {seed}, {kills} kills")
    writers = [counting(module, folder, n) for n in range(WRITERS)]
    threads = [
        threading.Thread(target=write_all, args=(out, numbers, over, pause_s), daemon=True)
        for out in writers
    ]
    for thread in threads:
        thread.start()
    for number in range(kills):
        kill_one(folder, rng, by_itself=bool(number % 2))
        pids = pids_of(folder)
        assert len(set(pids)) == len(pids)
    stored = len(pids_of(folder))
    assert stored > 0, "the collector was never up"
    last = collect(folder)
    wait_until_up(folder, last)
    over.set()
    for thread in threads:
        thread.join(180)
        assert not thread.is_alive()
    last.send_signal(signal.SIGTERM)
    assert last.wait(60) == 0
    seen = snapshot(folder / "store")
    check(seen)
    written = next(numbers) - 1
    assert len(seen.pids) == written
    again = sum(out.again for out in writers)
    assert again > 0, "nothing had to be sent again"
    print(
        f"seed {seed}: {kills} kills, {written:,} lines of {WRITERS} writers,"
        f" {stored:,} stored before the last start, {again:,} sent again, each stored once"
    )


def kill_one(folder: Path, rng: random.Random, *, by_itself: bool) -> None:
    """A collector that dies at a step of its work, or by a signal in the midst of it."""
    if by_itself:
        victim = collect(folder, step=rng.choice(STEPS), nth=rng.randint(1, 12))
        wait_until_up(folder, victim)
        with suppress(subprocess.TimeoutExpired):
            victim.wait(1.0)
    else:
        victim = collect(folder)
        wait_until_up(folder, victim)
        wait_until_stored(folder, rng.randint(1, 400))
    victim.kill()
    victim.wait()


def test_ten_kills_lose_and_repeat_nothing_of_fifty_writers(tmp_path: Path) -> None:
    """Whatever was not acknowledged is sent again, and only what is stored is acknowledged."""
    seed = int(os.environ.get("SANDTRAIL_SEED", "20261129"))
    kill_run(tmp_path, 10, seed, pause_s=0.04)


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("round_", range(2))
def test_fifty_kills_lose_and_repeat_nothing_of_fifty_writers(tmp_path: Path, round_: int) -> None:
    """The same in full."""
    kill_run(tmp_path, 50, random.SystemRandom().randrange(1 << 30) + round_, 0.04)
