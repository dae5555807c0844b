"""What a service keeps between questions changes no answer, whatever happens to the store."""

import threading
from itertools import count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from query import engine
from query import partial as module
from query.axes import axes
from query.contracts import Request, Window
from query.decoded import Decoded
from query.engines import Engines
from query.kept import Kept, keep
from query.memo import Memo
from query.stats import Counting, Stats, stats
from query.sums import Sums
from query.top import top
from tests.query.stores import T0, StoreWriter, build, event, spool_blob

numbers = count()
HOUR = 3_600_000_000
# Day, hour and the rest of T0 do not matter; hours from it on do.
START = T0 // HOUR * HOUR

drawn_rows = st.lists(
    st.fixed_dictionaries(
        {
            "at": st.integers(-12, 12),
            "decision": st.sampled_from(["allow", "deny", "unknown", None]),
            "sandbox": st.sampled_from(["a", "b"]),
            "policy_rule": st.sampled_from(["filesystem.deny[1]", None]),
            "enforcer": st.sampled_from(["seatbelt", None]),
            "correlation_id": st.sampled_from(["r1", "r2"]),
            "kind": st.sampled_from(["decision", "decision", "tool_call", "notice", "gap"]),
            "count": st.sampled_from([1, 1, 7]),
            "back": st.sampled_from([None, None, 1, 2, 9, -1]),
        }
    ),
    min_size=4,
    max_size=30,
)
acts = st.lists(
    st.sampled_from(["append", "seal", "compact", "remove", "purge", "ask"]), max_size=6
)


