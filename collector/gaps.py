"""The gap table: every stretch in which a source could not tell, whoever noticed it.

A gap that is whole is also an event: the flow makes one when a source reports it, a decoder when
the log itself says that it lost something. The table's row names that event's seq.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from collector.commit import GapChange
from collector.contracts import (
    Closed,
    Emission,
    GapClosed,
    GapOpened,
    Lost,
    Source,
    StreamPosition,
    Warned,
)
from collector.turn import SourceState

_GAP: Final = pa.scalar("gap", pa.string())
_COLUMNS: Final = ("source", "ts", "until", "message", "count", "seq")
UNSAID: Final = "the source reported a loss"


def put_gaps(
    connection: sqlite3.Connection, changes: Sequence[GapChange], batch: pa.RecordBatch | None
) -> None:
    """Open gaps of `changes`, close those they name, and enter every gap event of the batch."""
    for change in changes:
        if change.until is None:
            _insert(connection, change.source, change.since, None, change.reason, None, None)
    closing = {(c.source, c.since): c.id for c in changes if c.until is not None and c.id}
    for source, since, until, reason, count, seq in _gap_events(batch):
        gap_id = closing.pop((source, since), None)
        if gap_id is None:
            _insert(connection, source, since, until or since, reason or UNSAID, count, seq)
        else:
            connection.execute(
                "UPDATE gaps SET to_ts = ?, count = ?, seq = ? WHERE id = ?",
                (until, count, seq, gap_id),
            )


def _insert(connection: sqlite3.Connection, *values: Any) -> None:
    connection.execute(
        "INSERT INTO gaps(source, from_ts, to_ts, reason, count, seq) VALUES(?, ?, ?, ?, ?, ?)",
        values,
    )


def _gap_events(batch: pa.RecordBatch | None) -> Iterator[tuple[Any, ...]]:
    """(source, since, until, reason, count, seq) of the gap rows of a stored batch."""
    if batch is None or "gap" not in batch.column("kind").dictionary.to_pylist():
        return
    rows = batch.filter(pc.equal(batch.column("kind").cast(pa.string()), _GAP)).select(_COLUMNS)
    columns = [
        (rows[name].cast(pa.int64()) if name in ("ts", "until") else rows[name]).to_pylist()
        for name in _COLUMNS
    ]
    yield from zip(*columns, strict=True)


def left_open(
    source: Source, positions: Mapping[str, StreamPosition], since: datetime, now: datetime
) -> list[Emission]:
    """The gap, and the end of the streams, that a stop left behind where nothing can be re-read."""
    lost = [name for name, at in positions.items() if not at.mark and not source.rereadable]
    if not lost:
        return []
    return [
        *(Closed(source.name, name) for name in lost),
        Lost(source.name, since, now, "restart"),
    ]


def news(emissions: Iterable[Emission], states: Mapping[str, SourceState]) -> Iterator[str]:
    """A sentence for each source that can no longer be read, or can again, or that warns, as of
    these emissions; what was said last is no news: one that is tried in vain once more, say."""
    notes = {name: state.note for name, state in states.items()}
    for said in emissions:
        if isinstance(said, GapOpened) and notes[said.source] != said.reason:
            notes[said.source] = said.reason
            yield f"source {said.source} cannot be read: {said.reason}"
        elif isinstance(said, Warned) and notes[said.source] != said.text:
            notes[said.source] = said.text
            yield f"source {said.source}: {said.text}"
        elif isinstance(said, GapClosed) and states[said.source].state != "healthy":
            yield f"source {said.source} is read again"
