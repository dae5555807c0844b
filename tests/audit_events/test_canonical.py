"""Canonical bytes: one value whatever wrote, chunked or paged the rows; frozen for ever."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_events.arrow import EVENT_SCHEMA, to_storage
from audit_events.canonical import canonical_bytes, canonical_chunks, segment_digest
from audit_events.rows import rows_to_batch
from audit_events.schema import COLUMNS, Column

FROZEN = Path(__file__).parent.parent / "frozen"
TIME = datetime(2026, 7, 28, 9, 3, 12, 481_000, tzinfo=UTC)


def rows() -> pa.RecordBatch:
    """The rows of the golden file."""
    common = {"store": "7kq2m", "observed_at": TIME, "ts": TIME, "source": "s", "format": "native"}
    return rows_to_batch(
        [
            {**common, "seq": 1, "path": "/workspace/é", "decision": "allow", "latency_us": 34},
            {**common, "seq": 2, "dst": "140.82.113.4:443", "dst_port": 443, "decision": "deny"},
            {**common, "seq": 3, "path": "", "count": None, "kind": "gap", "until": TIME},
        ]
    )


def test_the_golden_bytes_never_change() -> None:
    """A digest in an old proof must hold for ever: the layout is frozen in a file."""
    assert canonical_bytes(rows()) == (FROZEN / "canonical-v1.bin").read_bytes()


def test_the_frozen_archive_file_keeps_its_digest() -> None:
    """A Parquet file written by version 1 is readable and has the same canonical digest."""
    table = pq.ParquetFile(FROZEN / "events-v1.parquet").read()
    assert segment_digest(table) == segment_digest(rows())


def test_a_later_column_leaves_old_digests_alone() -> None:
    """A column of a later version that is all null is left out of the bytes."""
    added = (*COLUMNS, replace(Column("later", "string", "a column of version 2"), since=2))
    assert b"".join(map(bytes, canonical_chunks(rows(), added))) == canonical_bytes(rows())


def test_a_column_of_the_first_version_counts_even_when_a_file_lacks_it() -> None:
    """Rows from a file without an all-null column have the digest of rows with it."""
    without = pa.Table.from_batches([rows()]).drop_columns(["extra"])
    assert segment_digest(without) == segment_digest(rows())


@settings(max_examples=40)
@given(st.integers(0, 40), st.integers(1, 7), st.booleans())
def test_chunks_offsets_and_dictionaries_do_not_matter(
    start: int, size: int, dictionary: bool
) -> None:
    """Slices of a larger batch, many chunks, dictionary columns: the same bytes."""
    many = pa.Table.from_batches([rows()] * 20, EVENT_SCHEMA).combine_chunks().to_batches()[0]
    part = many.slice(start, size)
    plain = rows_to_batch(part.to_pylist())
    shaped = to_storage(part) if dictionary else part
    chunked = pa.Table.from_batches([shaped.slice(i, 1) for i in range(size)], shaped.schema)
    assert segment_digest(chunked) == segment_digest(plain)
    assert segment_digest(shaped) == segment_digest(plain)


@given(st.integers(0, 2), st.sampled_from(["path", "decision", "host", "latency_us"]))
def test_any_changed_value_changes_the_digest(row: int, name: str) -> None:
    """One value, one digest."""
    values = rows().to_pylist()
    values[row][name] = 99 if name == "latency_us" else "changed"
    assert segment_digest(rows_to_batch(values)) != segment_digest(rows())
