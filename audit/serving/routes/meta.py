"""Who am I, does it run, and what does it count."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from pydantic import BaseModel, Field

from audit import reads, wiring
from audit.serving import metrics
from audit.serving.asked import OnlyKnown
from audit.serving.callers import Serving, Who
from audit.serving.errors import out_of_scope
from audit.serving.service import Service
from audit.serving.working import run
from audit_events.version import VERSION

router = APIRouter(tags=["service"])


class Health(BaseModel):
    """It answers."""

    status: str = Field(examples=["ok"])


class ScopeShown(BaseModel):
    """What a caller may see; `sandboxes` null is all of them."""

    sandboxes: list[str] | None
    export: bool


class Me(BaseModel):
    """Who asks, and whom."""

    name: str = Field(examples=["siem"])
    kind: str = Field(examples=["token"])
    scope: ScopeShown
    store: str = Field(examples=["7kq2m"])
    host: str = Field(examples=["mini-tokyo-07"])
    version: str


@router.get("/healthz", summary="Whether the service runs")
async def healthz() -> Health:
    """Nothing of the trail; needs no token."""
    return Health(status="ok")


@router.get("/v1/me", dependencies=[OnlyKnown], summary="Who asks, and what that one may see")
async def me(request: Request, service: Serving, who: Who) -> Me:
    """The caller, the store and its host."""
    store = await run(service, request, reads.store_id, service.store)
    scope = ScopeShown(
        sandboxes=None if who.scope.sandboxes is None else list(who.scope.sandboxes),
        export=who.scope.export,
    )
    return Me(
        name=who.name, kind=who.kind, scope=scope, store=store,
        host=wiring.host_name(service.call), version=VERSION,
    )  # fmt: skip


@router.get(
    "/metrics",
    dependencies=[OnlyKnown],
    summary="What the service counts",
    response_class=PlainTextResponse,
)
async def show_metrics(request: Request, service: Serving, who: Who) -> PlainTextResponse:
    """The text format of Prometheus; it counts what everybody does, so a scoped caller may not."""
    if who.scope.sandboxes is not None:
        raise out_of_scope("numbers of all sandboxes are not for a token of some")
    store = await run(service, request, store_numbers, service)
    return PlainTextResponse(metrics.text([*service.metrics.lines(), *store]))


def store_numbers(service: Service) -> list[str]:
    """The store's lines."""
    return list(metrics.store_lines(service.store, service.now()))
