"""`/v1/gaps`: when the record was incomplete, and why."""

from fastapi import APIRouter, Request, Response

from audit.asking import Asked
from audit.serving import answers, models
from audit.serving.asked import OnlyKnown, Times, told
from audit.serving.callers import Caller, Serving, Who
from audit.serving.service import Service
from audit.serving.working import run
from policies.glob import name_glob
from query import scoping
from query.contracts import Gap
from query.filters import is_included

router = APIRouter(tags=["record"], dependencies=[OnlyKnown])


@router.get(
    "/v1/gaps", summary="When the record was incomplete", responses=models.documented(models.Gaps),
    response_class=Response,
)  # fmt: skip
async def gaps(request: Request, service: Serving, who: Who, asked: Times) -> Response:
    """Stretches in which a source could not tell everything, the oldest first."""
    return await run(service, request, _gaps, service, who, asked)


def _gaps(service: Service, who: Caller, asked: Asked) -> Response:
    question = told(service, who, asked)
    found = scoping.gaps(service.store, question.question.window, question.scope)
    names = question.question.values.get("source", ())
    return answers.answer({"gaps": answers.gaps(gap for gap in found if _is_of(gap, names))})


def _is_of(gap: Gap, names: tuple[str, ...]) -> bool:
    """As the filter `source`; a gap of all sources is of each."""
    wanted = [name for name in names if is_included(name)]
    unwanted = [name[1:] for name in names if not is_included(name)]
    mine = not wanted or gap.source == scoping.EVERY_SOURCE or _fits(gap, wanted)
    return mine and not _fits(gap, unwanted)


def _fits(gap: Gap, names: list[str]) -> bool:
    return any(name_glob(name).matches(gap.source) if name else False for name in names)
