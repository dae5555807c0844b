"""`/v1/counts`: how many, over time and by columns of few values."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from audit.asking import Asked
from audit.serving import answers, counted, models, models_counts
from audit.serving.asked import Filters, OnlyKnown, told
from audit.serving.callers import Caller, Serving, Who
from audit.serving.service import Service
from audit.serving.working import run

router = APIRouter(tags=["counts"], dependencies=[OnlyKnown])

By = Annotated[
    list[str], Query(description="columns or filters' names to count by", examples=[["decision"]])
]
Bucket = Annotated[
    str | None,
    Query(description="also over time: `auto` (about 120 buckets), `5m`, `1h`, `day`",
          examples=["auto"]),
]  # fmt: skip


@router.get(
    "/v1/counts", summary="Counts over time and by columns",
    responses=models.documented(models_counts.Counts), response_class=Response,
)  # fmt: skip
async def counts(
    request: Request,
    service: Serving,
    who: Who,
    asked: Filters,
    by: By = [],  # noqa: B006  FastAPI copies it
    bucket: Bucket = None,
) -> Response:
    """Allowed, refused and the rest by each combination of the columns, and in all.

    A repeated record counts as often as it happened; two records of one operation count once.
    """
    return await run(service, request, _counts, service, who, asked, tuple(by), bucket)


def _counts(
    service: Service, who: Caller, asked: Asked, by: tuple[str, ...], bucket: str | None
) -> Response:
    return answers.answer(counted.counts(service, told(service, who, asked), by, bucket))
