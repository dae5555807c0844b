"""Runs as one sees them who may see only some sandboxes.

The collector counts a run as a whole, and an agent can claim the run of another sandbox. So the
runs of a scope are looked at in the events too: one that others claimed is counted anew.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from audit_events.layout import StorePaths
from audit_events.schema import OS_FORMATS
from query.contracts import Request
from query.engine import with_snapshot
from query.predicates import Clause, all_of, not_, one_of
from query.reader import Query, Reader
from query.reports import IS_REPORT
from query.run_filters import matching
from query.run_list import Listed, RunList, listed, time_bounds
from query.runs import OUTSIDE, Run, in_scope, with_runs_resolved
from query.scoping import of_scope, seen_gaps
from query.snapshot import Snapshot

# Runs whose events are looked at together.
CHUNK_RUNS: Final = 64
_COLUMNS: Final = ", ".join(Run.__dataclass_fields__)
# As the collector counts (collector/hot.py): what the system tells of an operation is no other one.
_TOLD_AGAIN: Final = (
    f"coalesce({IS_REPORT.sql} AND format IN ({', '.join(map(repr, sorted(OS_FORMATS)))}), false)"
)
_NEITHER: Final = "decision IS NULL OR decision = 'unknown'"
_SUMS: Final = (
    "correlation_id, min(epoch_us(ts)), max(epoch_us(ts)), min(seq), max(seq), "
    + ", ".join(
        f"coalesce(sum(count) FILTER (WHERE ({which}) AND NOT {_TOLD_AGAIN}), 0)::BIGINT"
        for which in ("decision = 'allow'", "decision = 'deny'", _NEITHER)
    )
)
_RULE: Final = "coalesce(policy_rule, '(' || enforcer || ')')"


def newest_runs(store: StorePaths, request: Request, now: int, *, outside: bool = False) -> RunList:
    """As `run_list.newest_runs`, of the request's scope."""

    def work(snapshot: Snapshot, final: bool) -> RunList:
        asked = with_runs_resolved(request, snapshot.con)
        everywhere = outside or bool(asked.values.get("run"))
        most = None if asked.limit is None else asked.limit + 1
        seen = _as_seen(snapshot, _in_window(snapshot, asked, everywhere), asked, final)
        found = list(islice(matching(store, asked, seen), most))
        kept = found if asked.limit is None else found[: asked.limit]
        return RunList(
            runs=tuple(_listed(snapshot, run, asked, now, final) for run in reversed(kept)),
            more=len(found) > len(kept),
            outside=0 if everywhere else _count(snapshot, asked, OUTSIDE),
            searched=_count(snapshot, asked, "true"),
            gaps=seen_gaps(snapshot, asked.window, asked.scope),
        )

    return with_snapshot(store, work)


def seen_run(snapshot: Snapshot, run: Run, scope: tuple[str, ...], *, final: bool) -> Run:
    """A run of the scope without what other sandboxes claimed to be of it."""
    return _recounted(snapshot, [run], scope, final).get(run.correlation_id, run) or run


def _in_window(snapshot: Snapshot, request: Request, everywhere: bool) -> Iterator[Run]:
    where, params = _where(request, "true" if everywhere else f"NOT {OUTSIDE}")
    rows = snapshot.con.execute(
        f"SELECT {_COLUMNS} FROM runs WHERE {where} ORDER BY last_ts DESC, correlation_id",  # noqa: S608
        params,
    )
    return (Run(*row) for row in rows)


def _count(snapshot: Snapshot, request: Request, which: str) -> int:
    where, params = _where(request, which)
    sql = f"SELECT count(*) FROM runs WHERE {where}"  # noqa: S608
    return int(snapshot.con.execute(sql, params).fetchone()[0])


def _where(request: Request, which: str) -> tuple[str, list[object]]:
    mine, names = in_scope(request.scope)
    return f"last_ts >= ? AND first_ts < ? AND {which} AND {mine}", [
        *time_bounds(request.window), *names,
    ]  # fmt: skip


def _as_seen(
    snapshot: Snapshot, runs: Iterable[Run], request: Request, final: bool
) -> Iterator[Run]:
    low, high = time_bounds(request.window)
    ordered = iter(runs)
    while chunk := list(islice(ordered, CHUNK_RUNS)):
        anew = _recounted(snapshot, chunk, request.scope or (), final)
        for told in chunk:
            run = anew.get(told.correlation_id, told)
            if run is not None and run.last_ts >= low and run.first_ts < high:
                yield run


def _recounted(
    snapshot: Snapshot, runs: Sequence[Run], scope: tuple[str, ...], final: bool
) -> Mapping[str, Run | None]:
    """Those of the runs that other sandboxes claim, as its events say; None without any."""
    claimed = _claimed(snapshot, runs, scope, final)
    if not claimed:
        return {}
    named = one_of("correlation_id", sorted(claimed))
    where = all_of([named, one_of("sandbox", scope)])
    found = _ask(snapshot, runs, Query(_SUMS, where, Clause("GROUP BY 1")), final)
    sums = {name: values for name, *values in found}
    names = ("first_ts", "last_ts", "first_seq", "last_seq", "allow", "deny", "other")
    anew: dict[str, Run | None] = dict.fromkeys(claimed)
    for run in runs:
        if run.correlation_id in sums:
            values = dict(zip(names, sums[run.correlation_id], strict=True))
            anew[run.correlation_id] = replace(run, **values)
    return anew


def _claimed(
    snapshot: Snapshot, runs: Sequence[Run], scope: tuple[str, ...], final: bool
) -> frozenset[str]:
    named = one_of("correlation_id", [run.correlation_id for run in runs])
    where = all_of([named, not_(one_of("sandbox", scope))])
    query = Query("DISTINCT correlation_id", where)
    return frozenset(name for (name,) in _ask(snapshot, runs, query, final))


def _ask(
    snapshot: Snapshot, runs: Sequence[Run], query: Query, final: bool
) -> list[tuple[Any, ...]]:
    low, high = min(run.first_seq for run in runs), max(run.last_seq for run in runs)
    parts = [part for part in snapshot.parts if part.max_seq >= low and part.min_seq <= high]
    with Reader(snapshot, parts, final=final) as reader:
        return reader.rows(parts, query)


def _listed(snapshot: Snapshot, run: Run, request: Request, now: int, final: bool) -> Listed:
    found = listed(snapshot.con, run, now)
    gaps = of_scope(snapshot, found.gaps, request.scope)
    told = snapshot.con.execute(
        f"SELECT {_COLUMNS} FROM runs WHERE correlation_id = ?",  # noqa: S608
        (run.correlation_id,),
    ).fetchone()
    refused = found.refused
    if Run(*told) != run:
        refused = _most_refused(snapshot, run, request.scope or (), final)
    return replace(found, gaps=gaps, refused=refused)


def _most_refused(snapshot: Snapshot, run: Run, scope: tuple[str, ...], final: bool) -> str | None:
    refused = (
        f"correlation_id = ? AND decision = 'deny' AND {_RULE} IS NOT NULL AND NOT {_TOLD_AGAIN}"
    )
    mine = Clause(refused, (run.correlation_id,))
    tail = Clause("GROUP BY 1 ORDER BY sum(count) DESC, 1 LIMIT 1")
    query = Query(_RULE, all_of([mine, one_of("sandbox", scope)]), tail)
    found = _ask(snapshot, [run], query, final)
    return str(found[0][0]) if found else None
