"""The file source on real files: growth, ends, restarts, long lines, trouble."""

import os
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest
from watchdog.observers import Observer

from audit_events.errors import SourceError
from audit_events.schema import MAX_BLOCK_BYTES, MAX_LINE_BYTES
from collector.contracts import Block, GapClosed, GapOpened, Idle, Reason
from collector.sources.file import FileSource
from collector.sources.file import source as file_plugin
from collector.sources.file_identity import decode_mark
from tests.collector.filekit import Ledger, append, event, events


def test_every_line_of_every_file_is_read_once(tmp_path: Path) -> None:
    """Two files of one glob give all their lines, a second run gives nothing."""
    (tmp_path / "a.jsonl").write_bytes(events(1, 50))
    (tmp_path / "b.jsonl").write_bytes(events(51, 99))
    ledger = Ledger(tmp_path / "*.jsonl").once().once()
    assert sorted(ledger.ids) == list(range(1, 100))


def test_once_ends_with_idle(tmp_path: Path) -> None:
    """The last thing a `once` run says is that nothing is left."""
    (tmp_path / "a").write_bytes(events(1, 3))
    ledger = Ledger(tmp_path / "a").once()
    assert ledger.others[-1] == Idle("src", 0)


def test_an_appended_line_arrives_within_milliseconds(tmp_path: Path) -> None:
    """With file events the median from append to block is far below a poll interval."""
    log = tmp_path / "a.jsonl"
    log.write_bytes(events(1, 1))
    delays = []
    with Ledger(log, poll_interval_s=5.0) as ledger:
        for number in range(2, 42):
            started = time.monotonic()
            append(log, event(number))
            ledger.until(lambda n=number: len(ledger.arrived) >= n)
            delays.append(ledger.arrived[-1] - started)
    assert sorted(delays)[20] < 0.05


def test_without_file_events_a_poll_finds_the_line(tmp_path: Path) -> None:
    """Network file systems have no events; the poll is enough."""
    log = tmp_path / "a.jsonl"
    log.write_bytes(events(1, 1))
    with Ledger(log, use_events=False) as ledger:
        append(log, event(2))
        ledger.until(lambda: ledger.ids == [1, 2])


def test_reaching_the_watch_limit_means_polling_and_one_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the system refuses another watch, lines still come and an operator is told once."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(Observer, "schedule", refuse)
    log = tmp_path / "a.jsonl"
    log.write_bytes(events(1, 1))
    with Ledger(log) as ledger:
        append(log, event(2))
        ledger.until(lambda: ledger.ids == [1, 2])
        ledger.settle()
    assert [w for w in ledger.warnings if "polling" in w] == ledger.warnings
    assert len(ledger.warnings) == 1


def test_blocks_are_whole_lines_within_the_bound(tmp_path: Path) -> None:
    """Catching up on 5 MB takes few blocks, each contiguous with the one before."""
    (tmp_path / "a").write_bytes(events(1, 40_000))
    ledger = Ledger(tmp_path / "a").once()
    assert all(len(b.data) <= MAX_BLOCK_BYTES and b.data.endswith(b"\n") for b in ledger.blocks)
    assert [b.start for b in ledger.blocks[1:]] == [b.end for b in ledger.blocks[:-1]]
    assert ledger.ids == list(range(1, 40_001))
    assert len(ledger.blocks) < 10


@pytest.mark.parametrize("committed", [0, 1, 2, 3])
def test_a_kill_after_any_block_loses_and_repeats_nothing(tmp_path: Path, committed: int) -> None:
    """Only what was committed counts; the next run goes on from there."""
    (tmp_path / "a").write_bytes(events(1, 30_000))
    ledger = Ledger(tmp_path / "a").once(kill_after=committed).once()
    assert ledger.ids == list(range(1, 30_001))


def test_half_a_line_at_shutdown_is_whole_after_the_restart(tmp_path: Path) -> None:
    """The position never lies beyond the last complete line."""
    log = tmp_path / "a"
    line = event(2)
    log.write_bytes(event(1) + line[:40])
    ledger = Ledger(log).once()
    assert ledger.ids == [1]
    assert next(iter(ledger.positions.values())).resume == len(event(1))
    append(log, line[40:])
    assert ledger.once().ids == [1, 2]


