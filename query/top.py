"""The most frequent values of columns, by one question a column over one snapshot."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from audit_events.layout import StorePaths
from query.axes import Axis
from query.contracts import Damaged, Gap, Request
from query.engine import with_snapshot
from query.filters import compile_request
from query.memo import Memo
from query.partial import (
    Key,
    Partial,
    Question,
    Sums,
    TooHeavyError,
    TooManyReportsError,
    apart,
    counted,
    without_window,
)
from query.plan import prune
from query.predicates import Clause, all_of, not_
from query.reader import Query, Reader
from query.reports import told_twice
from query.runs import with_runs_resolved
from query.scoping import seen_gaps
from query.snapshot import Part, Snapshot
from query.stats import only_decisions

MAX_VALUES: Final = 1_000

_SUMS: Final = (
    "coalesce(sum(count), 0)::BIGINT AS events,"
    " coalesce(sum(count) FILTER (WHERE decision = 'deny'), 0)::BIGINT,"
    " coalesce(sum(count) FILTER (WHERE decision = 'allow'), 0)::BIGINT,"
    " min(epoch_us(ts)), max(epoch_us(ts))"
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value and how often it occurs; times in µs."""

    value: Any
    events: int
    deny: int
    allow: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Top:
    """Values by column, the most frequent first, and what makes them doubtful."""

    values: dict[str, tuple[Value, ...]]
    gaps: tuple[Gap, ...]
    damaged: tuple[Damaged, ...]


def top(
    store: StorePaths,
    request: Request,
    axes: Sequence[Axis],
    most: int,
    memo: Memo | None = None,
) -> Top:
    """The `most` frequent values of each axis; equals by their value. Errors as `stats`.

    With a `memo` files that were counted before are not counted again.
    """
    return with_snapshot(
        store, lambda snapshot, final: _top(snapshot, request, axes, most, final, memo)
    )


def _top(
    snapshot: Snapshot,
    request: Request,
    axes: Sequence[Axis],
    most: int,
    final: bool,
    memo: Memo | None,
) -> Top:
    request = with_runs_resolved(request, snapshot.con)
    parts = prune(snapshot.parts, request)
    with Reader(snapshot, parts, final=final) as reader:
        found = {}
        for axis in axes:
            known = None
            if memo is not None and not axis.is_list and request.window.clock == "event":
                known = _added_up(reader, snapshot, parts, request, axis, most, memo)
            if known is None:
                known = _by_engine(reader, parts, request, axis, most)
            found[axis.name] = tuple(known[:most])
        return Top(found, seen_gaps(snapshot, request.window, request.scope), reader.damaged)


def _added_up(
    reader: Reader,
    snapshot: Snapshot,
    parts: Sequence[Part],
    request: Request,
    axis: Axis,
    most: int,
    memo: Memo,
) -> list[Value] | None:
    """The first values of an axis by counts of files; None if that would hold too many."""
    base = all_of([compile_request(without_window(request)), only_decisions(request)])
    question = Question(base, request.window, (axis.sql(),), merged=True, light=True)
    try:
        files, fresh = apart(reader, snapshot, parts, question, memo)
        if files.loose or fresh.loose:
            files = counted(reader, snapshot, parts, question, memo)
            fresh = Partial()
    except (TooHeavyError, TooManyReportsError):
        return None
    # Of what is not fresh only the most frequent can be among the first.
    old = islice((key for key in _ranking(files) if key not in fresh.groups), most)
    values = (_value(key, files.groups.get(key), fresh.groups.get(key)) for key in
              (*fresh.groups, *old))  # fmt: skip
    named = (one for one in values if one)
    return heapq.nsmallest(most, named, key=lambda one: (-one.events, one.value))


def _ranking(files: Partial) -> tuple[Key, ...]:
    """The values by their counts, which is kept with them."""
    if files.ranking is None:
        named = [key for key in files.groups if key[0] is not None]
        named.sort(key=lambda key: (-files.groups[key].events, key))
        files.ranking = tuple(named)
    return files.ranking


def _value(key: Key, old: Sums | None, new: Sums | None) -> Value | None:
    """Both counts of a value as one; None for no value."""
    sums = old.plus(new) if old and new else old or new
    if key[0] is None or sums is None or sums.first is None or sums.last is None:
        return None
    return Value(key[0], sums.events, sums.deny, sums.allow, sums.first, sums.last)


def _by_engine(
    reader: Reader, parts: Sequence[Part], request: Request, axis: Axis, most: int
) -> list[Value]:
    where = all_of([compile_request(request), only_decisions(request)])
    if doubled := told_twice(reader, parts, where):
        where = all_of([where, not_(Clause("seq IN (SELECT unnest(?))", (list(doubled),)))])
    tail = Clause(
        "GROUP BY 1 HAVING value IS NOT NULL ORDER BY events DESC, value LIMIT ?", (most,)
    )
    query = Query(f"{axis.sql()} AS value, {_SUMS}", where, tail)
    return [Value(*row) for row in reader.rows(parts, query)]
