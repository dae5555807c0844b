"""What `answer`, `count` and `pages` promise, against plain Python over the same rows."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_events.arrow import FILE_SCHEMA
from audit_events.errors import UsageError
from audit_events.schema import DEFAULT_KINDS
from query.contracts import Gap, Request, Row, Window
from query.engine import Count, answer, count, pages, row_pages
from query.filters import BY_FLAG
from query.reader import Query, Reader
from query.snapshot import open_snapshot
from tests.query.stores import DAY_US, STORE, T0, StoreWriter, build, event

Rows = list[dict[str, Any]]

HOSTILE = [
    "'; DROP TABLE events; --", "a\x00b", "%", "_", "[", "*", "\\", "$1", "?", "\U0010ffff",
    "\x1b[2J", "é", "e\u0301", "\u202e", "", " ", "x" * 3000, "!", "{}", "NULL",
]  # fmt: skip
NAMES = ["agent-demo", "agent-x", "build-1", *HOSTILE]
HOSTS = ["140.82.113.4", "10.1.2.3", "10.255.0.1", "2001:db8::1", "2001:0db8:0:0::2", "::1",
         "API.example.com", "300.1.1.1", "*", None]  # fmt: skip


def make_rows(n: int = 240, seed: int = 7) -> Rows:
    """Rows with every kind of value, nulls, equal times and times that run against seq."""
    rng = random.Random(seed)
    return [_row(rng, seq) for seq in range(1, n + 1)]


def _row(rng: random.Random, seq: int) -> dict[str, Any]:
    def maybe(*values: Any) -> Any:
        return rng.choice([None, *values])

    host = rng.choice(HOSTS)
    port = maybe(443, 80)
    return event(
        seq,
        ts=T0 + rng.randrange(-5, 5) * DAY_US // 2 + rng.randrange(3) * 1000,
        kind=rng.choice(["decision"] * 6 + ["tool_call", "gap", "notice"]),
        sandbox=rng.choice(NAMES),
        correlation_id=rng.choice(["7f3a91c2", "7f3b0000", "b41c07e9", ""]),
        decision=maybe("allow", "deny", "deny", "unknown"),
        access=maybe("read", "write", "connect"),
        resource=rng.choice(["filesystem", "network", "process"]),
        syscall=maybe("open", "file-read-data"),
        process=maybe(*NAMES),
        pid=maybe(4021, 4022),
        policy_rule=maybe("filesystem.deny[1]", "filesystem.allow[0]", "network.egress.deny-all"),
        rule_index=maybe(0, 1),
        dst_host=host,
        dst_port=port,
        dst=f"{host}:{port}" if host and port else None,
        target=maybe("com.apple.networkd", *HOSTILE),
        tool=maybe("bash", "edit"),
        outcome=maybe("ok", "policy_violation"),
        flags=maybe("asked", "asked,would-deny", "would-deny"),
        redaction_kinds=maybe("openclaw-token", "aws-key,openclaw-token"),
        redactions=rng.choice([0, 1]),
        message=maybe("a [REDACTED:openclaw-token:3fa94c1d22b0] b", "Permission denied", *HOSTILE),
        count=maybe(1, 1, 5),
        policy=maybe("agent-readonly"),
        enforcer=maybe("openclaw", "seatbelt"),
    )


def as_row(values: dict[str, Any]) -> Row:
    """A stored event as it must come out."""
    out = {"event_id": f"{STORE}-{values['seq']}", "resource": "other", "redactions": 0}
    out |= {"kind": "decision", "count": 1} | values
    return {name: value for name, value in out.items() if value is not None}


def masked(row: dict[str, Any], fingerprint: str) -> bool:
    """A mark counts where the redactor set one: a text that only looks like one is none."""
    return bool(row.get("redactions")) and fingerprint in row.get("message", "")


ROWS = make_rows()
# What each value must find, said again in plain Python.
SAMPLES: dict[str, list[tuple[str, Callable[[Row], bool]]]] = {
    "decision": [("deny", lambda r: r.get("decision") == "deny"),
                 ("blocked", lambda r: r.get("decision") == "deny"),
                 ("ALLOWED", lambda r: r.get("decision") == "allow")],
    "sandbox": [("agent-demo", lambda r: r["sandbox"] == "agent-demo"),
                ("agent-*", lambda r: r["sandbox"].startswith("agent-"))]
               + [(x, lambda r, x=x: r["sandbox"] == x) for x in HOSTILE
                  if not {"*", "?", "!"} & set(x)],
    "run": [("7f3", lambda r: r["correlation_id"].startswith("7f3")),
            ("b41c07e9", lambda r: r["correlation_id"] == "b41c07e9")],
    "host": [("mini-tokyo-07", lambda r: True), ("mini-?", lambda r: False)],
    "dst": [("140.82.113.4:443", lambda r: r.get("dst") == "140.82.113.4:443"),
            ("10.0.0.0/8", lambda r: r.get("dst_host") in ("10.1.2.3", "10.255.0.1")),
            ("10.0.0.0/8:80", lambda r: r.get("dst") in ("10.1.2.3:80", "10.255.0.1:80")),
            (":443", lambda r: r.get("dst_port") == 443),
            ("2001:db8::/32", lambda r: str(r.get("dst_host")).startswith("2001:")),
            ("[2001:db8::2]:443", lambda r: r.get("dst") == "2001:0db8:0:0::2:443"),
            ("::1", lambda r: r.get("dst_host") == "::1"),
            ("api.*", lambda r: r.get("dst_host") == "API.example.com"),
            ("0.0.0.0/0", lambda r: r.get("dst_host") in HOSTS[:3])],
    "target": [("com.apple.*", lambda r: str(r.get("target")).startswith("com.apple.")),
               ("140.82.113.4:443", lambda r: r.get("dst") == "140.82.113.4:443")],
    "rule": [("filesystem.deny[1]", lambda r: r.get("policy_rule") == "filesystem.deny[1]"),
             ("filesystem.deny.1", lambda r: r.get("policy_rule") == "filesystem.deny[1]"),
             ("filesystem.*", lambda r: str(r.get("policy_rule")).startswith("filesystem."))],
    "rule-index": [("1", lambda r: r.get("rule_index") == 1)],
    "access": [("read", lambda r: r.get("access") == "read")],
    "resource": [("network", lambda r: r["resource"] == "network")],
    "syscall": [("open", lambda r: r.get("syscall") == "open"),
                ("file-*", lambda r: r.get("syscall") == "file-read-data")],
    "process": [("build-?", lambda r: r.get("process") == "build-1")],
    "pid": [("4021", lambda r: r.get("pid") == 4021)],
    "policy": [("agent-readonly", lambda r: "policy" in r)],
    "enforcer": [("seatbelt", lambda r: r.get("enforcer") == "seatbelt")],
    "tool": [("bash", lambda r: r.get("tool") == "bash")],
    "outcome": [("violation", lambda r: r.get("outcome") == "policy_violation")],
    "source": [("openclaw", lambda r: True)],
    "kind": [("gap", lambda r: r["kind"] == "gap"), ("notice", lambda r: r["kind"] == "notice")],
    "flag": [("asked", lambda r: "asked" in r.get("flags", "").split(",")),
             ("would-deny", lambda r: "would-deny" in r.get("flags", "").split(","))],
    "secret": [("openclaw-token", lambda r: "openclaw-token" in r.get("redaction_kinds", "")),
               ("3fa94c1d22b0", lambda r: masked(r, "3fa94c1d22b0")),
               ("[REDACTED:x:3fa94c1d22b0]", lambda r: masked(r, "3fa94c1d22b0")),
               ("any", lambda r: r["redactions"] > 0)],
    "seq": [("17:30", lambda r: 17 <= r["seq"] <= 30), ("200:", lambda r: r["seq"] >= 200),
            (":9", lambda r: r["seq"] <= 9), ("77", lambda r: r["seq"] == 77)],
    "grep": [("permission", lambda r: r.get("message") == "Permission denied"),
             ("Permission", lambda r: r.get("message") == "Permission denied"),
             ("PERMISSION", lambda r: False)],
}  # fmt: skip
# Globs of paths are the policies' own and tested there; here in test_filters.
FLAGS = sorted(SAMPLES)


def expected(request: Request) -> list[Row]:
    """Brute force: what the request must find, oldest first."""
    return [row for row in map(as_row, ROWS) if _fits(row, request)]


def _fits(row: Row, request: Request) -> bool:
    w = request.window
    at = row["ts"] if w.clock == "event" else row["observed_at"]
    if (w.since is not None and at < w.since) or (w.until is not None and at >= w.until):
        return False
    kinds = request.values.get("kind", ())
    if all(value.startswith("!") for value in kinds) and row["kind"] not in DEFAULT_KINDS:
        return False
    return all(_one(row, flag, values) for flag, values in request.values.items())


def _one(row: Row, flag: str, values: tuple[str, ...]) -> bool:
    tests = dict(SAMPLES[flag])
    wanted = [tests[v](row) for v in values if not v.startswith("!")]
    unwanted = [tests[v[1:]](row) for v in values if v.startswith("!")]
    return (not wanted or any(wanted)) and not any(unwanted)


@st.composite
def requests(draw: st.DrawFn) -> Request:
    """Any combination of filters, some excluding, in any window."""
    values = {}
    for flag in draw(st.lists(st.sampled_from(FLAGS), max_size=3, unique=True)):
        words = [word for word, _ in SAMPLES[flag]]
        chosen = draw(st.lists(st.sampled_from(words), min_size=1, max_size=3))
        values[flag] = tuple("!" * draw(st.booleans()) + word for word in chosen)
    moments = st.none() | st.sampled_from([T0 + i * DAY_US // 2 + j for i in range(-5, 5)
                                           for j in (0, 1000, 1001)])  # fmt: skip
    clock = draw(st.sampled_from(["event", "arrival"]))
    return Request(values=values, window=Window(draw(moments), draw(moments), clock))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[StoreWriter]]:
    """The same rows in the spool, in the archive, and in both."""
    root: Path = tmp_path_factory.mktemp("answer")
    made = [build(root / str(sealed), ROWS, sealed, batch=20) for sealed in (0, 240, 120)]
    yield made
    for writer in made:
        writer.con.close()


def test_every_filter_has_samples() -> None:
    """A new filter must say here what it finds (`path` does in test_filters)."""
    assert set(SAMPLES) | {"path"} == set(BY_FLAG)


@pytest.mark.parametrize("flag", FLAGS)
def test_a_filter_finds_what_plain_python_finds(stores: list[StoreWriter], flag: str) -> None:
    """Each sample, and its exclusion, in a store that is half spool and half archive."""
    for word, _ in SAMPLES[flag]:
        for value in (word, f"!{word}"):
            request = Request(values={flag: (value,)})
            assert answer(stores[2].paths, request).rows == expected(request), value


@settings(max_examples=30, deadline=None)
@given(request=requests(), which=st.integers(0, 2))
def test_combined_filters_equal_brute_force(
    stores: list[StoreWriter], request: Request, which: int
) -> None:
    """Spool only, archive only and mixed give the same rows, in seq order."""
    found = answer(stores[which].paths, request)
    assert found.rows == expected(request)
    assert not found.more
    assert not found.damaged


@settings(max_examples=8, deadline=None)
@given(request=requests())
def test_combined_filters_are_the_intersection_of_each(
    stores: list[StoreWriter], request: Request
) -> None:
    """Different filters narrow: nothing depends on which others are given."""
    kinds = request.values.get("kind", ("decision", "tool_call", "gap"))
    alone = [Request(values={"kind": kinds, flag: values})
             for flag, values in request.values.items()]  # fmt: skip
    alone.append(Request(values={"kind": kinds}, window=request.window))
    sets = [{row["seq"] for row in answer(stores[2].paths, one).rows} for one in alone]
    together = {row["seq"] for row in answer(stores[2].paths, request).rows}
    assert together == set.intersection(*sets)


@settings(max_examples=14, deadline=None)
@given(
    request=requests(), limit=st.integers(0, 30), oldest=st.booleans(), which=st.integers(0, 2),
    order=st.sampled_from(["asc", "desc"]),
)  # fmt: skip
def test_a_limit_gives_the_newest_by_seq_whatever_the_order(
    stores: list[StoreWriter], request: Request, limit: int, oldest: bool, which: int, order: Any
) -> None:
    """`order` is display only, `oldest` turns the choice round, `more` says that rows are left."""
    asked = Request(request.values, request.window, limit, oldest, order)
    found = answer(stores[which].paths, asked)
    every = expected(request)
    chosen = every[:limit] if oldest else every[max(len(every) - limit, 0) :]
    assert found.rows == (chosen[::-1] if order == "desc" else chosen)
    assert found.more == (len(every) > limit)
    assert found.upto == len(ROWS)


@settings(max_examples=14, deadline=None)
@given(
    request=requests(), size=st.integers(1, 300), after=st.integers(0, 240),
    which=st.integers(0, 2),
)  # fmt: skip
def test_paging_by_any_size_gives_the_same_rows_in_the_same_order(
    stores: list[StoreWriter], request: Request, size: int, after: int, which: int
) -> None:
    """No page holds more than asked, none repeats or skips a row."""
    if size < 20:
        after = max(after, len(ROWS) - 12 * size)
    found = list(row_pages(stores[which].paths, request, after, size))
    assert all(len(page) <= size for page in found)
    assert [row for page in found for row in page] == [
        row for row in expected(request) if row["seq"] > after
    ]


@settings(max_examples=8, deadline=None)
@given(request=requests(), which=st.integers(0, 2))
def test_a_count_counts_records_and_what_they_stand_for(
    stores: list[StoreWriter], request: Request, which: int
) -> None:
    """Repeats count in `events`; a gap's lost events are not events."""
    rows = expected(request)
    events = sum(row.get("count", 0) for row in rows if row["kind"] != "gap")
    found: Count = count(stores[which].paths, request)
    assert (found.records, found.events) == (len(rows), events)


