"""What every request needs: the store, the clock, the limits, and who is at work right now."""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from audit.call import Call
from audit_events.layout import StorePaths
from query.engines import Engines
from query.kept import Kept

if TYPE_CHECKING:
    from audit.serving.metrics import Metrics
    from audit.serving.working import Workers

COOKIE: Final = "sandtrail_session"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one request, one caller and all of them together may take."""

    # Rows of a JSON answer; streamed formats have no such end.
    page_rows: int = 10_000
    # An answer that takes longer is a question to be narrowed.
    query_s: float = 30.0
    query_memory: str = "512MB"
    # Each query may use two threads of a machine whose work is to run agents.
    queries: int = 4
    waiting: int = 32
    streams: int = 64
    connections: int = 256
    head_s: float = 10.0
    head_bytes: int = 16 << 10
    url_bytes: int = 8 << 10
    # The largest body is the page's one-time code.
    body_bytes: int = 4 << 10
    body_s: float = 10.0
    # A reader that took nothing for so long is let go.
    reader_s: float = 30.0
    # What a keep-alive connection may idle.
    idle_s: float = 30.0
    stop_s: float = 5.0
    # Live streams look so often whether their caller still may.
    recheck_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One running service; `hosts` are the Host headers it answers to."""

    call: Call
    store: StorePaths
    workers: "Workers"
    metrics: "Metrics"
    limits: Limits = field(default_factory=Limits)
    hosts: frozenset[str] = frozenset()
    secure: bool = False
    log_requests: bool = False
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    # Kept from question to question.
    kept: Kept = field(default_factory=lambda: Kept(Engines(Limits().queries)))

    def now(self) -> int:
        """Microseconds since 1970 UTC."""
        return self.call.now()


def make_service(
    call: Call,
    store: StorePaths,
    limits: Limits | None = None,
    *,
    hosts: frozenset[str] = frozenset(),
    secure: bool = False,
    log_requests: bool = False,
) -> Service:
    """A service that serves nobody yet."""
    from audit.serving.metrics import Metrics
    from audit.serving.working import Workers

    bounds = limits or Limits()
    metrics = Metrics()
    return Service(
        call=call, store=store, workers=Workers(bounds, metrics), metrics=metrics, limits=bounds,
        hosts=hosts, secure=secure, log_requests=log_requests,
    )  # fmt: skip
