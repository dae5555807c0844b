"""The bytes of a segment: one value whatever writer, page layout or chunking stored the rows.

Layout, all integers little-endian: magic, u64 rows, then for each column in schema order
  u16 length + name · u16 length + logical type · validity bits (bit i of byte i//8, 1 = value,
  padding 0) · values. Text values are (rows + 1) int32 offsets from 0, then the UTF-8 bytes; a null
holds no bytes. Numbers are int32 or int64, a null is 0; a timestamp is microseconds since 1970 UTC.
A column that is all null ends after its validity bits; one of a later schema version is left out
altogether, so that an old segment keeps its digest.
"""

import hashlib
import struct
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import arrow_type
from audit_events.schema import COLUMNS, Column

MAGIC: Final = b"sandtrail-canonical-1\n"
_TYPE_NAMES: Final = {
    "string": b"utf8", "int32": b"int32", "int64": b"int64", "timestamp": b"timestamp[us,UTC]",
}  # fmt: skip


def canonical_chunks(
    rows: pa.Table | pa.RecordBatch, columns: Sequence[Column] = COLUMNS
) -> Iterator[bytes | memoryview]:
    """The canonical bytes of event rows, in pieces; the caller orders the rows (by seq)."""
    yield MAGIC + struct.pack("<Q", rows.num_rows)
    names = set(rows.schema.names)
    for column in columns:
        array = _flat(rows.column(column.name), column) if column.name in names else None
        if array is None or array.null_count == len(array):
            if column.since > 1:
                continue
            array = pa.nulls(rows.num_rows, arrow_type(column)) if array is None else array
        yield _header(column)
        yield from _values(array, column)


def canonical_bytes(rows: pa.Table | pa.RecordBatch) -> bytes:
    """All of `canonical_chunks` in one piece; for tests and small segments."""
    return b"".join(bytes(chunk) for chunk in canonical_chunks(rows))


def segment_digest(rows: pa.Table | pa.RecordBatch) -> str:
    """SHA-256 over the canonical bytes, 64 hex digits."""
    digest = hashlib.sha256()
    for chunk in canonical_chunks(rows):
        digest.update(chunk)
    return digest.hexdigest()


def _header(column: Column) -> bytes:
    name, kind = column.name.encode(), _TYPE_NAMES[column.type]
    return struct.pack("<H", len(name)) + name + struct.pack("<H", len(kind)) + kind


def _flat(array: pa.Array | pa.ChunkedArray, column: Column) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks) if array.num_chunks else array.chunk(0)
    return array.cast(arrow_type(column)) if array.type != arrow_type(column) else array


def _values(array: pa.Array, column: Column) -> Iterator[bytes | memoryview]:
    if array.null_count == len(array):
        yield bytes((len(array) + 7) // 8)
        return
    valid = pc.is_valid(array).to_numpy(zero_copy_only=False)
    yield np.packbits(valid, bitorder="little").tobytes()
    if column.type == "string":
        yield from _text(array)
        return
    width = pa.int32() if column.type == "int32" else pa.int64()
    numbers = (array.cast(pa.int64()) if column.type == "timestamp" else array).fill_null(0)
    yield numbers.cast(width).to_numpy(zero_copy_only=False).astype(f"<i{width.bit_width // 8}")


def _text(array: pa.Array) -> Iterator[bytes | memoryview]:
    filled = array.fill_null("")
    _, offsets, values = filled.buffers()
    start = filled.offset
    view = np.frombuffer(offsets, dtype="<i4")[start : start + len(filled) + 1]
    yield (view - view[0]).tobytes()
    if values is not None and view[-1] > view[0]:
        yield memoryview(values)[view[0] : view[-1]]
