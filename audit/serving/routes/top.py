"""`/v1/top`: the most frequent paths, destinations, processes, rules."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from audit.asking import Asked
from audit.serving import answers, models, models_counts
from audit.serving.asked import Filters, OnlyKnown, told
from audit.serving.callers import Caller, Serving, Who
from audit.serving.errors import usage
from audit.serving.service import Service
from audit.serving.working import run
from query.axes import TIME_WORDS, axes
from query.top import MAX_VALUES, Value, top

router = APIRouter(tags=["counts"], dependencies=[OnlyKnown])

By = Annotated[
    list[str],
    Query(description="columns or filters' names", examples=[["path", "dst_host", "process"]]),
]
Number = Annotated[int, Query(alias="n", ge=1, le=MAX_VALUES, description="values of each column")]


@router.get(
    "/v1/top", summary="The most frequent values", responses=models.documented(models_counts.Top),
    response_class=Response,
)  # fmt: skip
async def tops(
    request: Request,
    service: Serving,
    who: Who,
    asked: Filters,
    by: By = ["path", "dst_host", "process", "policy_rule"],  # noqa: B006  FastAPI copies it
    number: Number = 10,
) -> Response:
    """The values that most events have, for each column; with `decision=deny` what is refused."""
    return await run(service, request, _tops, service, who, asked, tuple(by), number)


def _tops(
    service: Service, who: Caller, asked: Asked, by: tuple[str, ...], number: int
) -> Response:
    if any(word in TIME_WORDS for word in by):
        raise usage("by: top takes columns; counts over time are at /v1/counts")
    question = told(service, who, asked)
    found = top(service.store, question.request(), axes(by, None), number, service.kept.counts)
    return answers.answer(
        {
            "top": {name: [_shown(one) for one in held] for name, held in found.values.items()},
            "gaps": answers.gaps(found.gaps),
            "damaged": answers.damaged(found.damaged, question.scope),
        }
    )


def _shown(one: Value) -> dict[str, object]:
    return {**asdict(one), "first": answers.time(one.first), "last": answers.time(one.last)}
