"""What one who may see only some sandboxes sees of a store, beside the events themselves."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from audit_events.layout import StorePaths
from query.contracts import Gap, Scope, Window
from query.predicates import Clause, one_of
from query.reader import Query, Reader
from query.snapshot import Part, Snapshot, open_snapshot

# A gap of this source is of all sources at once.
EVERY_SOURCE: Final = "all"
# Archive files whose sources are remembered: a set of a few names each.
MAX_REMEMBERED: Final = 20_000


def in_scope(scope: Scope) -> Clause:
    """The condition of a scope on an event."""
    return Clause("true") if scope is None else one_of("sandbox", scope)


def seen_upto(snapshot: Snapshot, scope: Scope) -> int:
    """The newest seq that the asker may know of.

    Of a scope it is the newest of its runs: never beyond its newest event, so that who goes on
    from there misses nothing.
    """
    if scope is None:
        return snapshot.last_seq
    where = one_of("sandbox", scope)
    sql = f"SELECT coalesce(max(last_seq), 0) FROM runs WHERE {where.sql}"  # noqa: S608
    return int(snapshot.con.execute(sql, where.params).fetchone()[0])


def seen_gaps(snapshot: Snapshot, window: Window | None, scope: Scope) -> tuple[Gap, ...]:
    """The gaps that overlap the window, of sources that delivered an event of the scope."""
    return of_scope(snapshot, snapshot.gaps(window), scope)


def gaps(store: StorePaths, window: Window, scope: Scope) -> tuple[Gap, ...]:
    """The gaps that overlap the window, oldest first, of sources that the asker knows of."""
    with open_snapshot(store) as snapshot:
        return seen_gaps(snapshot, window, scope)


def of_scope(snapshot: Snapshot, gaps: Iterable[Gap], scope: Scope) -> tuple[Gap, ...]:
    """Those of these gaps that concern a scope."""
    gaps = tuple(gaps)
    if scope is None or not gaps:
        return gaps
    seen = sources_of(snapshot, {gap.source for gap in gaps} - {EVERY_SOURCE}, scope)
    return tuple(gap for gap in gaps if gap.source in seen or gap.source == EVERY_SOURCE)


def sources_of(snapshot: Snapshot, wanted: Iterable[str], scope: tuple[str, ...]) -> frozenset[str]:
    """Those of the `wanted` sources that delivered a stored event of the scope.

    The newest files are asked first, and only until all are found.
    """
    missing = set(wanted)
    found: set[str] = set()
    for parts in _near_first(snapshot.parts) if missing else ():
        found |= missing & _sources(snapshot, parts, scope)
        missing -= found
        if not missing:
            break
    return frozenset(found)


def _near_first(parts: Iterable[Part]) -> list[list[Part]]:
    """The spool as one, then each file alone, the newest first."""
    held = list(parts)
    files = sorted((p for p in held if p.path is not None), key=lambda part: -part.max_seq)
    spool = [part for part in held if part.path is None]
    return [*([spool] if spool else []), *([part] for part in files)]


def _sources(snapshot: Snapshot, parts: Sequence[Part], scope: tuple[str, ...]) -> frozenset[str]:
    path = parts[0].path
    key = (str(Path(snapshot.paths.events.absolute(), path)), scope) if path else None
    known = _REMEMBERED.get(key) if key else None
    if known is not None:
        return known
    # A file that went away or is damaged tells nothing; the answer itself says that it is partial.
    with Reader(snapshot, parts, final=True) as reader:
        rows = reader.rows(parts, Query("DISTINCT source", one_of("sandbox", scope)))
        found = frozenset(name for (name,) in rows)
        if key and not reader.damaged:
            _REMEMBERED.put(key, found)
    return found


class _Remembered:
    """What files hold: they never change, and no name is given twice, so it stays true."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, tuple[str, ...]], frozenset[str]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[str, tuple[str, ...]]) -> frozenset[str] | None:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def put(self, key: tuple[str, tuple[str, ...]], found: frozenset[str]) -> None:
        with self._lock:
            self._held[key] = found
            while len(self._held) > MAX_REMEMBERED:
                self._held.popitem(last=False)


_REMEMBERED: Final = _Remembered()