def test_five_thousand_equal_times_keep_their_order(make_store: Any) -> None:
    """Order is seq; time cannot be, and paging needs no tie-break."""
    rows = [event(seq, ts=T0) for seq in range(1, 5001)]
    store = make_store(rows, sealed=3000, batch=500)
    for size in (613, 5000):
        found = [row["seq"] for page in row_pages(store.paths, Request(), 0, size) for row in page]
        assert found == list(range(1, 5001))
    newest = answer(store.paths, Request(limit=10)).rows
    assert [row["seq"] for row in newest] == list(range(4991, 5001))


def test_a_page_is_arrow_with_the_schema_of_events(make_store: Any) -> None:
    """Exporters take it as it is: times are times, text is text, no dictionaries."""
    store = make_store([event(seq) for seq in range(1, 31)], sealed=14)
    page = next(pages(store.paths, Request(), page_rows=30))
    assert pa.table(page.table).schema == FILE_SCHEMA
    assert page.rows == 30


def test_an_export_ends_at_the_newest_event_of_its_start(make_store: Any) -> None:
    """What is collected meanwhile belongs to the next export."""
    rows = [event(seq) for seq in range(1, 41)]
    store = make_store(rows[:20])
    turn = row_pages(store.paths, Request(), 0, 5)
    found = next(turn)
    store.append(rows[20:])
    store.seal(rows[:20], 20)
    found += [row for page in turn for row in page]
    assert [row["seq"] for row in found] == list(range(1, 21))


