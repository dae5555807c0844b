"""`/v1/stats`: time-outs and lengths of tool calls, latency of decisions, masked secrets."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from audit.asking import Asked
from audit.serving import answers, models, models_counts
from audit.serving.asked import Filters, OnlyKnown, told
from audit.serving.callers import Caller, Serving, Who
from audit.serving.counted import doubts, key, of_measure, ordered, values
from audit.serving.service import Service
from audit.serving.working import run
from query.stats import Stats

router = APIRouter(tags=["counts"], dependencies=[OnlyKnown])

By = Annotated[str, Query(description="what tools and latency are told by", examples=["tool"])]


@router.get(
    "/v1/stats", summary="Time-outs, p95, latency, redactions",
    responses=models.documented(models_counts.Stats), response_class=Response,
)  # fmt: skip
async def stats(
    request: Request, service: Serving, who: Who, asked: Filters, by: By = "tool"
) -> Response:
    """As `audit stats --tools`, `--latency` and `--redactions`; lengths in µs."""
    return await run(service, request, _stats, service, who, asked, by)


def _stats(service: Service, who: Caller, asked: Asked, by: str) -> Response:
    question = told(service, who, asked)
    tools = of_measure(service, question, by, "tools")
    latency = of_measure(service, question, "enforcer" if by == "tool" else by, "latency")
    masked = of_measure(service, question, "redaction_kinds", "redactions")
    return answers.answer(
        {
            "tools": [_tool(row) for row in _rows(tools)],
            "latency": _rows(latency),
            # An event tells how many secrets it held, not how many of each kind.
            "redactions": [_without_secrets(row) for row in _rows(masked)],
            "secrets": masked.total.values["secrets"] or 0,
            **doubts(tools, question),
        }
    )


def _rows(found: Stats) -> list[dict[str, Any]]:
    return [{"key": key(found, group), **values(group.values)} for group in ordered(found)]


def _without_secrets(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "secrets"}


def _tool(row: dict[str, Any]) -> dict[str, Any]:
    rate = round(row["timeout"] / row["calls"], 6) if row["calls"] else None
    return {**row, "timeout_rate": rate}