def made(drawn: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows half an hour apart, in no order of time; `back` makes one a report of another."""
    rows = []
    for seq, values in enumerate(drawn, 1):
        own = {k: v for k, v in values.items() if k not in ("at", "back")}
        back = values["back"]
        link = {"link": "report", "linked_seq": seq - back} if back else {}
        if back == -1:
            link = {"link": "report"}
        rows.append(event(seq, ts=START + values["at"] * HOUR // 2 + seq, **own, **link))
    return rows


class Trail:
    """A store that is changed step by step as a collector would."""

    def __init__(self, store: StoreWriter, rows: list[dict[str, Any]]) -> None:
        self.store = store
        self.waiting = rows
        self.spool: list[list[dict[str, Any]]] = []
        self.files: dict[str, list[dict[str, Any]]] = {}

    def do(self, act: str) -> None:
        """One step; nothing where there is nothing to do it to."""
        getattr(self, f"_{act}")()

    def _append(self) -> None:
        some, self.waiting = self.waiting[:3], self.waiting[3:]
        if some:
            self.store.append(some)
            self.spool.append(some)

    def _seal(self) -> None:
        rows = [row for batch in self.spool for row in batch]
        if rows:
            path = self.store.archive(rows)
            self.files[f"{path.parent.name}/{path.name}"] = rows
            self.store.meta(sealed_upto=rows[-1]["seq"])
            self.spool = []

    def _compact(self) -> None:
        rows = sorted((r for held in self.files.values() for r in held), key=lambda r: r["seq"])
        old = list(self.files)
        if len(old) > 1:
            path = self.store.archive(rows)
            self.store.con.executemany("DELETE FROM files WHERE path = ?", [(p,) for p in old])
            self.files = {f"{path.parent.name}/{path.name}": rows}

    def _remove(self) -> None:
        if self.files:
            path = next(iter(self.files))
            del self.files[path]
            self.store.con.execute("DELETE FROM files WHERE path = ?", (path,))

    def _purge(self) -> None:
        """Secrets are masked in place: here a sandbox's name is."""
        for batch in self.spool:
            for row in batch:
                row["sandbox"] = "masked"
            blob = spool_blob(batch)
            self.store.con.execute(
                "UPDATE batches SET data = ? WHERE first_seq = ?", (blob, batch[0]["seq"])
            )
        self.store.con.execute(
            "INSERT INTO meta VALUES('spool_changes', 1)"
            " ON CONFLICT DO UPDATE SET value = value + 1"
        )

    def _ask(self) -> None:
        """The questions come after each step."""


def told(found: Stats) -> Any:
    """What must be the same, in an order."""
    groups = sorted((repr(group.key), dict(group.values)) for group in found.groups)
    return groups, dict(found.total.values), found.reports, found.reporters, found.damaged


QUESTIONS = st.tuples(
    st.sampled_from([(), ("decision",), ("sandbox", "rule"), ("decision", "hour"), ("day",)]),
    st.sampled_from([{}, {"decision": ("deny",)}, {"sandbox": ("!a",)}]),
    st.tuples(st.none() | st.integers(-9, 9), st.none() | st.integers(-9, 9)),
    st.booleans(),
)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(drawn_rows, acts, QUESTIONS)
def test_answers_are_the_same_as_without(
    tmp_path: Path, drawn: Any, steps: list[str], question: Any
) -> None:
    """Counts, lists and numbers after every append, seal, compaction, retention and purge."""
    store = build(tmp_path / f"store-{next(numbers)}", [])
    trail, kept = Trail(store, made(drawn)), Kept(Engines(2), Decoded(), Memo())
    for act in ("append", *steps, "append", "seal", "append"):
        trail.do(act)
        for by, values, (since, until), merged in (question,):
            edges = [None if n is None else START + n * HOUR // 3 for n in (since, until)]
            request = Request(values, Window(*edges), limit=5)
            counting = Counting(axes(by, None), zone=ZoneInfo("Asia/Tokyo"), merged=merged)
            # Without: but for the engines, whose opening would take most of the time.
            plain = _asked(store, request, counting, Kept(kept.engines), remembers=False)
            assert _asked(store, request, counting, kept, remembers=True) == plain
    kept.engines.close()
    store.con.close()


def _asked(
    store: StoreWriter, request: Request, counting: Counting, kept: Kept, *, remembers: bool
) -> Any:
    token = keep(kept)
    try:
        found = engine.answer(store.paths, request)
        memo = kept.counts if remembers else None
        counts = stats(store.paths, request, counting, memo)
        lists = top(store.paths, request, axes(("sandbox", "rule"), None), 2, memo)
        return told(counts), found.rows, found.more, lists
    finally:
        token.var.reset(token)


def test_a_file_is_counted_once_while_the_window_moves(make_store: Any, monkeypatch: Any) -> None:
    """The file that lies inside is not read again; the one at the edge only where it is cut."""
    rows = [event(n, ts=START + n * HOUR // 4) for n in range(1, 29)]
    store = make_store(rows, sealed=28)
    asked: list[list[str | None]] = []
    partial = module._partial

    def spy(reader: Any, parts: Any, where: Any, question: Any) -> Any:
        asked.append([part.path for part in parts])
        return partial(reader, parts, where, question)

    monkeypatch.setattr(module, "_partial", spy)
    memo = Memo()
    for number in (1, 2, 3):
        window = Window(START + HOUR // 2 + number * 10_000_000)
        found = stats(store.paths, Request(window=window), Counting(), memo)
        assert found.total.values["allow"] == len([r for r in rows if r["ts"] >= window.since])
    first, *later = asked[:3], *asked[3:]
    assert len(first) == 3
    assert len(later) == 2
    assert all(len(paths) == 1 for paths in later)


def test_of_the_spool_only_what_came_since_is_asked(make_store: Any, monkeypatch: Any) -> None:
    """Until a seal, or until an event is older than the window: then all of it is."""
    rows = [event(n, ts=START + n * 1_000_000) for n in range(1, 30)]
    trail = Trail(make_store([]), rows)
    asked: list[int] = []
    partial = module._partial

    def spy(reader: Any, parts: Any, where: Any, question: Any) -> Any:
        asked.append(sum(part.rows for part in parts))
        return partial(reader, parts, where, question)

    monkeypatch.setattr(module, "_partial", spy)
    memo = Memo()

    def ask(since: int) -> int:
        request = Request(window=Window(since))
        allowed: int = stats(trail.store.paths, request, Counting(), memo).total.values["allow"]
        return allowed

    for number in (3, 6, 9):
        trail.do("append")
        assert ask(START) == number
    assert ask(START + 5_000_000) == 5
    assert ask(START) == 9
    assert asked == [3, 3, 3, 6]
    trail.do("seal")
    trail.do("append")
    assert ask(START) == 12
    assert asked[4:] == [9, 3]


def test_what_is_kept_has_a_bound() -> None:
    """The least used goes first, and what is too heavy is not held at all."""
    memo = Memo(most=10)
    for name in "abc":
        memo.put(name, name, 4)
    assert [memo.get(name) for name in "abc"] == [None, "b", "c"]
    memo.put("d", "d", 10**6)
    assert memo.get("d") is None


def test_threads_with_one_question_count_one_after_the_other() -> None:
    """The second finds what the first has counted; another question does not wait."""
    memo, begun, go_on, found = Memo(), threading.Event(), threading.Event(), []

    def first() -> None:
        with memo.turn("a"):
            begun.set()
            go_on.wait(10)
            memo.put("a", "counted", 1)

    def second() -> None:
        with memo.turn("a"):
            found.append(memo.get("a"))

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    begun.wait(10)
    threads[1].start()
    with memo.turn("b"):
        assert found == []
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert found == ["counted"]


def test_sums_add_up() -> None:
    """A run in both is one run."""
    one, two = Sums(1, 2, 0, 0, frozenset("x"), 5, 9), Sums(0, 1, 0, 3, frozenset("xy"), 4, 8)
    assert one.plus(two) == Sums(1, 3, 0, 3, frozenset("xy"), 4, 9)
    assert Sums().plus(one) == one
