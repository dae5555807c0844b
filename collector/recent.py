"""The rows stored last, wherever they lie by now, for a start that must know what was told."""

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from audit_events.arrow import EVENT_SCHEMA
from audit_events.schema import COLUMN_NAMES
from collector.contracts import DecoderPlugin, Source
from collector.link import LINK_WINDOW_US, MAX_RECENT_ROWS, Linker
from collector.link_index import COLUMNS
from collector.recovery import Opened
from collector.spool import decode_batch

_WANTED: Final = sorted({*COLUMNS, "seq", "format", "source"}, key=COLUMN_NAMES.index)
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
        linker.remember(recent_rows(opened, MAX_RECENT_ROWS))
    return linker


def recent_rows(opened: Opened, rows: int) -> Iterator[pa.RecordBatch]:
    """The newest `rows` rows in the order of seq, with the columns that linking looks at."""
    connection = opened.spool.connection
    after = opened.spool.last_seq - rows
    (sealed,) = connection.execute("SELECT value FROM meta WHERE key = 'sealed_upto'").fetchone()
    files = connection.execute(
        "SELECT path FROM files WHERE max_seq > ? ORDER BY min_seq", (after,)
    ).fetchall()
    parts = [part for (path,) in files if (part := _file(opened, path)) is not None]
    blobs = connection.execute(
        "SELECT data FROM batches WHERE first_seq > ? AND last_seq > ? ORDER BY first_seq",
        (sealed, after),
    )
    parts += [_plain(pa.Table.from_batches([decode_batch(data)])) for (data,) in blobs]
    if not parts:
        return
    whole = pa.concat_tables(parts)
    whole = whole.filter(pc.greater(whole["seq"], after)).sort_by("seq")
    yield from whole.combine_chunks().to_batches()


def _file(opened: Opened, path: str) -> pa.Table | None:
    """None for a damaged file: what is new is collected all the same."""
    try:
        with pq.ParquetFile(opened.spool.paths.events / path) as file:
            return _plain(file.read(_WANTED))
    except (OSError, pa.ArrowException):
        return None


def _plain(table: pa.Table) -> pa.Table:
    return table.select(_WANTED).cast(_SCHEMA)
