"""The words of filters: closed lists, wrong values, paths, odd bytes, names of columns."""

from typing import Any

import pytest

from audit_events import text
from audit_events.errors import UsageError
from audit_events.schema import COLUMN_NAMES
from query.contracts import Request
from query.engine import answer
from query.filters import FILTERS, column_named, compile_request, filter_named
from tests.query.stores import event

PATHS = [
    "/workspace", "/workspace/agent-entry.sh", "/workspace2", "/Users/agent/.ssh/id_ed25519",
    "/Users/agent/.ssh", text.from_bytes(b"/workspace/\xff"), "/tmp/a'b", None,
]  # fmt: skip


def found_by(make_store: Any, *values: str) -> list[int]:
    """The seqs (from 1, in the order of PATHS) that these values of `--path` find."""
    store = make_store([event(seq, path=path) for seq, path in enumerate(PATHS, 1)], sealed=4)
    return [row["seq"] for row in answer(store.paths, Request(values={"path": values})).rows]


def test_a_plain_path_means_all_under_it(make_store: Any) -> None:
    """`/workspace` finds itself and what lies below, not `/workspace2`."""
    assert found_by(make_store, "/workspace") == [1, 2, 6]


def test_a_path_may_be_a_glob(make_store: Any) -> None:
    """The glob is the policies' own: `**/.ssh/**` covers `.ssh` itself."""
    assert found_by(make_store, "**/.ssh/**") == [4, 5]


def test_an_excluded_path_keeps_events_without_one(make_store: Any) -> None:
    """Not there is not the same as there: NULL stays."""
    assert found_by(make_store, "!/workspace") == [3, 4, 5, 7, 8]


def test_a_byte_that_is_no_utf8_is_found_as_typed_and_as_shown(make_store: Any) -> None:
    """Python hands such a byte over as a lone surrogate; our output shows it escaped."""
    assert found_by(make_store, "/workspace/\udcff") == [6]
    assert found_by(make_store, text.from_bytes(b"/workspace/\xff")) == [6]
    assert found_by(make_store, r"/workspace/\xff") == [6]
    assert found_by(make_store, r"/work*/\xff") == [6]


def test_the_second_path_of_a_rename_is_found(make_store: Any) -> None:
    """`--path` matches either path of an event."""
    store = make_store([event(1, path="/a", path_to="/b"), event(2, path="/a")])
    found = answer(store.paths, Request(values={"path": ("/b",)})).rows
    assert [row["seq"] for row in found] == [1]


def test_a_literal_exclamation_mark_can_be_searched(make_store: Any) -> None:
    """`\\!x` means the text `!x`."""
    store = make_store([event(1, message="!x"), event(2)])
    found = answer(store.paths, Request(values={"grep": ("\\!x",)})).rows
    assert [row["seq"] for row in found] == [1]


@pytest.mark.parametrize(
    ("flag", "value", "words"),
    [
        ("decision", "denyy", "did you mean deny"),
        ("kind", "gaps", "did you mean gap"),
        ("access", "reed", "did you mean read"),
        ("resource", "xyz", "not one of filesystem"),
        ("flag", "would_deny", "did you mean would-deny"),
        ("outcome", "okay", "did you mean ok"),
        ("pid", "zsh", "not a whole number"),
        ("pid", "-1", "not a whole number"),
        ("rule-index", "1e3", "not a whole number"),
        ("seq", ":", "not a range"),
        ("seq", "a:b", "not a whole number"),
        ("seq", "9" * 19 + ":", "not a whole number"),
        ("dst", "host:", "not a port"),
        ("dst", "host:99999", "not a port"),
        ("dst", "10.0.0.0/99", "not a CIDR block"),
        ("dst", "", "names no destination"),
        ("path", "", "empty pattern"),
        ("sandbox", "*" * 9999, "pattern too long"),
    ],
)
def test_a_value_that_cannot_be_is_an_error(flag: str, value: str, words: str) -> None:
    """Exit 2 with the flag, the value and the nearest word; never an empty answer."""
    with pytest.raises(UsageError, match=words) as raised:
        compile_request(Request(values={flag: (value,)}))
    assert raised.value.message.startswith(f"--{flag} ")


def test_an_unknown_filter_names_the_nearest() -> None:
    """A typing error in a flag is answered with the flag."""
    with pytest.raises(UsageError, match="did you mean sandbox"):
        filter_named("sandbx")


def test_values_never_become_sql() -> None:
    """Whatever the value, the SQL text is the same: values travel apart."""
    for filter_ in FILTERS:
        if filter_.values or filter_.flag in ("pid", "rule-index", "seq"):
            continue
        plain = compile_request(Request(values={filter_.flag: ("zz",)})).sql
        assert compile_request(Request(values={filter_.flag: ("' or 1=1 --",)})).sql == plain


def test_columns_answer_to_flag_and_column_name() -> None:
    """`--by rule` and `--by policy_rule` are one; so is each flag and each column."""
    assert column_named("by", "rule") == column_named("by", "policy_rule") == "policy_rule"
    assert all(column_named("by", name) == name for name in COLUMN_NAMES)
    for filter_ in FILTERS:
        if filter_.flag != "grep":
            assert column_named("columns", filter_.flag) in filter_.columns
    with pytest.raises(UsageError, match=r"--by polcy: no such column \(did you mean policy\?\)"):
        column_named("by", "polcy")