def test_a_closed_record_without_newline_is_taken_once(tmp_path: Path) -> None:
    """`once` offers the last line; when its newline comes later nothing is repeated."""
    log = tmp_path / "a"
    log.write_bytes(event(1) + event(2).rstrip())
    ledger = Ledger(log).once().once()
    assert ledger.ids == [1, 2]
    append(log, b"\r\n" + event(3))
    assert ledger.once().ids == [1, 2, 3]
    assert ledger.lines[2] == event(3).rstrip()


def test_a_live_unfinished_line_is_offered_after_a_while_and_taken_once(tmp_path: Path) -> None:
    """A writer that leaves out the newline is heard, and not heard twice when it comes."""
    log = tmp_path / "a"
    log.write_bytes(event(1))
    with Ledger(log, tail_after_s=0.15) as ledger:
        append(log, event(2).rstrip())
        ledger.until(lambda: ledger.ids == [1, 2])
        append(log, b"\n" + event(3))
        ledger.until(lambda: ledger.ids == [1, 2, 3])
        ledger.settle()
        assert ledger.ids == [1, 2, 3]


def test_a_refused_tail_is_sent_whole_when_it_is_finished(tmp_path: Path) -> None:
    """A decoder that cannot take half a line gets the line as soon as it is whole."""
    log = tmp_path / "a"
    log.write_bytes(event(1))
    with Ledger(log, tail_after_s=0.1) as ledger:
        append(log, event(2)[:30])
        ledger.until(lambda: len(ledger.tails) == 1)
        ledger.settle()
        assert len(ledger.tails) == 1
        append(log, event(2)[30:])
        ledger.until(lambda: ledger.ids == [1, 2])


def test_an_answer_to_an_earlier_block_does_not_release_an_offered_line(tmp_path: Path) -> None:
    """While the flow still holds the offered line, its finished form is not sent."""
    log = tmp_path / "a"
    log.write_bytes(event(1))
    ledger = Ledger(log, tail_after_s=0.05)
    answers: list[tuple[str, int, int]] = []
    with ledger:
        ledger.answer = lambda *answer: answers.append(answer)  # type: ignore[method-assign]
        append(log, event(2).rstrip())
        ledger.until(lambda: len(answers) == 1)
        stream, resume, _ = answers[0]
        Ledger.answer(ledger, stream, len(event(1)), len(event(1)))
        append(log, b"\n" + event(3))
        ledger.settle()
        assert ledger.ids == [1, 2]
        Ledger.answer(ledger, stream, resume, resume)
        ledger.until(lambda: ledger.ids == [1, 2, 3])


def test_a_flow_that_keeps_no_position_for_a_refused_line_does_not_stop_it(tmp_path: Path) -> None:
    """After a moment without a better answer the line counts as refused."""
    log = tmp_path / "a"
    log.write_bytes(event(1))
    with Ledger(log, tail_after_s=0.05) as ledger:
        before = len(event(1))
        tell = ledger.answer
        ledger.answer = lambda s, *_: tell(s, before, before)  # type: ignore[method-assign]
        append(log, event(2)[:30])
        ledger.until(lambda: len(ledger.tails) == 1)
        append(log, event(2)[30:])
        ledger.until(lambda: ledger.ids == [1, 2])


def test_text_after_an_accepted_tail_is_a_line_of_its_own(tmp_path: Path) -> None:
    """Nothing is swallowed when a line goes on after it was taken."""
    log = tmp_path / "a"
    log.write_bytes(event(1).rstrip())
    ledger = Ledger(log).once()
    append(log, event(2))
    assert ledger.once().ids == [1, 2]


@pytest.mark.parametrize("extra", [0, 1, 5, MAX_LINE_BYTES, 3 * MAX_LINE_BYTES])
def test_the_longest_line_passes_and_a_longer_one_is_one_reject(tmp_path: Path, extra: int) -> None:
    """MAX_LINE_BYTES counts without the newline; neighbours are intact either way."""
    long = b"x" * (MAX_LINE_BYTES + extra) + b"\n"
    (tmp_path / "a").write_bytes(event(1) + long + event(2))
    ledger = Ledger(tmp_path / "a").once()
    if extra:
        assert ledger.rejects == [(len(event(1)), Reason.TOO_LONG)]
        assert ledger.ids == [1, 2]
    else:
        assert ledger.rejects == []
        assert ledger.lines[1] == long[:-1]
    assert ledger.lines[-1] == event(2).rstrip()


