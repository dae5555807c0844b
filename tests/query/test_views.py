"""What the first screens know, from SQLite alone."""

import json
import os
import sqlite3
from typing import Any

import pytest

from audit_events.layout import CONTROL_DDL
from query import situation, status, views
from query.contracts import Gap, Window
from tests.query.stores import T0, StoreWriter, event

NOW = T0 + views.HOUR_US // 2
MIDNIGHT = T0 // views.DAY_US * views.DAY_US
DEAD_PID = 2**22 + 1  # above the largest pid of Linux and macOS


@pytest.fixture
def store(make_store: Any) -> StoreWriter:
    """35 events, 14 of them sealed, with counters as a collector keeps them."""
    made: StoreWriter = make_store([event(seq) for seq in range(1, 36)], sealed=14)
    put = made.con.executemany
    put("INSERT INTO minutes VALUES (?, ?, ?, ?, ?, ?, 0)", [
        (T0 // views.MINUTE_US, "decision", "allow", 30, 28, 1),
        (T0 // views.MINUTE_US, "decision", "deny", 5, 5, 0),
        (T0 // views.MINUTE_US, "notice", "", 9, 9, 0),
        (T0 // views.MINUTE_US - 120, "decision", "deny", 7, 7, 0),
    ])  # fmt: skip
    put("INSERT INTO runs VALUES (?, 'mini', ?, ?, ?, 1, 35, 30, 5, 0, 0)", [
        ("7f3a91c2", "agent-demo", T0, T0 + 35), ("b41c07e9", "build-2", T0, T0 + 9),
    ])  # fmt: skip
    put("INSERT INTO sandboxes VALUES (?, ?)", [("build-2", 1), ("agent-demo", 2), ("", 3)])
    denied = [("filesystem.deny[1]", "/a"), ("filesystem.deny[1]", "/a"), ("x", "/b")]
    put("INSERT INTO denies VALUES (?, ?, ?)", [
        (seq, T0, json.dumps({"seq": seq, "correlation_id": "7f3a91c2", "policy_rule": rule,
                              "path": path, "count": 1}))
        for seq, (rule, path) in enumerate(denied, 20)
    ])  # fmt: skip
    put("INSERT INTO tallies VALUES ('openclaw', ?, ?, ?, ?)", [
        (NOW // views.HOUR_US, "seen", "", 38), (NOW // views.HOUR_US, "stored", "", 35),
        (NOW // views.HOUR_US, "rejected", "bad-time", 2),
        (NOW // views.HOUR_US, "filtered", "blank", 1),
        (NOW // views.HOUR_US - 48, "seen", "", 1000),
    ])  # fmt: skip
    put("INSERT INTO gaps VALUES (?, 'unified-log', ?, ?, 'no rights', NULL, NULL)",
        [(1, T0 - 99 * views.DAY_US, T0 - 98 * views.DAY_US), (2, T0, None)])  # fmt: skip
    return made


def test_the_situation_counts_today_and_the_last_hour(store: StoreWriter) -> None:
    """Decisions and tool calls by their own time; repeats count; notices do not."""
    found = situation.situation(store.paths, NOW, MIDNIGHT)
    assert (found.store, found.last_seq) == ("7kq2m", 35)
    assert found.last_hour == situation.Totals(allow=30, deny=5, unknown=0, masked=1, events=35)
    assert found.today.deny == 12


def test_the_situation_tells_the_last_run_and_what_it_was_refused(store: StoreWriter) -> None:
    """The most frequent causes first, each with its newest event."""
    found = situation.situation(store.paths, NOW, MIDNIGHT)
    assert found.last_run is not None
    assert found.last_run.correlation_id == "7f3a91c2"
    assert [(d.count, d.event["event_id"]) for d in found.denied] == [
        (2, "7kq2m-21"), (1, "7kq2m-22"),
    ]  # fmt: skip


def test_the_situation_tells_open_gaps_only(store: StoreWriter) -> None:
    """What is closed is history, for `gaps`."""
    found = situation.situation(store.paths, NOW, MIDNIGHT)
    assert found.open_gaps == (Gap(2, "unified-log", T0, None, "no rights", None, None),)


def test_status_tells_what_waits_and_what_is_archived(store: StoreWriter) -> None:
    """Sealed rows that are still in the spool do not wait."""
    found = status.status(store.paths, NOW, MIDNIGHT)
    assert (found.waiting.events, found.archive.events, found.archive.files) == (21, 14, 2)
    assert found.waiting.oldest_at == event(15)["observed_at"]
    assert found.stored_today == {"openclaw": 35}


def test_completeness_balances_or_says_that_it_does_not(store: StoreWriter) -> None:
    """seen = stored + rejected + filtered, over the period asked for."""
    found = status.status(store.paths, NOW, MIDNIGHT).completeness
    assert (found.seen, found.stored) == (38, 35)
    assert (found.rejected, found.filtered) == ({"bad-time": 2}, {"blank": 1})
    assert found.balances
    assert [gap.id for gap in found.gaps] == [2]
    longer = status.status(store.paths, NOW, MIDNIGHT, period=7 * views.DAY_US).completeness
    assert (longer.seen, longer.balances) == (1038, False)


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ({}, "never"),
        ({"pid": os.getpid(), "heartbeat": NOW}, "running"),
        ({"pid": os.getpid(), "heartbeat": NOW - 2 * views.HEARTBEAT_STALE_US}, "hanging"),
        ({"pid": os.getpid(), "heartbeat": NOW, "stopped": NOW}, "stopped"),
        ({"pid": DEAD_PID, "heartbeat": NOW}, "dead"),
        ({"pid": "x"}, "dead"),
        ([], "never"),
    ],
)
def test_a_collector_is_what_its_process_is(store: StoreWriter, told: Any, state: str) -> None:
    """A killed collector never says goodbye, so its process is asked."""
    store.meta(collector=json.dumps(told))
    assert views.collector(store.paths, NOW).state == state


def test_cursors_come_from_the_control_file(store: StoreWriter) -> None:
    """No such file, or a damaged one, takes nothing else with it."""
    assert situation.situation(store.paths, NOW, MIDNIGHT).cursors == ()
    with sqlite3.connect(store.paths.control) as con:
        con.executescript(CONTROL_DDL)
        con.execute("INSERT INTO cursors VALUES ('splunk', 30, 5)")
    con.close()
    assert situation.situation(store.paths, NOW, MIDNIGHT).cursors == (
        views.Cursor("splunk", 30, 5),
    )
    store.paths.control.write_bytes(b"garbage" * 100)
    assert situation.situation(store.paths, NOW, MIDNIGHT).cursors == ()


def test_gaps_are_those_that_overlap(store: StoreWriter) -> None:
    """An open gap overlaps everything after its start."""
    assert [gap.id for gap in views.gaps(store.paths)] == [1, 2]
    assert [gap.id for gap in views.gaps(store.paths, Window(since=NOW))] == [2]
    assert [gap.id for gap in views.gaps(store.paths, Window(until=T0))] == [1]


def test_runs_are_found_by_order_sandbox_and_prefix(store: StoreWriter) -> None:
    """The newest first; what does not exist is None or nothing."""
    assert views.last_run(store.paths).correlation_id == "7f3a91c2"  # type: ignore[union-attr]
    assert views.last_run(store.paths, 1).correlation_id == "b41c07e9"  # type: ignore[union-attr]
    assert views.last_run(store.paths, 2) is None
    assert views.last_run(store.paths, 0, "build-2").sandbox == "build-2"  # type: ignore[union-attr]
    assert [run.correlation_id for run in views.runs_by_prefix(store.paths, "b4")] == ["b41c07e9"]
    assert views.runs_by_prefix(store.paths, "%") == []


def test_names_and_denies_for_completion_and_the_first_screen(store: StoreWriter) -> None:
    """Sandboxes by recency without the nameless one; the newest refusals first."""
    assert views.known_sandboxes(store.paths) == ["agent-demo", "build-2"]
    assert [row["seq"] for row in views.hot_denies(store.paths, 2)] == [22, 21]
