"""Batches from rows of decoders that make tens of thousands of events a second, not more."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from audit_events.arrow import EVENT_SCHEMA
from audit_events.rows import EMPTY_BATCH, batch_of


def batch_from(rows: Sequence[Mapping[str, Any]]) -> pa.RecordBatch:
    """A batch of the rows; what a row does not name is null, for the flow to fill."""
    if not rows:
        return EMPTY_BATCH
    used = {name for row in rows for name in row}
    columns = {
        field.name: pa.array([row.get(field.name) for row in rows], field.type)
        for field in EVENT_SCHEMA
        if field.name in used
    }
    return batch_of(columns, len(rows))
