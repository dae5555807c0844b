"""The event schema as Arrow: plain in flow, dictionary-encoded for storage."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from audit_events.schema import COLUMNS, Column, Type

_TYPES: Final[dict[Type, pa.DataType]] = {
    "string": pa.string(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
}
_DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())


def arrow_type(column: Column) -> pa.DataType:
    """The type of a column in flow."""
    return _TYPES[column.type]


# In flow everything is nullable: store, seq and observed_at are null until the commit.
EVENT_SCHEMA: Final = pa.schema([pa.field(c.name, arrow_type(c)) for c in COLUMNS])
STORAGE_SCHEMA: Final = pa.schema(
    [pa.field(c.name, _DICTIONARY if c.dictionary else arrow_type(c)) for c in COLUMNS]
)
# What a Parquet file and the Delta log declare: no Arrow dictionary type.
FILE_SCHEMA: Final = pa.schema([pa.field(c.name, arrow_type(c)) for c in COLUMNS])


def to_storage(
    batch: pa.RecordBatch, stamped: Mapping[str, pa.Array] | None = None
) -> pa.RecordBatch:
    """The same rows with low-cardinality text dictionary-encoded; `stamped` replaces columns."""
    ready = stamped or {}
    arrays = [
        ready[field.name] if field.name in ready else _stored(array, field.type)
        for array, field in zip(batch.columns, STORAGE_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=STORAGE_SCHEMA)


def _stored(array: pa.Array, target: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(target):
        return array
    if array.null_count == len(array):
        return pa.nulls(len(array), target)
    return array.dictionary_encode()
