"""Rows to a batch: for decoders and tests that make few events at a time.

The hot path builds columns directly with `batch_of`; ten events a second may use `rows_to_batch`.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from audit_events.arrow import EVENT_SCHEMA

FEW_ROWS: Final = 32
# Looking at a schema makes new objects each time.
_TYPES: Final[dict[str, pa.DataType]] = {field.name: field.type for field in EVENT_SCHEMA}
# What a row that does not say otherwise holds.
ROW_DEFAULTS: dict[str, Any] = {
    "kind": "decision",
    "resource": "other",
    "count": 1,
    "redactions": 0,
    "sandbox": "",
    "host": "",
    "correlation_id": "",
}


def batch_of(columns: Mapping[str, pa.Array], rows: int) -> pa.RecordBatch:
    """A batch of `rows` rows; absent columns are null, unknown names a KeyError."""
    unknown = columns.keys() - _TYPES.keys()
    if unknown:
        raise KeyError(f"no such column: {sorted(unknown)}")
    nulls = _few_nulls if rows <= FEW_ROWS else _nulls
    arrays = [
        columns[name] if name in columns else nulls(type_, rows) for name, type_ in _TYPES.items()
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=EVENT_SCHEMA)


def _nulls(type_: pa.DataType, rows: int) -> pa.Array:
    return pa.nulls(rows, type_)


# A live log brings a few rows at a time, and most columns of them are empty.
_few_nulls = lru_cache(maxsize=1024)(_nulls)


def rows_to_batch(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """A batch from dictionaries of column values; absent keys take `ROW_DEFAULTS`, else null."""
    known = set(EVENT_SCHEMA.names)
    for row in rows:
        if not row.keys() <= known:
            raise KeyError(f"no such column: {sorted(row.keys() - known)}")
    arrays = [
        pa.array([row.get(f.name, ROW_DEFAULTS.get(f.name)) for row in rows], type=f.type)
        for f in EVENT_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=EVENT_SCHEMA)


EMPTY_BATCH = rows_to_batch([])
