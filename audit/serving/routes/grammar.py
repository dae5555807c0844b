"""`/v1/filters`, `/v1/complete`, `/v1/parse`: what a filter bar needs."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from audit.asking import described
from audit.completing import MAX_VALUES, values_of
from audit.filter_text import parsed
from audit.render_time import utc
from audit.serving import answers, models
from audit.serving.asked import TIMES, OnlyKnown, told
from audit.serving.callers import Caller, Serving, Who
from audit.serving.service import Service
from audit.serving.working import run
from audit_events.text import terminal
from query import axes
from query.filters import FILTERS, filter_named

router = APIRouter(tags=["grammar"], dependencies=[OnlyKnown])

Name = Annotated[str, Query(alias="filter", description="a filter's name", examples=["sandbox"])]
Prefix = Annotated[str, Query(max_length=1024, description="what is typed so far", examples=["ag"])]
Text = Annotated[
    str,
    Query(alias="q", max_length=4096, description="words and flags as after `audit query`",
          examples=['deny sandbox:agent-demo path:"/workspace/**" since:1h']),
]  # fmt: skip


@router.get(
    "/v1/filters", summary="Every filter, and what it takes",
    responses=models.documented(models.Grammar), response_class=Response,
)  # fmt: skip
async def filters(_who: Who) -> Response:
    """The filters' names with their values, how times are written, what can be counted by."""
    told_ = [
        answers.without_nulls(
            {
                "name": one.flag, "short": one.short, "help": one.help,
                "values": list(one.values) or None, "columns": list(one.columns),
            }
        )
        for one in FILTERS
    ]  # fmt: skip
    known = [*axes.TIME_WORDS, *axes.known()]
    return answers.answer({"filters": told_, "times": dict(TIMES), "axes": known})


@router.get(
    "/v1/complete", summary="Values that a filter may have",
    responses=models.documented(models.Values), response_class=Response,
)  # fmt: skip
async def complete(
    request: Request, service: Serving, who: Who, name: Name, prefix: Prefix = ""
) -> Response:
    """The shell's own completion, within the scope."""
    return await run(service, request, _complete, service, who, name, prefix)


@router.get(
    "/v1/parse", summary="A line of filters as parameters",
    responses=models.documented(models.Parsed), response_class=Response,
)  # fmt: skip
async def parse(request: Request, service: Serving, who: Who, text: Text) -> Response:
    """Parameters for the other routes; an error says what is wrong with the line."""
    return await run(service, request, _parse, service, who, text)


def _complete(service: Service, who: Caller, name: str, prefix: str) -> Response:
    found = filter_named(name)
    values = found.values or values_of(service.store, name, who.scope.sandboxes)
    start = prefix.removeprefix("!").lower()
    fitting = [v for v in values if v.lower().startswith(start) and _can_be_typed(v)]
    return answers.answer({"values": list(dict.fromkeys(fitting))[:MAX_VALUES]})


def _can_be_typed(value: str) -> bool:
    return bool(value) and terminal(value, unicode=False) == value


def _parse(service: Service, who: Caller, text: str) -> Response:
    asked, words = parsed(text)
    found = told(service, who, asked, words)
    question = found.question
    bounds = {"since": question.window.since, "until": question.window.until}
    window = {
        name: question.typed.get(name) or utc(at) for name, at in bounds.items() if at is not None
    }
    window |= {"clock": "arrival"} if question.window.clock == "arrival" else {}
    window |= {"tz": asked.tz} if asked.tz else {}
    return answers.answer(
        {
            "params": [[flag, value] for flag, given in question.values.items() for value in given],
            "window": window,
            "described": " · ".join(described(question, service.now())),
            "notes": list(found.notes),
        }
    )
