"""Counts by any columns and stretches of time: one question to the engine over one snapshot."""

import contextlib
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo
from typing import Any, Final, Literal

from audit_events.errors import QueryError
from audit_events.layout import StorePaths
from query.axes import Axis
from query.calendar import Buckets, buckets
from query.contracts import Damaged, Gap, Request, Window
from query.engine import with_snapshot
from query.filters import compile_request, included
from query.memo import Memo
from query.partial import Question, TooManyReportsError, counted, without_window
from query.plan import prune
from query.predicates import Clause, all_of, not_
from query.reader import Query, Reader
from query.reports import told_twice
from query.runs import with_runs_resolved
from query.scoping import seen_gaps, seen_upto
from query.snapshot import Part, Snapshot
from query.sums import Sums

# More groups than this are no overview any more, and each costs memory in Python.
MAX_GROUPS: Final = 200_000
_ARRIVAL: Final = Window(clock="arrival")

Measure = Literal["decisions", "tools", "latency", "redactions"]

_SUM: Final = "coalesce(sum(count) FILTER (WHERE {}), 0)::BIGINT"
_SPAN: Final = {
    "runs": "count(DISTINCT correlation_id)",
    "first": "min(epoch_us(ts))",
    "last": "max(epoch_us(ts))",
}
_QUANTILES: Final = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def _quantiles(column: str) -> dict[str, str]:
    found = {name: f"quantile_disc({column}, {q})" for name, q in _QUANTILES.items()}
    return {**found, "max": f"max({column})"}


# What each measure asks of a group; all counts are sums of `count`, times and durations are in µs.
MEASURES: Final[Mapping[Measure, Mapping[str, str]]] = {
    "decisions": {
        **{word: _SUM.format(f"decision = '{word}'") for word in ("allow", "deny", "unknown")},
        "other": _SUM.format("decision IS NULL"),
        **_SPAN,
    },
    "tools": {
        "calls": "coalesce(sum(count), 0)::BIGINT",
        **{
            name: _SUM.format(f"outcome = '{name}'")
            for name in ("ok", "timeout", "retry", "policy_violation", "error")
        },
        **_quantiles("duration_us"),
        **_SPAN,
    },
    "latency": {"events": "coalesce(sum(count), 0)::BIGINT", **_quantiles("latency_us"), **_SPAN},
    "redactions": {"events": "count(*)", "secrets": "sum(redactions)::BIGINT", **_SPAN},
}
_ONLY: Final[Mapping[Measure, str]] = {
    "decisions": "true",
    "tools": "kind = 'tool_call'",
    "latency": "latency_us IS NOT NULL",
    "redactions": "redactions > 0",
}


@dataclass(frozen=True, slots=True)
class Counting:
    """What to count by, in which zone days are cut, and whether reports join what they report."""

    axes: tuple[Axis, ...] = ()
    measure: Measure = "decisions"
    zone: tzinfo = UTC
    merged: bool = True


@dataclass(frozen=True, slots=True)
class Group:
    """Events with the same `key` (one value an axis; a time by its bucket's key), counted."""

    key: tuple[Any, ...]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stats:
    """The groups in no order, all of them together as `total`, and what makes them doubtful.

    `reports` records told what another record tells as well and were not counted again.
    """

    axes: tuple[Axis, ...]
    groups: tuple[Group, ...]
    total: Group
    times: Buckets | None
    reports: int
    reporters: tuple[str, ...]
    searched: int
    upto: int
    gaps: tuple[Gap, ...] = ()
    damaged: tuple[Damaged, ...] = ()
    merged: bool = True


def stats(
    store: StorePaths, request: Request, counting: Counting, memo: Memo | None = None
) -> Stats:
    """Count what matches, whatever `limit`; gaps only where `kind` names them.

    With a `memo` decisions of files that were counted before are not counted again.
    UsageError for a wrong filter, QueryError for more than MAX_GROUPS groups, StorageError for a
    store that cannot be read. Damaged files are named and left out.
    """
    return with_snapshot(
        store, lambda snapshot, final: _stats(snapshot, request, counting, final, memo)
    )


def runs_of_events(store: StorePaths, request: Request) -> frozenset[str]:
    """The ids of the runs that have a matching event; errors as `stats`."""

    def work(snapshot: Snapshot, final: bool) -> frozenset[str]:
        resolved = replace(with_runs_resolved(request, snapshot.con), limit=None)
        parts = prune(snapshot.parts, resolved)
        with Reader(snapshot, parts, final=final) as reader:
            query = Query("DISTINCT correlation_id", compile_request(resolved))
            return frozenset(run for (run,) in reader.rows(parts, query))

    return with_snapshot(store, work)


