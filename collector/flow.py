"""The whole collector on one screen: what the sources said since the last turn, in one commit.

    decode → link → correlate → attribute → redact → spool

What the operating system tells waits a moment for the layer that tells the same; its position
waits with it. Layers come first, so that their rows can be inherited from.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import EVENT_SCHEMA
from audit_events.rows import rows_to_batch
from collector.blocks import coalesced
from collector.commit import Commit, GapChange, SourceUpdate, StreamUpdate
from collector.contracts import (
    Block,
    Closed,
    DecoderPlugin,
    Emission,
    GapClosed,
    GapOpened,
    Idle,
    Lost,
    Reject,
    Source,
    StreamPosition,
    Warned,
)
from collector.correlate import NO_SANDBOX, Correlator
from collector.link import Heir, Linker, inherit, links_of
from collector.link_index import repeats_of
from collector.policy_store import LAST_NOTICE, Waiting
from collector.stream import Stream
from collector.turn import SourceState, Turn
from policies.redact.engine import Redactor
from policies.redact.types import Redacted

# A record that waits for more lines is given out when its stream was quiet for this long.
QUIET: Final = timedelta(seconds=1)
# Rows of one source that wait for a layer's; beyond this the oldest go on alone.
MAX_HELD_ROWS: Final = 1 << 15
# Streams whose decoder holds nothing are forgotten beyond this many; a new one is made at need.
MAX_STREAMS: Final = 4_096


class OpenGaps(Protocol):
    """What the flow asks the spool about gaps."""

    def open_gap(self, source: str) -> tuple[int, int, str] | None:
        """(id, since in µs, reason) of the source's open gap."""
        ...


class Flow:
    """Turns emissions into commits; its only effects are on its own state."""

    def __init__(
        self,
        host: str,
        correlator: Correlator,
        redactor: Redactor,
        gaps: OpenGaps,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        linker: Linker | None = None,
    ) -> None:
        self._host = host
        self._linker = linker or Linker()
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
        self._linker.knows(source.name, plugin.name)
        state = self._redactor.load_state(redactor_state)
        self.sources[source.name] = SourceState(source, plugin, state, positions)

    def commit_of(self, emissions: Sequence[Emission], *, flush_all: bool = False) -> Commit:
        """Everything the emissions say, ready to be committed at once.

        Records that wait for more lines are given out when their stream was quiet for `QUIET`, and
        all of them with `flush_all` (the end of a `--once`).
        """
        commit = Commit()
        turns = {name: Turn() for name in self.sources}
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
            commit.read += turn.streams.values()
        for name, turn in sorted(turns.items(), key=lambda item: self._linker.is_system(item[0])):
            for ready in self._ready(self.sources[name], turn, everything=flush_all):
                self._finish(self.sources[name], ready, commit)
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

    def _take(self, state: SourceState, turn: Turn, block: Block) -> None:
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

    def _close(self, state: SourceState, turn: Turn, name: str) -> None:
        stream = state.streams.pop(name, None)
        if stream is not None:
            turn.add(stream.flush(self._now()))
        turn.streams[name] = StreamUpdate(state.source.name, name, 0, (), 0, b"", closed=True)

    def _flush(self, state: SourceState, turn: Turn, *, everything: bool) -> None:
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

    def stored(self, first: int) -> None:
        """The last commit is in, its first row under this seq."""
        self._linker.stored(first)

    def _ready(self, state: SourceState, turn: Turn, *, everything: bool) -> list[Turn]:
        """The turns of a source that wait no longer, in order; their positions go with them."""
        name = state.source.name
        if turn.batches and self._linker.is_system(name) and self._linker.pairs:
            turn.batches = [self._filled(state, _combined(turn.batches))]
            turn.told = self._linker.tell(name, self._redact_once(turn.batches[0]))
        if not self._linker.waits_for_layers(name):
            return [turn]
        turn.held_at = self._linker.now()
        state.held.append(turn)
        # What cannot be read again does not wait: a stop would lose it.
        at_once = everything or not state.source.rereadable
        ready: list[Turn] = []
        rows = sum(held.rows for held in state.held)
        while state.held:
            first = state.held[0]
            done = not first.told or self._linker.waited(first.held_at)
            if not (at_once or done or rows > MAX_HELD_ROWS):
                break
            rows -= first.rows
            ready.append(state.held.popleft())
        return ready

    def _linked(
        self, state: SourceState, turn: Turn, batch: pa.RecordBatch, commit: Commit
    ) -> pa.RecordBatch:
        """A system's rows with what they inherit; the links go into the commit."""
        name, offset = state.source.name, commit.rows
        found = self._linker.settle(turn.told)
        heirs = [Heir(row, place, "report") for row, place in found.items()]
        batch = inherit(batch, heirs)
        if repeats_of(batch):
            again = self._linker.repeats(name, self._redact_once(batch))
            more = [Heir(row, place, "repeat") for row, place in again.items()]
            batch, heirs = inherit(batch, more), heirs + more
        commit.links += links_of(heirs, offset)
        return batch

    def _finish(self, state: SourceState, turn: Turn, commit: Commit) -> None:
        name, offset = state.source.name, commit.rows
        if turn.batches:
            batch = self._filled(state, _combined(turn.batches))
            system = self._linker.is_system(name)
            if system:
                batch = self._linked(state, turn, batch, commit)
            batch = self._attribute(self._correlator.correlate(batch))
            redacted = self._redact(state, batch)
            commit.batches.append(redacted)
            if system:
                self._linker.system(name, redacted, offset, turn.told)
            else:
                commit.links += self._linker.layer(redacted, offset)
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
