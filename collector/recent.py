"""The rows stored last, wherever they lie by now, for a start that must know what was told."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from audit_events.arrow import EVENT_SCHEMA
from audit_events.schema import COLUMN_NAMES
from collector.contracts import DecoderPlugin, Source
from collector.link import LINK_WINDOW_US, MAX_RECENT_ROWS, MAX_RECENT_S, Linker
from collector.link_index import COLUMNS
from collector.recovery import Opened
from collector.spool import decode_batch

_WANTED: Final = sorted({*COLUMNS, "seq", "format", "source"}, key=COLUMN_NAMES.index)
_EVER: Final = -(1 << 63)
_SCHEMA: Final = pa.schema([EVENT_SCHEMA.field(name) for name in _WANTED])


def linker_of(
    opened: Opened,
    sources: Iterable[tuple[Source, DecoderPlugin]],
    *,
    patient: bool,
    window_us: int = LINK_WINDOW_US,
) -> Linker:
    """A linker for these sources that knows what earlier starts stored of late."""
    linker = Linker(patient=patient, window_us=window_us)
    for source, plugin in sources:
        linker.knows(source.name, plugin.name)
    if linker.pairs:
        # A collector that was not stopped would have forgotten what came in before.
        within_us = None if patient else int(MAX_RECENT_S * 1_000_000)
        linker.remember(recent_rows(opened, MAX_RECENT_ROWS, within_us))
    return linker


def recent_rows(
    opened: Opened, rows: int, within_us: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The newest `rows` rows in the order of seq, with the columns that linking looks at.

    With `within_us` only those that were committed so shortly before the newest one.
    """
    connection = opened.spool.connection
    after, since = opened.spool.last_seq - rows, _since(connection, within_us)
    (sealed,) = connection.execute("SELECT value FROM meta WHERE key = 'sealed_upto'").fetchone()
    files = connection.execute(
        "SELECT path FROM files WHERE max_seq > ? AND max_observed >= ? ORDER BY min_seq",
        (after, since),
    ).fetchall()
    parts = [part for (path,) in files if (part := _file(opened, path, after, since)) is not None]
    blobs = connection.execute(
        "SELECT data FROM batches WHERE first_seq > ? AND last_seq > ? AND observed_at >= ?"
        " ORDER BY first_seq",
        (sealed, after, since),
    )
    parts += [
        _plain(pa.Table.from_batches([decode_batch(data)]), after, since) for (data,) in blobs
    ]
    if not parts:
        return
    whole = pa.concat_tables(parts)
    # Files are sorted by time; what is in the spool has its order already.
    seqs = whole["seq"].to_numpy()
    yield from (whole if (seqs[1:] > seqs[:-1]).all() else whole.sort_by("seq")).to_batches()


def _since(connection: sqlite3.Connection, within_us: int | None) -> int:
    """The first commit time (µs) to go back to; that of the newest row by seq decides."""
    if within_us is None:
        return _EVER
    newest = connection.execute(
        "SELECT observed_at FROM (SELECT last_seq, observed_at FROM batches"
        " UNION ALL SELECT max_seq, max_observed FROM files) ORDER BY last_seq DESC LIMIT 1"
    ).fetchone()
    return int(newest[0]) - within_us if newest else _EVER


def _file(opened: Opened, path: str, after: int, since: int) -> pa.Table | None:
    """None for a damaged file: what is new is collected all the same."""
    try:
        with pq.ParquetFile(opened.spool.paths.events / path) as file:
            return _plain(file.read([*_WANTED, "observed_at"]), after, since)
    except (OSError, pa.ArrowException):
        return None


def _plain(table: pa.Table, after: int, since: int) -> pa.Table:
    """Of what is wanted only: plain text takes long to make."""
    wanted = pc.and_(
        pc.greater(table["seq"], after),
        pc.greater_equal(table["observed_at"].cast(pa.int64()), since),
    )
    taken = table if pc.all(wanted).as_py() else table.filter(wanted)
    return taken.select(_WANTED).cast(_SCHEMA)
