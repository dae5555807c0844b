"""The most frequent values of columns, by one question a column over one snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from audit_events.layout import StorePaths
from query.axes import Axis
from query.contracts import Damaged, Gap, Request
from query.engine import with_snapshot
from query.filters import compile_request
from query.plan import prune
from query.predicates import Clause, all_of, not_
from query.reader import Query, Reader
from query.reports import told_twice
from query.runs import with_runs_resolved
from query.scoping import seen_gaps
from query.snapshot import Snapshot
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


def top(store: StorePaths, request: Request, axes: Sequence[Axis], most: int) -> Top:
    """The `most` frequent values of each axis; equals by their value. Errors as `stats`."""
    return with_snapshot(store, lambda snapshot, final: _top(snapshot, request, axes, most, final))


def _top(snapshot: Snapshot, request: Request, axes: Sequence[Axis], most: int, final: bool) -> Top:
    request = with_runs_resolved(request, snapshot.con)
    parts = prune(snapshot.parts, request)
    where = all_of([compile_request(request), only_decisions(request)])
    with Reader(snapshot, parts, final=final) as reader:
        if doubled := told_twice(reader, parts, where):
            where = all_of([where, not_(Clause("seq IN (SELECT unnest(?))", (list(doubled),)))])
        found = {}
        for axis in axes:
            tail = Clause("GROUP BY 1 HAVING value IS NOT NULL"
                          " ORDER BY events DESC, value LIMIT ?", (most,))  # fmt: skip
            query = Query(f"{axis.sql()} AS value, {_SUMS}", where, tail)
            found[axis.name] = tuple(Value(*row) for row in reader.rows(parts, query))
        return Top(found, seen_gaps(snapshot, request.window, request.scope), reader.damaged)