def _stats(
    snapshot: Snapshot, request: Request, counting: Counting, final: bool, memo: Memo | None
) -> Stats:
    request = with_runs_resolved(request, snapshot.con)
    parts = prune(snapshot.parts, request)
    times = _times(parts, request, counting)
    if memo is not None and _adds_up(request, counting):
        with contextlib.suppress(TooManyReportsError):
            return _remembered(snapshot, parts, request, counting, times, final, memo)
    where = all_of([compile_request(request), Clause(_only(request, counting))])
    with Reader(snapshot, parts, final=final) as reader:
        asked = _Asked(reader, parts, where)
        reports = told_twice(reader, parts, where) if counting.merged else {}
        if reports:
            doubled = Clause("link = 'report' AND seq IN (SELECT unnest(?))", (list(reports),))
            asked = replace(asked, where=all_of([where, not_(doubled)]))
        return Stats(
            axes=counting.axes,
            groups=tuple(asked.groups(counting, times)),
            total=next(iter(asked.groups(replace(counting, axes=()), None))),
            times=times,
            reports=len(reports or ()),
            reporters=tuple(sorted(set((reports or {}).values()))),
            searched=sum(part.rows for part in parts),
            upto=seen_upto(snapshot, request.scope),
            gaps=seen_gaps(snapshot, request.window, request.scope),
            damaged=reader.damaged,
            merged=counting.merged and reports is not None,
        )


def _adds_up(request: Request, counting: Counting) -> bool:
    """Whether counts of parts make the counts of all: an event that stands twice does not."""
    by_event = request.window.clock == "event" or request.window in (Window(), _ARRIVAL)
    lists = any(axis.is_list for axis in counting.axes)
    return by_event and not lists and counting.measure == "decisions"


def _remembered(
    snapshot: Snapshot,
    parts: Sequence[Part],
    request: Request,
    counting: Counting,
    times: Buckets | None,
    final: bool,
    memo: Memo,
) -> Stats:
    base = all_of([compile_request(without_window(request)), Clause(_only(request, counting))])
    keys = tuple(axis.sql(times if axis.size else None) for axis in counting.axes)
    question = Question(base, request.window, keys, counting.merged)
    with Reader(snapshot, parts, final=final) as reader:
        found = counted(reader, snapshot, parts, question, memo)
        if len(found.groups) > MAX_GROUPS:
            raise _too_many()
        total = functools.reduce(Sums.plus, found.groups.values(), Sums())
        return Stats(
            axes=counting.axes,
            groups=tuple(Group(key, sums.values()) for key, sums in found.groups.items()),
            total=Group((), total.values()),
            times=times,
            reports=found.doubled,
            reporters=tuple(sorted(found.reporters)),
            searched=sum(part.rows for part in parts),
            upto=seen_upto(snapshot, request.scope),
            gaps=seen_gaps(snapshot, request.window, request.scope),
            damaged=reader.damaged,
            merged=counting.merged,
        )


def _too_many() -> QueryError:
    return QueryError(f"more than {MAX_GROUPS:,} groups", hint="count by less, or --since")


def only_decisions(request: Request) -> Clause:
    """What counts as something that happened: gaps only where they are asked for."""
    return Clause(_only(request, Counting()))


def _only(request: Request, counting: Counting) -> str:
    named = included(request, "kind")
    return _ONLY[counting.measure] + ("" if named else " AND kind <> 'gap'")


def _times(parts: Sequence[Part], request: Request, counting: Counting) -> Buckets | None:
    size = next((axis.size for axis in counting.axes if axis.size), None)
    if size is None:
        return None
    window, by_event = request.window, request.window.clock == "event"
    since = window.since if by_event else None
    until = window.until if by_event else None
    low = min((part.min_ts for part in parts), default=0) if since is None else since
    high = max((part.max_ts for part in parts), default=low)
    return buckets(size, counting.zone, low, high if until is None else min(high, until))


@dataclass(frozen=True, slots=True)
class _Asked:
    """One condition over the parts of a snapshot."""

    reader: Reader
    parts: Sequence[Part]
    where: Clause

    def groups(self, counting: Counting, times: Buckets | None) -> list[Group]:
        keys = [axis.sql(times if axis.size else None) for axis in counting.axes]
        measures = MEASURES[counting.measure]
        columns = ", ".join([*keys, *measures.values()])
        by = ", ".join(str(number) for number in range(1, len(keys) + 1))
        tail = Clause(f"GROUP BY {by} LIMIT {MAX_GROUPS + 1}" if keys else "")
        found = self.reader.rows(self.parts, Query(columns, self.where, tail))
        if len(found) > MAX_GROUPS:
            raise _too_many()
        width = len(keys)
        return [Group(row[:width], dict(zip(measures, row[width:], strict=True))) for row in found]
