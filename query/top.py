"""The most frequent values of columns, by one question a column over one snapshot."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
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
    Question,
    TooHeavyError,
    TooManyReportsError,
    apart,
    counted,
    prepare,
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
from query.sums import Key, Partial, Sums

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
        known: dict[str, list[Value] | None] = {}
        if memo is not None and request.window.clock == "event":
            known = _by_files(reader, snapshot, parts, request, axes, most, memo)
        found = {}
        for axis in axes:
            values = known.get(axis.name)
            if values is None:
                values = _by_engine(reader, parts, request, axis, most)
            found[axis.name] = tuple(values)
        return Top(found, seen_gaps(snapshot, request.window, request.scope), reader.damaged)


def _by_files(
    reader: Reader,
    snapshot: Snapshot,
    parts: Sequence[Part],
    request: Request,
    axes: Sequence[Axis],
    most: int,
    memo: Memo,
) -> dict[str, list[Value] | None]:
    """The first values of each axis by counts of files; None if those would be too many."""
    base = all_of([compile_request(without_window(request)), only_decisions(request)])
    questions = {
        axis.name: Question(base, request.window, (axis.sql(),), merged=True, light=True)
        for axis in axes
        if not axis.is_list
    }
    if len(questions) > 1:
        prepare(reader, snapshot, parts, list(questions.values()), memo)
    return {
        name: _added_up(reader, snapshot, parts, question, most, memo)
        for name, question in questions.items()
    }


def _added_up(
    reader: Reader,
    snapshot: Snapshot,
    parts: Sequence[Part],
    question: Question,
    most: int,
    memo: Memo,
) -> list[Value] | None:
    try:
        files, fresh = apart(reader, snapshot, parts, question, memo)
        if files.loose or fresh.loose:
            files, fresh = counted(reader, snapshot, parts, question, memo), Partial()
    except (TooHeavyError, TooManyReportsError):
        return None
    # Of what is not fresh only the most frequent can be among the first.
    old = islice((key for key in _ranking(files) if key not in fresh.groups), most)
    first = heapq.nsmallest(most, _counts(files, fresh, old))
    return [_value(key, files.groups.get(key), fresh.groups.get(key)) for _, key in first]


def _counts(files: Partial, fresh: Partial, old: Iterable[Key]) -> Iterator[tuple[int, Key]]:
    """How often, negative, so that the most frequent come first."""
    for key, sums in fresh.groups.items():
        if key[0] is not None:
            before = files.groups.get(key)
            yield -(sums.events + (before.events if before else 0)), key
    for key in old:
        yield -files.groups[key].events, key


def _ranking(files: Partial) -> tuple[Key, ...]:
    """The values by their counts, which is kept with them."""
    if files.ranking is None:
        named = [key for key in files.groups if key[0] is not None]
        named.sort(key=lambda key: (-files.groups[key].events, key))
        files.ranking = tuple(named)
    return files.ranking


def _value(key: Key, old: Sums | None, new: Sums | None) -> Value:
    """Both counts of a value as one."""
    sums = (old or Sums()).plus(new or Sums())
    return Value(key[0], sums.events, sums.deny, sums.allow, sums.first or 0, sums.last or 0)


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
