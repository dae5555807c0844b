"""What stands in front of every route: who may speak to us at all, and how much they may say."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from audit.serving import errors
from audit.serving.callers import identify
from audit.serving.errors import RefusedError
from audit.serving.service import Limits, Service
from audit.serving.sockets import bracketed
from audit_events.errors import AuditError

CSP: Final = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
        "font-src 'self'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
        "frame-ancestors 'none'",
    )
)  # fmt: skip
HEADERS: Final = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# Whoever asks for these need not be known: they hold nothing of the trail.
OPEN: Final = frozenset(("/", "/healthz", "/openapi.json", "/favicon.ico"))
_OPEN_UNDER: Final = "/web/"
_SESSION: Final = "/v1/session"

Log = Callable[[str], None]


class Guard:
    """The outermost application: each answer has our headers, each refusal our shape."""

    def __init__(self, app: ASGIApp, service: Service, log: Log) -> None:
        self._app = app
        self._service = service
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = _Answer(scope, send)
        began = time.monotonic()
        try:
            await self._guarded(scope, receive, answer)
        except (RefusedError, AuditError) as error:
            await answer.refuse(
                error if isinstance(error, RefusedError) else errors.refusal_of(error)
            )
        except Exception as error:  # noqa: BLE001  the boundary: a bug must not log a payload
            refused = errors.bug(error)
            self._log(f"error: {refused.message}")
            await answer.refuse(refused)
        finally:
            self._count(scope, answer, time.monotonic() - began)

    async def _guarded(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        limits, headers = self._service.limits, Headers(scope=scope)
        check_size(scope, headers, limits)
        check_host(self._service, scope, headers)
        check_origin(self._service, headers)
        if not is_open(scope["path"], scope["method"]):
            state = scope.setdefault("state", {})
            state["caller"] = await asyncio.to_thread(identify, self._service, headers)
        whole = await read_body(receive, limits.body_bytes, limits.body_s)
        await self._app(scope, whole, answer.send)

    def _count(self, scope: Scope, answer: "_Answer", seconds: float) -> None:
        route = route_of(scope)
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._service.metrics.request(route, method, answer.status, seconds)
        if self._service.log_requests:
            state = scope.get("state", {})
            name = state["caller"].name if "caller" in state else "-"
            self._log(f"{name} {method} {route} {answer.status} {seconds * 1000:.0f} ms")


_METHODS: Final = ("GET", "HEAD", "POST", "DELETE", "PUT", "PATCH", "OPTIONS")


def is_open(path: str, method: str) -> bool:
    """Whether this needs no caller."""
    if path == _SESSION:
        # The code in the body says who it is.
        return method == "POST"
    return path in OPEN or path.startswith(_OPEN_UNDER)


def route_of(scope: Scope) -> str:
    """The pattern of the route that answered; what was asked for may hold anything."""
    path = getattr(scope.get("route"), "path", None)
    if isinstance(path, str):
        return path
    asked: str = scope["path"]
    if asked.startswith(_OPEN_UNDER):
        return "/web"
    return "other"


def check_size(scope: Scope, headers: Headers, limits: Limits) -> None:
    """Refused (414, 431, 413) for an URL, a head or an announced body that is too large."""
    if len(scope["raw_path"]) + len(scope["query_string"]) > limits.url_bytes:
        words = f"the URL is longer than {limits.url_bytes} bytes"
        raise RefusedError(414, "E_TOO_LARGE", words)
    # A head that came in one piece was never incomplete, which is all that h11 bounds.
    if sum(len(name) + len(value) for name, value in headers.raw) > limits.head_bytes:
        raise head_too_large(limits.head_bytes)
    announced = headers.get("content-length", "0")
    if not announced.isdigit() or int(announced) > limits.body_bytes:
        raise too_large(limits.body_bytes)


def head_too_large(most: int) -> RefusedError:
    """431."""
    return RefusedError(431, "E_TOO_LARGE", f"the head is longer than {most} bytes")


def too_large(body_bytes: int) -> RefusedError:
    """413."""
    return RefusedError(413, "E_TOO_LARGE", f"the body is longer than {body_bytes} bytes")


def check_host(service: Service, scope: Scope, headers: Headers) -> None:
    """Refused (421) unless the request was meant for us.

    A name that somebody lets point here must not make a browser send us its user's cookie; an
    address cannot be pointed, and through a unix socket comes no browser.
    """
    address, port = scope.get("server") or ("", None)
    if port is None:
        return
    asked, came_to = headers.get("host", "").lower(), bracketed(address)
    bare = port == (443 if service.secure else 80) and asked == came_to
    if asked not in service.hosts and asked != f"{came_to}:{port}" and not bare:
        raise RefusedError(
            421, "E_HOST", "this service does not answer to that Host", hint="--allow-host NAME"
        )


def check_origin(service: Service, headers: Headers) -> None:
    """Refused (403) if a page asks that is not the one this Host serves."""
    origin = headers.get("origin")
    scheme = "https" if service.secure else "http"
    if origin is not None and origin.lower() != f"{scheme}://{headers.get('host', '').lower()}":
        raise RefusedError(403, "E_ORIGIN", "pages of another origin may not ask")


async def read_body(receive: Receive, most: int, seconds: float) -> Receive:
    """`receive` for an application that finds the whole body there; Refused (413, 408)."""
    body = b""
    try:
        async with asyncio.timeout(seconds):
            more = True
            while more:
                message = await receive()
                body += message.get("body", b"")
                if len(body) > most:
                    raise too_large(most)
                more = message.get("more_body", False)
    except TimeoutError:
        raise RefusedError(408, "E_SLOW", "the body took too long to arrive") from None
    given = [message if message["type"] == "http.disconnect" else _whole(body)]

    async def replay() -> Message:
        return given.pop() if given else await receive()

    return replay


def _whole(body: bytes) -> Message:
    return {"type": "http.request", "body": body, "more_body": False}


class _Answer:
    """`send` that adds our headers, and knows whether an answer has begun."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self.status = 499
        self.begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers.update(HEADERS)
            if "cache-control" not in headers:
                static = self._scope["path"] == "/" or self._scope["path"].startswith(_OPEN_UNDER)
                headers["cache-control"] = "no-cache" if static else "no-store"
        await self._send(message)

    async def refuse(self, refused: RefusedError) -> None:
        """Answer with the error; an answer that has begun is cut off instead, which shows."""
        if self.begun:
            return
        headers = [(k.lower().encode(), v.encode()) for k, v in refused.headers.items()]
        body = refused.body()
        headers += [
            (b"content-type", errors.JSON_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
        ]
        if refused.status in _CLOSING:
            headers.append((b"connection", b"close"))
        start = {"type": "http.response.start", "status": refused.status, "headers": headers}
        await self.send(start)
        await self._send({"type": "http.response.body", "body": body})


# What is left of such a request is not read.
_CLOSING: Final = (408, 413, 431)
