"""`/v1/events/{id}`: one event, which rule decided it and by which lines, and what stood beside."""

import sys
from datetime import UTC
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from audit import commands
from audit.event_policy import Origin, origin_of
from audit.event_reasons import lines_of, reason_of, rule_of
from audit.explaining import reports_of
from audit.page_event import Setting, event_lines
from audit.render_style import UNICODE
from audit.serving import answers, models
from audit.serving.asked import OnlyKnown
from audit.serving.callers import Caller, Serving, Who
from audit.serving.finding import event_of, may_see_policy
from audit.serving.service import Service
from audit.serving.working import run
from exporters.contracts import ALL_COLUMNS
from query.contracts import Request as Question
from query.contracts import Row
from query.story import neighbours

router = APIRouter(tags=["events"], dependencies=[OnlyKnown])

MAX_COUNT = 500
# As `audit explain` prints it into a pipe.
_COLUMNS = 80

Id = Annotated[str, Path(alias="id", description="a seq, or STORE-SEQ", examples=["7kq2m-4712"])]


@router.get(
    "/v1/events/{id}", summary="One event, explained", responses=models.documented(models.OneEvent),
    response_class=Response,
)  # fmt: skip
async def event(request: Request, service: Serving, who: Who, word: Id) -> Response:
    """The event, records of other sources that tell the same, and which rule decided it and why."""
    return await run(service, request, _event, service, who, word)


@router.get(
    "/v1/events/{id}/neighbours",
    summary="What was stored just before and after an event",
    responses=models.documented(models.Neighbours),
    response_class=Response,
)
async def beside(
    request: Request,
    service: Serving,
    who: Who,
    word: Id,
    count: Annotated[int, Query(ge=0, le=MAX_COUNT, description="events on each side")] = 10,
    same_run: Annotated[bool, Query(description="only events of its run")] = False,
) -> Response:
    """At most `count` events on each side, in the order of the store."""
    return await run(service, request, _beside, service, who, word, count, same_run)


def _event(service: Service, who: Caller, word: str) -> Response:
    scope = who.scope.sandboxes
    row = event_of(service.store, word, scope)
    reports = reports_of(service.store, row, scope)
    origin = origin_of(service.store, row, macos=sys.platform == "darwin")
    if origin is not None and not may_see_policy(service.store, origin.policy.digest, scope):
        origin = None
    body = (
        b'{"event":' + answers.event(row)
        + b',"reports":' + answers.events(reports)
        + b',"explanation":' + answers.encoded(_explanation(service, row, reports, origin))
        + b"}"
    )  # fmt: skip
    return Response(body, media_type=answers.JSON)


def _explanation(
    service: Service, row: Row, reports: list[Row], origin: Origin | None
) -> dict[str, Any]:
    setting = Setting(service.call.prog, UTC, UNICODE, _COLUMNS, commands.names())
    known = answers.without_nulls(
        {
            "decision": row.get("decision"),
            "rule": row.get("policy_rule") or (rule_of(row, origin) or None if origin else None),
            "origin": row.get("rule_origin"),
            "policy": row.get("policy"),
            "policy_digest": row.get("policy_digest"),
        }
    )
    text = event_lines(row, reports, setting, origin)
    return {**known, **_reasons(row, origin), "text": text}


def _reasons(row: Row, origin: Origin | None) -> dict[str, Any]:
    if origin is None:
        return {"why": None, "yaml": None, "flip": None}
    reason, shown = reason_of(row, origin), lines_of(row, origin)
    yaml = None
    if shown is not None:
        name = (origin.path or "").rpartition("/")[2] or origin.policy.name
        marked = None if shown.marked is None else list(shown.marked)
        yaml = {
            "name": name, "first_line": shown.first, "lines": list(shown.lines), "marked": marked,
        }  # fmt: skip
    why = f"{reason.words} {reason.own}" if reason.own else reason.words
    return {"why": why, "yaml": yaml, "flip": _flip(reason.found)}


def _flip(found: Any) -> dict[str, Any] | None:
    if found is None:
        return None
    edit, advice = found.flip.edit, found.flip.advice
    words = edit.told() if edit else found.flip.words
    more = {"advice": advice} if advice else {}
    return {"words": words, "lines": list(edit.lines) if edit else [], **more}


def _beside(service: Service, who: Caller, word: str, count: int, same_run: bool) -> Response:
    scope = who.scope.sandboxes
    row = event_of(service.store, word, scope)
    values = {"run": (row["correlation_id"],)} if same_run and row["correlation_id"] else {}
    found = neighbours(service.store, row["seq"], Question(values, scope=scope), count)
    rows = [one for one in found.rows if not values or _of_run(one, row)]
    rest = {
        "gaps": answers.gaps(found.gaps), "damaged": answers.damaged(found.damaged, scope),
    }  # fmt: skip
    return answers.with_events("events", rows, ALL_COLUMNS, rest)


def _of_run(one: Row, row: Row) -> bool:
    """A run's filter takes the beginning of an id."""
    return bool(one["correlation_id"] == row["correlation_id"])