def test_a_seal_between_two_pages_changes_nothing(make_store: Any) -> None:
    """Each page is a snapshot; seq says where to go on."""
    rows = [event(seq) for seq in range(1, 43)]
    store = make_store(rows)
    turn = row_pages(store.paths, Request(), 0, 10)
    found = next(turn)
    store.seal(rows[:21], 21)
    found += next(turn)
    store.con.execute("DELETE FROM batches WHERE last_seq <= 21")
    found += [row for page in turn for row in page]
    assert [row["seq"] for row in found] == list(range(1, 43))


def test_a_leap_of_the_seq_is_crossed_in_one_step(make_store: Any) -> None:
    """After a lost spool seq leaps by 2^32; pages do not walk through the hole."""
    store = make_store([event(seq) for seq in range(1, 8)])
    store.append([event((1 << 32) + seq) for seq in range(3)])
    sizes = [page.rows for page in pages(store.paths, Request(), page_rows=100)]
    assert sum(sizes) == 10
    assert len(sizes) <= 3


def test_gaps_that_overlap_the_window_come_with_the_answer(make_store: Any) -> None:
    """An empty answer over a gap is no proof of absence; an open gap reaches to now."""
    store = make_store([event(1)])
    store.con.executemany(
        "INSERT INTO gaps VALUES (?, 'unified-log', ?, ?, 'stopped', NULL, NULL)",
        [(1, T0, T0 + 10), (2, T0 + 20, None), (3, T0 + 1000, T0 + 1001)],
    )
    found = answer(store.paths, Request(window=Window(T0 + 10, T0 + 1000))).gaps
    assert found == (Gap(2, "unified-log", T0 + 20, None, "stopped", None, None),)
    assert len(answer(store.paths, Request()).gaps) == 3


