"""Answers from archive and spool read as one: the newest rows, a number, or all rows in pages."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from audit_events.layout import StorePaths
from audit_events.schema import COLUMN_NAMES
from query.contracts import Answer, Damaged, Gap, Request, Row
from query.filters import compile_request
from query.plan import bounds, looks, prune
from query.predicates import Clause, all_of, not_
from query.reader import (
    ARROW_COLUMNS,
    ROW_COLUMNS,
    MissingFileError,
    Query,
    Reader,
    seq_of,
    to_row,
)
from query.reports import told_twice
from query.runs import with_runs_resolved
from query.scoping import seen_gaps, seen_upto
from query.snapshot import Part, Snapshot, open_snapshot

# A page of an export, and the widest stretch of seq that one page looks at when matches are rare.
PAGE_ROWS: Final = 50_000
MAX_WINDOW_ROWS: Final = 1 << 20
_WINDOW_GROWTH: Final = 4

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Count:
    """How many records match, and how many events they stand for (repeats are counted)."""

    records: int
    events: int
    searched: int
    upto: int
    gaps: tuple[Gap, ...] = ()
    damaged: tuple[Damaged, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """The next matching rows in seq order; every match up to `upto` has been given by then.

    `table` has the columns of the event schema and `__arrow_c_stream__`, which pyarrow, polars and
    others take without a copy: `pyarrow.table(page.table)`.
    """

    table: Any
    rows: int
    upto: int
    damaged: tuple[Damaged, ...] = ()


def answer(store: StorePaths, request: Request) -> Answer:
    """The newest (or oldest) `limit` matches by seq, or all, in display order.

    `searched` counts the rows of the files and batches that had to be looked at. Damaged files are
    named and left out. UsageError for a wrong filter, StorageError for a store that cannot be read.
    """
    return with_snapshot(store, lambda snapshot, final: _answer(snapshot, request, final))


def count(
    store: StorePaths, request: Request, *, merged: bool = False, patience_s: float | None = None
) -> Count:
    """How much matches, whatever `limit`; errors as `answer`, QueryError after `patience_s` too.

    `merged`: reports of what is counted already are left out.
    """
    return with_snapshot(
        store, lambda snapshot, final: _count(snapshot, request, final, merged, patience_s)
    )


def pages(
    store: StorePaths,
    request: Request,
    after_seq: int = 0,
    page_rows: int = PAGE_ROWS,
    upto: int | None = None,
) -> Iterator[Page]:
    """All matches after `after_seq` in seq order, at most `page_rows` a page, whatever `limit`.

    Ends at `upto`, by default the newest seq when the first page is read. Each page is a snapshot
    of its own, so an export may take hours and needs the memory of one page; a page may be empty.
    """
    with open_snapshot(store) as snapshot:
        request = with_runs_resolved(request, snapshot.con)
        upto = snapshot.last_seq if upto is None else min(upto, snapshot.last_seq)
    compile_request(request)
    span = bounds(request)
    after, upto, width = max(after_seq, span.first - 1), min(upto, span.last), page_rows
    while after < upto:
        turn = _Turn(request, after, upto, width, page_rows)
        page = with_snapshot(store, turn.read)
        after = page.upto
        width = page_rows if page.rows * _WINDOW_GROWTH > page_rows else width * _WINDOW_GROWTH
        width = min(width, max(MAX_WINDOW_ROWS, page_rows))
        yield page


def row_pages(
    store: StorePaths,
    request: Request,
    after_seq: int = 0,
    page_rows: int = PAGE_ROWS,
    upto: int | None = None,
) -> Iterator[list[Row]]:
    """`pages` as Rows, for callers that need a few."""
    for page in pages(store, request, after_seq, page_rows, upto):
        yield rows_of(page.table)


def rows_of(table: Any) -> list[Row]:
    """The rows of a page's table, or of a decoded spool batch, as Rows."""
    from arro3.core import DataType

    held = set(table.schema.names)
    columns: dict[str, list[Any]] = {}
    for name in COLUMN_NAMES:
        column = table.column(name) if name in held else None
        if column is not None and column.null_count < table.num_rows:
            is_time = DataType.is_timestamp(column.type)
            columns[name] = (column.cast(DataType.int64()) if is_time else column).to_pylist()
    if not columns:
        return []
    ids = zip(columns["store"], columns["seq"], strict=True)
    rows: list[Row] = [{"event_id": f"{store}-{seq}"} for store, seq in ids]
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            if value is not None:
                row[name] = value
    return rows


