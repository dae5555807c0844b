"""Counts against a plain count in Python, whatever the columns, zone, reports and storage."""

import math
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit_events.errors import QueryError, UsageError
from query import engine
from query import stats as module
from query.axes import Axis, axes, bucket
from query.contracts import Request, Window
from query.stats import Counting, runs_of_events, stats
from tests.query.stores import build, event

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
# Around the night of 2026-10-25, when 02:00 to 03:00 comes twice in Berlin.
NIGHT = (datetime(2026, 10, 24, 20, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
HOUR = 3_600_000_000
numbers = count()

rows = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 40).map(lambda n: NIGHT + n * HOUR // 2 + n),
            "kind": st.sampled_from(["decision", "decision", "tool_call", "gap", "notice"]),
            "decision": st.sampled_from(["allow", "deny", "unknown", None]),
            "sandbox": st.sampled_from(["a", "b"]),
            "policy_rule": st.sampled_from(["filesystem.deny[1]", None]),
            "enforcer": st.sampled_from(["seatbelt", None]),
            "correlation_id": st.sampled_from(["r1", "r2"]),
            "flags": st.sampled_from([None, "asked", "asked,skewed"]),
            "count": st.sampled_from([1, 1, 7]),
            "redactions": st.integers(0, 2),
            "latency_us": st.sampled_from([None, 10, 20, 30]),
            "tool": st.sampled_from([None, "bash"]),
            "outcome": st.sampled_from(["ok", "timeout", None]),
            "duration_us": st.sampled_from([None, 5, 900, 70_000]),
            "back": st.sampled_from([None, None, 1, 2, 3]),
        }
    ),
    min_size=1,
    max_size=30,
)


