"""Logs and store taken to another place: what was read is not read again there."""

import shutil
from pathlib import Path

import pytest

from tests.collector.filekit import Ledger, append, events


def moved_to(new: Path, ledger: Ledger) -> Ledger:
    """The same source with the same positions over the logs in another folder."""
    there = Ledger(new / "*.jsonl")
    there.positions, there.lines = ledger.positions, ledger.lines
    return there


def collected(tmp_path: Path) -> tuple[Path, Ledger]:
    """Two logs that were read to their ends."""
    old = tmp_path / "old"
    old.mkdir()
    append(old / "a.jsonl", events(1, 40))
    append(old / "b.jsonl", events(101, 140))
    ledger = Ledger(old / "*.jsonl")
    ledger.once()
    return old, ledger


@pytest.mark.parametrize("left", [True, False], ids=["the old ones stay", "the old ones go"])
def test_a_copy_of_the_logs_elsewhere_is_read_on(tmp_path: Path, left: bool) -> None:
    """Other folder, other inodes: the content tells, and only the new lines are read."""
    old, ledger = collected(tmp_path)
    new = tmp_path / "new"
    shutil.copytree(old, new)
    if not left:
        shutil.rmtree(old)
    append(new / "a.jsonl", events(41, 50))
    append(new / "b.jsonl", events(141, 150))
    there = moved_to(new, ledger)
    there.once()
    wanted = [*events(1, 50).splitlines(), *events(101, 150).splitlines()]
    assert sorted(there.lines) == sorted(wanted)


def test_a_namesake_elsewhere_with_other_lines_is_a_file_of_its_own(tmp_path: Path) -> None:
    """The name alone proves nothing."""
    _, ledger = collected(tmp_path)
    new = tmp_path / "new"
    new.mkdir()
    append(new / "a.jsonl", events(201, 290))
    there = moved_to(new, ledger)
    there.once()
    assert len(there.lines) == 40 + 40 + 90
