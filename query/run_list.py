"""The newest runs and what was refused in them, from SQLite alone as far as the filters allow."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from audit_events.layout import StorePaths
from query.contracts import Gap, Request, Window
from query.runs import OUTSIDE, Run, with_runs_resolved
from query.snapshot import read_gaps, read_meta, reading

# A run whose newest event is younger than this is still going on, as far as anybody can tell.
LIVE_US: Final = 60_000_000
_COLUMNS: Final = ", ".join(Run.__dataclass_fields__)
_MIN: Final = -(1 << 63)
_MAX: Final = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Listed:
    """A run; `refused` is the rule that refused most in it (`(enforcer)` where none is known).

    None where nothing was refused, or before the collector counted rules. `gaps` overlap the run.
    """

    run: Run
    refused: str | None
    live: bool
    gaps: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class RunList:
    """Runs by their newest event, newest last; `outside` processes of no sandbox were left out."""

    runs: tuple[Listed, ...]
    more: bool
    outside: int
    searched: int
    gaps: tuple[Gap, ...]


def newest_runs(store: StorePaths, request: Request, now: int, *, outside: bool = False) -> RunList:
    """The newest `limit` runs that overlap the window (µs) and match, at the time `now`.

    Filters on sandbox, host, run and decision need SQLite only; with any other a run matches if an
    event of it does. UsageError for a wrong filter, StorageError for a store that cannot be read.
    """
    if request.scope is not None:
        from query import scoped_runs

        return scoped_runs.newest_runs(store, request, now, outside=outside)
    with reading(store) as con:
        read_meta(con)
        request = with_runs_resolved(request, con)
        outside = outside or bool(request.values.get("run"))
        most = None if request.limit is None else request.limit + 1
        found = list(islice(_matching(store, con, request, outside=outside), most))
        kept = found if request.limit is None else found[: request.limit]
        return RunList(
            runs=tuple(listed(con, run, now) for run in reversed(kept)),
            more=len(found) > len(kept),
            outside=0 if outside else _count(con, request.window, OUTSIDE),
            searched=_count(con, request.window, "true"),
            gaps=read_gaps(con, request.window),
        )


def _matching(
    store: StorePaths, con: sqlite3.Connection, request: Request, *, outside: bool
) -> Iterator[Run]:
    where = "true" if outside else f"NOT {OUTSIDE}"
    found = _in_window(con, request.window, where)
    if request.window.clock == "event" and not request.values:
        return found
    # Filters bring the globs and perhaps the engine; the plain list starts without.
    from query.run_filters import matching

    return matching(store, request, found)


def _in_window(con: sqlite3.Connection, window: Window, where: str) -> Iterator[Run]:
    """Newest first; arrival is no property of a run, so such a window is left to the events."""
    bounds = time_bounds(window)
    rows = con.execute(
        f"SELECT {_COLUMNS} FROM runs WHERE last_ts >= ? AND first_ts < ? AND {where}"  # noqa: S608
        " ORDER BY last_ts DESC, correlation_id",
        bounds,
    )
    return (Run(*row) for row in rows)


def _count(con: sqlite3.Connection, window: Window, where: str) -> int:
    sql = f"SELECT count(*) FROM runs WHERE last_ts >= ? AND first_ts < ? AND {where}"  # noqa: S608
    return int(con.execute(sql, time_bounds(window)).fetchone()[0])


def time_bounds(window: Window) -> tuple[int, int]:
    """The window in µs as SQLite compares it; arrival is no property of a run."""
    if window.clock != "event":
        return _MIN, _MAX
    return (
        _MIN if window.since is None else window.since,
        _MAX if window.until is None else window.until,
    )


def listed(con: sqlite3.Connection, run: Run, now: int) -> Listed:
    """A run with what stands beside it in the list."""
    return Listed(
        run=run,
        refused=_most_refused(con, run) if run.deny else None,
        live=now - run.last_ts < LIVE_US,
        gaps=read_gaps(con, Window(run.first_ts, run.last_ts + 1)),
    )


def _most_refused(con: sqlite3.Connection, run: Run) -> str | None:
    try:
        row = con.execute(
            "SELECT rule FROM run_rules WHERE correlation_id = ? ORDER BY n DESC, rule LIMIT 1",
            (run.correlation_id,),
        ).fetchone()
    except sqlite3.OperationalError as error:
        # A store whose collector has not run since the counter was added lacks the table.
        if "no such table" not in str(error):
            raise
        return None
    return row[0] if row else None
