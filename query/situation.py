"""What the first screen shows: SQLite only, so that it starts at once."""

import sqlite3
from collections import Counter
from dataclasses import dataclass
from typing import Final

from audit_events.layout import HOT_DENIES, StorePaths
from query import runs
from query.contracts import Gap, Row
from query.runs import Run
from query.snapshot import SourceState, number, read_meta, read_sources, reading
from query.views import HOUR_US, MINUTE_US, Collector, Cursor, collector_of, cursors, hot_rows

TOP_DENIED: Final = 3


@dataclass(frozen=True, slots=True)
class Totals:
    """Events by decision in a stretch of time (repeats counted), and masked secrets."""

    allow: int
    deny: int
    unknown: int
    masked: int
    events: int


@dataclass(frozen=True, slots=True)
class Denied:
    """Refusals of one cause in a run; `event` is the newest of them."""

    count: int
    event: Row


@dataclass(frozen=True, slots=True)
class Situation:
    """Everything on the first screen; times in µs."""

    store: str
    last_seq: int
    collector: Collector
    sources: tuple[SourceState, ...]
    open_gaps: tuple[Gap, ...]
    cursors: tuple[Cursor, ...]
    today: Totals
    last_hour: Totals
    last_run: Run | None
    denied: tuple[Denied, ...]


def situation(store: StorePaths, now: int, midnight: int) -> Situation:
    """The situation at `now`; `midnight` is when today began in the display zone (both µs)."""
    with reading(store) as con:
        meta = read_meta(con)
        run = runs.last_run(con)
        return Situation(
            store=str(meta["store"]),
            last_seq=number(meta, "last_seq"),
            collector=collector_of(meta, now),
            sources=read_sources(con),
            open_gaps=_open_gaps(con),
            cursors=cursors(store),
            today=_totals(con, midnight, now),
            last_hour=_totals(con, now - HOUR_US, now),
            last_run=run,
            denied=_denied(con, run) if run else (),
        )


def _open_gaps(con: sqlite3.Connection) -> tuple[Gap, ...]:
    rows = con.execute(
        "SELECT id, source, from_ts, to_ts, reason, count, seq FROM gaps WHERE to_ts IS NULL"
        " ORDER BY from_ts, id"
    )
    return tuple(Gap(*row) for row in rows)


def _totals(con: sqlite3.Connection, since: int, until: int) -> Totals:
    """By event time, to the minute."""
    rows = con.execute(
        "SELECT decision, sum(n), sum(masked) FROM minutes"
        " WHERE minute BETWEEN ? AND ? AND kind IN ('decision', 'tool_call') GROUP BY decision",
        (since // MINUTE_US, until // MINUTE_US),
    ).fetchall()
    by_decision = {decision: n for decision, n, _ in rows}
    return Totals(
        allow=by_decision.get("allow", 0),
        deny=by_decision.get("deny", 0),
        unknown=by_decision.get("unknown", 0),
        masked=sum(masked for _, _, masked in rows),
        events=sum(by_decision.values()),
    )


def _denied(con: sqlite3.Connection, run: Run) -> tuple[Denied, ...]:
    """The most frequent causes among the hot refusals of a run, each with its newest event."""
    counts: Counter[tuple[object, ...]] = Counter()
    newest: dict[tuple[object, ...], Row] = {}
    for row in hot_rows(con, str(read_meta(con)["store"]), HOT_DENIES):
        if row.get("correlation_id") == run.correlation_id:
            cause = _cause(row)
            counts[cause] += row.get("count") or 0
            newest.setdefault(cause, row)
    return tuple(Denied(n, newest[cause]) for cause, n in counts.most_common(TOP_DENIED))


def _cause(row: Row) -> tuple[object, ...]:
    thing = row.get("path") or row.get("dst") or row.get("target")
    return row.get("policy_rule") or row.get("enforcer"), row.get("access"), thing
