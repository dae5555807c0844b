"""Who asks: a token's program, or a browser with a cookie; and what that one may see."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC
from typing import Annotated, Literal

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPBearer
from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from audit.serving import sessions, tokens
from audit.serving.errors import out_of_scope, unauthenticated
from audit.serving.service import COOKIE, Service
from audit.serving.tokens import Scope
from query.times import stamp

_BEARER = HTTPBearer(auto_error=False, description="`audit serve token create --name N`")
_COOKIE = APIKeyCookie(name=COOKIE, auto_error=False, description="of the page; reads only")


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody we know; `key` is the hash by which control.db knows him."""

    name: str
    scope: Scope
    kind: Literal["token", "session"]
    key: str = field(repr=False)


def identify(service: Service, headers: Headers) -> Caller:
    """The caller of a request, by its head; Refused (401) for everybody else."""
    given = headers.get("authorization")
    if given is not None:
        scheme, _, token = given.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise unauthenticated("Authorization: Bearer TOKEN is the only kind known")
        return _by_token(service, token.strip())
    cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE)
    if cookie:
        return _by_cookie(service, cookie)
    raise unauthenticated("a token is needed", hint=f"{service.call.prog} serve token create")


def _by_token(service: Service, presented: str) -> Caller:
    found = tokens.find(service.store, presented)
    if found is None:
        raise unauthenticated("this token is not known here")
    state = found.state(service.now())
    if state != "live":
        ended = found.revoked_at if found.revoked_at is not None else found.expires_at
        raise unauthenticated(f"this token is {state} since {stamp(ended or 0, UTC)}")
    return Caller(found.name, found.scope, "token", found.sha256)


def _by_cookie(service: Service, presented: str) -> Caller:
    found = sessions.find(service.store, presented, service.now())
    if found is None:
        raise unauthenticated(
            "this session has ended", hint=f"a new link: {service.call.prog} serve link"
        )
    return Caller("page", found.scope, "session", found.sha256)


def still_may(service: Service, caller: Caller) -> bool:
    """Whether a caller of some time ago would be let in now, with the same scope: for streams."""
    now = service.now()
    if caller.kind == "session":
        held = sessions.by_hash(service.store, caller.key, now)
        return held is not None and held.scope == caller.scope
    token = next((t for t in tokens.listed(service.store) if t.sha256 == caller.key), None)
    return token is not None and token.state(now) == "live" and token.scope == caller.scope


async def still_may_later(service: Service, caller: Caller) -> bool:
    """`still_may` without holding up the loop."""
    return await asyncio.to_thread(still_may, service, caller)


def service(request: Request) -> Service:
    """The service of this application."""
    found: Service = request.app.state.service
    return found


async def caller(
    request: Request,
    _bearer: Annotated[object, Depends(_BEARER)],
    _cookie: Annotated[object, Depends(_COOKIE)],
) -> Caller:
    """Who asks, as the guard in front of every route found out."""
    found: Caller = request.state.caller
    return found


def need_export(who: Caller) -> None:
    """Refused (403) unless this caller may take whole results away."""
    if not who.scope.export:
        raise out_of_scope(
            "this caller may read, not export", hint="a token made with --export may"
        )


async def export_caller(who: Annotated[Caller, Depends(caller)]) -> Caller:
    """A caller that may export."""
    need_export(who)
    return who


Who = Annotated[Caller, Depends(caller)]
Exporter = Annotated[Caller, Depends(export_caller)]
Serving = Annotated[Service, Depends(service)]
