"""A scoped question gives what it would give in a store that holds nothing but the scope."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit_events.errors import UsageError
from audit_events.schema import OS_FORMATS
from query import engine
from query.axes import axes
from query.contracts import Request, Row, Window
from query.run_list import RunList, newest_runs
from query.runs import run_named
from query.scoping import seen_gaps, seen_upto
from query.snapshot import open_snapshot
from query.stats import Counting, runs_of_events, stats
from query.story import neighbours, story
from query.trail import follow
from tests.query.stores import T0, StoreWriter, build, event

numbers = count()
SANDBOXES = ["a", "b", "it's", ""]
scopes = st.lists(st.sampled_from([*SANDBOXES, "no-such"]), max_size=3, unique=True).map(tuple)
Rows = list[dict[str, Any]]

drawn_rows = st.lists(
    st.fixed_dictionaries(
        {
            "sandbox": st.sampled_from(SANDBOXES),
            "source": st.sampled_from(["s1", "s2", "s3"]),
            "format": st.sampled_from(["native", "seatbelt"]),
            "kind": st.sampled_from(["decision", "decision", "tool_call", "notice"]),
            "decision": st.sampled_from(["allow", "deny", None]),
            "path": st.sampled_from(["/w/a", "/w/b", None]),
            "policy_rule": st.sampled_from(["filesystem.deny[1]", None]),
            "count": st.sampled_from([1, 1, 4]),
            "run": st.sampled_from([1, 2]),
            # One sandbox may claim the run of another: the agent writes that field.
            "claims": st.sampled_from([None, None, None, "a1"]),
            "back": st.sampled_from([None, None, 1, 2]),
        }
    ),
    min_size=1,
    max_size=24,
)
drawn_gaps = st.lists(
    st.tuples(
        st.sampled_from(["s1", "s2", "s3", "s4", "all"]),
        st.integers(0, 20),
        st.none() | st.integers(1, 9),
    ),
    max_size=4,
)
requests = st.builds(
    Request,
    values=st.dictionaries(
        st.sampled_from(["decision", "sandbox"]),
        st.sampled_from([("deny",), ("!deny",), ("allow", "deny")]),
        max_size=1,
    ).map(lambda values: {k: v if k == "decision" else ("a", "b") for k, v in values.items()}),
    window=st.builds(Window, since=st.none() | st.integers(0, 20).map(lambda n: T0 + n * 1000)),
)


def made(drawn: Sequence[dict[str, Any]]) -> Rows:
    """Rows with seq, run and link; `back` makes one a report of an event so many before it."""
    rows = []
    for seq, values in enumerate(drawn, 1):
        own = {k: v for k, v in values.items() if k not in ("run", "claims", "back")}
        run = values["claims"] or f"{values['sandbox']}{values['run']}"
        back = values["back"]
        link = {"link": "report", "linked_seq": seq - back} if back and back < seq else {}
        rows.append(event(seq, correlation_id=run, **own, **link))
    return rows


def owners(rows: Rows) -> dict[str, str]:
    """The sandbox that each run belongs to: the first one that named it."""
    found: dict[str, str] = {}
    for row in rows:
        found.setdefault(row["correlation_id"], row["sandbox"])
    return found


def put_runs(store: StoreWriter, rows: Rows, owner: dict[str, str]) -> None:
    """What the collector counts of these rows, by run."""
    for name in {row["correlation_id"] for row in rows}:
        mine = [r for r in rows if r["correlation_id"] == name]
        times, seqs = [r["ts"] for r in mine], [r["seq"] for r in mine]
        counted = [r for r in mine if r.get("link") != "report" or r["format"] not in OS_FORMATS]
        sums = [
            sum(r.get("count", 1) for r in counted if r["decision"] == w)
            for w in ("allow", "deny", None)
        ]
        store.con.execute(
            "INSERT INTO runs VALUES (?, 'h', ?, ?, ?, ?, ?, ?, ?, ?, 0)",
            (name, owner[name], min(times), max(times), min(seqs), max(seqs), *sums),
        )
        for rule in {r["policy_rule"] for r in mine if r.get("policy_rule")}:
            denied = [
                r for r in counted if r["decision"] == "deny" and r.get("policy_rule") == rule
            ]
            if number := sum(r["count"] for r in denied):
                store.con.execute("INSERT INTO run_rules VALUES (?, ?, ?)", (name, rule, number))
    for name in {row["sandbox"] for row in rows}:
        store.con.execute("INSERT INTO sandboxes VALUES (?, ?)", (name, T0))


@contextmanager
def two_stores(
    folder: Path, rows: Rows, gaps: Sequence[tuple[str, int, int | None]], scope: tuple[str, ...]
) -> Iterator[tuple[StoreWriter, StoreWriter]]:
    """A store of everything, and one that holds only what the scope may see."""
    mine = [row for row in rows if row["sandbox"] in scope]
    delivered = {row["source"] for row in mine} | {"all"}
    whole = build(folder / f"whole-{next(numbers)}", rows, sealed=len(rows) // 2, batch=5)
    part = build(folder / f"part-{next(numbers)}", mine, sealed=len(mine) // 2, batch=5)
    owner = owners(rows)
    put_runs(whole, rows, owner)
    put_runs(part, [r for r in mine if owner[r["correlation_id"]] in scope], owner)
    for number, (source, since, length) in enumerate(gaps, 1):
        end = None if length is None else T0 + (since + length) * 1000
        values = (number, source, T0 + since * 1000, end, "r", None, None)
        for store in (whole, part) if source in delivered else (whole,):
            store.con.execute("INSERT INTO gaps VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    try:
        yield whole, part
    finally:
        whole.con.close()
        part.con.close()


def scoped(request: Request, scope: tuple[str, ...], **more: Any) -> Request:
    """The same question of one who may see less."""
    return Request(request.values, request.window, scope=scope, **more)


def followed(store: StoreWriter, request: Request, last: int) -> tuple[list[Row], list[int]]:
    """What a follower from the start is told up to the newest: events, and ids of gaps."""
    rows, gaps, stop = [], [], threading.Event()
    for news in follow(store.paths, 0, request, stop, quiet_s=0.0):
        rows += news.rows
        gaps += [gap.id for gap in news.gaps]
        if news.upto >= last:
            stop.set()
    return rows, gaps


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(drawn_rows, drawn_gaps, scopes, requests)
def test_a_scoped_answer_is_the_answer_of_a_store_of_that_scope(
    tmp_path: Path, drawn: Any, gaps: Any, scope: tuple[str, ...], request_: Request
) -> None:
    """Events, numbers, pages, counts, what is followed, gaps: nothing else shines through."""
    rows = made(drawn)
    with two_stores(tmp_path, rows, gaps, scope) as (whole, part):
        mine = scoped(request_, scope)
        one, other = engine.answer(whole.paths, mine), engine.answer(part.paths, request_)
        assert (one.rows, one.more, one.gaps) == (other.rows, other.more, other.gaps)
        few = engine.answer(whole.paths, scoped(request_, scope, limit=3))
        same = engine.answer(part.paths, Request(request_.values, request_.window, limit=3))
        assert (few.rows, few.more) == (same.rows, same.more)
        for merged in (True, False):
            got = engine.count(whole.paths, mine, merged=merged)
            want = engine.count(part.paths, request_, merged=merged)
            assert (got.records, got.events, got.gaps) == (want.records, want.events, want.gaps)
        paged = [r for page in engine.row_pages(whole.paths, mine, page_rows=4) for r in page]
        assert paged == other.rows
        assert runs_of_events(whole.paths, mine) == runs_of_events(part.paths, request_)
        counting = Counting(axes(("sandbox", "rule", "hour"), None))
        counted, plain = stats(whole.paths, mine, counting), stats(part.paths, request_, counting)
        assert sorted(map(repr, counted.groups)) == sorted(map(repr, plain.groups))
        assert (counted.total, counted.gaps) == (plain.total, plain.gaps)
        assert counted.reports == plain.reports
        last = max((row["seq"] for row in rows if row["sandbox"] in scope), default=0)
        assert followed(whole, mine, len(rows)) == followed(part, request_, last)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(drawn_rows, drawn_gaps, scopes, st.sampled_from([(), ("deny",)]), st.booleans())
def test_runs_and_stories_keep_to_the_scope(
    tmp_path: Path,
    drawn: Any,
    gaps: Any,
    scope: tuple[str, ...],
    decisions: tuple[str, ...],
    claims: bool,
) -> None:
    """The list with its numbers, `last`, a run by its name, its events, an event's neighbours."""
    rows = made([values if claims else values | {"claims": None} for values in drawn])
    plain = Request({"decision": decisions} if decisions else {})
    mine = scoped(plain, scope)
    with two_stores(tmp_path, rows, gaps, scope) as (whole, part):
        now = T0 + 10**9
        listed = newest_runs(whole.paths, scoped(plain, scope, limit=9), now)
        wanted = newest_runs(part.paths, Request(plain.values, limit=9), now)
        # A run that another claims keeps its place among the newest: who claims may move it.
        assert by_id(listed) == by_id(wanted) if claims else listed == wanted
        for word in ("a1",) if claims else ("last", "last~1", "a1", "b", "zz"):
            got = told_or_refused(whole, word, mine)
            assert got == told_or_refused(part, word, plain), word
        for row in rows[:: max(len(rows) // 3, 1)]:
            near = neighbours(whole.paths, row["seq"], mine, 2)
            want = neighbours(part.paths, row["seq"], plain, 2)
            assert (near.rows, near.gaps) == (want.rows, want.gaps)


def by_id(found: RunList) -> Any:
    """A list of runs without its order."""
    return sorted(found.runs, key=lambda one: one.run.correlation_id), found.more, found.gaps


def told_or_refused(store: StoreWriter, word: str, request: Request) -> Any:
    """A story as values that compare, or the words of the refusal."""
    try:
        found = story(store.paths, word, request)
    except UsageError as error:
        return error.message, error.hint
    steps = [getattr(step, "row", step) for step in found.steps]
    return found.run, found.totals, steps, found.gaps, found.stored


def test_a_prefix_that_is_another_sandboxes_run_is_no_run(make_store: Any) -> None:
    """Neither the refusal nor its hint names a run or a sandbox that may not be seen."""
    rows = [event(1, sandbox="a", correlation_id="aa1"), event(2, sandbox="b", correlation_id="ab")]
    store = make_store(rows)
    put_runs(store, rows, owners(rows))
    assert run_named(store.con, "a", scope=("a",)).correlation_id == "aa1"
    with pytest.raises(UsageError) as refused:
        run_named(store.con, "ab", scope=("a",))
    assert "ab (b)" not in f"{refused.value.message} {refused.value.hint}"
    with pytest.raises(UsageError) as none:
        run_named(store.con, "last", "bb", scope=("a",))
    assert none.value.message == "last: no such run of bb"


def test_the_newest_seq_of_a_scope_is_its_own(make_store: Any) -> None:
    """How much others did meanwhile is not told, and going on from there misses nothing."""
    rows = [event(1, sandbox="a"), event(2, sandbox="b", correlation_id="x"), event(3, sandbox="b")]
    store = make_store(rows[:2])
    put_runs(store, rows[:2], owners(rows[:2]))
    with open_snapshot(store.paths) as snapshot:
        assert [seen_upto(snapshot, scope) for scope in (None, ("a",), ("b",), ())] == [2, 1, 2, 0]


def test_gaps_of_sources_that_deliver_later_are_seen_then(make_store: Any) -> None:
    """What is remembered of a file does not hold for files that come after it."""
    rows = [event(n, source="s1" if n < 8 else "s2", sandbox="a") for n in range(1, 15)]
    store = make_store(rows[:7], sealed=7)
    store.con.execute("INSERT INTO gaps VALUES (1, 's2', ?, NULL, 'r', NULL, NULL)", (T0,))
    with open_snapshot(store.paths) as snapshot:
        assert seen_gaps(snapshot, None, ("a",)) == ()
    store.append(rows[7:])
    with open_snapshot(store.paths) as snapshot:
        assert [gap.id for gap in seen_gaps(snapshot, None, ("a",))] == [1]
