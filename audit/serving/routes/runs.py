"""`/v1/runs`: what ran, and one run as a story. `/v1/sandboxes`: where."""

import re
from dataclasses import replace
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request, Response

from audit.asking import Asked
from audit.page_runs import run_data
from audit.serving import answers, models
from audit.serving.asked import Filters, OnlyKnown, told
from audit.serving.callers import Caller, Serving, Who
from audit.serving.errors import not_found
from audit.serving.finding import sandboxes_of, seen_rules
from audit.serving.service import Service
from audit.serving.working import run
from audit.story_data import story_data
from query.run_list import newest_runs
from query.runs import NoRunError
from query.story import story

router = APIRouter(tags=["runs"], dependencies=[OnlyKnown])

MAX_RUNS: Final = 1_000

Limit = Annotated[int, Query(ge=1, le=MAX_RUNS, description="the newest so many")]
Outside = Annotated[bool, Query(description="processes outside any sandbox too")]
Id = Annotated[
    str, Path(alias="id", description="an id, its beginning, `last`, `last~1`", examples=["last"])
]


@router.get(
    "/v1/runs", summary="What ran, and what was refused in it",
    responses=models.documented(models.Runs), response_class=Response,
)  # fmt: skip
async def runs(
    request: Request,
    service: Serving,
    who: Who,
    asked: Filters,
    limit: Limit = 50,
    outside: Outside = False,
) -> Response:
    """The newest runs that match, the newest first."""
    return await run(service, request, _runs, service, who, asked, limit, outside)


@router.get(
    "/v1/runs/{id}", summary="One run as a story", responses=models.documented(models.Story),
    response_class=Response,
)  # fmt: skip
async def one(request: Request, service: Serving, who: Who, asked: Filters, word: Id) -> Response:
    """Its steps and gaps in order of time; filters leave out events."""
    return await run(service, request, _story, service, who, asked, word)


@router.get(
    "/v1/sandboxes", summary="Which sandboxes were seen",
    responses=models.documented(models.Sandboxes), response_class=Response,
)  # fmt: skip
async def sandboxes(request: Request, service: Serving, who: Who) -> Response:
    """The most recent first."""
    found = await run(service, request, sandboxes_of, service.store, who.scope.sandboxes)
    return answers.answer({"sandboxes": found})


def _runs(service: Service, who: Caller, asked: Asked, limit: int, outside: bool) -> Response:
    question = told(service, who, asked)
    found = newest_runs(service.store, question.request(limit), service.now(), outside=outside)
    return answers.answer(
        {
            "runs": [run_data(item) for item in reversed(found.runs)],
            "more": found.more,
            "outside": found.outside,
            "gaps": answers.gaps(found.gaps),
        }
    )


def _story(service: Service, who: Caller, asked: Asked, word: str) -> Response:
    question = told(service, who, asked)
    names = question.question.values.get("sandbox", ())
    plain = names[0] if len(names) == 1 and not re.search(r"^!|[*?\[]", names[0]) else None
    left = ("run",) if plain is None else ("run", "sandbox")
    request = question.request()
    values = {flag: given for flag, given in request.values.items() if flag not in left}
    try:
        found = story(service.store, word, replace(request, values=values), plain)
    except NoRunError as error:
        raise not_found(error.message, hint=error.hint) from None
    rules = seen_rules(service.store, found, question.scope)
    told_ = story_data(found, rules)
    told_["damaged"] = answers.damaged(found.damaged, question.scope)
    return answers.answer(told_)
