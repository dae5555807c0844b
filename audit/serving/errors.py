"""The one shape of an error over HTTP, and which of our errors has which status."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from audit_events.errors import AuditError, QueryError, SourceError, StorageError, UsageError

JSON_TYPE: Final = "application/json"


class ErrorDetail(BaseModel):
    """What went wrong, in one sentence without payload, and what to do about it."""

    code: str = Field(examples=["E_USAGE"])
    message: str = Field(examples=["decision=dney: no such value"])
    hint: str | None = Field(default=None, examples=["did you mean deny?"])
    status: int = Field(examples=[400])


class ErrorBody(BaseModel):
    """The body of every answer from 400 on."""

    error: ErrorDetail


class RefusedError(Exception):
    """A request that is answered with an error."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        hint: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.hint = hint
        self.headers = dict(headers or {})

    def body(self) -> bytes:
        """The JSON of it."""
        hint = {} if self.hint is None else {"hint": self.hint}
        error = {"code": self.code, "message": self.message, **hint, "status": self.status}
        return msgspec.json.encode({"error": error})


def usage(message: str, hint: str | None = None) -> RefusedError:
    """The request's words are off."""
    return RefusedError(400, "E_USAGE", message, hint=hint)


def unauthenticated(message: str, hint: str | None = None) -> RefusedError:
    """Nobody we know."""
    headers = {"WWW-Authenticate": "Bearer"}
    return RefusedError(401, "E_UNAUTHENTICATED", message, hint=hint, headers=headers)


def out_of_scope(message: str, hint: str | None = None) -> RefusedError:
    """Known, but may not."""
    return RefusedError(403, "E_SCOPE", message, hint=hint)


def not_found(message: str, hint: str | None = None) -> RefusedError:
    """There is none, or none that this caller may see: the two look alike."""
    return RefusedError(404, "E_NOT_FOUND", message, hint=hint)


def not_acceptable(message: str, hint: str | None = None) -> RefusedError:
    """No format that the caller takes."""
    return RefusedError(406, "E_NOT_ACCEPTABLE", message, hint=hint)


def busy(message: str, after_s: int = 2) -> RefusedError:
    """Too many at once."""
    return RefusedError(
        503, "E_BUSY", message, hint="try again later", headers={"Retry-After": str(after_s)}
    )


_OURS: Final[tuple[tuple[type[AuditError], int, str], ...]] = (
    (UsageError, 400, "E_USAGE"),
    (QueryError, 422, "E_QUERY"),
    (StorageError, 503, "E_STORAGE"),
    (SourceError, 503, "E_STORAGE"),
)
_HTTP: Final = {404: "E_NOT_FOUND", 405: "E_METHOD", 406: "E_NOT_ACCEPTABLE", 413: "E_TOO_LARGE"}
_SAID: Final = {404: "no such resource", 405: "this resource does not take that method"}


def refusal_of(error: AuditError) -> RefusedError:
    """An error of the floors below, as told over HTTP."""
    for kind, status, code in _OURS:
        if isinstance(error, kind):
            return RefusedError(status, code, error.message, hint=error.hint)
    return bug(error)


def bug(error: BaseException) -> RefusedError:
    """Our fault: the type and the place, never the text, which may quote an event."""
    import traceback
    from pathlib import Path

    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "start"
    message = f"internal error: {type(error).__name__} at {place}"
    return RefusedError(500, "E_BUG", message, hint="please report it")


def answer(refused: RefusedError) -> Response:
    """The error as an answer."""
    return Response(refused.body(), refused.status, refused.headers, JSON_TYPE)


def _ours(_request: Request, error: Exception) -> Response:
    assert isinstance(error, AuditError)  # noqa: S101
    return answer(refusal_of(error))


def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)  # noqa: S101
    return answer(error)


def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    status = error.status_code
    message = _SAID.get(status, "the request cannot be answered")
    code = _HTTP.get(status, "E_USAGE")
    return answer(RefusedError(status, code, message, headers=error.headers))


def _invalid(_request: Request, error: Exception) -> Response:
    """The place and the rule; never the value, which may be a code or a secret."""
    assert isinstance(error, RequestValidationError)  # noqa: S101
    first: Mapping[str, Any] = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or "body"
    words = str(first["msg"])
    return answer(usage(f"{place}: {words[:1].lower()}{words[1:]}"))


def add_handlers(app: FastAPI) -> None:
    """Every error leaves the application in the one shape."""
    app.add_exception_handler(AuditError, _ours)
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _invalid)


# What any route may answer beside its own; for `responses=` of OpenAPI.
RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    status: {"model": ErrorBody, "description": words}
    for status, words in (
        (400, "E_USAGE: a parameter is unknown or cannot be understood"),
        (401, "E_UNAUTHENTICATED: no token, or one that is unknown, expired or revoked"),
        (403, "E_SCOPE: the token may not; E_ORIGIN: a page of another origin asked"),
        (404, "E_NOT_FOUND: there is none, or none in the token's scope"),
        (406, "E_NOT_ACCEPTABLE: no format that is accepted"),
        (408, "E_SLOW: the request took too long to arrive"),
        (413, "E_TOO_LARGE: the body"),
        (414, "E_TOO_LARGE: the URL"),
        (421, "E_HOST: another server was meant"),
        (422, "E_QUERY: the engine refused the query, for its memory for instance"),
        (431, "E_TOO_LARGE: the head of the request"),
        (500, "E_BUG: our fault"),
        (503, "E_BUSY: too many at once, see Retry-After; E_STORAGE: the store cannot be read"),
        (504, "E_QUERY_TIME: the query took longer than it may and was interrupted"),
    )
}
