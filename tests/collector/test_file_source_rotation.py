"""The file source under rotation and truncation: each line exactly once, in order."""

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from collector.contracts import Block, Lost
from tests.collector.filekit import Ledger, append, event, events, pack


def reuse_inode(path: Path, inode: int, data: bytes) -> None:
    """Write a new file that has the given inode, or skip the test where that cannot be had."""
    for attempt in range(200):
        candidate = path.with_name(f"try{attempt}")
        candidate.touch()
        if candidate.stat().st_ino == inode:
            candidate.write_bytes(data)
            candidate.rename(path)
            break
    for left in path.parent.glob("try*"):
        left.unlink()
    if not path.exists():
        pytest.skip("this file system does not give an inode back at once")


def test_a_recycled_inode_is_a_new_file(tmp_path: Path) -> None:
    """The same inode with other content is read from its start."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 1000))
    ledger = Ledger(log).once()
    inode = log.stat().st_ino
    log.unlink()
    reuse_inode(log, inode, events(1001, 1003))
    assert ledger.once().ids == list(range(1, 1004))


def test_a_rewritten_file_of_the_same_inode_is_a_new_file(tmp_path: Path) -> None:
    """Longer than before, same inode, other content: read from its start."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 10))
    ledger = Ledger(log).once()
    log.write_bytes(events(11, 40))
    assert ledger.once().ids == list(range(1, 41))
    assert sum("truncated or replaced" in w for w in ledger.warnings) == 1


def test_an_offset_past_the_end_starts_again_with_one_warning(tmp_path: Path) -> None:
    """A file that shrank while we were down is not waited for."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 100))
    ledger = Ledger(log).once()
    log.write_bytes(events(101, 101))
    assert ledger.once().ids == list(range(1, 102))
    assert sum("truncated or replaced" in w for w in ledger.warnings) == 1


def test_a_file_that_shrank_to_a_part_of_what_was_read_is_read_again(tmp_path: Path) -> None:
    """With an offset past the end nobody can tell old lines from new: nothing is left out."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 100))
    ledger = Ledger(log).once()
    log.write_bytes(events(1, 2))
    assert ledger.once().ids == [*range(1, 101), 1, 2]


def test_a_writer_that_truncates_every_tenth_line_loses_nothing(tmp_path: Path) -> None:
    """Rewritten and appended to in turns, with time for one look in between."""
    log = tmp_path / "in.jsonl"
    log.touch()
    with Ledger(log) as ledger:
        for number in range(1, 51):
            if number % 10:
                append(log, event(number))
            else:
                log.write_bytes(event(number))
            ledger.until(lambda n=number: len(ledger.lines) == n)
    assert ledger.ids == list(range(1, 51))


def test_truncated_and_regrown_past_the_offset_is_read_from_its_start(tmp_path: Path) -> None:
    """Size alone would say "appended": the bytes before the offset say otherwise."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 5))
    with Ledger(log, use_events=False) as ledger:
        log.write_bytes(events(6, 20))
        ledger.until(lambda: len(ledger.lines) >= 20)
    assert ledger.ids == list(range(1, 21))


def test_regrown_with_the_same_head_is_read_from_its_start(tmp_path: Path) -> None:
    """A banner of more than a kilobyte does not hide that the rest is new."""
    log, banner = tmp_path / "in.jsonl", events(0, 0) + events(500, 520)
    log.write_bytes(banner + events(1, 5))
    ledger = Ledger(log).once()
    log.write_bytes(banner + events(6, 20))
    ledger.once()
    assert ledger.ids.count(500) == 2
    assert [n for n in ledger.ids if 0 < n < 500] == list(range(1, 21))


def test_a_truncation_with_unread_bytes_is_a_loss_that_is_told(tmp_path: Path) -> None:
    """Half a line that was seen and never finished before the file was emptied."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(event(1) + event(2)[:40])
    with Ledger(log) as ledger:
        ledger.until(lambda: ledger.ids == [1])
        os.truncate(log, 0)
        ledger.until(lambda: len(ledger.told(Lost)) == 1)


