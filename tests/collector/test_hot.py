"""Hot counters: few rows and many rows are counted alike, and alike with a plain count."""

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_events.arrow import to_storage
from audit_events.layout import HOT_DENIES, MAX_RUN_RULES, SPOOL_DDL
from audit_events.rows import rows_to_batch
from collector import hot

START = datetime(2026, 7, 28, 9, tzinfo=UTC)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 20_000).map(lambda s: START + timedelta(seconds=s)),
            "kind": st.sampled_from(["decision", "decision", "tool_call", "notice"]),
            "decision": st.sampled_from(["allow", "deny", "unknown", None]),
            "correlation_id": st.sampled_from(["r1", "r2", "-"]),
            "sandbox": st.sampled_from(["a", "b"]),
            "host": st.just("h"),
            "count": st.sampled_from([1, 1, 5]),
            "redactions": st.integers(0, 2),
            "flags": st.sampled_from([None, "skewed", "ambiguous,skewed"]),
            "policy_rule": st.sampled_from(["filesystem.deny[1]", "process.default-deny", None]),
            "enforcer": st.sampled_from(["seatbelt", None]),
        }
    ),
    min_size=1,
    max_size=30,
)


def database() -> sqlite3.Connection:
    """Empty tables."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(SPOOL_DDL)
    return connection


def stored(values: list[dict[str, Any]], first: int) -> Any:
    """A batch as the spool stores it."""
    numbered = [
        {**row, "seq": first + n, "store": "x", "observed_at": START, "source": "s", "format": "f"}
        for n, row in enumerate(values)
    ]
    return to_storage(rows_to_batch(numbered))


@settings(max_examples=40, deadline=None)
@given(st.lists(rows, min_size=1, max_size=4), st.booleans())
def test_the_counters_equal_a_plain_count(batches: list[list[dict[str, Any]]], many: bool) -> None:
    """Per minute, per run, newest denies: whatever the size of the batches."""
    few_rows, hot.FEW_ROWS = hot.FEW_ROWS, 0 if many else 400
    try:
        with closing(database()) as db:
            first = 1
            for values in batches:
                hot.count(db, stored(values, first))
                first += len(values)
            everything = [row for values in batches for row in values]
            assert _minutes(db) == _plain_minutes(everything)
            assert _runs(db) == _plain_runs(everything)
            assert _rules(db) == _plain_rules(everything)
            denies = [n for n, row in enumerate(everything, 1) if row["decision"] == "deny"]
            kept = [seq for (seq,) in db.execute("SELECT seq FROM denies ORDER BY seq")]
            assert kept == denies[-HOT_DENIES:]
    finally:
        hot.FEW_ROWS = few_rows


def _minutes(db: sqlite3.Connection) -> dict[Any, Any]:
    found = db.execute("SELECT minute, kind, decision, n, events, masked, skewed FROM minutes")
    return {row[:3]: row[3:] for row in found}


def _plain_minutes(everything: list[dict[str, Any]]) -> dict[Any, Any]:
    sums: dict[Any, Counter[str]] = {}
    for row in everything:
        key = (int(row["ts"].timestamp()) // 60, row["kind"], row["decision"] or "")
        skewed = int("skewed" in (row["flags"] or ""))
        sums.setdefault(key, Counter()).update(
            n=row["count"], events=1, masked=row["redactions"], skewed=skewed
        )
    return {k: (c["n"], c["events"], c["masked"], c["skewed"]) for k, c in sums.items()}


def _runs(db: sqlite3.Connection) -> dict[str, tuple[int, int, int]]:
    found = db.execute("SELECT correlation_id, allow, deny, other FROM runs")
    return {run: (allow, deny, other) for run, allow, deny, other in found}


def _plain_runs(everything: list[dict[str, Any]]) -> dict[str, tuple[int, int, int]]:
    sums: dict[str, list[int]] = {}
    for row in everything:
        if row["correlation_id"] != "-":
            place = {"allow": 0, "deny": 1}.get(row["decision"], 2)
            sums.setdefault(row["correlation_id"], [0, 0, 0])[place] += row["count"]
    return {run: tuple(values) for run, values in sums.items()}  # type: ignore[misc]


def _rules(db: sqlite3.Connection) -> dict[tuple[str, str], int]:
    found = db.execute("SELECT correlation_id, rule, n FROM run_rules")
    return {(run, rule): n for run, rule, n in found}


def _plain_rules(everything: list[dict[str, Any]]) -> dict[tuple[str, str], int]:
    sums: Counter[tuple[str, str]] = Counter()
    for row in everything:
        if row["correlation_id"] != "-" and row["decision"] == "deny":
            rule = row["policy_rule"] or f"({row['enforcer'] or '?'})"
            sums[row["correlation_id"], rule] += row["count"]
    return dict(sums)


def test_invented_rules_do_not_fill_the_database() -> None:
    """A run's rules are bounded; those known by then go on counting."""
    with closing(database()) as db:
        deny = {"ts": START, "decision": "deny", "correlation_id": "r1", "sandbox": "a"}
        many = [{**deny, "policy_rule": f"rule[{n}]"} for n in range(3 * MAX_RUN_RULES)]
        hot.count(db, stored(many, 1))
        hot.count(db, stored([{**deny, "policy_rule": "rule[0]"}], len(many) + 1))
        rules = dict(db.execute("SELECT rule, n FROM run_rules"))
    assert len(rules) == MAX_RUN_RULES
    assert rules["rule[0]"] == 2


def test_a_hot_deny_tells_what_a_screen_shows() -> None:
    """The JSON of a deny holds the columns of its line and leaves nulls out."""
    with closing(database()) as db:
        row = {"ts": START, "decision": "deny", "path": "/x", "policy_rule": "filesystem.deny[1]"}
        hot.count(db, stored([row], 1))
        (text,) = db.execute("SELECT event FROM denies").fetchone()
    event = orjson.loads(text)
    assert event["path"] == "/x"
    assert event["ts"] == int(START.timestamp() * 1e6)
    assert "dst" not in event


def test_what_two_sources_tell_of_one_operation_counts_once() -> None:
    """The system's report of a layer's event is no second refusal of the run; a layer that came
    late, and reports what the system told outside any run, is the first one there."""
    event = {"ts": START, "decision": "deny", "correlation_id": "r1", "sandbox": "a", "host": "h"}
    told = {**event, "count": 1, "redactions": 0, "format": "native", "source": "s"}
    report = {**told, "format": "seatbelt", "link": "report", "linked_seq": 1}
    late = {**told, "link": "report", "linked_seq": 9}
    repeat = {**report, "link": "repeat", "count": 4}
    with closing(database()) as db:
        values = [told, report, late, repeat]
        stamps = {"store": "x", "observed_at": START}
        numbered = [{**row, **stamps, "seq": n} for n, row in enumerate(values, 1)]
        hot.count(db, to_storage(rows_to_batch(numbered)))
        assert db.execute("SELECT deny FROM runs").fetchone() == (6,)
        assert db.execute("SELECT sum(n), sum(events) FROM minutes").fetchone() == (6, 4)
        assert db.execute("SELECT sum(n) FROM run_rules").fetchone() == (6,)
        assert db.execute("SELECT seq FROM denies").fetchall() == [(1,), (3,), (4,)]
