"""`/v1/status`: is everything at work, and is anything missing?"""

from dataclasses import asdict
from datetime import UTC
from typing import Any

from fastapi import APIRouter, Request, Response

from audit import page_status, reads, wiring
from audit.page_situation import midnight
from audit.serving import answers, models
from audit.serving.asked import OnlyKnown
from audit.serving.callers import Caller, Serving, Who
from audit.serving.service import Service
from audit.serving.working import run
from audit_events.version import VERSION
from query import scoping
from query.contracts import Gap, Window
from query.snapshot import SourceState, open_snapshot
from query.status import Status
from query.views import DAY_US, Collector

router = APIRouter(tags=["record"], dependencies=[OnlyKnown])

_TIMES = ("started", "heartbeat", "stopped", "last_read_at", "last_event_ts", "updated_at",
          "oldest_at", "since", "until")  # fmt: skip


@router.get(
    "/v1/status", summary="Collector, sources, archive, completeness",
    responses=models.documented(models.Status), response_class=Response,
)  # fmt: skip
async def status(request: Request, service: Serving, who: Who) -> Response:
    """Collector, sources and the gaps of the last day; of the whole store also what it holds."""
    return await run(service, request, _status, service, who)


def _status(service: Service, who: Caller) -> Response:
    now, scope = service.now(), who.scope.sandboxes
    found = reads.status(service.store, now, midnight(now, UTC))
    gaps = _gaps(service, who, now)
    known = found.sources if scope is None else _delivering(service, found, scope)
    free = reads.disk_free(service.store)
    told: dict[str, Any] = {
        "verdict": page_status.verdict(found, free),
        "healthy": page_status.healthy(found, free),
    }
    if scope is not None:
        told = _of_scope(found.collector, known, found, gaps)
    return answers.answer(
        {
            **told,
            "collector": times_told(asdict(found.collector)),
            "sources": [_source(one, found, whole=scope is None) for one in known],
            "gaps": answers.gaps(gaps),
            "store": found.store,
            "host": wiring.host_name(service.call),
            "version": VERSION,
            **(_whole(found, free) if scope is None else {}),
        }
    )


def _gaps(service: Service, who: Caller, now: int) -> tuple[Gap, ...]:
    return scoping.gaps(service.store, Window(now - DAY_US, now), who.scope.sandboxes)


def _delivering(service: Service, found: Status, scope: tuple[str, ...]) -> tuple[SourceState, ...]:
    """The sources that delivered an event of the scope."""
    with open_snapshot(service.store) as snapshot:
        names = scoping.sources_of(snapshot, [one.source for one in found.sources], scope)
    return tuple(one for one in found.sources if one.source in names)


def _of_scope(
    collector: Collector, sources: tuple[SourceState, ...], found: Status, gaps: tuple[Gap, ...]
) -> dict[str, Any]:
    """The verdict by what a scope may know: numbers of the whole store are not among it."""
    good = all(page_status.is_good(one, found) for one in sources)
    whole = "is complete" if not gaps else f"has {len(gaps)} gaps"
    return {
        "verdict": f"so: the record of the last 24 h {whole}",
        "healthy": collector.state == "running" and good and not gaps,
    }


def _source(one: SourceState, found: Status, *, whole: bool) -> dict[str, Any]:
    good = page_status.is_good(one, found)
    state = "healthy" if good else "unavailable" if one.state in ("", "healthy") else one.state
    told: dict[str, Any] = {
        "name": one.source, "state": state, "kind": one.kind, "format": one.format,
        "note": one.note or None,
    }  # fmt: skip
    if whole:
        told |= {
            "location": one.location,
            "stored_today": found.stored_today.get(one.source, 0),
            "behind_bytes": one.behind_bytes,
            "last_read_at": answers.time(one.last_read_at),
            "last_event_ts": answers.time(one.last_event_ts),
        }
    return answers.without_nulls(told)


def _whole(found: Status, free: int) -> dict[str, Any]:
    completeness = asdict(found.completeness)
    del completeness["gaps"]
    return {
        "waiting": times_told(asdict(found.waiting)),
        "archive": {**asdict(found.archive), "disk_free": free},
        "completeness": {**times_told(completeness), "balances": found.completeness.balances},
        "exports": [times_told(asdict(cursor)) for cursor in found.cursors],
    }


def times_told(values: dict[str, Any]) -> dict[str, Any]:
    """Times in RFC 3339, nothing that is not known."""
    told = {k: answers.time(v) if k in _TIMES else v for k, v in values.items()}
    return answers.without_nulls(told)
