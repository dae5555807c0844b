"""The whole collector on one screen: what the sources said since the last turn, in one commit.

    decode → correlate → attribute → redact → spool

Linking joins in the middle with its own issue; the order is DESIGN.md's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import EVENT_SCHEMA
from audit_events.rows import rows_to_batch
from audit_events.schema import MAX_BLOCK_BYTES
from collector.commit import Commit, Counts, GapChange, SourceUpdate, StreamUpdate
from collector.contracts import (
    Block,
    Closed,
    DecoderPlugin,
    Emission,
    GapClosed,
    GapOpened,
    Idle,
    Lost,
    Reason,
    Reject,
    Source,
    StreamPosition,
    Warned,
)
from collector.correlate import NO_SANDBOX, Correlator
from collector.policy_store import LAST_NOTICE, Waiting
from collector.stream import Stream, Taken
from policies.redact.engine import Redactor
from policies.redact.types import Redacted

# A record that waits for more lines is given out when its stream was quiet for this long.
QUIET: Final = timedelta(seconds=1)
# Streams whose decoder holds nothing are forgotten beyond this many; a new one is made at need.
MAX_STREAMS: Final = 4_096


class OpenGaps(Protocol):
    """What the flow asks the spool about gaps."""

    def open_gap(self, source: str) -> tuple[int, int, str] | None:
        """(id, since in µs, reason) of the source's open gap."""
        ...


@dataclass(slots=True)
class SourceState:
    """One configured source at work."""

    source: Source
    plugin: DecoderPlugin
    redactor_state: Any
    positions: Mapping[str, StreamPosition]
    streams: dict[str, Stream] = field(default_factory=dict)
    state: str = "healthy"
    note: str = ""
    last_read_at: int | None = None
    last_event_ts: int | None = None
    behind_bytes: int = 0


