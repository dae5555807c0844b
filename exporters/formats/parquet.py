"""Parquet: the event schema as it is, for any tool that reads columns."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from exporters.contracts import Format
from exporters.formats._arrow import Sink, column, field

ROW_GROUP_ROWS: Final = 128 * 1024


class Encoder:
    """A file of row groups; the footer comes with `end`."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)
        self._schema = pa.schema([field(name) for name in self._columns])
        self._sink = Sink()
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
        arrays = [column(batch, name).cast(field(name).type) for name in self._columns]
        return self._group(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def end(self) -> bytes:
        """The footer."""
        self._writer.close()
        return self._sink.take()

    def _group(self, batch: pa.RecordBatch) -> bytes:
        if batch.num_rows:
            self._writer.write_batch(batch, row_group_size=ROW_GROUP_ROWS)
        return self._sink.take()


format = Format("parquet", text=False, make=Encoder)  # noqa: A001
