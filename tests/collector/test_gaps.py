"""Every gap stands in the table, whoever noticed it, and names its event."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from audit_events.arrow import to_storage
from audit_events.layout import SPOOL_DDL
from audit_events.rows import rows_to_batch
from collector.commit import GapChange
from collector.contracts import GapClosed, GapOpened, Warned
from collector.gaps import news, put_gaps
from tests.collector.storekit import House, audit

AT = datetime(2026, 7, 28, 9, tzinfo=UTC)
US = int(AT.timestamp() * 1_000_000)


def table(*steps: tuple[list[GapChange], list[dict[str, Any]]]) -> list[tuple[Any, ...]]:
    """The gap table after commits of (changes, rows)."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SPOOL_DDL)
        seq = 1
        for changes, rows in steps:
            numbered = [{"seq": seq + n, "source": "s", **row} for n, row in enumerate(rows)]
            seq += len(rows)
            put_gaps(db, changes, to_storage(rows_to_batch(numbered)) if rows else None)
        return db.execute(
            "SELECT source, from_ts, to_ts, reason, count, seq FROM gaps ORDER BY id"
        ).fetchall()


def gap_row(**more: Any) -> dict[str, Any]:
    """A gap event."""
    return {"kind": "gap", "ts": AT, "until": AT + timedelta(seconds=1), "message": "lost", **more}


def test_a_loss_that_a_decoder_reads_is_a_gap_like_any_other() -> None:
    """The log said "messages dropped": the table has it, with the event's seq."""
    rows = [{"ts": AT, "kind": "decision"}, gap_row(count=34)]
    assert table(([], rows)) == [("s", US, US + 1_000_000, "lost", 34, 2)]


def test_a_loss_without_an_end_or_a_reason_is_still_one() -> None:
    """Nulls from a decoder leave no gap open for ever."""
    rows = [gap_row(until=None, message=None, count=None)]
    assert table(([], rows)) == [("s", US, US, "the source reported a loss", None, 1)]


def test_an_open_gap_is_closed_by_its_event() -> None:
    """Opened in one commit, whole in a later one: one row, the seq of the event in it."""
    opened = GapChange("s", US, None, "Must be admin")
    closed = GapChange("s", US, US + 1_000_000, "Must be admin", 5, id=1)
    rows = [gap_row(message="Must be admin", count=5)]
    assert table(([opened], []), ([closed], rows)) == [
        ("s", US, US + 1_000_000, "Must be admin", 5, 1)
    ]


def state(note: str = "", health: str = "healthy") -> Any:
    """A source as the flow knows it."""
    return SimpleNamespace(note=note, state=health)


def test_a_warning_is_news_once() -> None:
    """An operator hears of it; the same once more says nothing new."""
    polling = Warned("s", "polling instead")
    assert list(news([polling, polling], {"s": state()})) == ["source s: polling instead"]
    assert list(news([polling], {"s": state("polling instead")})) == []


def test_a_source_that_fails_the_same_way_again_is_no_news() -> None:
    """Its end is."""
    down, up = GapOpened("s", AT, "no right"), GapClosed("s", AT)
    assert list(news([down, down], {"s": state()})) == ["source s cannot be read: no right"]
    assert list(news([down, up], {"s": state("no right", "unavailable")})) == [
        "source s is read again"
    ]


def test_gaps_as_json_are_one_array_with_an_element_a_line(tmp_path: Path) -> None:
    """However many there are, a program can read it."""
    house = House(tmp_path)
    house.collect()
    for at in (1, 2):
        with closing(sqlite3.connect(house.spool)) as db, db:
            put_gaps(db, [GapChange("s", at, None, "lost")], None)
    said = audit(house, "gaps", "--json").stdout
    assert [gap["since"] for gap in json.loads(said)] == [1, 2]
    assert said.count("\n") == 2
