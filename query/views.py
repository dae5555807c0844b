"""What the situation, status and gaps screens show: SQLite only, so that they start at once."""

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, Literal

from audit_events.layout import HOT_DENIES, StorePaths
from query import runs
from query.contracts import Gap, Row, Window
from query.runs import Run
from query.snapshot import SourceState, number, read_gaps, read_meta, read_sources, reading

MINUTE_US: Final = 60_000_000
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US
# A collector writes its heartbeat far more often; after this it hangs.
HEARTBEAT_STALE_US: Final = MINUTE_US
TOP_DENIED: Final = 3
MAX_SANDBOXES: Final = 1000

CollectorState = Literal["never", "running", "hanging", "stopped", "dead"]


@dataclass(frozen=True, slots=True)
class Collector:
    """The last collector of the store; times in µs. `dead` means it ended without a word."""

    state: CollectorState
    pid: int | None = None
    version: str | None = None
    started: int | None = None
    heartbeat: int | None = None
    stopped: int | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a named export has come."""

    name: str
    seq: int
    updated_at: int


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


def situation(store: StorePaths, now: int, midnight: int) -> Situation:
    """The situation at `now`; `midnight` is when today began in the display zone (both µs)."""
    with reading(store) as con:
        meta = read_meta(con)
        run = runs.last_run(con)
        return Situation(
            store=str(meta["store"]),
            last_seq=number(meta, "last_seq"),
            collector=_collector(meta, now),
            sources=read_sources(con),
            open_gaps=_open_gaps(con),
            cursors=_cursors(store),
            today=_totals(con, midnight, now),
            last_hour=_totals(con, now - HOUR_US, now),
            last_run=run,
            denied=_denied(con, run) if run else (),
        )


def status(store: StorePaths, now: int, midnight: int, period: int = DAY_US) -> Status:
    """The state of every part at `now`, and completeness over the `period` before it (µs)."""
    with reading(store) as con:
        meta = read_meta(con)
        return Status(
            store=str(meta["store"]),
            last_seq=number(meta, "last_seq"),
            collector=_collector(meta, now),
            sources=read_sources(con),
            stored_today=_stored(con, midnight),
            waiting=_waiting(con, number(meta, "sealed_upto")),
            archive=_archive(con),
            cursors=_cursors(store),
            completeness=_completeness(con, now - period, now),
        )


def collector(store: StorePaths, now: int) -> Collector:
    """Who collects into this store at `now`, or did."""
    with reading(store) as con:
        return _collector(read_meta(con), now)


def gaps(store: StorePaths, window: Window | None = None) -> tuple[Gap, ...]:
    """The gaps that overlap the window, oldest first; all without one."""
    with reading(store) as con:
        read_meta(con)
        return read_gaps(con, window)


def cursors(store: StorePaths) -> tuple[Cursor, ...]:
    """The named exports and how far each has come; none where control.db cannot be read."""
    return _cursors(store)


def known_sandboxes(store: StorePaths) -> list[str]:
    """Names of all sandboxes ever seen, the most recent first, at most MAX_SANDBOXES."""
    with reading(store) as con:
        rows = con.execute(
            "SELECT name FROM sandboxes WHERE name <> '' ORDER BY last_ts DESC, name LIMIT ?",
            (MAX_SANDBOXES,),
        )
        return [name for (name,) in rows]


def hot_denies(store: StorePaths, limit: int = HOT_DENIES) -> list[Row]:
    """The newest refusals, newest first, with the columns that the collector keeps hot."""
    with reading(store) as con:
        return _hot(con, str(read_meta(con)["store"]), limit)


def last_run(store: StorePaths, back: int = 0, sandbox: str | None = None) -> Run | None:
    """The newest run, or the `back`-th before it, of one sandbox if named; None if none is."""
    with reading(store) as con:
        return runs.last_run(con, back, sandbox)


def runs_by_prefix(store: StorePaths, prefix: str, limit: int = 20) -> list[Run]:
    """At most `limit` runs whose id starts so, newest first."""
    with reading(store) as con:
        return runs.runs_by_prefix(con, prefix, limit)


def newest_runs_named(store: StorePaths) -> str:
    """The newest runs in a message, or where to look for any."""
    with reading(store) as con:
        return runs.newest_named(con)


def source_states(store: StorePaths) -> tuple[SourceState, ...]:
    """Every source the collector knows, by name."""
    with reading(store) as con:
        return read_sources(con)


def newest_seq(store: StorePaths) -> int:
    """The newest seq of the store."""
    with reading(store) as con:
        return number(read_meta(con), "last_seq")


def _collector(meta: Mapping[str, Any], now: int) -> Collector:
    try:
        told = json.loads(meta.get("collector") or "{}")
    except ValueError:
        told = {}
    if not isinstance(told, dict) or not told:
        return Collector("never")
    known = {key: told.get(key) for key in ("pid", "version", "started", "heartbeat", "stopped")}
    return Collector(_collector_state(told, now), **known)


def _collector_state(told: Mapping[str, Any], now: int) -> CollectorState:
    if told.get("stopped"):
        return "stopped"
    if not _alive(told.get("pid")):
        return "dead"
    return "hanging" if now - int(told.get("heartbeat") or now) > HEARTBEAT_STALE_US else "running"


def _alive(pid: object) -> bool:
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _open_gaps(con: sqlite3.Connection) -> tuple[Gap, ...]:
    rows = con.execute(
        "SELECT id, source, from_ts, to_ts, reason, count, seq FROM gaps WHERE to_ts IS NULL"
        " ORDER BY from_ts, id"
    )
    return tuple(Gap(*row) for row in rows)


def _cursors(store: StorePaths) -> tuple[Cursor, ...]:
    """None where control.db cannot be read: it must not take the first screen with it."""
    if not store.control.exists():
        return ()
    uri = store.control.resolve().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as con:
            rows = con.execute("SELECT name, seq, updated_at FROM cursors ORDER BY name").fetchall()
    except sqlite3.Error:
        return ()
    return tuple(Cursor(*row) for row in rows)


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


def _hot(con: sqlite3.Connection, store: str, limit: int) -> list[Row]:
    rows = con.execute("SELECT seq, event FROM denies ORDER BY seq DESC LIMIT ?", (limit,))
    return [{"event_id": f"{store}-{seq}", **json.loads(event)} for seq, event in rows]


def _denied(con: sqlite3.Connection, run: Run) -> tuple[Denied, ...]:
    """The most frequent causes among the hot refusals of a run, each with its newest event."""
    counts: Counter[tuple[object, ...]] = Counter()
    newest: dict[tuple[object, ...], Row] = {}
    for row in _hot(con, str(read_meta(con)["store"]), HOT_DENIES):
        if row.get("correlation_id") == run.correlation_id:
            cause = _cause(row)
            counts[cause] += row.get("count") or 0
            newest.setdefault(cause, row)
    return tuple(Denied(n, newest[cause]) for cause, n in counts.most_common(TOP_DENIED))


def _cause(row: Row) -> tuple[object, ...]:
    thing = row.get("path") or row.get("dst") or row.get("target")
    return row.get("policy_rule") or row.get("enforcer"), row.get("access"), thing


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


def _archive(con: sqlite3.Connection) -> Archive:
    row = con.execute(
        "SELECT count(DISTINCT date), count(*), coalesce(sum(rows), 0), coalesce(sum(bytes), 0),"
        " min(date), max(date), min(min_seq) FROM files"
    ).fetchone()
    return Archive(*row)


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
