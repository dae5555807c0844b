"""A rotator at work between any two looks of the collector: no line comes twice, none is missed."""

import gzip
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.collector.filekit import Ledger, append, events, pack
from tests.collector.meanwhile import Meanwhile, Step

SEED = int(os.environ.get("SANDTRAIL_SEED", "20261129"))
QUICK, FULL = 60, 3000  # interleavings of one rotation


def _growing(target: Path, data: bytes) -> list[Step]:
    """A file that is emptied, then written in three goes."""
    third = len(data) // 3
    parts = [data[:third], data[third : 2 * third], data[2 * third :]]
    return [lambda: target.write_bytes(b""), *[lambda p=p: append(target, p) for p in parts]]


def copytruncate(log: Path) -> list[Step]:
    """A copy takes its time, then the log is emptied."""
    copy = _growing(log.with_name("in.jsonl.1"), log.read_bytes())
    return [*copy, lambda: os.truncate(log, 0)]


def rename(log: Path) -> list[Step]:
    """The log gets another name, then there is a new one."""
    return [lambda: log.rename(log.with_name("in.jsonl.1")), log.touch]


def compress(log: Path) -> list[Step]:
    """A rotated log is packed, then removed."""
    old = log.with_name("in.jsonl.0")
    target, info = old.with_name(old.name + ".gz"), old.stat()
    times = info.st_atime_ns, info.st_mtime_ns
    packing = _growing(target, gzip.compress(old.read_bytes()))
    return [*packing, lambda: os.utime(target, ns=times), old.unlink]


def compress_again(log: Path) -> list[Step]:
    """The packed twin of a rotated log is written once more, from its first byte."""
    old = log.with_name("in.jsonl.0")
    return [*_growing(pack(old, keep=True), gzip.compress(old.read_bytes())), old.unlink]


def shift(log: Path) -> list[Step]:
    """A rotated log and its packed twin move on by one name."""
    old = log.with_name("in.jsonl.0")
    twin = pack(old, keep=True)
    return [
        lambda: twin.rename(log.with_name("in.jsonl.1.gz")),
        lambda: old.rename(log.with_name("in.jsonl.1")),
    ]


def shift_packed(log: Path) -> list[Step]:
    """An archive moves on by one name, and a plain copy of it comes back."""
    old = log.with_name("in.jsonl.0")
    content, twin = old.read_bytes(), pack(old)
    return [
        lambda: twin.rename(log.with_name("in.jsonl.1.gz")),
        lambda: old.write_bytes(content),
    ]


def copytruncate_and_compress(log: Path) -> list[Step]:
    """The copy of an emptied log is packed at once, as `logrotate` without `delaycompress` does."""
    copy, content = log.with_name("in.jsonl.1"), log.read_bytes()
    packing = _growing(copy.with_name(copy.name + ".gz"), gzip.compress(content))
    return [*copytruncate(log), *packing, copy.unlink]


def rename_and_compress(log: Path) -> list[Step]:
    """A renamed log is packed at once."""
    old, content = log.with_name("in.jsonl.1"), log.read_bytes()
    packing = _growing(old.with_name(old.name + ".gz"), gzip.compress(content))
    return [*rename(log), *packing, old.unlink]


ROTATIONS = [
    copytruncate, rename, compress, compress_again, shift, shift_packed, copytruncate_and_compress,
    rename_and_compress,
]  # fmt: skip


class Scene:
    """A log, a rotated one before it, a collector that has read both, and what is going to happen.

    With `seen` the collector has also looked at what the rotation finds when it begins. It holds
    no more than `held` files open.
    """

    def __init__(
        self, directory: Path, rotation: Callable[[Path], list[Step]], *, seen: bool, held: int
    ) -> None:
        directory.mkdir()
        self.log = directory / "in.jsonl"
        old = directory / "in.jsonl.0"
        old.write_bytes(events(1, 10))
        os.utime(old, (1_700_000_000, 1_700_000_000))
        self.log.write_bytes(events(11, 30))
        self.ledger = Ledger(directory / "in.jsonl*", max_open_files=held).once()
        self.steps = [*rotation(self.log), lambda: append(self.log, events(31, 33))]
        if seen:
            self.ledger.once()

    def play(self, calls: list[int]) -> list[int]:
        """The numbers that were read in the end, each step taken before the call given for it."""
        world = Meanwhile()
        for call, step in zip(calls, self.steps, strict=True):
            world.before(call, step)
        with world.watching():
            self.ledger.once()
        world.rest()
        return self.ledger.once().once().ids

    def length(self) -> int:
        """How many calls a look takes when everything has happened."""
        for step in self.steps:
            step()
        world = Meanwhile()
        with world.watching():
            self.ledger.once()
        return world.calls


def _play(
    directory: Path, rotation: Callable[[Path], list[Step]], *, seen: bool, rounds: int
) -> None:
    scene = Scene(directory / "whole", rotation, seen=seen, held=64)
    steps, calls = len(scene.steps), scene.length()
    chance = random.Random(f"{SEED} {rotation.__name__} {seen}")
    for number in range(rounds):
        cuts = sorted(chance.choices(range(calls * 3 // 2), k=steps))
        scene = Scene(directory / str(number), rotation, seen=seen, held=(64, 1)[number % 2])
        ids = scene.play(cuts)
        assert sorted(ids) == list(range(1, 34)), f"seed {SEED}: steps before the calls {cuts}"


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_a_rotation_between_any_two_calls_loses_and_repeats_nothing(
    tmp_path: Path, rotation: Callable[[Path], list[Step]], seen: bool
) -> None:
    """Each line is read once, wherever the steps of a rotation fall into a look at the files."""
    _play(tmp_path, rotation, seen=seen, rounds=QUICK)


@pytest.mark.torture
@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("rotation", ROTATIONS)
def test_thousands_of_interleavings_lose_and_repeat_nothing(
    tmp_path: Path, rotation: Callable[[Path], list[Step]], seen: bool
) -> None:
    """The same at full length."""
    _play(tmp_path, rotation, seen=seen, rounds=FULL)
