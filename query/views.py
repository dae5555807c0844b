"""What commands look up in a store before they ask: SQLite only, so that they start at once."""

import json
import os
import sqlite3
from collections.abc import Mapping
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
    # Age at which it seals what waits.
    seal_after_s: float | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a named export has come."""

    name: str
    seq: int
    updated_at: int


def collector(store: StorePaths, now: int) -> Collector:
    """Who collects into this store at `now`, or did."""
    with reading(store) as con:
        return collector_of(read_meta(con), now)


def gaps(store: StorePaths, window: Window | None = None) -> tuple[Gap, ...]:
    """The gaps that overlap the window, oldest first; all without one."""
    with reading(store) as con:
        read_meta(con)
        return read_gaps(con, window)


def cursors(store: StorePaths) -> tuple[Cursor, ...]:
    """The named exports and how far each has come; none where control.db cannot be read."""
    if not store.control.exists():
        return ()
    uri = store.control.resolve().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as con:
            rows = con.execute("SELECT name, seq, updated_at FROM cursors ORDER BY name").fetchall()
    except sqlite3.Error:
        return ()
    return tuple(Cursor(*row) for row in rows)


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
        return hot_rows(con, str(read_meta(con)["store"]), limit)


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


_TOLD = ("pid", "version", "started", "heartbeat", "stopped", "seal_after_s")


def collector_of(meta: Mapping[str, Any], now: int) -> Collector:
    """Who collects at `now` (µs), as the store's own facts say."""
    try:
        told = json.loads(meta.get("collector") or "{}")
    except ValueError:
        told = {}
    if not isinstance(told, dict) or not told:
        return Collector("never")
    return Collector(_collector_state(told, now), **{key: told.get(key) for key in _TOLD})


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


def hot_rows(con: sqlite3.Connection, store: str, limit: int) -> list[Row]:
    """As `hot_denies`, inside a transaction; `store` is its short name."""
    rows = con.execute("SELECT seq, event FROM denies ORDER BY seq DESC LIMIT ?", (limit,))
    return [{"event_id": f"{store}-{seq}", **json.loads(event)} for seq, event in rows]
