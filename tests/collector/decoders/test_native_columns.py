"""Plain JSON records that go straight into columns mean what they mean one by one."""

import json

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_native_properties import json_lines

from collector.contracts import Block
from collector.decoders.native import NativeDecoder
from collector.decoders.native_columns import PlainColumns, plain_lines, without
from collector.decoders.native_fields import FIELDS, merge
from collector.decoders.native_json import JsonLines
from collector.decoders.native_normalise import normalise

LINES = 400
SETTINGS = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
PLAIN = {
    "ts": "2026-07-28T09:03:12Z",
    "sandbox": "a",
    "path": "/é\\x",
    "pid": 7,
    "decision": "deny",
}
# What a reader that forgives might take for a plain record.
ODD = (
    b'{"pid":1} null {"pid":2}', b'{"pid":1}{"pid":2}', b'{"pid":1} {"pid":2}', b'{"pid":01}',
    b'{"pid":1,"pid":2}', b'{"path":null,"path":"x"}', b'{"pid":-1}', b'{"pid":1.0}',
    b'{"pid":1e3}', b'{"pid":"1"}', b'{"path":1}', b'{"path":"\\ud800"}', b'{"path":"\\udc00"}',
    b'{"path":"\xff"}', b'{"path":"\xed\xa0\x80"}', b'{"path":"a\tb"}', b'{"path":"\\x"}',
    b'{"path":"\\u0000"}', b'{"path":"\x00"}', b'{"path":"x",}', b'{"path":"x" /**/}',
    b"{'path':'x'}", b'{"path":{"a":1}}', b'{"path":["x"]}', b'{"path":NaN}', b'{"pid":NaN}',
    b'{"command":["a","b"]}', b'{"ts":1785229392}', b'{"message":"}"}', b'{"message":"{}{}"}',
    b"{}", b'{"p\\u0061th":"x"}', b'{"path":"x"', b'{"novel":1}', b'{"pid":9223372036854775808}',
    b'{"count":0}', b'{"ts":null}', b'{"path":""}', b'{ }', b'{"":""}', b'{}null{}', b'{}}',
)  # fmt: skip

lines = st.lists(
    st.one_of(json_lines(), st.sampled_from(ODD), st.just(json.dumps(PLAIN).encode())),
    min_size=1,
    max_size=12,
)


def bounds(found: list[bytes]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.cumsum([len(line) + 1 for line in found]) - 1
    return np.concatenate(([0], ends[:-1] + 1)), ends


def rows(found: list[bytes], columns: PlainColumns) -> tuple[list[dict], list]:
    """The events and rejects of a block, in order."""
    roughs, rejects = JsonLines(b"\n".join(found) + b"\n", *bounds(found), columns).read(0)
    roughs = [rough for rough in roughs if len(rough)]
    batch, more = normalise(merge(roughs), 1) if roughs else (None, [])
    events = batch.to_pylist() if batch else []
    return (
        sorted(events, key=lambda row: row["source_position"]),
        sorted((reject.origin, reject.reason) for reject in (*rejects, *more)),
    )


def knowing(names: set[str] = frozenset(FIELDS)) -> PlainColumns:
    return PlainColumns(set(names), min_lines=1)


@SETTINGS
@given(lines)
def test_columns_say_what_records_one_by_one_say(found: list[bytes]) -> None:
    assert rows(found, knowing()) == rows(found, PlainColumns())


@SETTINGS
@given(st.sampled_from(ODD), st.integers(0, 3))
def test_an_odd_line_among_plain_ones_is_read_as_without_columns(odd: bytes, place: int) -> None:
    found = [json.dumps(PLAIN, separators=(",", ":")).encode()] * 4
    found[place] = odd
    few = knowing(set(PLAIN))
    assert rows(found, few) == rows(found, PlainColumns())


def test_a_plain_line_holds_one_closing_brace_and_nothing_else_is_in_the_block() -> None:
    found = [b'{"a":"x"}', b'{"a":"}"}', b"{} null {}", b"{}"]
    plain = plain_lines(b"\n".join(found), *bounds(found))
    assert plain is not None
    assert plain.tolist() == [True, False, False, True]
    starts, ends = bounds(found)
    others = np.flatnonzero(~plain)
    blanked = without(b"\n".join(found), starts[others], ends[others])
    assert blanked.split() == [b'{"a":"x"}', b"{}"]
    beside = [b"null", *found]
    starts, ends = bounds(beside)
    assert plain_lines(b"\n".join(beside), starts[1:], ends[1:]) is None
    assert plain_lines(b"\n".join([*found, b"", b""]), *bounds(found)) is None


def test_a_decoder_learns_the_fields_of_its_stream() -> None:
    """The second block of a kind goes straight into columns, and so do most lines of a third."""
    decoder = NativeDecoder()
    plain = [{**PLAIN, "latency_us": n} for n in range(LINES)]
    some = [record | ({"message": "}"} if n < 9 else {}) for n, record in enumerate(plain)]
    taken = []
    start = 0
    for records in (plain, plain, some):
        block = b"".join(json.dumps(record).encode() + b"\n" for record in records)
        taken.append(decoder.decode(Block("s", "f", block, start, start + len(block))).batch)
        start += len(block)
        assert decoder._columns.names >= set(PLAIN)
    positions = taken[0].schema.get_field_index("source_position")
    assert taken[1].remove_column(positions).equals(taken[0].remove_column(positions))
    assert taken[2].column("latency_us").to_pylist() == list(range(LINES))
    assert taken[2].column("message").to_pylist() == ["}"] * 9 + [None] * (LINES - 9)


def test_a_stream_that_columns_cannot_read_is_not_tried_each_time() -> None:
    columns = knowing({"pid"})
    found = [b'{"pid":1.0}']
    assert columns.ready(1)
    rows(found, columns)
    assert not columns.ready(1)
