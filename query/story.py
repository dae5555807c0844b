"""A run as a story: what it read, wrote and ran, what it was refused, and where the record breaks.

Events in the order of the store; what one process did of one kind in one place is one step.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Final

from audit_events.layout import StorePaths
from query.contracts import Damaged, Gap, Request, Row, Window
from query.engine import with_snapshot
from query.filters import compile_request
from query.plan import prune
from query.predicates import Clause, all_of, any_of
from query.reader import ROW_COLUMNS, Query, Reader, seq_of, to_row
from query.runs import Run, run_named
from query.scoping import in_scope, seen_gaps
from query.snapshot import Part, Snapshot

# Events told of one run, the oldest first; of a longer run the later refusals, and it says so.
MAX_EVENTS: Final = 100_000
# A system's report comes within seconds of what it reports; it is looked for so far after the run.
REPORT_SEQS: Final = 10_000
# Repeats join the step before if no more time lies between: a loop is one step, two visits are two.
FOLD_QUIET_US: Final = 60_000_000
MAX_OPEN_STEPS: Final = 100


@dataclass(slots=True)
class Step:
    """One thing that happened, or many alike: `row` is the first event, `times` how often.

    `things` are the distinct objects (paths), `folder` what they have in common if they are many.
    """

    row: Row
    last_ts: int
    last_seq: int
    times: int = 0
    things: set[str] = field(default_factory=set)
    folder: str | None = None
    reporters: set[str] = field(default_factory=set)
    secrets: int = 0
    masked: list[str] = field(default_factory=list)

    @property
    def refused(self) -> bool:
        """Whether it was denied."""
        return self.row.get("decision") == "deny"


@dataclass(frozen=True, slots=True)
class Totals:
    """Occurrences by decision, masked secrets, and records of the system told with others."""

    allow: int = 0
    deny: int = 0
    unknown: int = 0
    other: int = 0
    secrets: int = 0
    reports: int = 0


@dataclass(frozen=True, slots=True)
class Story:
    """A run told: steps and gaps in order of time, and what makes the telling incomplete."""

    run: Run
    policies: tuple[tuple[str, str | None], ...]
    totals: Totals
    steps: tuple[Step | Gap, ...]
    gaps: tuple[Gap, ...]
    more: bool
    stored: int
    damaged: tuple[Damaged, ...]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """An event with the events stored just before and after it that match."""

    rows: tuple[Row, ...]
    gaps: tuple[Gap, ...]
    damaged: tuple[Damaged, ...]


def story(store: StorePaths, word: str, request: Request, sandbox: str | None = None) -> Story:
    """The run that `word` means (`last`, `last~N`, the beginning of an id) as a story.

    Filters of the request leave out events. UsageError if the word means no run or several.
    """
    return with_snapshot(
        store, lambda snapshot, final: _story(snapshot, word, request, sandbox, final)
    )


def neighbours(store: StorePaths, seq: int, request: Request, context: int) -> Neighbours:
    """At most `context` events on each side of `seq`, and itself, in the order of the store."""

    def work(snapshot: Snapshot, final: bool) -> Neighbours:
        parts = prune(snapshot.parts, replace(request, limit=None))
        where = compile_request(request)
        own = [part for part in snapshot.parts if part.min_seq <= seq <= part.max_seq]
        with Reader(snapshot, [*parts, *own], final=final) as reader:
            found = [
                *_side(reader, parts, where, seq, context, before=True)[::-1],
                *reader.rows(
                    own,
                    Query(
                        ROW_COLUMNS, all_of([Clause("seq = ?", (seq,)), in_scope(request.scope)])
                    ),
                ),
                *_side(reader, parts, where, seq, context, before=False),
            ]
            rows = tuple(to_row(values) for values in found)
            times = [row["ts"] for row in rows] or [0]
            window = Window(min(times), max(times) + 1)
            return Neighbours(rows, seen_gaps(snapshot, window, request.scope), reader.damaged)

    return with_snapshot(store, work)


def _side(
    reader: Reader, parts: Sequence[Part], where: Clause, seq: int, context: int, *, before: bool
) -> list[tuple[Any, ...]]:
    """The nearest rows first; parts are asked from near to far until there are enough."""
    sign, order = ("<", "DESC") if before else (">", "ASC")
    near = [p for p in parts if (p.min_seq < seq if before else p.max_seq > seq)]
    near.sort(key=lambda p: -p.max_seq if before else p.min_seq)
    query = Query(
        ROW_COLUMNS,
        all_of([where, Clause(f"seq {sign} ?", (seq,))]),
        Clause(f"ORDER BY seq {order} LIMIT ?", (context,)),
    )
    found: list[tuple[Any, ...]] = []
    for part in near if context else ():
        edge = seq_of(found[-1]) if len(found) >= context else None
        if edge is not None and (part.max_seq < edge if before else part.min_seq > edge):
            break
        found += reader.rows([part], query)
        found.sort(key=seq_of, reverse=before)
        del found[context:]
    return found


def _story(
    snapshot: Snapshot, word: str, request: Request, sandbox: str | None, final: bool
) -> Story:
    run = run_named(snapshot.con, word, sandbox, request.scope)
    if request.scope is not None:
        from query.scoped_runs import seen_run

        run = seen_run(snapshot, run, request.scope, final=final)
    parts = [
        part
        for part in snapshot.parts
        if part.max_seq >= run.first_seq and part.min_seq <= run.last_seq + REPORT_SEQS
    ]
    with Reader(snapshot, parts, final=final) as reader:
        first = [to_row(values) for values in _events(reader, parts, run, request)]
        more = len(first) > MAX_EVENTS
        later = _refusals(reader, parts, run, request, first[MAX_EVENTS - 1]["seq"]) if more else []
        rows, reports = _apart([*first[:MAX_EVENTS], *map(to_row, later)], run)
        gaps = seen_gaps(snapshot, Window(run.first_ts, run.last_ts + 1), request.scope)
        totals = _totals(rows, reports)
        if more and not (request.values or request.window != Window() or request.scope):
            totals = replace(totals, allow=run.allow, deny=run.deny, unknown=0, other=run.other)
        return Story(
            run=run,
            policies=_policies(rows),
            totals=totals,
            steps=tuple(told(rows, reports, gaps)),
            gaps=gaps,
            more=more,
            stored=sum(row.get("count") or 0 for row in [*rows, *reports] if _of(row, run)),
            damaged=reader.damaged,
        )


def _events(
    reader: Reader, parts: Sequence[Part], run: Run, request: Request
) -> list[tuple[Any, ...]]:
    """The run's events, and reports that may belong to one of them."""
    linked = Clause("link = 'report' AND linked_seq BETWEEN ? AND ?", (run.first_seq, run.last_seq))
    span = Clause("seq BETWEEN ? AND ?", (run.first_seq, run.last_seq + REPORT_SEQS))
    where = all_of([span, in_scope(request.scope), any_of([_own(run, request), linked])])
    tail = Clause("ORDER BY seq LIMIT ?", (MAX_EVENTS + 1,))
    return reader.rows(parts, Query(ROW_COLUMNS, where, tail))