@dataclass(slots=True)
class _Turn:
    """What one source said in one turn."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    streams: dict[str, StreamUpdate] = field(default_factory=dict)

    def add(self, taken: Taken) -> None:
        """Count and keep what a block gave."""
        if taken.batch.num_rows:
            self.batches.append(taken.batch)
        self.rejects += taken.rejects
        reasons: dict[Reason, int] = {}
        for reject in taken.rejects:
            reasons[reject.reason] = reasons.get(reject.reason, 0) + 1
        self.counts.add(taken.batch.num_rows, reasons, taken.filtered)


class Flow:
    """Turns emissions into commits; its only effects are on its own state."""

    def __init__(
        self,
        host: str,
        correlator: Correlator,
        redactor: Redactor,
        gaps: OpenGaps,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._host = host
        self._correlator = correlator
        self._redactor = redactor
        self._gaps = gaps
        self._now = now
        self._attribute: Callable[[pa.RecordBatch], pa.RecordBatch] = lambda batch: batch
        self.sources: dict[str, SourceState] = {}
        # For the closing line of a `--once`: (location, byte) of the first reject, and of lines
        # that were not finished yet.
        self.first_reject: tuple[str, int] | None = None
        self.unfinished: dict[tuple[str, str], int] = {}

    def attribute_with(self, attribute: Callable[[pa.RecordBatch], pa.RecordBatch]) -> None:
        """Who says which rule decided, from the next turn on; before secrets are masked."""
        self._attribute = attribute

    def redact_with(self, redactor: Redactor) -> None:
        """Other rules, or another key, from the next turn on; what is open in a stream stays so."""
        self._redactor = redactor

    def add(
        self,
        source: Source,
        plugin: DecoderPlugin,
        redactor_state: str,
        positions: Mapping[str, StreamPosition],
    ) -> None:
        """A source that will speak, from where it stood."""
        state = self._redactor.load_state(redactor_state)
        self.sources[source.name] = SourceState(source, plugin, state, positions)

    def commit_of(self, emissions: Sequence[Emission], *, flush_all: bool = False) -> Commit:
        """Everything the emissions say, ready to be committed at once.

        Records that wait for more lines are given out when their stream was quiet for `QUIET`, and
        all of them with `flush_all` (the end of a `--once`).
        """
        commit = Commit()
        turns = {name: _Turn() for name in self.sources}
        gap_rows: list[dict[str, Any]] = []
        for emission in coalesced(emissions):
            state, turn = self.sources[emission.source], turns[emission.source]
            match emission:
                case Block():
                    self._take(state, turn, emission)
                case Closed():
                    self._close(state, turn, emission.stream)
                case Idle():
                    state.behind_bytes = emission.behind_bytes
                    state.last_read_at = _micros(self._now())
                case GapOpened() | GapClosed() | Lost():
                    self._gap(state, emission, commit, gap_rows)
                case Warned():
                    state.note = emission.text
        for name, turn in turns.items():
            self._flush(self.sources[name], turn, everything=flush_all)
            self._finish(self.sources[name], turn, commit)
        commit.runs = self._correlator.changes()
        if gap_rows:
            commit.batches.append(self._redact_once(rows_to_batch(gap_rows)))
        return commit

    def notices(self, texts: Sequence[str]) -> Commit:
        """A commit that records what the collector itself has to say."""
        rows = [self._own_row("notice", text) for text in texts]
        return Commit(batches=[self._redact_once(rows_to_batch(rows))]) if rows else Commit()

    def policy_notices(self, told: Sequence[Waiting]) -> Commit:
        """A commit that records which policies came into force; never twice the same."""
        rows = [
            self._own_row("notice", notice.message)
            | {
                "ts": _moment(notice.at), "sandbox": notice.sandbox,
                "policy": notice.policy, "policy_digest": notice.digest,
            }
            for notice in told
        ]  # fmt: skip
        batch = self._redact_once(rows_to_batch(rows))
        return Commit(batches=[batch], meta={LAST_NOTICE: told[-1].id})

    def _take(self, state: SourceState, turn: _Turn, block: Block) -> None:
        stream = state.streams.pop(block.stream, None)
        if stream is None:
            stream = Stream(state.plugin, state.positions.get(block.stream))
        state.streams[block.stream] = stream
        taken = stream.take(block, self._now())
        turn.add(taken)
        if taken.rejects and self.first_reject is None:
            self.first_reject = (state.source.location, taken.rejects[0].origin)
        if stream.waits_at is None:
            self.unfinished.pop((block.source, block.stream), None)
        else:
            self.unfinished[block.source, block.stream] = stream.waits_at
        if stream.update is not None:
            turn.streams[block.stream] = stream.update
        state.last_read_at = _micros(self._now())

    def _close(self, state: SourceState, turn: _Turn, name: str) -> None:
        stream = state.streams.pop(name, None)
        if stream is not None:
            turn.add(stream.flush(self._now()))
        turn.streams[name] = StreamUpdate(state.source.name, name, 0, (), 0, b"", closed=True)

    def _flush(self, state: SourceState, turn: _Turn, *, everything: bool) -> None:
        quiet_since = self._now() - QUIET
        for name, stream in state.streams.items():
            if stream.read_at and (everything or stream.read_at <= quiet_since):
                turn.add(stream.flush(self._now()))
                if stream.update is not None:
                    turn.streams[name] = stream.update
        while len(state.streams) > MAX_STREAMS:
            oldest = next(iter(state.streams))
            if state.streams[oldest].read_at:
                break
            del state.streams[oldest]

    def _finish(self, state: SourceState, turn: _Turn, commit: Commit) -> None:
        name = state.source.name
        if turn.batches:
            batch = self._filled(state, _combined(turn.batches))
            batch = self._attribute(self._correlator.correlate(batch))
            commit.batches.append(self._redact(state, batch))
            state.last_event_ts = pc.max(batch.column("ts").cast(pa.int64())).as_py()
        if turn.rejects:
            commit.batches.append(self._redact_once(self._reject_rows(state, turn.rejects)))
        if turn.counts.seen:
            commit.counts[name] = turn.counts
        commit.streams += turn.streams.values()
        if turn.streams or turn.counts.seen:
            commit.sources.append(self.source_update(state))

    def source_update(self, state: SourceState) -> SourceUpdate:
        """What `status` shall show of a source now."""
        return SourceUpdate(
            state.source.name, state.source.kind, state.plugin.name, state.source.location,
            state.state, state.note, state.last_read_at, state.last_event_ts, state.behind_bytes,
            self._redactor.dump_state(state.redactor_state),
        )  # fmt: skip

    def _filled(self, state: SourceState, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Columns that the configuration knows, where the record itself did not say."""
        batch = _replace(batch, "source", _constant(state.source.name, batch.num_rows))
        for name, value in (
            ("format", state.plugin.name),
            ("host", self._host),
            ("sandbox", NO_SANDBOX),
        ):
            column = batch.column(name)
            if column.null_count:
                batch = _replace(batch, name, column.fill_null(value))
        return batch

    def _redact(self, state: SourceState, batch: pa.RecordBatch) -> Redacted:
        redacted, state.redactor_state = self._redactor.redact(batch, state.redactor_state)
        return redacted

    def _redact_once(self, batch: pa.RecordBatch) -> Redacted:
        return self._redactor.redact(batch, self._redactor.initial_state())[0]

    def _own_row(self, kind: str, text: str, source: str = "sandtrail") -> dict[str, Any]:
        return {
            "ts": self._now(), "kind": kind, "source": source, "format": "sandtrail",
            "source_position": 0, "host": self._host, "sandbox": NO_SANDBOX,
            "correlation_id": "-", "resource": "other", "message": text,
        }  # fmt: skip

    def _reject_rows(self, state: SourceState, rejects: Sequence[Reject]) -> pa.RecordBatch:
        """A reject is never only a number: a notice each, with reason and place, never content."""
        name = state.source.name
        return rows_to_batch(
            [
                {
                    **self._own_row("notice", f"a record of {name} could not be read", name),
                    "format": state.plugin.name, "source_position": reject.origin,
                    "error": str(reject.reason), "flags": "reject",
                }
                for reject in rejects
            ]
        )  # fmt: skip

    def _gap(
        self,
        state: SourceState,
        emission: GapOpened | GapClosed | Lost,
        commit: Commit,
        rows: list[dict[str, Any]],
    ) -> None:
        name = state.source.name
        match emission:
            case GapOpened():
                state.state, state.note = "unavailable", emission.reason
                since = _micros(emission.since)
                if self._gaps.open_gap(name) is None:
                    commit.gaps.append(GapChange(name, since, None, emission.reason))
                return
            case GapClosed():
                state.state, state.note = "healthy", ""
                found = self._opened(name, commit)
                if found is None:
                    return
                gap_id, since, reason = found
                until = max(_micros(emission.until), since)
                change = GapChange(name, since, until, reason, emission.count, gap_id)
            case Lost():
                change = GapChange(
                    name, _micros(emission.since), _micros(emission.until), emission.reason,
                    emission.count,
                )  # fmt: skip
        commit.gaps.append(change)
        rows.append(self._gap_row(change))

    def _opened(self, name: str, commit: Commit) -> tuple[int | None, int, str] | None:
        """The source's open gap: of this very turn, taken back, or of an earlier one."""
        for change in commit.gaps:
            if change.source == name and change.until is None:
                commit.gaps.remove(change)
                return None, change.since, change.reason
        return self._gaps.open_gap(name)

    def _gap_row(self, gap: GapChange) -> dict[str, Any]:
        assert gap.until is not None  # noqa: S101 - a row is made of whole gaps only
        return {
            **self._own_row("gap", gap.reason, gap.source),
            "ts": _moment(gap.since), "until": _moment(gap.until), "count": gap.count,
        }  # fmt: skip


