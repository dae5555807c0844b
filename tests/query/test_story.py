"""A run as steps: what is told together, what never is, and an event's neighbours."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_events.errors import UsageError
from query import story as module
from query.contracts import Gap, Request, Row
from query.story import Step, neighbours, story, told
from tests.query.stores import T0, event

SECOND = 1_000_000


def row(seq: int, **values: Any) -> Row:
    """An allowed read of a file by one process."""
    base = {"kind": "decision", "resource": "filesystem", "access": "read", "process": "rg",
            "pid": 1, "count": 1, "redactions": 0, "path": f"/w/src/{seq}.c"}  # fmt: skip
    merged = {**event(seq), **base, **values}
    return {name: value for name, value in merged.items() if value is not None}


def steps(rows: list[Row], **more: Any) -> list[Any]:
    """First seq, times and folder of each step; a gap as its id."""
    return [
        (step.row["seq"], step.times, step.folder) if isinstance(step, Step) else step.id
        for step in told(rows, **more)
    ]


def test_reads_below_one_folder_are_one_step() -> None:
    """The folder is the deepest that holds all; another file of it joins, a repeat counts."""
    rows = [row(1), row(2), row(3, path="/w/doc/a.md"), row(4, path="/w/src/1.c")]
    assert steps(rows) == [(1, 4, "/w")]
    (step,) = told(rows)
    assert isinstance(step, Step)
    assert (len(step.things), step.last_seq) == (3, 4)


def test_nothing_in_common_is_two_steps() -> None:
    """The root is no folder that says anything."""
    assert steps([row(1, path="/etc/hosts"), row(2, path="/usr/lib/x")]) == [
        (1, 1, None), (2, 1, None),
    ]  # fmt: skip


def test_writes_and_other_processes_are_steps_of_their_own() -> None:
    """Two that work at the same time are told one after the other, not line by line."""
    rows = [row(1), row(2, pid=2), row(3), row(4, pid=2), row(5, access="write")]
    assert steps(rows) == [(1, 2, "/w/src"), (2, 2, "/w/src"), (5, 1, None)]


def test_a_refusal_cuts_the_story() -> None:
    """What was allowed before and after it is not told as one; the same refusal again is."""
    deny = {"decision": "deny", "path": "/home/.ssh/id", "policy_rule": "filesystem.deny[1]"}
    rows = [row(1), row(2, **deny), row(3), row(4, **deny), row(5)]
    assert steps(rows) == [(1, 1, None), (2, 2, None), (3, 2, "/w/src")]


def test_refusals_of_other_things_or_rules_are_apart() -> None:
    """Never two objects, never two rules in one line."""
    deny = {"decision": "deny", "path": "/x", "policy_rule": "a"}
    rows = [
        row(1, **deny),
        row(2, **{**deny, "path": "/y"}),
        row(3, **{**deny, "policy_rule": "b"}),
    ]
    assert [step[1] for step in steps(rows)] == [1, 1, 1]


def test_a_gap_stands_where_it_began_and_nothing_is_told_across_it() -> None:
    """A gap after the last event ends the story."""
    gaps = [Gap(2, "s", T0 + 5000, None, "r", None, None), Gap(1, "s", T0 + 2500, 0, "r", 1, None)]
    assert steps([row(1), row(2), row(3)], gaps=gaps) == [(1, 2, "/w/src"), 1, (3, 1, None), 2]


def test_a_long_pause_is_a_new_step() -> None:
    """A loop is one step, two visits are two."""
    later = T0 + 2 * module.FOLD_QUIET_US
    assert len(steps([row(1), row(2, ts=later), row(3, ts=later + SECOND)])) == 2


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "decision": st.sampled_from(["allow", "allow", "deny", "unknown"]),
                "path": st.sampled_from(["/w/a", "/w/b/c", "/etc/x", None]),
                "access": st.sampled_from(["read", "write"]),
                "pid": st.integers(1, 3),
                "count": st.sampled_from([1, 4]),
                "redactions": st.sampled_from([0, 0, 1]),
            }
        ),
        max_size=30,
    )
)
def test_no_event_is_lost_or_told_twice(drawn: list[dict[str, Any]]) -> None:
    """Occurrences and secrets of the steps add up, and each step holds one decision."""
    rows = [row(seq, **values) for seq, values in enumerate(drawn, 1)]
    found = [step for step in told(rows) if isinstance(step, Step)]
    assert sum(step.times for step in found) == sum(r["count"] for r in rows)
    assert sum(step.secrets for step in found) == sum(r["redactions"] for r in rows)
    for word in ("allow", "deny", "unknown"):
        mine = sum(r["count"] for r in rows if r["decision"] == word)
        assert sum(s.times for s in found if s.row["decision"] == word) == mine
    assert [s.row["seq"] for s in found] == sorted(s.row["seq"] for s in found)


def with_runs(writer: Any, rows: list[dict[str, Any]]) -> None:
    """What the collector would count of these rows."""
    for name in {r["correlation_id"] for r in rows}:
        mine = [r for r in rows if r["correlation_id"] == name]
        times, seqs = [r["ts"] for r in mine], [r["seq"] for r in mine]
        allow = sum(r["decision"] == "allow" for r in mine)
        writer.con.execute(
            "INSERT INTO runs VALUES (?, 'h', 'agent-demo', ?, ?, ?, ?, ?, ?, 0, 0)",
            (name, min(times), max(times), min(seqs), max(seqs), allow, len(mine) - allow),
        )


def test_a_report_of_the_system_joins_what_it_reports(make_store: Any) -> None:
    """Told by whom, counted once; a report that belongs to nothing of the run is not its own."""
    rows = [
        event(1, decision="deny", path="/x"),
        event(2, decision="deny", path="/x", enforcer="seatbelt", correlation_id="os:1",
              link="report", linked_seq=1),
        event(3, decision="deny", path="/y", enforcer="seatbelt", correlation_id="os:1",
              link="report", linked_seq=99),
        event(4, path="/z"),
    ]  # fmt: skip
    store = make_store(rows, sealed=2, batch=2)
    with_runs(store, rows)
    found = story(store.paths, "7f", Request())
    refused, allowed = found.steps
    assert isinstance(refused, Step)
    assert isinstance(allowed, Step)
    assert (refused.times, refused.reporters) == (1, {"seatbelt"})
    assert (found.totals.allow, found.totals.deny, found.totals.reports) == (1, 1, 1)
    assert found.stored == 2


def test_a_word_that_means_no_run_or_several_says_which_there_are(make_store: Any) -> None:
    """The whole id wins over longer ones that begin with it."""
    rows = [event(n, correlation_id=name) for n, name in enumerate(("ab", "abc", "abd", "x"), 1)]
    store = make_store(rows)
    with_runs(store, rows)
    with pytest.raises(UsageError, match='no run begins with "q"') as none:
        story(store.paths, "q", Request())
    assert "x (agent-demo)" in str(none.value.hint)
    with pytest.raises(UsageError, match=r'"a" is the beginning of several runs: abd .*, ab '):
        story(store.paths, "a", Request())
    assert story(store.paths, "ab", Request()).run.correlation_id == "ab"
    assert story(store.paths, "last", Request()).run.correlation_id == "x"
    assert story(store.paths, "last~2", Request()).run.correlation_id == "abc"
    with pytest.raises(UsageError, match="last~9: no such run"):
        story(store.paths, "last~9", Request())


def test_a_run_outside_any_sandbox_is_last_only_alone(make_store: Any) -> None:
    """Nobody means a process of the system by `last`."""
    rows = [event(1, correlation_id="a"), event(2, correlation_id="os:-:7:-")]
    store = make_store(rows)
    with_runs(store, rows)
    assert story(store.paths, "last", Request()).run.correlation_id == "a"
    alone = make_store(rows[1:])
    with_runs(alone, rows[1:])
    assert story(alone.paths, "last", Request()).run.correlation_id == "os:-:7:-"


def test_a_run_too_long_to_tell_says_so(make_store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest events are told, then only what was refused; the sums are the collector's."""
    monkeypatch.setattr(module, "MAX_EVENTS", 3)
    rows = [event(seq, path=f"/w/{seq}") for seq in range(1, 8)]
    rows[5] |= {"decision": "deny", "path": "/secret"}
    store = make_store(rows)
    with_runs(store, rows)
    found = story(store.paths, "last", Request())
    assert (found.more, found.totals.allow, found.totals.deny) == (True, 6, 1)
    assert [s.row["seq"] for s in found.steps if isinstance(s, Step)] == [1, 2, 3, 6]
    assert not story(store.paths, "last", Request({"decision": ("deny",)})).more


@pytest.mark.parametrize("sealed", [0, 30, 70])
@pytest.mark.parametrize(("seq", "context"), [(1, 3), (35, 4), (70, 10), (36, 0), (20, 100)])
def test_neighbours_are_the_nearest_on_each_side(
    make_store: Any, sealed: int, seq: int, context: int
) -> None:
    """By the order of the store, whatever is sealed; filters choose among the neighbours only."""
    rows = [event(n, decision="deny" if n % 3 == 0 else "allow") for n in range(1, 71)]
    store = make_store(rows, sealed=sealed)
    plain = [n for n in range(seq - context, seq + context + 1) if 1 <= n <= 70]
    found = neighbours(store.paths, seq, Request(), context)
    assert [r["seq"] for r in found.rows] == plain
    denied = [n for n in range(3, 71, 3) if n != seq]
    before, after = [n for n in denied if n < seq], [n for n in denied if n > seq]
    nearest = [*before[max(len(before) - context, 0) :], seq, *after[:context]]
    found = neighbours(store.paths, seq, Request({"decision": ("deny",)}), context)
    assert [r["seq"] for r in found.rows] == nearest