def _refusals(
    reader: Reader, parts: Sequence[Part], run: Run, request: Request, after: int
) -> list[tuple[Any, ...]]:
    """What was not allowed later in a run too long to tell: it is what one asks for."""
    later = Clause("seq > ? AND decision IN ('deny', 'unknown')", (after,))
    where = all_of([_own(run, request), later])
    return reader.rows(
        parts, Query(ROW_COLUMNS, where, Clause("ORDER BY seq LIMIT ?", (MAX_EVENTS,)))
    )


def _own(run: Run, request: Request) -> Clause:
    mine = Clause("correlation_id = ? AND kind <> 'gap'", (run.correlation_id,))
    return all_of([mine, compile_request(request)])


def _of(row: Row, run: Run) -> bool:
    return bool(row["correlation_id"] == run.correlation_id)


def _apart(rows: Sequence[Row], run: Run) -> tuple[list[Row], list[Row]]:
    """The events, and the reports of events among them; a report of nothing is an event."""
    own = {row["seq"] for row in rows if _of(row, run) and row.get("link") != "report"}
    reports = [row for row in rows if row.get("link") == "report" and row["linked_seq"] in own]
    merged = {row["seq"] for row in reports}
    return [row for row in rows if _of(row, run) and row["seq"] not in merged], reports


