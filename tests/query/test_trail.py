"""Following a store: quickly, across seals, without a collector, when spool.db is replaced."""

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from audit_events.errors import StorageError
from audit_events.layout import StorePaths
from query.contracts import Request, Row
from query.engine import answer
from query.trail import FEW_ROWS, News, follow
from tests.query.stores import STORE, T0, StoreWriter, build, event

PATIENCE_S = 10.0


@contextmanager
def followed(paths: StorePaths, after: int, request: Request | None = None) -> Iterator[list[News]]:
    """All News that a follower in a thread of its own has got so far."""
    got: list[News] = []
    stop = threading.Event()

    def collect() -> None:
        for news in follow(paths, after, request or Request(), stop):
            got.append(news)  # noqa: PERF402  (seen by the test as they come)

    thread = threading.Thread(target=collect)
    thread.start()
    try:
        until(lambda: bool(got))
        yield got
    finally:
        stop.set()
        thread.join(PATIENCE_S)
    assert not thread.is_alive()


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that other threads do."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.002)


def rows_in(got: list[News]) -> list[Row]:
    """All rows so far, in order."""
    return [row for news in list(got) for row in news.rows]


def seqs(got: list[News]) -> list[int]:
    """The seqs of all rows so far, in order."""
    return [row["seq"] for row in rows_in(got)]


def test_what_is_committed_is_told_once_and_in_order(make_store: Any) -> None:
    """From the seq after the given one on."""
    store = make_store([event(seq) for seq in range(1, 15)])
    with followed(store.paths, 10) as got:
        for first in range(15, 45, 3):
            store.append([event(seq) for seq in range(first, first + 3)])
        until(lambda: len(seqs(got)) >= 34)
    assert seqs(got) == list(range(11, 45))
    assert got[-1].upto == 44


def test_a_follower_gives_the_rows_that_a_query_gives(make_store: Any) -> None:
    """The same filter, the same columns, whether a batch is small or large."""
    rows = [
        event(seq, decision="deny" if seq % 3 else None, message="x" * (seq % 2) or None)
        for seq in range(1, FEW_ROWS * 2)
    ]
    store = make_store(rows[:30], batch=10)
    store.append(rows[30:])
    request = Request(values={"decision": ("deny",)})
    expected = answer(store.paths, request).rows
    with followed(store.paths, 0, request) as got:
        until(lambda: len(rows_in(got)) >= len(expected))
    assert rows_in(got) == expected


def test_news_come_within_milliseconds(make_store: Any) -> None:
    """Half of the commits are seen within 25 ms even on a busy machine; bench/ has the figures."""
    store = make_store([event(1)])
    late = []
    with followed(store.paths, 1) as got:
        for seq in range(2, 32):
            store.append([event(seq)])
            committed = time.monotonic()
            until(lambda seq=seq: seq in seqs(got)[-1:])
            late.append(time.monotonic() - committed)
    assert statistics.median(late) < 0.025


def test_a_seal_is_not_seen(make_store: Any) -> None:
    """Rows that moved into the archive are neither repeated nor skipped."""
    rows = [event(seq) for seq in range(1, 29)]
    store = make_store(rows[:14])
    with followed(store.paths, 0) as got:
        until(lambda: len(seqs(got)) >= 14)
        store.seal(rows[:14], 14)
        store.con.execute("DELETE FROM batches WHERE last_seq <= 14")
        store.append(rows[14:])
        until(lambda: len(seqs(got)) >= 28)
    assert seqs(got) == list(range(1, 29))


def test_a_follower_that_fell_behind_goes_on_in_the_archive(make_store: Any) -> None:
    """What the spool no longer holds is read as an export would read it."""
    rows = [event(seq) for seq in range(1, 36)]
    store = make_store(rows, sealed=28)
    store.con.execute("DELETE FROM batches WHERE last_seq <= 28")
    with followed(store.paths, 3) as got:
        until(lambda: len(seqs(got)) >= 32)
    assert seqs(got) == list(range(4, 36))


def test_nobody_needs_to_collect(make_store: Any) -> None:
    """A store at rest gives empty news at its pace, so that the caller can say so."""
    store = make_store([event(1)])
    stop = threading.Event()
    turn = follow(store.paths, 1, Request(), stop, quiet_s=0.01)
    assert [next(turn) for _ in range(3)] == [News([], (), 1)] * 3
    turn.close()


def test_gaps_are_told_when_they_open_and_when_they_change(make_store: Any) -> None:
    """Open ones at once, whatever the filter; closed history not at all."""
    store = make_store([event(1)])
    put = "INSERT INTO gaps VALUES (?, 'unified-log', ?, ?, 'no rights', NULL, NULL)"
    store.con.execute(put, (1, T0, T0 + 1))
    store.con.execute(put, (2, T0, None))
    with followed(store.paths, 1, Request(values={"decision": ("deny",)})) as got:
        assert [(gap.id, gap.until) for gap in got[0].gaps] == [(2, None)]
        store.con.execute(put, (3, T0, None))
        until(lambda: any(gap.id == 3 for news in list(got) for gap in news.gaps))
        store.con.execute("UPDATE gaps SET to_ts = ? WHERE id = 2", (T0 + 5,))
        until(lambda: any(gap.until == T0 + 5 for news in list(got) for gap in news.gaps))
    told = [(gap.id, gap.until) for news in got for gap in news.gaps]
    assert told == [(2, None), (3, None), (2, T0 + 5)]


def test_a_replaced_spool_is_followed(make_store: Any, tmp_path: Path) -> None:
    """A recovering collector moves spool.db aside, makes a new one, and seq leaps."""
    store = make_store([event(seq) for seq in range(1, 8)])
    leap = 1 << 32
    with followed(store.paths, 7) as got:
        store.con.close()
        for name in ("spool.db", "spool.db-wal", "spool.db-shm"):
            (store.paths.root / name).unlink(missing_ok=True)
        fresh: StoreWriter = build(tmp_path / "fresh", [event(leap), event(leap + 1)])
        fresh.con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        fresh.con.close()
        fresh.paths.spool.rename(store.paths.spool)
        until(lambda: len(seqs(got)) >= 2)
    assert [row["event_id"] for row in rows_in(got)] == [f"{STORE}-{leap}", f"{STORE}-{leap + 1}"]


def test_no_notify_file_is_no_obstacle(make_store: Any) -> None:
    """Polling alone finds the commits too."""
    store = make_store([event(1)])
    os.unlink(store.paths.notify)  # noqa: PTH108
    with followed(store.paths, 1) as got:
        store.paths.notify.touch()
        store.append([event(2)])
        until(lambda: seqs(got) == [2])


def test_no_store_is_an_error_at_once(tmp_path: Path) -> None:
    """Following nothing would wait for ever."""
    with pytest.raises(StorageError):
        next(follow(StorePaths(tmp_path), 0, Request(), threading.Event()))