def test_a_huge_line_is_not_held_in_memory(tmp_path: Path) -> None:
    """64 MiB without a newline cost a few MiB."""
    with (tmp_path / "a").open("wb") as out:
        out.write(event(1))
        for _ in range(64):
            out.write(b"y" * (1 << 20))
        out.write(b"\n" + event(2))
    ledger = Ledger(tmp_path / "a")
    tracemalloc.start()
    ledger.once()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20
    assert ledger.ids == [1, 2]
    assert ledger.rejects == [(len(event(1)), Reason.TOO_LONG)]


def test_a_long_line_that_grows_live_is_one_reject(tmp_path: Path) -> None:
    """The reject comes when the line's end is there, and the next line with it."""
    log = tmp_path / "a"
    log.write_bytes(event(1))
    with Ledger(log, tail_after_s=0.05) as ledger:
        for _ in range(6):
            append(log, b"z" * (MAX_LINE_BYTES // 2))
            ledger.settle()
        tails_before_the_bound = len(ledger.tails)
        append(log, b"\n" + event(2))
        ledger.until(lambda: ledger.ids == [1, 2])
    assert ledger.rejects == [(len(event(1)), Reason.TOO_LONG)]
    assert tails_before_the_bound <= 2


def test_a_file_that_cannot_be_read_is_a_gap_until_it_can(tmp_path: Path) -> None:
    """A denied file opens one gap and counts its bytes; being readable again closes it."""
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    log = tmp_path / "a"
    log.write_bytes(events(1, 3))
    log.chmod(0)
    with Ledger(log) as ledger:
        assert len(ledger.told(GapOpened)) == 1
        assert ledger.told(Idle)[-1] == Idle("src", len(events(1, 3)))
        log.chmod(0o600)
        ledger.until(lambda: bool(ledger.told(GapClosed)))
        assert ledger.ids == [1, 2, 3]


def test_a_name_that_cannot_be_followed_is_a_gap_until_it_can(tmp_path: Path) -> None:
    """A loop of links is trouble, not silence; the gap closes when the file is there."""
    log = tmp_path / "a"
    log.symlink_to(log)
    with Ledger(log) as ledger:
        assert len(ledger.told(GapOpened)) == 1
        log.unlink()
        log.write_bytes(events(1, 3))
        ledger.until(lambda: ledger.ids == [1, 2, 3])
        ledger.until(lambda: bool(ledger.told(GapClosed)))
        assert len(ledger.warnings) == 1


def test_a_directory_and_a_fifo_are_skipped_with_a_warning(tmp_path: Path) -> None:
    """What a glob matches by accident is named once and not opened."""
    (tmp_path / "a.log").write_bytes(events(1, 2))
    (tmp_path / "b.log").mkdir()
    os.mkfifo(tmp_path / "c.log")
    with Ledger(tmp_path / "*.log") as ledger:
        ledger.settle()
    assert ledger.ids == [1, 2]
    assert sorted(ledger.warnings) == [
        f"{tmp_path / name}: skipped, it is not a regular file" for name in ("b.log", "c.log")
    ]


def test_start_at_end_is_for_files_that_were_there_at_the_very_first_start(tmp_path: Path) -> None:
    """Old lines are skipped once; a later file, and a later start, are read whole."""
    (tmp_path / "a.log").write_bytes(events(1, 5))
    ledger = Ledger(tmp_path / "*.log", start_at_end=True)
    with ledger:
        append(tmp_path / "a.log", event(6))
        (tmp_path / "b.log").write_bytes(events(7, 9))
        ledger.until(lambda: sorted(ledger.ids) == [6, 7, 8, 9])
    (tmp_path / "c.log").write_bytes(events(10, 11))
    assert sorted(ledger.once().ids) == [6, 7, 8, 9, 10, 11]


def test_two_sources_on_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    """State is per source: both read everything, over restarts."""
    log = tmp_path / "a"
    log.write_bytes(events(1, 3))
    one, two = Ledger(log, name="one"), Ledger(log, name="two")
    for number in range(4, 7):
        one.once()
        two.once()
        append(log, event(number))
    assert one.once().ids == two.once().ids == [1, 2, 3, 4, 5, 6]


def test_one_file_under_two_names_is_read_once(tmp_path: Path) -> None:
    """Overlapping patterns, a hard link and a symbolic link are the same file."""
    log = tmp_path / "a.log"
    log.write_bytes(events(1, 4))
    os.link(log, tmp_path / "b.log")
    (tmp_path / "c.log").symlink_to(log)
    ledger = Ledger(log, tmp_path / "*.log", tmp_path / "a*").once().once()
    assert ledger.ids == [1, 2, 3, 4]


def test_a_name_with_glob_characters_or_odd_bytes_is_itself(tmp_path: Path) -> None:
    """A path that exists is taken literally, and a name need not be UTF-8."""
    (tmp_path / "a[1].log").write_bytes(events(1, 2))
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.log")
    Path(odd).write_bytes(events(3, 4))
    ledger = Ledger(tmp_path / "a[1].log", odd).once().once()
    assert sorted(ledger.ids) == [1, 2, 3, 4]


def test_a_file_with_glob_characters_in_its_name_can_be_named(tmp_path: Path) -> None:
    """The check before a collector starts reads a name as the source does."""
    log = tmp_path / "a[1].log"
    plugin = file_plugin
    with pytest.raises(SourceError, match="no such file"):
        plugin.check(plugin.parse(str(log)))
    log.write_bytes(events(1, 2))
    plugin.check(plugin.parse(str(log)))
    assert list(plugin.samples(plugin.parse(str(log)))) == [events(1, 2)]


def test_a_stored_position_holds_no_bytes_of_a_line(tmp_path: Path) -> None:
    """Marks are keyed digests: another key gives another mark, and no content is in it."""
    (tmp_path / "a").write_bytes(events(1, 2))
    ledger = Ledger(tmp_path / "a").once()
    mark = next(iter(ledger.positions.values())).mark
    other: list[Block] = []
    source = FileSource("src", [str(tmp_path / "a")], key=b"another key of sixteen bytes")
    source.run({}, lambda e: other.append(e) if isinstance(e, Block) else None, Event(), once=True)
    mine, theirs = decode_mark(mark), decode_mark(other[0].mark)
    assert mine is not None
    assert theirs is not None
    assert mine.head != theirs.head
    assert b"decision" not in mark


def test_an_unkeyed_source_cannot_be_made(tmp_path: Path) -> None:
    """A short key would make stored digests guessable."""
    with pytest.raises(ValueError, match="at least 16 bytes"):
        FileSource("src", [str(tmp_path)], key=b"short")


def test_a_damaged_mark_is_a_warning_and_the_file_is_read(tmp_path: Path) -> None:
    """Garbage in the store never stops a source."""
    (tmp_path / "a").write_bytes(events(1, 2))
    ledger = Ledger(tmp_path / "a").once()
    name, position = next(iter(ledger.positions.items()))
    ledger.positions[name] = replace(position, mark=b"\xc1garbage")
    ledger.once()
    assert ledger.closed == [name]
    assert any("damaged" in w for w in ledger.warnings)


def test_a_vanished_file_is_forgotten_after_its_time(tmp_path: Path) -> None:
    """Its position goes, whether it vanished while we watched or while we were down."""
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(events(1 + 9 * (name == "b"), 3 + 9 * (name == "b")))
    ledger = Ledger(tmp_path / "[ab]", forget_after_s=0.3).once()
    (tmp_path / "a").unlink()
    with ledger:
        (tmp_path / "b").unlink()
        ledger.until(lambda: len(ledger.closed) == 2)
    assert ledger.positions == {}


def test_a_vanished_file_is_remembered_until_then(tmp_path: Path) -> None:
    """A file that comes back in time goes on where it was."""
    log = tmp_path / "a"
    log.write_bytes(events(1, 3))
    with Ledger(log) as ledger:
        away = tmp_path / "elsewhere"
        away.mkdir()
        log.rename(away / "x")
        ledger.settle()
        (away / "x").rename(log)
        append(log, event(4))
        ledger.until(lambda: ledger.ids == [1, 2, 3, 4])
    assert ledger.closed == []


def test_many_files_need_few_descriptors(tmp_path: Path) -> None:
    """300 files are followed with 16 open ones at most."""
    for number in range(300):
        (tmp_path / f"{number}.log").write_bytes(event(number))
    before = len(list(Path("/dev/fd").iterdir()))
    with Ledger(tmp_path / "*.log", max_open_files=16) as ledger:
        assert len(list(Path("/dev/fd").iterdir())) - before <= 16 + 8
        for number in range(0, 300, 10):
            append(tmp_path / f"{number}.log", event(1000 + number))
        ledger.until(lambda: len(ledger.lines) == 330)
    assert len(set(ledger.ids)) == 330
