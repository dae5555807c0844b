"""The formats of exports, read back: batches of the event schema, or ValueError."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import EVENT_SCHEMA
from audit_events.errors import SourceError
from audit_events.rows import ROW_DEFAULTS

BATCH_ROWS: Final = 20_000
# The longest line that is taken for a row; a stored event is far smaller.
MAX_LINE_BYTES: Final = 16 << 20
_NEEDED: Final = ("seq", "ts")
_DEFAULTS: Final = {
    **ROW_DEFAULTS,
    "store": "file",
    "source": "",
    "format": "",
    "source_position": 0,
}


def batches(path: Path) -> Iterator[pa.RecordBatch]:
    """The rows of an export, whole; SourceError names what a file lacks, ValueError is odd data."""
    kinds = {".parquet": _parquet, ".csv": _csv, ".json": _lines, ".ndjson": _lines,
             ".jsonl": _lines}  # fmt: skip
    reader = kinds.get(path.suffix.lower())
    if reader is None:
        raise SourceError(f"{path}: not one of {' '.join(kinds)}")
    for columns in reader(path):
        yield _whole(columns, path)


def _whole(columns: Mapping[str, pa.Array], path: Path) -> pa.RecordBatch:
    """All columns: what the file lacks is null, or what events hold by default."""
    if missing := [name for name in _NEEDED if name not in columns]:
        raise SourceError(
            f"{path} has no column {missing[0]}", hint="export it with all columns, or with seq,ts"
        )
    rows = len(columns["seq"])
    arrays = []
    for field in EVENT_SCHEMA:
        array = columns.get(field.name)
        if array is None and field.name == "observed_at":
            array = columns["ts"]
        array = pa.nulls(rows, field.type) if array is None else array.cast(field.type)
        if field.name in _DEFAULTS and field.name != "count" and array.null_count:
            array = pc.fill_null(array, pa.scalar(_DEFAULTS[field.name], field.type))
        arrays.append(array)
    for name in _NEEDED:
        if arrays[EVENT_SCHEMA.get_field_index(name)].null_count:
            raise ValueError(name)
    return pa.RecordBatch.from_arrays(arrays, schema=EVENT_SCHEMA)


def _parquet(path: Path) -> Iterator[dict[str, pa.Array]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            yield {name: batch.column(name) for name in batch.schema.names}


def _csv(path: Path) -> Iterator[dict[str, pa.Array]]:
    from pyarrow import csv

    known = {field.name: pa.string() for field in EVENT_SCHEMA}
    convert = csv.ConvertOptions(
        column_types=known, null_values=[""], strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )  # fmt: skip
    parse = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(path, parse_options=parse, convert_options=convert) as reader:
        for batch in reader:
            yield {name: _unguarded(name, batch.column(name)) for name in batch.schema.names}


def _unguarded(name: str, texts: pa.Array) -> pa.Array:
    """Take off the one `'` that keeps a spreadsheet from calculating; times have their zone."""
    if name not in EVENT_SCHEMA.names:
        return texts
    kind = EVENT_SCHEMA.field(name).type
    if pa.types.is_string(kind):
        return pc.replace_substring_regex(texts, "^'", "", max_replacements=1)
    return texts


def _lines(path: Path) -> Iterator[dict[str, pa.Array]]:
    """JSON as we write it: an object a line, in an array or not."""
    with path.open("rb") as file:
        rows = (row for line in _bounded(file) if (row := _row(line)) is not None)
        while chunk := list(islice(rows, BATCH_ROWS)):
            yield _columns(chunk)


def _bounded(file: Any) -> Iterator[bytes]:
    while line := file.readline(MAX_LINE_BYTES + 1):
        if len(line) > MAX_LINE_BYTES:
            raise ValueError("line too long")
        yield line


def _row(line: bytes) -> dict[str, Any] | None:
    text = line.strip().removeprefix(b"[").removesuffix(b",")
    if text.endswith(b"}]"):
        text = text[:-1]
    if text in (b"", b"]"):
        return None
    row = orjson.loads(text)
    if not isinstance(row, dict):
        raise ValueError("no object")
    return row


def _columns(rows: list[dict[str, Any]]) -> dict[str, pa.Array]:
    from audit.borrowed import micros

    held = {name for row in rows for name in row} & set(EVENT_SCHEMA.names)
    columns = {}
    for name in held:
        kind = EVENT_SCHEMA.field(name).type
        values = [row.get(name) for row in rows]
        if pa.types.is_timestamp(kind):
            values = [None if value is None else micros(value) for value in values]
        columns[name] = pa.array(values, type=kind)
    return columns
