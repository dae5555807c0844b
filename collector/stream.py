"""One stream's way through its decoder: guarded, without repeats, with the position to commit."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import EVENT_SCHEMA
from audit_events.rows import EMPTY_BATCH
from collector.commit import StreamUpdate
from collector.contracts import (
    Block,
    Decoded,
    Decoder,
    DecoderPlugin,
    Filtered,
    Peer,
    Reason,
    Reject,
    StreamPosition,
    Tally,
)
from collector.correlate import NO_SANDBOX


@dataclass(frozen=True, slots=True)
class Taken:
    """What a block added: rows, rejects, records left out on purpose."""

    batch: pa.RecordBatch
    rejects: tuple[Reject, ...]
    filtered: dict[Filtered, int]


NOTHING = Taken(EMPTY_BATCH, (), {})


class Stream:
    """A decoder for one stream and where it stands."""

    def __init__(self, plugin: DecoderPlugin, position: StreamPosition | None) -> None:
        self._plugin = plugin
        self._decoder: Decoder = plugin.make()
        # Starts of records that an earlier start stored already; they are read again and left out.
        self._stored = set(position.done) if position else set()
        self.update: StreamUpdate | None = None
        self.read_at: datetime | None = None
        self._peer: Peer | None = None
        # Start of a last line that has no newline yet and was not taken.
        self.waits_at: int | None = None

    def take(self, block: Block, now: datetime) -> Taken:
        """Decode a block; `update` then holds the position to commit with its rows."""
        decoded = self._decode(block) if block.data else self._nothing_new(block)
        self.waits_at = None
        if block.tail and decoded.resume <= block.start:
            self.waits_at = block.start
            return NOTHING
        self.read_at = now
        self._peer = block.peer
        taken = self._without_stored(decoded, block.rejects)
        # Lines that never reached the decoder are out already, however far back it must go.
        early = {r.origin for r in block.rejects if r.origin >= decoded.resume}
        done = tuple(sorted({*decoded.done, *early})) if early else decoded.done
        self.update = StreamUpdate(
            block.source, block.stream, decoded.resume, done, block.end, block.mark
        )
        return taken

    def _nothing_new(self, block: Block) -> Decoded:
        """A block without bytes moves the position, unless the decoder still needs what was."""
        last = self.update
        if last is not None and last.resume < last.read_to:
            return Decoded(EMPTY_BATCH, (), Tally(), last.resume, last.done)
        return Decoded(EMPTY_BATCH, (), Tally(), block.end)

    def flush(self, now: datetime) -> Taken:
        """Give out what the decoder holds back for more lines."""
        decoded = self._decoder.flush(now)
        self.read_at = None
        if not decoded.tally.seen or self.update is None:
            return NOTHING
        last = self.update
        self.update = StreamUpdate(
            last.source, last.stream, decoded.resume, decoded.done, last.read_to, last.mark
        )
        return self._without_stored(decoded, ())

    def _decode(self, block: Block) -> Decoded:
        try:
            return self._decoder.decode(block)
        except Exception:  # noqa: BLE001 - a decoder's bug must not stop the record: line by line
            return self._decode_lines(block)

    def _decode_lines(self, block: Block) -> Decoded:
        """After a decoder's bug: each line alone; the ones that raise are rejects."""
        self._decoder = self._plugin.make()
        parts: list[Decoded] = []
        for line in _lines(block):
            try:
                parts.append(self._decoder.decode(line))
            except Exception:  # noqa: BLE001 - see above; the reject counts it
                self._decoder = self._plugin.make()
                reject = Reject(line.start, Reason.DECODER_ERROR)
                parts.append(Decoded(EMPTY_BATCH, (reject,), Tally(1), line.end))
        return _joined(parts, block)

    def _without_stored(self, decoded: Decoded, early: tuple[Reject, ...]) -> Taken:
        filtered = dict(decoded.tally.filtered)
        batch, foreign = _vouched(decoded.batch, self._peer)
        rejects = (*early, *decoded.rejects, *foreign)
        if not self._stored:
            return Taken(batch, rejects, filtered)
        positions = batch.column("source_position")
        again = pc.is_in(positions, pa.array(sorted(self._stored), pa.int64()))
        rejects = tuple(r for r in rejects if r.origin not in self._stored)
        batch = batch.filter(pc.invert(again))
        self._stored = {start for start in self._stored if start >= decoded.resume}
        return Taken(batch, rejects, filtered)


def _vouched(batch: pa.RecordBatch, peer: Peer | None) -> tuple[pa.RecordBatch, tuple[Reject, ...]]:
    """The rows that the peer may tell, with its uid; the others as rejects."""
    if peer is None or not batch.num_rows:
        return batch, ()
    foreign: tuple[Reject, ...] = ()
    if peer.sandboxes is not None:
        claimed = batch.column("sandbox")
        allowed = pa.array(["", NO_SANDBOX, *sorted(peer.sandboxes)], pa.string())
        ours = pc.or_(pc.is_null(claimed), pc.is_in(claimed, allowed))
        refused = batch.column("source_position").filter(pc.invert(ours)).to_pylist()
        foreign = tuple(Reject(origin, Reason.FOREIGN_SANDBOX) for origin in refused)
        batch = batch.filter(ours) if foreign else batch
    at = EVENT_SCHEMA.get_field_index("uid")
    uid = pa.repeat(pa.scalar(peer.uid, pa.int64()), batch.num_rows)
    return batch.set_column(at, EVENT_SCHEMA.field("uid"), uid), foreign


def _lines(block: Block) -> Iterator[Block]:
    at = block.start
    for line in block.data.split(b"\n"):
        end = min(at + len(line) + 1, block.end)
        if end > at:
            yield Block(block.source, block.stream, line + b"\n", at, end)
        at = end


def _joined(parts: list[Decoded], block: Block) -> Decoded:
    table = pa.Table.from_batches([part.batch for part in parts], EVENT_SCHEMA)
    batches = table.combine_chunks().to_batches()
    filtered: dict[Filtered, int] = {}
    for part in parts:
        for why, n in part.tally.filtered.items():
            filtered[why] = filtered.get(why, 0) + n
    last = parts[-1] if parts else Decoded(EMPTY_BATCH, (), Tally(), block.end)
    return Decoded(
        batches[0] if batches else EMPTY_BATCH,
        tuple(reject for part in parts for reject in part.rejects),
        Tally(sum(part.tally.seen for part in parts), filtered),
        last.resume,
        last.done,
    )
