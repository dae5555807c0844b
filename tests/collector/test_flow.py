"""The flow: neighbours joined, repeats left out, bugs contained, every record accounted for."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collector.decoders
from audit_events import plugins
from audit_events.rows import EMPTY_BATCH, rows_to_batch
from collector.blocks import coalesced
from collector.commit import Commit
from collector.contracts import (
    Block,
    Decoded,
    DecoderPlugin,
    Emission,
    GapClosed,
    GapOpened,
    Idle,
    Reason,
    Reject,
    StreamPosition,
    Tally,
)
from collector.correlate import Correlator
from collector.flow import Flow
from policies.redact import default_redactor
from policies.redact.fingerprint import FingerprintKey

NOW = datetime(2026, 7, 28, 9, tzinfo=UTC)
REDACTOR = default_redactor(FingerprintKey(b"k" * 32))
NATIVE = plugins.load(collector.decoders, "decoder", "native")


class Silent:
    """A source that never speaks by itself."""

    name, kind, location, rereadable = "s", "file", "log", True

    def run(self, positions: Any, emit: Any, stop: Event, *, once: bool) -> None:
        """Nothing."""

    def consumed(self, stream: str, resume: int, read_to: int) -> None:
        """Nothing."""


class NoGaps:
    """A spool without an open gap."""

    def open_gap(self, source: str) -> None:
        """None is open."""


def flow(plugin: Any = NATIVE, positions: dict[str, StreamPosition] | None = None) -> Flow:
    """A flow over one source."""
    made = Flow("host", Correlator(), REDACTOR, NoGaps(), now=lambda: NOW)
    made.add(Silent(), plugin, "{}", positions or {})
    return made


def line(n: int) -> bytes:
    """An event whose pid is n."""
    return b'{"ts":"2026-07-28T09:00:00Z","decision":"deny","path":"/f","pid":%d}\n' % n


def block(data: bytes, start: int, **more: Any) -> Block:
    """A block of stream x."""
    return Block("s", "x", data, start, start + len(data), b"mark", **more)


def pids(commit: Commit) -> list[int]:
    """What the commit stores, in order."""
    return [
        row["pid"]
        for batch in commit.batches
        for row in batch.to_pylist()
        if row["kind"] == "decision"
    ]


def test_a_commit_balances_and_knows_its_position() -> None:
    """seen = stored + rejected + filtered; the position is the end of what was read."""
    data = line(1) + b"junk\n\n" + line(2)
    commit = flow().commit_of([block(data, 100)])
    counts = commit.counts["s"]
    assert counts.seen == 4
    assert (counts.stored, sum(counts.rejected.values()), sum(counts.filtered.values())) == (
        2,
        1,
        1,
    )
    (update,) = commit.streams
    assert (update.resume, update.read_to, update.mark) == (100 + len(data),) * 2 + (b"mark",)


def test_a_reject_is_a_notice_with_its_place_and_no_content() -> None:
    """What could not be read is findable, and nothing of it is stored."""
    commit = flow().commit_of([block(line(1) + b"hunter2 is junk\n", 0)])
    rows = [row for batch in commit.batches for row in batch.to_pylist()]
    (notice,) = [row for row in rows if row["kind"] == "notice"]
    assert notice["flags"] == "reject"
    assert notice["source_position"] == len(line(1))
    assert "hunter2" not in str(notice)


def test_what_an_earlier_start_stored_is_left_out() -> None:
    """Records named in `done` are read again and stored once; so are lines that were too long."""
    second = len(line(1))
    known = {"x": StreamPosition("x", 0, (second, 999), second * 2, b"mark")}
    again = block(line(1) + line(2) + line(3), 0, rejects=(Reject(999, Reason.TOO_LONG),))
    commit = flow(positions=known).commit_of([again])
    assert pids(commit) == [1, 3]
    assert commit.counts["s"].rejected == {}


def test_an_unfinished_line_moves_nothing() -> None:
    """Half a record is no record, and its position stays at its start."""
    made = flow()
    commit = made.commit_of([block(line(1), 0), block(line(2)[:30], len(line(1)), tail=True)])
    assert pids(commit) == [1]
    assert commit.streams[0].read_to == len(line(1))
    assert made.unfinished == {("s", "x"): len(line(1))}


def test_a_closed_object_without_newline_is_a_record() -> None:
    """The last line of a file that nobody ended is not lost."""
    commit = flow().commit_of([block(line(1).rstrip(), 0, tail=True)])
    assert pids(commit) == [1]


class Stumbling:
    """A decoder with a bug: it raises at every block that holds the word."""

    def decode(self, block: Block) -> Decoded:
        """Raise, or one event a line."""
        if b"boom" in block.data:
            raise RuntimeError("a bug, and the record with it: boom")
        rows = [
            {"ts": NOW, "pid": n, "source_position": block.start}
            for n, _ in enumerate(block.data.splitlines())
        ]
        return Decoded(rows_to_batch(rows), (), Tally(len(rows)), block.end)

    def flush(self, now: datetime) -> Decoded:
        """Nothing is held back."""
        return Decoded(EMPTY_BATCH, (), Tally(), 0)


def test_a_bug_in_a_decoder_costs_the_lines_that_meet_it() -> None:
    """The others are stored; the bad ones are counted rejects; nothing of them is said."""
    plugin = DecoderPlugin("stumbling", Stumbling, lambda sample: False)
    commit = flow(plugin).commit_of([block(b"a\nboom\nc\n", 0)])
    assert commit.counts["s"].stored == 2
    assert commit.counts["s"].rejected == {Reason.DECODER_ERROR: 1}
    assert "boom" not in str([batch.to_pylist() for batch in commit.batches])


def test_a_gap_that_opens_and_closes_in_one_turn_is_one_whole_gap() -> None:
    """No gap stays open because its end came too soon."""
    later = NOW + timedelta(seconds=3)
    commit = flow().commit_of([GapOpened("s", NOW, "down"), GapClosed("s", later, 7)])
    (gap,) = commit.gaps
    assert gap.until is not None
    assert (gap.reason, gap.count) == ("down", 7)
    (event,) = [row for batch in commit.batches for row in batch.to_pylist()]
    assert (event["kind"], event["until"], event["count"]) == ("gap", later, 7)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=12), st.data())
def test_joined_blocks_say_what_single_ones_say(sizes: Sequence[int], data: Any) -> None:
    """However the source cut and whatever rests it announced: the same bytes in the same order."""
    emissions: list[Emission] = []
    at, n = 0, 0
    for size in sizes:
        text = b"".join(line(n + i) for i in range(size))
        n += size
        made = block(text, at)
        if data.draw(st.booleans()):
            made = replace(made, stream=data.draw(st.sampled_from(["x", "y"])))
        emissions.append(made)
        at = made.end + data.draw(st.sampled_from([0, 0, 0, 2]))
        if data.draw(st.booleans()):
            emissions.append(Idle("s"))
    joined = [e for e in coalesced(emissions) if isinstance(e, Block)]
    singles = [e for e in emissions if isinstance(e, Block)]
    for stream in ("x", "y"):
        one = b"".join(b.data for b in joined if b.stream == stream)
        assert one == b"".join(b.data for b in singles if b.stream == stream)
    assert all(b.end - b.start == len(b.data) for b in joined)
    assert pids(flow().commit_of(emissions)) == list(range(n))


@pytest.mark.parametrize("rows", [1, 3])
def test_a_quiet_stream_gives_out_what_waits(rows: int) -> None:
    """A block of key=value lines without its blank line is given out at the end of a --once."""
    text = b"".join(b"ts=2026-07-28T09:00:00Z\ndecision=deny\npid=%d\n\n" % n for n in range(rows))
    commit = flow().commit_of([block(text[:-1], 0)], flush_all=True)
    assert pids(commit) == list(range(rows))
