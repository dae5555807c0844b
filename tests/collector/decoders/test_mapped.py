"""JSON lines of other producers, mapped by a table."""

import json
from typing import Any

import pytest
from decoding import NOW, by_line, feed
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_events.errors import SettingsError
from collector.contracts import Filtered
from collector.decoders.mapped import MappedDecoder
from collector.decoders.mapping import parse_table

TABLE: dict[str, Any] = {
    "columns": {
        "ts": ["/when", "/time"],
        "sandbox": {"constant": "ci"},
        "decision": {"from": "/verdict/action", "map": {"Stopped": "deny", "TRUE": "allow"}},
        "path": "/object/path",
        "pid": "/who/0/pid",
        "resource": {"from": "/object/kind", "map": {"f": "filesystem"}, "default": "other"},
    },
    "only": {"/type": ["access"]},
}
LINE = {
    "when": "2026-07-28T09:03:12Z", "type": "access", "verdict": {"action": "stopped", "by": "x"},
    "object": {"path": "/a~b", "kind": "f"}, "who": [{"pid": 7}], "seq": 9, "note": {"n": 1.10},
}  # fmt: skip


def decode(*lines: bytes, table: dict[str, Any] = TABLE):
    return feed(MappedDecoder(parse_table(table, "audit.toml:3"), lambda: NOW), lines)


def test_a_line_becomes_what_the_table_says() -> None:
    """Pointers, constants, word maps and defaults; what no rule names is in extra."""
    answer = decode(json.dumps(LINE).encode())
    assert answer.rows == [{
        "ts": "2026-07-28T09:03:12+00:00", "kind": "decision", "format": "mapped",
        "source_position": 0, "sandbox": "ci", "resource": "filesystem", "decision": "deny",
        "path": "/a~b", "pid": 7, "count": 1, "redactions": 0,
        "extra": '{"type":"access","verdict":{"by":"x"},"seq":9,"note":{"n":1.1}}',
    }]  # fmt: skip


def test_lines_of_another_type_are_left_out_and_counted() -> None:
    """`only` says which lines are decisions."""
    answer = decode(b'{"type":"heartbeat"}\n\n{"type":"access","type":"access"}\n[1]\n')
    assert answer.filtered == {Filtered.NOT_ENFORCEMENT: 1, Filtered.BLANK: 1}
    assert [reason for _, reason in answer.rejects] == ["duplicate-key", "not-an-object"]


def test_a_member_without_a_rule_cannot_fill_a_column() -> None:
    """Only the table says what means what: a key that is also one of ours goes to extra."""
    line = {**LINE, "decision": "allow", "allowed": True, "command": "rm"}
    (row,) = decode(json.dumps(line).encode()).rows
    assert row["decision"] == "deny"
    assert "command" not in row
    assert json.loads(row["extra"])["source.decision"] == "allow"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "columns must be a table"),
        ({"columns": {"nothing": "/a"}}, "columns.nothing: no such column"),
        ({"columns": {"seq": "/a"}}, "columns.seq: the trail sets this column itself"),
        ({"columns": {"path": "a"}}, "'a' is no JSON pointer"),
        ({"columns": {"path": {"form": "/a"}}}, "use a pointer, or from"),
        ({"columns": {"pid": {"constant": "7"}}}, "columns.pid.constant: must be of type int"),
        ({"columns": {"decision": {"from": "/a", "map": {"x": "no"}}}}, "'no' is none of allow"),
        ({"columns": {"kind": {"constant": "gap"}}}, "'gap' is none of"),
        ({"columns": {"path": "/a"}, "colums": {}}, "unknown key 'colums'"),
        ({"columns": {"path": "/a"}, "only": {"/a": [1]}}, "must be a list of texts"),
    ],
)
def test_a_table_that_is_wrong_says_where(change: dict[str, Any], words: str) -> None:
    """The message starts with the place in the settings and names the key."""
    with pytest.raises(SettingsError) as caught:
        parse_table(change, "audit.toml:3")
    assert caught.value.message.startswith("audit.toml:3: ")
    assert words in caught.value.message


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.one_of(st.binary(max_size=40), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["when", "type", "who", "object", "path", "pid"]), inner),
    max_leaves=8,
).map(lambda value: json.dumps(value).encode())), max_size=8))  # fmt: skip
def test_any_line_is_counted_whatever_the_borders(lines: list[bytes]) -> None:
    """No line raises, none is lost, and block borders do not matter."""
    table = {"columns": TABLE["columns"]}
    stream = b"\n".join(line.replace(b"\n", b" ") for line in lines)
    assert decode(stream, table=table) == decode(*by_line(stream), table=table)
