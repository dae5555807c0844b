"""`/v1/session`: the page comes in with the link's code, and logs out."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from audit.serving import sessions
from audit.serving.asked import OnlyKnown
from audit.serving.callers import Serving, Who
from audit.serving.errors import unauthenticated, usage
from audit.serving.service import COOKIE

router = APIRouter(tags=["session"], dependencies=[OnlyKnown])


class Code(BaseModel):
    """What stands behind `#code=` in the link."""

    model_config = ConfigDict(extra="forbid")
    code: Annotated[str, Field(min_length=1, max_length=256, examples=["Jx0…"])]


@router.post("/v1/session", status_code=204, summary="Exchange a link's code for a cookie")
async def begin(service: Serving, given: Code) -> Response:
    """A code is good for 60 s and once; the cookie for 12 h, to read, not to export."""
    cookie = await asyncio.to_thread(sessions.spend, service.store, given.code, service.now())
    if cookie is None:
        raise unauthenticated(
            "this code was used, or is too old", hint=f"a new link: {service.call.prog} serve link"
        )
    answer = Response(status_code=204)
    answer.set_cookie(
        COOKIE, cookie, max_age=sessions.SESSION_S, path="/", secure=service.secure,
        httponly=True, samesite="strict",
    )  # fmt: skip
    return answer


@router.delete("/v1/session", status_code=204, summary="Log out")
async def end(service: Serving, who: Who) -> Response:
    """The cookie is worth nothing from now on."""
    if who.kind != "session":
        raise usage("only a page's session can be logged out", hint="serve token revoke NAME")
    await asyncio.to_thread(sessions.end, service.store, who.key)
    answer = Response(status_code=204)
    answer.delete_cookie(COOKIE, path="/", secure=service.secure, httponly=True, samesite="strict")
    return answer