def _policies(rows: Iterable[Row]) -> tuple[tuple[str, str | None], ...]:
    found = {(row["policy"], row.get("policy_digest")): None for row in rows if row.get("policy")}
    return tuple(found)


def _totals(rows: Iterable[Row], reports: Sequence[Row]) -> Totals:
    sums = {"allow": 0, "deny": 0, "unknown": 0, "other": 0}
    secrets = 0
    for row in rows:
        sums[row.get("decision", "other")] += row.get("count") or 0
        secrets += row.get("redactions") or 0
    return Totals(**sums, secrets=secrets, reports=len(reports))


def told(
    rows: Iterable[Row], reports: Iterable[Row] = (), gaps: Iterable[Gap] = ()
) -> Iterator[Step | Gap]:
    """The steps of these events in seq order, each gap before the first event after its start."""
    who: dict[int, set[str]] = {}
    for report in reports:
        who.setdefault(report["linked_seq"], set()).add(report.get("enforcer") or report["source"])
    steps: list[Step | Gap] = []
    open_steps: dict[tuple[Any, ...], Step] = {}
    waiting = sorted(gaps, key=lambda gap: gap.since)
    for row in rows:
        for gap in takewhile(lambda gap: gap.since <= row["ts"], tuple(waiting)):  # noqa: B023
            waiting.remove(gap)
            steps.append(gap)
            open_steps.clear()
        key = _key(row)
        step = open_steps.get(key)
        if step is None or not _joins(step, row):
            if not _folds(row):
                open_steps = {k: s for k, s in open_steps.items() if not _folds(s.row)}
            step = Step(row, row["ts"], row["seq"])
            steps.append(step)
            if len(open_steps) >= MAX_OPEN_STEPS:
                open_steps.clear()
            open_steps[key] = step
        _add(step, row, who.get(row["seq"], ()))
    return iter([*steps, *waiting])


def _folds(row: Row) -> bool:
    """Whether an event is one of many: an allowed look at a file; all else has its own line."""
    return row.get("decision") == "allow" and row["resource"] == "filesystem" and "path" in row


def _key(row: Row) -> tuple[Any, ...]:
    names = ("kind", "sandbox", "process", "pid", "decision", "access", "resource", "enforcer")
    alike = tuple(row.get(name) for name in names)
    if _folds(row):
        return alike
    more = ("policy_rule", "syscall", "path", "path_to", "dst", "target", "command", "tool")
    return (*alike, *(row.get(name) for name in (*more, "outcome", "error")))


def _joins(step: Step, row: Row) -> bool:
    if not 0 <= row["ts"] - step.last_ts + FOLD_QUIET_US <= 2 * FOLD_QUIET_US:
        return False
    if not _folds(row):
        return True
    return row["path"] in step.things or _common(step.folder, step.row["path"], row["path"]) != ""


def _add(step: Step, row: Row, reporters: Iterable[str]) -> None:
    step.times += row.get("count") or 1
    step.last_ts, step.last_seq = max(step.last_ts, row["ts"]), row["seq"]
    step.reporters.update(reporters)
    step.secrets += row.get("redactions") or 0
    path = row.get("path")
    if path is None:
        return
    if row.get("redactions") and path not in step.things:
        step.masked.append(path)
    if _folds(row) and step.things and path not in step.things:
        step.folder = _common(step.folder, step.row["path"], path)
    step.things.add(path)


def _common(folder: str | None, first: str, path: str) -> str:
    """The deepest folder that holds both; an empty text if that is the root or none."""
    start = first.rpartition("/")[0] if folder is None else folder
    here = path.rpartition("/")[0]
    parts = zip(start.split("/"), here.split("/"), strict=False)
    return "/".join(part for part, _ in takewhile(lambda pair: pair[0] == pair[1], parts))
