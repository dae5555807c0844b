"""How long a time a question covers, and buckets for a chart of it; SQLite only."""

from typing import Final

from audit_events.layout import StorePaths
from query.calendar import DAY_US, HOUR_US, MINUTE_US
from query.contracts import Request
from query.filters import included
from query.plan import prune
from query.runs import in_scope, runs_by_prefix, with_runs_resolved
from query.snapshot import Snapshot, open_snapshot

# About as many buckets as a chart shows side by side.
WANTED_BUCKETS: Final = 120
_SIZES: Final = (
    *(n * 1_000_000 for n in (1, 2, 5, 10, 15, 30)),
    *(n * MINUTE_US for n in (1, 2, 5, 10, 15, 30)),
    *(n * HOUR_US for n in (1, 2, 3, 6, 12)),
    DAY_US,
)


def extent(store: StorePaths, request: Request, now: int) -> tuple[int, int]:
    """First and last moment of event time that the question can hold events of, in µs.

    Both the window's own where it has them; of the future nothing is held back but a wrong clock.
    """
    by_event = request.window.clock == "event"
    since = request.window.since if by_event else None
    until = request.window.until if by_event else None
    if since is not None and until is not None:
        return since, until
    with open_snapshot(store) as snapshot:
        low, high = _stored(snapshot, with_runs_resolved(request, snapshot.con), now)
    first = low if since is None else since
    # A chart up to now has no end in the past, even if the newest event is old.
    last = (max(high, now) if since is not None else high) if until is None else until
    return first, max(last, first)


def _stored(snapshot: Snapshot, request: Request, now: int) -> tuple[int, int]:
    names = included(request, "run")
    if len(names) == 1 and (found := runs_by_prefix(snapshot.con, names[0], 20, request.scope)):
        return min(run.first_ts for run in found), max(run.last_ts for run in found) + 1
    if request.scope is not None:
        where, params = in_scope(request.scope)
        sql = f"SELECT min(first_ts), max(last_ts) FROM runs WHERE {where}"  # noqa: S608
        low, high = snapshot.con.execute(sql, params).fetchone()
        return (now, now) if low is None else (low, min(high, now) + 1)
    parts = prune(snapshot.parts, request)
    low = min((part.min_ts for part in parts), default=now)
    high = max((min(part.max_ts, now) for part in parts), default=now)
    return low, max(high, low) + 1


def bucket_for(first: int, last: int, wanted: int = WANTED_BUCKETS) -> int:
    """The smallest usual size, in µs, that needs no more than so many buckets; at most a day."""
    return next((size for size in _SIZES if (last - first) <= size * wanted), DAY_US)