@pytest.mark.parametrize("pattern", ["in.jsonl", "in.jsonl*"])
def test_rename_rotation_live_keeps_every_line_in_order(tmp_path: Path, pattern: str) -> None:
    """Lines written to the old file just before the rename come before those of the new one."""
    log = tmp_path / "in.jsonl"
    log.touch()
    with Ledger(tmp_path / pattern) as ledger:
        for turn in range(5):
            append(log, events(turn * 20 + 1, turn * 20 + 10))
            log.rename(tmp_path / f"in.jsonl.{9 - turn}")
            log.write_bytes(events(turn * 20 + 11, turn * 20 + 20))
            ledger.until(lambda t=turn: len(ledger.lines) >= (t + 1) * 20)
    assert ledger.ids == list(range(1, 101))


def test_a_writer_that_still_holds_the_renamed_file_is_heard(tmp_path: Path) -> None:
    """After the rename the old descriptor writes on until the writer opens the new file."""
    log = tmp_path / "in.jsonl"
    with log.open("ab", buffering=0) as writer, Ledger(log) as ledger:
        writer.write(event(1))
        ledger.until(lambda: ledger.ids == [1])
        log.rename(tmp_path / "in.jsonl.1")
        ledger.settle()
        writer.write(event(2))
        ledger.until(lambda: ledger.ids == [1, 2])


def test_a_writer_that_still_holds_a_deleted_file_is_heard(tmp_path: Path) -> None:
    """A file without a name is read on while it is open."""
    log = tmp_path / "in.jsonl"
    with log.open("ab", buffering=0) as writer, Ledger(log) as ledger:
        writer.write(event(1))
        ledger.until(lambda: ledger.ids == [1])
        log.unlink()
        ledger.settle()
        writer.write(event(2))
        ledger.until(lambda: ledger.ids == [1, 2])


@pytest.mark.parametrize("pattern", ["in.jsonl", "in.jsonl*"])
@pytest.mark.parametrize("packed", [False, True])
def test_rotated_while_down_is_finished_first(tmp_path: Path, pattern: str, packed: bool) -> None:
    """The renamed file, or its .gz, is found again and comes before the new file."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 50))
    ledger = Ledger(tmp_path / pattern).once()
    append(log, events(51, 80))
    log.rename(tmp_path / "in.jsonl.1")
    if packed:
        pack(tmp_path / "in.jsonl.1")
    log.write_bytes(events(81, 99))
    assert ledger.once().once().ids == list(range(1, 100))


@pytest.mark.parametrize("pattern", ["in.jsonl", "in.jsonl*"])
def test_rotated_twice_while_down_keeps_the_order(tmp_path: Path, pattern: str) -> None:
    """Oldest first, also those that were never seen before."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 10))
    ledger = Ledger(tmp_path / pattern).once()
    append(log, events(11, 20))
    log.rename(tmp_path / "in.jsonl.2")
    (tmp_path / "in.jsonl.1").write_bytes(events(21, 30))
    log.write_bytes(events(31, 40))
    for age, name in enumerate(("in.jsonl", "in.jsonl.1", "in.jsonl.2")):
        os.utime(tmp_path / name, (time.time() + 9 - age, time.time() + 9 - age))
    assert ledger.once().ids == list(range(1, 41))


@pytest.mark.parametrize("pattern", ["in.jsonl", "in.jsonl*"])
def test_copytruncate_live_loses_and_repeats_nothing(tmp_path: Path, pattern: str) -> None:
    """The copy continues the old stream, the truncated original is a new one."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 20))
    with Ledger(tmp_path / pattern) as ledger:
        append(log, events(21, 25))
        shutil.copy(log, tmp_path / "in.jsonl.1")
        os.truncate(log, 0)
        append(log, events(26, 40))
        ledger.until(lambda: len(ledger.lines) >= 40)
        ledger.settle()
    assert ledger.ids == list(range(1, 41))
    assert ledger.once().ids == list(range(1, 41))


@pytest.mark.parametrize("pattern", ["in.jsonl", "in.jsonl*"])
def test_copytruncate_while_down_loses_and_repeats_nothing(tmp_path: Path, pattern: str) -> None:
    """Lines that only the copy has are read before the original's new ones."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 20))
    ledger = Ledger(tmp_path / pattern).once()
    append(log, events(21, 25))
    shutil.copy(log, tmp_path / "in.jsonl.1")
    log.write_bytes(events(26, 90))
    assert ledger.once().once().ids == list(range(1, 91))


