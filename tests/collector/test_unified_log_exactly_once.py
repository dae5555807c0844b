"""Killed at any moment, a collector of the unified log neither loses nor repeats an entry, says
each outage, and leaves no program behind."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests import forked
from tests.collector.fake_log import behave, entry, install
from tests.collector.logkit import until
from tests.collector.trail_check import snapshot

STEPS = ("spool.before-commit", "spool.after-commit", "seal.after-file", "reconcile.after-commit")
# How the stand-in may behave while collectors come and go; all of it can be read back.
MOODS: list[dict[str, dict[str, object]]] = [
    {},
    {"stream": {"chunk": 1}},
    {"stream": {"chunk": 4_096, "banner": "stderr"}, "show": {"shift_ms": -9.98}},
    {"stream": {"drop_every": 20, "dropped": 9}},
    {"stream": {"exit_after_s": 0.15, "code": 1}},
    {"stream": {"delay_s": 0.2}, "show": {"delay_s": 0.3, "shift_ms": 61.0}},
    {"stream": {"chunk": 65_536}, "show": {"chunk": 1_000}},
]

# Of these, those that make the source begin again: they get the time for it.
BREAKING = (3, 4)


# On a loaded machine a collector may need half a minute to come up.
PATIENCE_S = 120


class Machine:
    """Something that the kernel refuses, some hundred times a second."""

    def __init__(self, truth: Path, rate: int = 100) -> None:
        self._truth, self._rate = truth, rate
        self.written = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.02):
            lines = [entry(self.written + n + 1) for n in range(self._rate // 50)]
            with self._truth.open("ab", buffering=0) as file:
                file.write(b"".join(lines))
            self.written += len(lines)

    def finish(self) -> None:
        self._stop.set()
        self._thread.join()


def start(folder: Path, **options: object) -> forked.Forked | subprocess.Popen[bytes]:
    """A collector."""
    with (folder / "stderr").open("ab") as errors:
        return forked.start("tests.collector.log_victim", str(folder), json.dumps(options),
                            stderr=errors)  # fmt: skip


def stored(folder: Path) -> list[int]:
    """Pids of all decisions; none while the store is being made."""
    with contextlib.suppress(sqlite3.Error, KeyError, OSError):
        return snapshot(folder / "store").pids
    return []


def gaps(folder: Path) -> list[tuple[int, int | None, str]]:
    """(from, to, reason) as the store has them."""
    if not (folder / "store" / "spool.db").exists():
        return []
    uri = f"{(folder / 'store' / 'spool.db').as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as db:
        return db.execute("SELECT from_ts, to_ts, reason FROM gaps ORDER BY id").fetchall()


def calls(folder: Path) -> int:
    """How often the stand-in was started."""
    place = folder / "bin" / "calls"
    return place.read_text().count("\n") if place.exists() else 0


def running(folder: Path) -> list[int]:
    """Stand-ins that live."""
    pids = [int(word) for word in (folder / "bin" / "pids").read_text().split()]
    return [pid for pid in set(pids) if _lives(pid)]


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill_run(folder: Path, kills: int, seed: int) -> None:
    """`kills` deaths at random moments and named steps, in changing moods; then the truth."""
    rng = random.Random(seed)
    print(f"seed {seed}, {kills} kills")
    command = install(folder / "bin")
    machine = Machine(folder / "bin" / "truth")
    deaths: list[int] = []
    try:
        for number in range(kills):
            behave(command, **MOODS[number % len(MOODS)])
            steps = {"step": rng.choice(STEPS), "nth": rng.randint(1, 4)} if number % 2 else {}
            before = calls(folder)
            victim = start(folder, **steps)
            until(
                lambda at=before, it=victim: calls(folder) > at + 1 or it.poll() is not None,
                PATIENCE_S,
            )
            if number % len(MOODS) in BREAKING:
                told = len(gaps(folder))
                until(
                    lambda at=told, it=victim: len(gaps(folder)) > at or it.poll() is not None,
                    PATIENCE_S,
                )
            with contextlib.suppress(subprocess.TimeoutExpired):
                victim.wait(rng.uniform(0.02, 0.6))
            victim.kill()
            victim.wait()
            deaths.append(victim.returncode)
            pids = stored(folder)
            assert len(pids) == len(set(pids))
        behave(command, stream={"drop_every": 50, "exit_after_s": 0.8, "code": 1})
        last = start(folder)
        until(lambda: gaps(folder), PATIENCE_S)
        behave(command)
    finally:
        machine.finish()
    until(lambda: len(stored(folder)) >= machine.written, PATIENCE_S)
    last.send_signal(signal.SIGTERM)
    assert last.wait(30) == 0
    assert sorted(stored(folder)) == list(range(1, machine.written + 1))
    until(lambda: not running(folder))
    assert deaths == [-signal.SIGKILL] * kills
    assert all(to is not None for _, to, _ in gaps(folder))
    print(f"{machine.written} entries, {len(gaps(folder))} gaps, {calls(folder)} calls of log")


def test_ten_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """Drops, exits, delays, shifted wall times and pieces of any size, killed all the while."""
    kill_run(tmp_path, 10, int(os.environ.get("SANDTRAIL_SEED", "20261129")))


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_fifty_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """The full figure of the promise."""
    kill_run(tmp_path, 50, int(os.environ.get("SANDTRAIL_SEED", "20261129")) + 1)


def test_each_outage_is_a_gap_with_its_bounds(tmp_path: Path) -> None:
    """Three outages, three gaps, each around the time in which it happened and no longer."""
    command = install(tmp_path / "bin")
    victim = start(tmp_path)
    happened: list[tuple[int, int]] = []
    try:
        until((tmp_path / "bin" / "calls").exists, 20)
        for number, code in enumerate((64, 77, 1), 1):
            with (tmp_path / "bin" / "truth").open("ab") as truth:
                truth.write(entry(number))
            until(lambda n=number: len(stored(tmp_path)) == n, 20)
            refusal = {"says": "log: no", "code": code}
            behave(command, stream=refusal, show=refusal)
            from_us = time.time_ns() // 1000
            for pid in running(tmp_path):
                os.kill(pid, signal.SIGKILL)
            until(lambda n=number: len(gaps(tmp_path)) == n, 20)
            time.sleep(0.3)
            behave(command)
            to_us = time.time_ns() // 1000
            until(lambda: gaps(tmp_path)[-1][1] is not None, 20)
            happened.append((from_us, to_us))
    finally:
        victim.terminate()
        victim.wait(30)
    found = gaps(tmp_path)
    assert [reason for *_, reason in found] == ["log stream was ended by signal 9"] * 3
    for (since, until_us, _), (from_us, to_us) in zip(found, happened, strict=True):
        assert from_us - 1_500_000 <= since <= from_us + 500_000
        assert until_us is not None
        assert to_us <= until_us <= to_us + 3_000_000


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_program_outlives_its_collector(tmp_path: Path, how: signal.Signals) -> None:
    """A quiet stream would notice a closed pipe only when it speaks; it must not live so long."""
    install(tmp_path / "bin")
    victim = start(tmp_path)
    until(lambda: (tmp_path / "bin" / "calls").exists() and running(tmp_path), 20)
    victim.send_signal(how)
    victim.wait(30)
    until(lambda: not running(tmp_path), 5)


def test_the_guard_killed_takes_the_program_along(tmp_path: Path) -> None:
    """On Linux the kernel sees to it; the collector goes on with a new one."""
    if sys.platform != "linux":
        pytest.skip("only Linux has a signal for the death of a parent")
    install(tmp_path / "bin")
    victim = start(tmp_path)
    try:
        until(lambda: (tmp_path / "bin" / "calls").exists() and running(tmp_path), 20)
        (program,) = running(tmp_path)[:1]
        guard = int(Path(f"/proc/{program}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(guard, signal.SIGKILL)
        until(lambda: not _lives(program), 5)
        until(lambda: running(tmp_path), 10)
    finally:
        victim.terminate()
        victim.wait(30)
    until(lambda: not running(tmp_path), 5)
