"""`/v1/stream`: what happens now, as server-sent events that resume exactly."""

from collections.abc import AsyncIterator
from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from audit.querying import parse_columns
from audit.serving import stream
from audit.serving.asked import Filters, OnlyKnown, told
from audit.serving.callers import Serving, Who
from audit.serving.errors import usage
from audit.serving.working import run
from exporters.contracts import ALL_COLUMNS

router = APIRouter(tags=["events"], dependencies=[OnlyKnown])

_END: Final = (1 << 63) - 1
_EXAMPLE: Final = (
    "retry: 1000\n\nid: 4712\nevent: event\n"
    'data: {"event_id":"7kq2m-4712","seq":4712,"decision":"deny"}\n\n'
    'id: 4720\nevent: upto\ndata: {"upto":4720}\n\n'
)
_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "Messages `event` (id is its seq), `gap`, and `upto` in quiet seconds",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _EXAMPLE}},
    }
}

After = Annotated[int | None, Query(ge=0, le=_END, description="begin after this seq, not now")]
Columns = Annotated[str | None, Query(description="only these columns", examples=["seq,ts,path"])]
LastId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", description="the last id received; wins over `after`"),
]


@router.get(
    "/v1/stream", summary="The live stream", responses=_ANSWERS, response_class=StreamingResponse
)
async def live(
    request: Request,
    service: Serving,
    who: Who,
    asked: Filters,
    after: After = None,
    columns: Columns = None,
    last: LastId = None,
) -> StreamingResponse:
    """Every event that matches, once and in seq order, from now or from the last id on.

    A client that reconnects with the last id it got misses nothing and gets nothing twice, even if
    the service was killed meanwhile. The stream ends when the token is revoked or expires.
    """
    chosen = parse_columns(columns) or ALL_COLUMNS
    question = (await run(service, request, told, service, who, asked)).request()
    start = after if last is None else _seq(last)
    if start is None:
        start = await run(service, request, stream.newest, service, question)
    messages = stream.stream(service, who, question, start, chosen)
    first = await anext(messages)

    async def whole() -> AsyncIterator[bytes]:
        try:
            yield first
            async for message in messages:
                yield message
        finally:
            await messages.aclose()  # type: ignore[attr-defined]

    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(whole(), media_type="text/event-stream", headers=headers)


def _seq(last: str) -> int:
    """UsageError for an id that this service did not give."""
    if not last.isascii() or not last.isdecimal() or int(last[:20]) > _END:
        raise usage("Last-Event-ID: the id of a message of this stream is a number")
    return int(last)
