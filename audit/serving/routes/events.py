"""`/v1/events`: what happened, a page at a time as JSON or everything as a stream."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Final, Literal
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from audit.querying import parse_columns
from audit.serving import answers, models, negotiate
from audit.serving.asked import Filters, OnlyKnown, Told, told
from audit.serving.callers import Serving, Who, need_export
from audit.serving.errors import usage
from audit.serving.negotiate import Form
from audit.serving.service import Limits, Service
from audit.serving.working import run, steps
from exporters.contracts import ALL_COLUMNS
from query import engine
from query.contracts import Request as Question
from query.predicates import seq_range

router = APIRouter(tags=["events"], dependencies=[OnlyKnown])

DEFAULT_ROWS: Final = 100
MAX_ROWS: Final = Limits().page_rows
_END: Final = (1 << 63) - 1
# No event has this seq.
_NOTHING: Final = "0:0"

Limit = Annotated[
    int | None, Query(ge=1, le=_END, description=f"at most so many; JSON up to {MAX_ROWS}")
]
Before = Annotated[int | None, Query(ge=0, le=_END, description="only events of a lower seq")]
After = Annotated[int | None, Query(ge=0, le=_END, description="only events of a higher seq")]
Columns = Annotated[
    str | None, Query(description="only these columns, in this order", examples=["seq,ts,path"])
]
Order = Annotated[
    Literal["asc", "desc"] | None,
    Query(description="JSON: newest first (desc, the default) or oldest first; by seq"),
]


@router.get(
    "/v1/events", summary="Events that match", responses=models.STREAMED, response_class=Response
)
async def events(
    request: Request,
    service: Serving,
    who: Who,
    asked: Filters,
    limit: Limit = None,
    before: Before = None,
    after: After = None,
    columns: Columns = None,
    order: Order = None,
) -> Response:
    """The newest matches as JSON, with where the next page begins.

    `Accept: application/x-ndjson`, `text/csv` or `application/vnd.apache.arrow.stream` gives every
    match in seq order, at any size; that needs a token made with --export. Such a stream that ends
    without its end (of the chunked transfer) is not whole.
    """
    form = negotiate.chosen(request.headers.get("accept"))
    chosen = parse_columns(columns) or ALL_COLUMNS
    bounds = (after or 0, _END if before is None else before - 1)
    if form.make is None:
        if limit is not None and limit > MAX_ROWS:
            raise usage(
                f"limit {limit}: at most {MAX_ROWS} in JSON", "Accept: application/x-ndjson"
            )
        page = _Page(limit or DEFAULT_ROWS, order == "asc", bounds, chosen, str(request.url.query))
        question = await run(service, request, told, service, who, asked)
        return await run(service, request, page.read, service, question)
    need_export(who)
    if order == "desc":
        raise usage("order desc: a stream comes in seq order", "Accept: application/json")
    question = await run(service, request, told, service, who, asked)
    within = _within(question.request(), bounds)
    return await _stream(service, within, form, bounds[0], limit, chosen)


class _Page:
    """One page of JSON."""

    def __init__(
        self,
        limit: int,
        oldest: bool,
        bounds: tuple[int, int],
        columns: tuple[str, ...],
        query: str,
    ) -> None:
        self._limit = limit
        self._oldest = oldest
        self._bounds = bounds
        self._columns = columns
        self._query = query

    def read(self, service: Service, question: Told) -> Response:
        """Ask and write."""
        asked = _within(question.request(self._limit, oldest=self._oldest), self._bounds)
        found = engine.answer(service.store, asked)
        rest = {
            "more": found.more,
            "next": self._next(found.rows[-1]["seq"]) if found.more and found.rows else None,
            "upto": found.upto,
            **answers.seen(question.scope, searched=found.searched),
            "gaps": answers.gaps(found.gaps),
            "damaged": answers.damaged(found.damaged, question.scope),
            "notes": list(question.notes),
        }
        return answers.with_events("events", found.rows, self._columns, rest)

    def _next(self, last: int) -> str:
        name = "after" if self._oldest else "before"
        kept = parse_qsl(self._query, keep_blank_values=True)
        return "/v1/events?" + urlencode([*(p for p in kept if p[0] != name), (name, last)])


def _within(question: Question, bounds: tuple[int, int]) -> Question:
    """The question between two cursors, both included; a `seq` of its own is narrowed."""
    after, last = bounds
    first = after + 1 if after else 0
    if (first, last) == (0, _END):
        return question
    given = question.values.get("seq", ())
    wanted = [seq_range(value) for value in given if not value.startswith("!")] or [(0, _END)]
    cut = [(max(low, first), min(high, last)) for low, high in wanted]
    kept = [f"{low}:{high}" for low, high in cut if low <= high] or [_NOTHING]
    unwanted = [value for value in given if value.startswith("!")]
    return replace(question, values={**question.values, "seq": (*kept, *unwanted)})


async def _stream(
    service: Service,
    question: Question,
    form: Form,
    after: int,
    limit: int | None,
    columns: tuple[str, ...],
) -> Response:
    assert form.make is not None  # noqa: S101
    encoder = form.make(columns)
    pieces = steps(service, negotiate.streamed, service.store, question, encoder, after, limit)
    # What is wrong with the question shows before the answer begins.
    start = await anext(pieces)
    first = await anext(pieces, b"")

    async def whole() -> AsyncIterator[bytes]:
        yield start + first
        async for piece in pieces:
            if piece:
                yield piece

    return StreamingResponse(whole(), media_type=form.media)
