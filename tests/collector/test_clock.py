"""Clocks that jump and machines that sleep are told, and nothing waits for the wall clock."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collector.clock import TELL_FROM_S, Clocks, ClockWatch, read_clocks
from collector.seal import SealLimits
from collector.service import Collector
from tests.collector.storekit import House
from tests.collector.trail_check import line


def watch(*readings: Clocks) -> list[list[str]]:
    """What is said at each look after the first."""
    left = list(readings)
    watching = ClockWatch(lambda: left.pop(0))
    return [watching.look() for _ in readings[1:]]


def test_a_clock_that_is_set_is_told_once() -> None:
    """Forward or back, by how much; the next look compares with the new time."""
    said = watch(
        Clocks(1000, 10, 10), Clocks(1001, 11, 11), Clocks(4602, 12, 12), Clocks(4603, 13, 13),
        Clocks(1004, 14, 14),
    )  # fmt: skip
    assert [bool(words) for words in said] == [False, True, False, True]
    assert said[1][0].startswith("the clock was set forward by 3,600 s")
    assert said[3][0].startswith("the clock was set back by 3,600 s")


def test_sleep_is_not_a_jump() -> None:
    """The wall clock moves on while the machine sleeps, and rightly so."""
    assert watch(Clocks(1000, 10, 10), Clocks(8200, 7210, 11)) == [
        ["the machine slept for 7,199 s"]
    ]


@given(st.floats(0, 1e6), st.floats(-TELL_FROM_S / 2, TELL_FROM_S / 2))
def test_a_slow_turn_and_a_slewed_clock_are_nothing(passed: float, slewed: float) -> None:
    """However long nobody looked."""
    assert watch(Clocks(1e9, 5, 5), Clocks(1e9 + passed + slewed, 5 + passed, 5 + passed)) == [[]]


def test_the_real_clocks_agree() -> None:
    """No false alarm on this machine."""
    watching = ClockWatch()
    assert [watching.look() for _ in range(50)] == [[]] * 50
    assert read_clocks().steady >= read_clocks().awake - 1


def once_with(house: House, clocks: Callable[[], Clocks]) -> None:
    """One `collect --once` of one event, with these clocks."""
    (house.folder / "log" / "decisions.jsonl").write_bytes(line(1))
    Collector(replace(house.plan(), clocks=clocks)).run(threading.Event(), once=True)


def test_a_jump_is_a_notice_in_the_trail(tmp_path: Path) -> None:
    """Whoever reads the times afterwards finds it there."""
    house, looks = House(tmp_path), []

    def jumped() -> Clocks:
        looks.append(1)
        now = read_clocks()
        return Clocks(now.wall + (3600 if len(looks) > 1 else 0), now.steady, now.awake)

    once_with(house, jumped)
    told = [text for text in house.seen().notices if "clock" in text]
    assert len(told) == 1
    assert "set forward by 3,600 s" in told[0]
    assert any("set forward" in text for text in house.said)


def test_a_clock_set_back_does_not_hold_up_a_seal(tmp_path: Path) -> None:
    """Rows that seem to come from the future are due at once, not in an hour."""
    house = House(tmp_path)
    opened = house.open(limits=SealLimits(rows=1 << 40, bytes=1 << 40, age_s=30))
    try:
        columns = [name for _, name, *_ in house.ask("PRAGMA table_info(batches)")]
        row = {"first_seq": 1, "last_seq": 1, "rows": 1, "observed_at": 3_600_000_000, "data": b""}
        with closing(sqlite3.connect(house.spool)) as db, db:
            marks = ", ".join("?" * len(columns))
            values = [row.get(name, 0) for name in columns]
            db.execute(f"INSERT INTO batches VALUES({marks})", values)
        assert not opened.sealer.due(3_610)
        assert opened.sealer.due(3_631)
        assert opened.sealer.due(10)
    finally:
        opened.sealer.close()
        opened.spool.close()
