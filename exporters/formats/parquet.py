"""Parquet: the event schema as it is, for any tool that reads columns."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from audit_events.arrow import FILE_SCHEMA
from audit_events.schema import BY_NAME
from exporters.contracts import EVENT_ID, Format

ROW_GROUP_ROWS: Final = 128 * 1024


class _Sink:
    """A file that only remembers what was written since the last look."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._position = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        return self._position

    def flush(self) -> None:
        return None

    def close(self) -> None:
        self.closed = True

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


class Encoder:
    """A file of row groups; the footer comes with `end`."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        self._schema = pa.schema([_field(name) for name in self._columns])
        self._sink = _Sink()
        self._writer = pq.ParquetWriter(
            self._sink, self._schema, compression="zstd", write_statistics=True
        )

    def start(self) -> bytes:
        """The magic bytes."""
        return self._sink.take()

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """One row group; times are microseconds."""
        arrays = [pa.array([row.get(f.name) for row in rows], f.type) for f in self._schema]
        return self._group(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def batch(self, batch: pa.RecordBatch) -> bytes:
        """One row group, or more for a large batch."""
        arrays = [_column(batch, name).cast(_field(name).type) for name in self._columns]
        return self._group(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def end(self) -> bytes:
        """The footer."""
        self._writer.close()
        return self._sink.take()

    def _group(self, batch: pa.RecordBatch) -> bytes:
        if batch.num_rows:
            self._writer.write_batch(batch, row_group_size=ROW_GROUP_ROWS)
        return self._sink.take()


def _field(name: str) -> pa.Field:
    return pa.field(
        name, pa.string() if name == EVENT_ID else FILE_SCHEMA.field(BY_NAME[name].name).type
    )


def _column(batch: pa.RecordBatch, name: str) -> pa.Array:
    if name != EVENT_ID:
        return batch.column(name)
    seq = batch.column("seq").cast(pa.string())
    return pc.binary_join_element_wise(batch.column("store").cast(pa.string()), seq, "-")


format = Format("parquet", text=False, make=Encoder)  # noqa: A001