def test_a_line_read_between_copy_and_truncation_does_not_repeat_the_copy(tmp_path: Path) -> None:
    """The copy is then shorter than what was read: nothing of it is new, also after a restart."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 20))
    with Ledger(tmp_path / "in.jsonl*") as ledger:
        content = log.read_bytes()
        append(log, event(21))
        ledger.until(lambda: len(ledger.lines) == 21)
        (tmp_path / "in.jsonl.1").write_bytes(content)
        os.truncate(log, 0)
        append(log, event(22))
        ledger.until(lambda: len(ledger.lines) >= 22)
        ledger.settle()
    assert ledger.once().ids == list(range(1, 23))


def test_a_plain_copy_of_a_live_file_is_not_read_twice(tmp_path: Path) -> None:
    """One warning names the copy; the live file goes on."""
    log = tmp_path / "a.jsonl"
    log.write_bytes(events(1, 20))
    with Ledger(tmp_path / "*.jsonl") as ledger:
        shutil.copy(log, tmp_path / "b.jsonl")
        ledger.settle()
        append(log, events(21, 22))
        ledger.until(lambda: len(ledger.lines) == 22)
        ledger.settle()
    assert ledger.once().ids == list(range(1, 23))
    copied = f"{tmp_path / 'b.jsonl'}: is a copy of {log}; not read twice"
    assert ledger.warnings == [copied, copied]


def test_two_files_with_equal_heads_are_both_read_fully(tmp_path: Path) -> None:
    """Three kilobytes of equal beginning do not make one file of two."""
    banner = events(1, 30)
    (tmp_path / "a").write_bytes(banner + events(100, 110))
    (tmp_path / "b").write_bytes(banner + events(200, 210))
    ids = Ledger(tmp_path / "[ab]").once().once().ids
    assert sorted(ids) == sorted([*range(1, 31), *range(100, 111), *range(1, 31), *range(200, 211)])


def test_two_live_files_with_equal_heads_are_both_read_fully(tmp_path: Path) -> None:
    """A file that began like another one is itself as soon as it goes its own way."""
    banner = events(1, 3)
    with Ledger(tmp_path / "[ab]") as ledger:
        (tmp_path / "a").write_bytes(banner)
        ledger.until(lambda: len(ledger.lines) == 3)
        (tmp_path / "b").write_bytes(banner)
        ledger.settle()
        append(tmp_path / "b", event(9))
        append(tmp_path / "a", event(8))
        ledger.until(lambda: len(ledger.lines) >= 8)
        ledger.settle()
    assert sorted(ledger.ids) == [1, 1, 2, 2, 3, 3, 8, 9]


def test_a_new_file_after_a_rotation_is_read_from_its_start_even_if_it_begins_alike(
    tmp_path: Path,
) -> None:
    """It took the name of the rotated file, so it is what came after it."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 3))
    with Ledger(tmp_path / "in.jsonl*") as ledger:
        log.rename(tmp_path / "in.jsonl.1")
        ledger.settle()
        log.write_bytes(events(1, 3))
        ledger.until(lambda: len(ledger.lines) == 6)


def test_a_new_file_after_a_rotation_is_never_opened_at_its_end(tmp_path: Path) -> None:
    """Also with `start_at_end`."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 9))
    with Ledger(log, start_at_end=True) as ledger:
        log.rename(tmp_path / "in.1")
        log.write_bytes(events(10, 109))
        ledger.until(lambda: len(ledger.lines) >= 100)
    assert ledger.ids == list(range(10, 110))


def test_an_atomic_rename_over_the_file_goes_on_where_it_was(tmp_path: Path) -> None:
    """An editor's save is another inode with the same content and more."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 20))
    with Ledger(log) as ledger:
        (tmp_path / "tmp").write_bytes(log.read_bytes() + event(21))
        (tmp_path / "tmp").rename(log)
        ledger.until(lambda: len(ledger.lines) >= 21)
        ledger.settle()
    assert ledger.ids == list(range(1, 22))