def numbered(drawn: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows with seq; `back` makes one a report of an event so many before it."""
    made = []
    for seq, values in enumerate(drawn, 1):
        back = values["back"]
        link = {"link": "report", "linked_seq": seq - back} if back and back < seq else {}
        made.append(event(seq, **{k: v for k, v in values.items() if k != "back"}, **link))
    return made


def day(row: dict[str, Any]) -> int:
    """The number of a row's date in Berlin."""
    return (
        (EPOCH + timedelta(microseconds=row["ts"])).astimezone(BERLIN).date() - EPOCH.date()
    ).days


def hour(row: dict[str, Any]) -> int:
    """The beginning of its hour."""
    return int(row["ts"] // HOUR * HOUR)


def merged(kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without reports of events that are there."""
    own = {row["seq"] for row in kept if row.get("link") != "report"}
    return [r for r in kept if not (r.get("link") == "report" and r["linked_seq"] in own)]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows, st.sampled_from(["day", "hour", None]), st.booleans(), st.booleans())
def test_counts_equal_a_plain_count(
    tmp_path: Path, drawn: list[dict[str, Any]], time: str | None, merge: bool, only_deny: bool
) -> None:
    """Allow, deny and the rest, runs, first and last: a clock change, reports and repeats too."""
    everything = numbered(drawn)
    store = build(tmp_path / f"store-{next(numbers)}", everything, sealed=len(everything) // 2)
    request = Request({"decision": ("deny",)} if only_deny else {})
    words = ("sandbox", "rule", *([time] if time else []))
    found = stats(store.paths, request, Counting(axes(words, None), zone=BERLIN, merged=merge))
    kept = [r for r in everything if r["kind"] in ("decision", "tool_call")]
    kept = [r for r in kept if r["decision"] == "deny"] if only_deny else kept
    kept = merged(kept) if merge else kept
    expected: dict[Any, Any] = defaultdict(list)
    for row in kept:
        who = row["enforcer"] and f"({row['enforcer']})"
        key = (row["sandbox"], row["policy_rule"] or who)
        extra = {"day": (day,), "hour": (hour,), None: ()}[time]
        expected[(*key, *(at(row) for at in extra))].append(row)
    got = {group.key: dict(group.values) for group in found.groups}
    assert got == {key: _counted(held) for key, held in expected.items()}
    assert dict(found.total.values) == _counted(kept)
    asked = Request({**request.values, "kind": ("decision", "tool_call")})
    number = engine.count(store.paths, asked, merged=merge)
    assert number.records == len(kept)
    assert number.events == sum(row["count"] for row in kept)
    store.con.close()


def _counted(held: list[dict[str, Any]]) -> dict[str, Any]:
    words = ("allow", "deny", "unknown", None)
    sums = {
        word or "other": sum(r["count"] for r in held if r["decision"] == word) for word in words
    }
    times = [row["ts"] for row in held]
    return {
        **sums,
        "runs": len({row["correlation_id"] for row in held}),
        "first": min(times, default=None),
        "last": max(times, default=None),
    }


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows)
def test_the_other_measures_equal_a_plain_count(
    tmp_path: Path, drawn: list[dict[str, Any]]
) -> None:
    """Tool calls with outcomes and quantiles, latency, and what was masked."""
    everything = [{**row, "link": None, "linked_seq": None} for row in numbered(drawn)]
    store = build(tmp_path / f"store-{next(numbers)}", everything)
    kept = [r for r in everything if r["kind"] in ("decision", "tool_call")]
    calls = [r for r in kept if r["kind"] == "tool_call"]
    tools = stats(store.paths, Request(), Counting(measure="tools")).total.values
    assert tools["calls"] == sum(r["count"] for r in calls)
    assert tools["timeout"] == sum(r["count"] for r in calls if r["outcome"] == "timeout")
    took = sorted(r["duration_us"] for r in calls if r["duration_us"] is not None)
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        assert tools[name] == (took[math.ceil(share * len(took)) - 1] if took else None)
    latency = stats(store.paths, Request(), Counting(measure="latency")).total.values
    slowest = max((r["latency_us"] or 0 for r in kept), default=0)
    assert latency["max"] == (slowest or None)
    masked = stats(store.paths, Request(), Counting(measure="redactions")).total.values
    assert masked["events"] == sum(r["redactions"] > 0 for r in kept)
    assert (masked["secrets"] or 0) == sum(r["redactions"] for r in kept)
    store.con.close()


def test_an_event_counts_for_each_of_its_flags(make_store: Any) -> None:
    """A list of values is counted value by value; none is a group too."""
    store = make_store([event(1, flags="asked,skewed"), event(2, flags="asked"), event(3)])
    found = stats(store.paths, Request(), Counting(axes(("flag",), None)))
    assert {group.key[0]: group.values["allow"] for group in found.groups} == {
        "asked": 2, "skewed": 1, None: 1,
    }  # fmt: skip
    assert found.total.values["allow"] == 3


def test_every_column_can_be_counted_by(make_store: Any) -> None:
    """Whatever `--by help` lists works, and so do the flags' names."""
    from query.axes import known
    from query.filters import FILTERS

    store = make_store([event(1)], sealed=0)
    for name in (*known(), *(f.flag for f in FILTERS if f.flag not in ("seq", "grep", "dst"))):
        found = stats(store.paths, Request(), Counting(axes((name,), None)))
        assert sum(group.values["allow"] for group in found.groups) == 1, name


@pytest.mark.parametrize("words", [("polcy",), ("day", "hour"), ("seq",), tuple("abcdefghi")])
def test_what_cannot_be_counted_by_is_named(words: tuple[str, ...]) -> None:
    """Unknown columns, two times at once, and what is unique."""
    with pytest.raises(UsageError, match="--by"):
        axes(words, None)


@pytest.mark.parametrize("text", ["", "0m", "5", "2d", "m", "1w", "9999999s", "-5m"])
def test_a_bucket_is_a_length_up_to_a_day(text: str) -> None:
    """Anything else is refused."""
    with pytest.raises(UsageError, match="--bucket"):
        bucket(text)
    assert axes((), bucket("30s")) == (Axis("bucket", 30_000_000),)


def test_too_many_groups_are_refused(make_store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting by a column of millions of values is listing."""
    monkeypatch.setattr(module, "MAX_GROUPS", 5)
    store = make_store([event(seq, path=f"/{seq}") for seq in range(1, 8)])
    with pytest.raises(QueryError, match="more than 5 groups"):
        stats(store.paths, Request(), Counting(axes(("path",), None)))


def test_a_damaged_file_is_named_and_left_out(make_store: Any) -> None:
    """The rest is counted."""
    store = make_store([event(seq) for seq in range(1, 22)], sealed=7)
    damaged = next(store.paths.events.rglob("*.parquet"))
    damaged.write_bytes(b"PAR1" + bytes(damaged.stat().st_size - 8) + b"PAR1")
    found = stats(store.paths, Request(), Counting())
    assert found.damaged
    assert found.total.values["allow"] == 21 - sum(file.rows for file in found.damaged)


def test_runs_of_events_are_those_with_a_match(make_store: Any) -> None:
    """The ids, by any filter and window."""
    store = make_store(
        [event(1, correlation_id="a", path="/x"), event(2, correlation_id="b", path="/y")]
    )
    assert runs_of_events(store.paths, Request({"path": ("/x",)})) == {"a"}
    since = event(2)["ts"]
    assert runs_of_events(store.paths, Request(window=Window(since))) == {"b"}