def coalesced(emissions: Sequence[Emission]) -> Iterator[Emission]:
    """The same emissions with neighbouring blocks of one stream joined.

    A source that follows a log line by line gives a block a line and rests after each; a decoder's
    cost is per block. Of the rests only each source's last one says anything.
    """
    run: list[Block] = []
    rests: dict[str, Idle] = {}
    for emission in emissions:
        if isinstance(emission, Idle):
            rests[emission.source] = emission
            continue
        if run and not (isinstance(emission, Block) and _continues(run, emission)):
            yield _one(run)
            run = []
        if isinstance(emission, Block):
            run.append(emission)
        else:
            yield emission
    if run:
        yield _one(run)
    yield from rests.values()


def _continues(run: list[Block], block: Block) -> bool:
    last = run[-1]
    return (
        (block.source, block.stream, block.start) == (last.source, last.stream, last.end)
        and not (last.tail or last.final or last.rejects or block.tail or block.rejects)
        and bool(last.data and block.data)
        and block.end - run[0].start <= MAX_BLOCK_BYTES
    )


def _one(run: list[Block]) -> Block:
    last = run[-1]
    if len(run) == 1:
        return last
    return replace(last, data=b"".join(block.data for block in run), start=run[0].start)


def _combined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    batch: pa.RecordBatch = (
        pa.Table.from_batches(batches, EVENT_SCHEMA).combine_chunks().to_batches()[0]
    )
    return batch


def _constant(value: str, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(value, pa.string()), rows)


def _replace(batch: pa.RecordBatch, name: str, array: pa.Array) -> pa.RecordBatch:
    return batch.set_column(EVENT_SCHEMA.get_field_index(name), EVENT_SCHEMA.field(name), array)


def _micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