def test_an_atomic_rename_with_other_content_is_a_new_file(tmp_path: Path) -> None:
    """Whatever has the name and other content is read from its start."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 20))
    with Ledger(log) as ledger:
        (tmp_path / "tmp").write_bytes(events(21, 60))
        (tmp_path / "tmp").rename(log)
        ledger.until(lambda: len(ledger.lines) >= 60)
    assert ledger.ids == list(range(1, 61))


def test_a_link_that_swings_to_a_new_file_finishes_the_old_one(tmp_path: Path) -> None:
    """`current` names another file now; the old one's last lines come first."""
    one, two, current = (tmp_path / n for n in ("log.1", "log.2", "current"))
    one.write_bytes(events(1, 5))
    current.symlink_to(one)
    with Ledger(current) as ledger:
        append(one, events(6, 8))
        two.write_bytes(events(9, 12))
        (tmp_path / "next").symlink_to(two)
        (tmp_path / "next").rename(current)
        ledger.until(lambda: len(ledger.lines) >= 12)
        append(one, event(13))
        ledger.until(lambda: len(ledger.lines) >= 13)
    assert ledger.once().ids == list(range(1, 14))


def test_another_device_or_inode_with_the_same_content_is_the_same_file(tmp_path: Path) -> None:
    """Store and logs were moved to another file system: nothing is read twice."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(events(1, 20) if name == "a" else events(21, 40))
    ledger = Ledger(tmp_path / "[ab]").once()
    for name in ("a", "b"):
        (tmp_path / "new").write_bytes((tmp_path / name).read_bytes())
        (tmp_path / "new").rename(tmp_path / name)
    append(tmp_path / "a", event(41))
    assert sorted(ledger.once().once().ids) == list(range(1, 42))


def test_a_file_that_vanished_while_down_and_returned_goes_on(tmp_path: Path) -> None:
    """Its position outlives a run without it."""
    log, away = tmp_path / "in.jsonl", tmp_path / "away"
    log.write_bytes(events(1, 5))
    ledger = Ledger(log).once()
    log.rename(away)
    log_gone = ledger.once()
    assert log_gone.ids == [1, 2, 3, 4, 5]
    away.rename(log)
    append(log, event(6))
    assert ledger.once().ids == [1, 2, 3, 4, 5, 6]


def test_a_position_inside_a_line_is_not_trusted(tmp_path: Path) -> None:
    """A start offset in the middle of a line means the file is not what it was."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 5))
    ledger = Ledger(log).once()
    name, position = next(iter(ledger.positions.items()))
    ledger.positions[name] = replace(position, resume=len(event(1)) + 7)
    ledger.once()
    assert all(isinstance(b, Block) and (b.start == 0) for b in ledger.blocks[1:])
    assert ledger.ids == [1, 2, 3, 4, 5, 1, 2, 3, 4, 5]


def test_resume_before_the_bytes_read_gives_them_again(tmp_path: Path) -> None:
    """A record that was unfinished at the kill is read again from its first line."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 5))
    ledger = Ledger(log).once()
    name, position = next(iter(ledger.positions.items()))
    ledger.positions[name] = replace(position, resume=len(events(1, 3)))
    append(log, event(6))
    assert ledger.once().ids == [1, 2, 3, 4, 5, 4, 5, 6]


def test_a_directory_that_is_replaced_is_watched_again(tmp_path: Path) -> None:
    """A sandbox that is made anew under the same path is heard at once, not at the next poll."""
    home = tmp_path / "sandbox"
    home.mkdir()
    (home / "a.jsonl").write_bytes(event(1))
    with Ledger(home / "*.jsonl", poll_interval_s=0.3) as ledger:
        home.rename(tmp_path / "old")
        home.mkdir()
        (home / "a.jsonl").write_bytes(event(2))
        ledger.until(lambda: ledger.ids == [1, 2])
        ledger.settle()
        delays = []
        for number in range(3, 14):
            started = time.monotonic()
            append(home / "a.jsonl", event(number))
            ledger.until(lambda n=number: len(ledger.arrived) >= n)
            delays.append(ledger.arrived[-1] - started)
    assert sorted(delays)[5] < 0.05
