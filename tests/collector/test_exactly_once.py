"""Killed anywhere, the next start neither loses nor repeats."""

import os
import random
import time
from pathlib import Path

import pytest

from tests.collector.trail_check import (
    Victim,
    Writer,
    check,
    outside_reader,
    private,
    snapshot,
    wait_for,
)

STEPS = (
    "spool.after-rows",
    "spool.before-commit",
    "spool.after-commit",
    "seal.after-file",
    "seal.before-delta-commit",
    "seal.after-delta-commit",
    "reconcile.after-sync",
    "reconcile.before-commit",
    "reconcile.after-commit",
    "seal.after-delete",
    "compact.before-delta-commit",
    "compact.after-delta-commit",
)
RECOVERY_STEPS = ("recovery.after-reconcile", "reconcile.before-commit", "seal.after-delete")


def kill_run(folder: Path, kills: int, seed: int) -> None:
    """Writer with rotations; `kills` deaths, half at named steps; then SIGTERM; then the truth."""
    rng = random.Random(seed)
    print(f"seed {seed}, {kills} kills")
    (folder / "log").mkdir()
    writer = Writer(folder / "log", rng=rng)
    writer.start()
    steps = list(STEPS)
    rng.shuffle(steps)
    snapshots = 0
    try:
        for number in range(kills):
            if number % 2:
                victim = Victim(folder, step=steps[number // 2 % len(steps)], nth=rng.randint(1, 3))
                if not victim.dies(4):
                    victim.kill()
            else:
                victim = Victim(folder)
                time.sleep(rng.uniform(0.05, 1.0))
                victim.kill()
            if number % 5 == 4:
                # Again inside the recovery from the last one.
                twice = Victim(folder, step=rng.choice(RECOVERY_STEPS), nth=1)
                twice.dies(4)
                twice.kill()
            if (folder / "store" / "spool.db").exists():
                check(snapshot(folder / "store"))
                snapshots += 1
        last = Victim(folder)
        for _ in range(5):
            time.sleep(0.2)
            check(snapshot(folder / "store"))
    finally:
        writer.finish()
    wait_for(folder, writer)
    assert last.terminate() == 0
    seen = snapshot(folder / "store")
    check(seen)
    assert len(seen.pids) == writer.written
    assert seen.tallies["rejected"] == writer.junk
    assert seen.tallies["filtered"] == writer.blank
    assert outside_reader(folder / "store") == sorted(seen.seqs)
    assert private(folder / "store") == []
    print(f"{writer.written} events, {snapshots} snapshots after kills, all exact")


def test_ten_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    """SIGKILL at random moments and at named steps, under load, with rotations."""
    kill_run(tmp_path, 10, int(os.environ.get("SANDTRAIL_SEED", "20261129")))


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("round_", range(4))
def test_a_hundred_kills_lose_and_repeat_nothing(tmp_path: Path, round_: int) -> None:
    """The full figure of the promise: 4 rounds of 30 kills and more."""
    kill_run(tmp_path, 30, int(os.environ.get("SANDTRAIL_SEED", "20261129")) + 1 + round_)


@pytest.mark.parametrize("step", STEPS[:10])
@pytest.mark.torture
@pytest.mark.timeout(600)
def test_every_named_step_can_be_the_last(tmp_path: Path, step: str) -> None:
    """A death at each step of commit and seal, one after another."""
    (tmp_path / "log").mkdir()
    writer = Writer(tmp_path / "log")
    for _ in range(3):
        writer.write(2_500)
        victim = Victim(tmp_path, step=step, nth=1)
        assert victim.dies(20), f"{step} was not reached"
        check(snapshot(tmp_path / "store"))
    last = Victim(tmp_path)
    wait_for(tmp_path, writer)
    assert last.terminate() == 0
    seen = snapshot(tmp_path / "store")
    check(seen)
    assert len(seen.pids) == writer.written
