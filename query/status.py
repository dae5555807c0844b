"""What `status` shows: the state of every part, and whether anything is missing; SQLite only."""

import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from audit_events.layout import StorePaths
from query.contracts import Gap, Window
from query.snapshot import SourceState, number, read_gaps, read_meta, read_sources, reading
from query.views import DAY_US, HOUR_US, Collector, Cursor, collector_of, cursors

_GROWTH_DAYS: Final = 7


@dataclass(frozen=True, slots=True)
class Waiting:
    """Events not yet in the archive, and when the oldest of them came (µs)."""

    events: int
    oldest_at: int | None


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive as a whole; `first_date` and `last_date` as the partitions are named."""

    days: int
    files: int
    events: int
    bytes: int
    first_date: str | None
    last_date: str | None
    min_seq: int | None
    # Of the last seven whole days (UTC), None before the first one is over.
    bytes_a_day: int | None = None
    # Days that were removed in that time.
    removed_days: int = 0


@dataclass(frozen=True, slots=True)
class Completeness:
    """Whether what was read is what was stored, by arrival in [since, until), whole hours."""

    since: int
    until: int
    seen: int
    stored: int
    rejected: Mapping[str, int]
    filtered: Mapping[str, int]
    skewed: int
    gaps: tuple[Gap, ...]

    @property
    def balances(self) -> bool:
        """True if every record read is stored, rejected or left out for a reason."""
        return self.seen == self.stored + sum(self.rejected.values()) + sum(self.filtered.values())


@dataclass(frozen=True, slots=True)
class Status:
    """Everything on the status screen; times in µs."""

    store: str
    last_seq: int
    collector: Collector
    sources: tuple[SourceState, ...]
    stored_today: Mapping[str, int]
    waiting: Waiting
    archive: Archive
    cursors: tuple[Cursor, ...]
    completeness: Completeness


def status(store: StorePaths, now: int, midnight: int, period: int = DAY_US) -> Status:
    """The state of every part at `now`, and completeness over the `period` before it (µs)."""
    with reading(store) as con:
        meta = read_meta(con)
        return Status(
            store=str(meta["store"]),
            last_seq=number(meta, "last_seq"),
            collector=collector_of(meta, now),
            sources=read_sources(con),
            stored_today=_stored(con, midnight),
            waiting=_waiting(con, number(meta, "sealed_upto")),
            archive=_archive(con, now),
            cursors=cursors(store),
            completeness=_completeness(con, now - period, now),
        )


def _stored(con: sqlite3.Connection, since: int) -> Mapping[str, int]:
    return dict(
        con.execute(
            "SELECT source, sum(n) FROM tallies WHERE outcome = 'stored' AND hour >= ?"
            " GROUP BY source",
            (since // HOUR_US,),
        ).fetchall()
    )


def _waiting(con: sqlite3.Connection, sealed_upto: int) -> Waiting:
    events, oldest = con.execute(
        "SELECT coalesce(sum(rows), 0), min(observed_at) FROM batches WHERE first_seq > ?",
        (sealed_upto,),
    ).fetchone()
    return Waiting(events, oldest)


def _archive(con: sqlite3.Connection, now: int) -> Archive:
    row = con.execute(
        "SELECT count(DISTINCT date), count(*), coalesce(sum(rows), 0), coalesce(sum(bytes), 0),"
        " min(date), max(date), min(min_seq) FROM files"
    ).fetchone()
    (removed,) = con.execute(
        "SELECT count(DISTINCT date) FROM removals WHERE at >= ?", (now - _GROWTH_DAYS * DAY_US,)
    ).fetchone()
    days, files, events, size, first, last, min_seq = row
    return Archive(
        days, files, events, size, first, last, min_seq, _bytes_a_day(con, now, first), removed
    )


def _bytes_a_day(con: sqlite3.Connection, now: int, first_date: str | None) -> int | None:
    """What the archive grew by; the day that it began with is not whole."""
    if first_date is None:
        return None
    today = _utc_day(now)
    try:
        began = date.fromisoformat(first_date) + timedelta(days=1)
    except (ValueError, OverflowError):  # somebody else's name for a folder
        return None
    since = max(began, today - timedelta(days=_GROWTH_DAYS))
    if since >= today:
        return None
    (grown,) = con.execute(
        "SELECT coalesce(sum(bytes), 0) FROM files WHERE date >= ? AND date < ?",
        (since.isoformat(), today.isoformat()),
    ).fetchone()
    return int(grown) // (today - since).days


def _utc_day(now: int) -> date:
    return datetime.fromtimestamp(now / 1e6, UTC).date()


def _completeness(con: sqlite3.Connection, since: int, until: int) -> Completeness:
    first = since // HOUR_US
    rows = con.execute(
        "SELECT outcome, reason, sum(n) FROM tallies WHERE hour >= ? GROUP BY outcome, reason",
        (first,),
    ).fetchall()
    skewed = con.execute(
        "SELECT coalesce(sum(skewed), 0) FROM hours WHERE hour >= ?", (first,)
    ).fetchone()[0]
    return Completeness(
        since=since,
        until=until,
        seen=_sum(rows, "seen"),
        stored=_sum(rows, "stored"),
        rejected=_reasons(rows, "rejected"),
        filtered=_reasons(rows, "filtered"),
        skewed=skewed,
        gaps=read_gaps(con, Window(since, until)),
    )


def _sum(rows: Iterable[tuple[str, str, int]], outcome: str) -> int:
    return sum(n for found, _, n in rows if found == outcome)


def _reasons(rows: Iterable[tuple[str, str, int]], outcome: str) -> Mapping[str, int]:
    return {reason: n for found, reason, n in rows if found == outcome}