@dataclass(frozen=True, slots=True)
class _Turn:
    """One page's reading: at most `page_rows` matches with seq in (after, after + width]."""

    request: Request
    after: int
    upto: int
    width: int
    page_rows: int

    def read(self, snapshot: Snapshot, final: bool) -> Page:
        parts = [p for p in prune(snapshot.parts, self.request) if p.max_seq > self.after]
        parts = [part for part in parts if part.min_seq <= self.upto]
        # Retention and leaps leave holes: go on where there is something.
        first = max(min((part.min_seq for part in parts), default=self.upto), self.after + 1)
        last = min(first + self.width - 1, self.upto)
        parts = [part for part in parts if part.min_seq <= last]
        where = all_of(
            [compile_request(self.request), Clause("seq BETWEEN ? AND ?", (first, last))]
        )
        tail = Clause("ORDER BY seq LIMIT ?", (self.page_rows,))
        with Reader(snapshot, parts, final=final) as reader:
            table = reader.table(parts, Query(ARROW_COLUMNS, where, tail))
            full = table.num_rows == self.page_rows
            upto = int(table.column("seq")[-1].as_py()) if full else last
            return Page(table, table.num_rows, upto, reader.damaged)


def with_snapshot(store: StorePaths, work: Callable[[Snapshot, bool], T]) -> T:
    """The work over one snapshot; its second argument says that a missing file is damage.

    A file may be replaced between looking and reading: then look again, once.
    """
    try:
        with open_snapshot(store) as snapshot:
            return work(snapshot, False)
    except MissingFileError:
        with open_snapshot(store) as snapshot:
            return work(snapshot, True)


def _answer(snapshot: Snapshot, request: Request, final: bool) -> Answer:
    request = with_runs_resolved(request, snapshot.con)
    parts = prune(snapshot.parts, request)
    with Reader(snapshot, parts, final=final) as reader:
        if request.limit is None:
            found, searched = _all(reader, parts, request), sum(part.rows for part in parts)
        else:
            found, searched = _some(reader, parts, request, request.limit)
        more = request.limit is not None and len(found) > request.limit
        found = found[: request.limit] if more else found
        found.sort(key=seq_of, reverse=request.order == "desc")
        return Answer(
            rows=[to_row(values) for values in found],
            more=more,
            searched=searched,
            upto=seen_upto(snapshot, request.scope),
            gaps=seen_gaps(snapshot, request.window, request.scope),
            damaged=reader.damaged,
        )


def _all(reader: Reader, parts: Sequence[Part], request: Request) -> list[tuple[Any, ...]]:
    return reader.rows(parts, Query(ROW_COLUMNS, compile_request(request)))


def _some(
    reader: Reader, parts: Sequence[Part], request: Request, limit: int
) -> tuple[list[tuple[Any, ...]], int]:
    """One more than `limit` rows from the wanted end, nearest it first, and the rows looked at."""
    where, want, oldest = compile_request(request), limit + 1, request.oldest
    found: list[tuple[Any, ...]] = []
    searched = 0
    for look in looks(parts, oldest=oldest):
        if len(found) == want and not _may_hold_nearer(look[0], seq_of(found[-1]), oldest=oldest):
            break
        searched += sum(part.rows for part in look)
        found += _nearest(reader, look, where, want, oldest=oldest)
        found.sort(key=seq_of, reverse=not oldest)
        del found[want:]
    return found, searched


def _nearest(
    reader: Reader, look: Sequence[Part], where: Clause, want: int, *, oldest: bool
) -> list[tuple[Any, ...]]:
    """At most `want` matches from one end.

    Which ones is asked first: to sort whole rows the engine would read every column of every match.
    """
    tail = Clause(f"ORDER BY seq {'ASC' if oldest else 'DESC'} LIMIT ?", (want,))
    while True:
        seqs = [seq for (seq,) in reader.rows(look, Query("seq", where, tail))]
        if not seqs:
            return []
        span = Clause("seq BETWEEN ? AND ?", (min(seqs), max(seqs)))
        found = reader.rows(look, Query(ROW_COLUMNS, all_of([span, where])))
        # Fewer, if only now a file turned out to be damaged: it is known now.
        if len(found) >= len(seqs):
            return found


def _may_hold_nearer(part: Part, seq: int, *, oldest: bool) -> bool:
    return part.min_seq < seq if oldest else part.max_seq > seq


def _count(
    snapshot: Snapshot, request: Request, final: bool, merged: bool, patience_s: float | None
) -> Count:
    request = replace(with_runs_resolved(request, snapshot.con), limit=None)
    parts = prune(snapshot.parts, request)
    columns = "count(*), coalesce(sum(count) FILTER (WHERE kind <> 'gap'), 0)::BIGINT"
    with Reader(snapshot, parts, final=final, patience_s=patience_s) as reader:
        where = compile_request(request)
        if merged and (doubled := told_twice(reader, parts, where)):
            where = all_of([where, not_(Clause("seq IN (SELECT unnest(?))", (list(doubled),)))])
        records, events = reader.rows(parts, Query(columns, where))[0]
        return Count(
            records=records,
            events=events,
            searched=sum(part.rows for part in parts),
            upto=seen_upto(snapshot, request.scope),
            gaps=seen_gaps(snapshot, request.window, request.scope),
            damaged=reader.damaged,
        )
