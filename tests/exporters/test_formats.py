"""The contract of all formats: both forms of rows agree, hostile text survives, nothing harms."""

import csv
import io
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_events.arrow import to_storage
from audit_events.rows import rows_to_batch
from audit_events.schema import BY_NAME, COLUMN_NAMES
from audit_events.text import from_bytes, from_str
from exporters.contracts import ALL_COLUMNS, format_names, load_format

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXT_FORMATS = [name for name in format_names() if load_format(name).text]
# What an agent may call a file to harm whoever reads about it.
HOSTILE = [
    "", " ", "-", "'", "=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", '"', '""', "a,b", "a\nb",
    "a\r\nb", "\\", "\\n", "a=b", "a b", "\x00", "\x1b[2J\x1b]0;PWN\x07", "\x9b2J", "\x7f",
    "\u202eevil", "\u2028", "\u200b", "\ufeffx", "é", "日本", "👩‍👩‍👧", "\U000e0041", "'=1", "null",
    from_bytes(b"/x\xff\xfe"), from_str("\ud800"), "[REDACTED:x:0]", "x" * 5000,
]  # fmt: skip


def event(seq: int, **values: Any) -> dict[str, Any]:
    """A complete row; times in µs."""
    return {
        "store": "7kq2m", "seq": seq, "ts": 1_785_229_392_000_000 + seq,
        "observed_at": 1_785_229_392_000_001, "kind": "decision", "source": "s", "format": "native",
        "source_position": 0, "host": "h", "sandbox": "agent", "correlation_id": "r",
        "resource": "filesystem", "count": 1, "redactions": 0, **values,
    }  # fmt: skip


def as_row(values: dict[str, Any]) -> dict[str, Any]:
    """The row as a query gives it: nulls left out, event_id first, schema order."""
    present = {n: values[n] for n in COLUMN_NAMES if values.get(n) is not None}
    return {"event_id": f"{values['store']}-{values['seq']}", **present}


def document(name: str, events: Sequence[dict[str, Any]], columns: Sequence[str]) -> bytes:
    """The events through the columnar form."""
    encoder = load_format(name).make(columns)
    return encoder.start() + encoder.batch(rows_to_batch(events)) + encoder.end()


def by_rows(name: str, events: Sequence[dict[str, Any]], columns: Sequence[str]) -> bytes:
    """The events through the form for few rows."""
    encoder = load_format(name).make(columns)
    return encoder.start() + encoder.rows([as_row(e) for e in events]) + encoder.end()


def shown(name: str, value: Any) -> Any:
    """A value as data formats show it."""
    if BY_NAME.get(name) and BY_NAME[name].type == "timestamp":
        return f"{EPOCH + timedelta(microseconds=value):%Y-%m-%dT%H:%M:%S.%f}Z"
    return value


def logfmt_pairs(line: str) -> dict[str, str]:
    """A logfmt line, read the plain way."""
    found = re.findall(r'([a-z_]+)=("(?:[^"\\]|\\.)*"|[^\s"]*)(?: |$)', line)
    return {k: json.loads(v) if v.startswith('"') else v for k, v in found}


def read_back(name: str, data: bytes) -> list[dict[str, Any]]:
    """What a reader of the format sees: present values only."""
    if name == "parquet":
        rows = pq.read_table(io.BytesIO(data)).to_pylist()
        return [{k: v for k, v in row.items() if v is not None} for row in rows]
    text = data.decode()
    if name == "json":
        return list(json.loads(text))
    if name == "ndjson":
        return [json.loads(line) for line in text.split("\n")[:-1]]
    if name == "logfmt":
        return [logfmt_pairs(line) for line in text.split("\n")[:-1]]
    header, *records = csv.reader(io.StringIO(text, newline=""))
    return [dict(zip(header, map(unguarded, record), strict=True)) for record in records]


def unguarded(field: str) -> str:
    """A CSV field without the guard."""
    return field[1:] if field.startswith("'") else field


HOSTILE_EVENTS = [
    event(n + 1, path=text, message=text, process=text, sandbox=text, target=text, extra=text,
          pid=None if n % 2 else n, policy_rule="filesystem.deny[1]" if n % 3 else None)
    for n, text in enumerate(HOSTILE)
]  # fmt: skip


@pytest.mark.parametrize("name", format_names())
def test_hostile_text_comes_back_as_it_was(name: str) -> None:
    """Whatever an agent called its files, a reader of the format gets exactly that."""
    found = read_back(name, document(name, HOSTILE_EVENTS, ALL_COLUMNS))
    assert len(found) == len(HOSTILE)
    for text, row in zip(HOSTILE, found, strict=True):
        for column in ("path", "message", "process", "sandbox", "target", "extra"):
            assert row[column] == text, (name, column)