def test_the_last_run_is_the_one_that_the_store_saw_last(make_store: Any) -> None:
    """`last`, `last~1` and their exclusion; a run that is none is an error with the way out."""
    store = make_store([event(1, correlation_id="aa"), event(2, correlation_id="bb")])
    store.con.executemany(
        "INSERT INTO runs VALUES (?, 'h', 'agent-demo', 0, ?, 1, 1, 0, 0, 0, 0)",
        [("aa", 10), ("bb", 20)],
    )

    def seqs(word: str) -> list[int]:
        return [r["seq"] for r in answer(store.paths, Request(values={"run": (word,)})).rows]

    assert (seqs("last"), seqs("last~1"), seqs("!last")) == ([2], [1], [1])
    with pytest.raises(UsageError, match="no such run"):
        seqs("last~2")


def test_a_file_of_an_older_schema_reads_as_nulls(make_store: Any) -> None:
    """Columns that its version lacks are null; version 0, before the first, lacks all."""
    store = make_store([event(seq) for seq in range(1, 8)])
    store.archive([event(seq) for seq in range(1, 5)], version=0)
    with (
        open_snapshot(store.paths) as snapshot,
        Reader(snapshot, snapshot.parts, final=True) as reader,
    ):
        found = reader.rows(snapshot.parts, Query("count(*), count(seq), count(ts)"))
    assert found == [(11, 7, 7)]