@pytest.mark.parametrize("name", TEXT_FORMATS)
@pytest.mark.parametrize(
    "columns", [ALL_COLUMNS, ("seq", "path"), ("pid", "policy_rule", "path"), ("message", "pid")]
)
def test_rows_and_batches_give_the_same_bytes(name: str, columns: Sequence[str]) -> None:
    """A small answer and a large export of the same events do not differ."""
    assert document(name, HOSTILE_EVENTS, columns) == by_rows(name, HOSTILE_EVENTS, columns)


@pytest.mark.parametrize("name", ["json", "ndjson", "logfmt"])
def test_no_byte_of_a_text_format_moves_a_cursor(name: str) -> None:
    """C0, C1, DEL, bidi controls and line separators appear as escapes only."""
    text = document(name, HOSTILE_EVENTS, ALL_COLUMNS).decode()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\ufeff]", text)
    assert len(text.split("\n")) - 1 == len(HOSTILE)


def test_no_csv_field_is_a_formula() -> None:
    """= + - @ TAB CR never stand first in a text field."""
    text = document("csv", HOSTILE_EVENTS, ("path", "message")).decode()
    _, *records = csv.reader(io.StringIO(text, newline=""))
    assert not [f for record in records for f in record if f.startswith(tuple("=+-@\t\r"))]


def test_csv_tells_null_from_empty() -> None:
    """A null is nothing between commas, an empty text is a pair of quotes."""
    data = document("csv", [event(1, path="", message=None)], ("seq", "path", "message"))
    assert data == b'seq,path,message\n1,"",\n'


@pytest.mark.parametrize("name", format_names())
def test_no_event_is_a_valid_document(name: str) -> None:
    """An empty export can be read by whatever reads the others."""
    assert read_back(name, document(name, [], ALL_COLUMNS)) == []
    if name == "json":
        assert document(name, [], ALL_COLUMNS) == b"[]\n"


@pytest.mark.parametrize("name", format_names())
def test_a_document_of_many_pieces_is_one_document(name: str) -> None:
    """Pages of any size make the same export."""
    encoder = load_format(name).make(ALL_COLUMNS)
    batch = rows_to_batch(HOSTILE_EVENTS)
    pieces = [batch.slice(0, 1), batch.slice(1, 0), batch.slice(1, 30), batch.slice(31)]
    data = encoder.start() + b"".join(encoder.batch(p) for p in pieces) + encoder.end()
    assert read_back(name, data) == read_back(name, document(name, HOSTILE_EVENTS, ALL_COLUMNS))


@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_stored_dictionaries_make_no_difference(name: str) -> None:
    """Rows as the spool keeps them encode like rows in flow."""
    encoder = load_format(name).make(ALL_COLUMNS)
    stored = to_storage(rows_to_batch(HOSTILE_EVENTS))
    assert encoder.start() + encoder.batch(stored) + encoder.end() == document(
        name, HOSTILE_EVENTS, ALL_COLUMNS
    )


def test_json_is_one_element_a_line_with_event_id_first_and_stable_order() -> None:
    """`jq`, `grep` and `wc -l` agree on the number of events."""
    data = document("json", HOSTILE_EVENTS, ALL_COLUMNS)
    assert data.count(b"\n") == len(HOSTILE)
    for element in json.loads(data):
        assert next(iter(element)) == "event_id"
        order = [ALL_COLUMNS.index(key) for key in element]
        assert order == sorted(order)
        assert None not in element.values()
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", element["ts"])


@pytest.mark.parametrize("micros", [0, 1, -1, -62_135_596_800_000_000, 253_402_300_799_999_999])
@pytest.mark.parametrize("name", TEXT_FORMATS)
def test_times_beyond_reason_agree_in_both_forms(name: str, micros: int) -> None:
    """Year 1 and year 9999 are written alike, with six digits and a Z."""
    events = [event(1, ts=micros)]
    assert document(name, events, ("ts",)) == by_rows(name, events, ("ts",))


values = st.one_of(st.none(), st.text(max_size=12).map(from_str))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(values, values, st.none() | st.integers(0, 9)), max_size=6))
def test_any_text_round_trips_through_every_text_format(
    rows: list[tuple[str | None, str | None, int | None]],
) -> None:
    """Property: for all texts both forms agree and JSON reads back."""
    events = [event(n + 1, path=a, process=b, pid=c) for n, (a, b, c) in enumerate(rows)]
    columns = ("path", "process", "pid")
    for name in TEXT_FORMATS:
        assert document(name, events, columns) == by_rows(name, events, columns)
    expected = [{k: v for k, v in (("path", a), ("process", b), ("pid", c)) if v is not None}
                for a, b, c in rows]  # fmt: skip
    assert json.loads(document("json", events, columns)) == expected


def test_parquet_keeps_types() -> None:
    """A column reader gets timestamps and integers, not text."""
    table = pq.read_table(io.BytesIO(document("parquet", [event(1, pid=5)], ALL_COLUMNS)))
    assert table.schema.field("ts").type == pa.timestamp("us", "UTC")
    assert table.schema.field("pid").type == pa.int64()
    assert table.schema.names == list(ALL_COLUMNS)
