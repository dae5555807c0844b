"""From query parameters to the question that a command would ask: same filters, same errors."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from fastapi import Depends, Query
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.requests import Request as HttpRequest

from audit import questions, reads
from audit.asking import Asked, Question, question
from audit.serving.callers import Caller
from audit.serving.errors import usage
from audit.serving.service import Service
from query.contracts import Request, Scope
from query.filters import FILTERS, did_you_mean
from query.kept import keep

TIMES: Final[Mapping[str, str]] = {
    "since": "from this time on: RFC 3339, `30m`, `2 hours ago`, `today`, `02:00`",
    "until": "up to this time, without it",
    "around": "five minutes before and after this time",
    "clock": "`event` time, or `arrival` at the collector",
    "tz": "the zone in which times are read and days are cut, for example Asia/Tokyo",
}
_EXAMPLES: Final[Mapping[str, str]] = {
    "decision": "deny", "sandbox": "agent-demo", "path": "/workspace/**", "since": "1h",
    "dst": "140.82.113.4:443", "rule": "filesystem.deny[1]", "run": "last",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Told:
    """A question of a caller, and what had to be said about it."""

    question: Question
    scope: Scope
    notes: tuple[str, ...]

    def request(self, limit: int | None = None, *, oldest: bool = False) -> Request:
        """The question within the caller's scope."""
        order = "asc" if oldest else "desc"
        asked = self.question.request(limit, oldest=oldest, order=order)
        return replace(asked, scope=self.scope)


def told(service: Service, who: Caller, asked: Asked, words: Sequence[str] = ()) -> Told:
    """The question of these parameters, with secrets searched by fingerprint; UsageError."""
    scope = who.scope.sandboxes

    def sandboxes() -> list[str]:
        names = reads.known_sandboxes(service.store)
        return [name for name in names if scope is None or name in scope]

    found = question(asked, words, service.now(), sandboxes)
    found, masked = questions.without_secrets(service.call, service.store, found)
    notes = (*found.warnings, *(secret.words for secret in masked))
    return Told(found, scope, notes)


def _parameter(name: str, kind: Any, default: Any, alias: str, words: str) -> inspect.Parameter:
    example = _EXAMPLES.get(alias)
    examples = None if example is None else [[example] if default == [] else example]
    query = Query(alias=alias, description=words, examples=examples)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, query]
    )


def _filters(flags: Sequence[str]) -> Callable[..., Asked]:
    """A dependency with a parameter for each of these filters and for each time."""
    names = {flag.replace("-", "_"): flag for flag in flags}
    parameters = [
        _parameter(name, list[str], [], flag, f"{_help(flag)}. Repeated: either; `!X`: all but X")
        for name, flag in names.items()
    ]
    parameters += [_parameter(name, str | None, None, name, words) for name, words in TIMES.items()]

    def asked(**given: Any) -> Asked:
        values = {flag: tuple(given[name]) for name, flag in names.items() if given[name]}
        clock = given["clock"] or "event"
        if clock not in ("event", "arrival"):
            raise usage(f"clock {clock}: event or arrival")
        times = {name: given[name] for name in ("since", "until", "around", "tz")}
        return Asked(values, clock=clock, **times)

    asked.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return asked


def _help(flag: str) -> str:
    found = next(filter_ for filter_ in FILTERS if filter_.flag == flag)
    return f"{found.help} ({', '.join(found.values)})" if found.values else found.help


Filters = Annotated[Asked, Depends(_filters([filter_.flag for filter_ in FILTERS]))]
Times = Annotated[Asked, Depends(_filters(["source"]))]


async def only_known(request: HttpRequest) -> None:
    """Refused (400) for a parameter that the route does not have, or one that is given twice.

    What the route asks then uses what the service keeps.
    """
    keep(request.app.state.service.kept)
    route = request.scope.get("route")
    if not isinstance(route, APIRoute):
        return
    single = dict(_parameters(route.dependant))
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in single:
            raise usage(f"no parameter {name[:100]!r}{did_you_mean(name, single)}")
        if single[name] and given.count(name) > 1:
            raise usage(f"{name} is given twice")


def _parameters(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """Every query parameter of a route, and whether it may stand only once."""
    for field in dependant.query_params:
        kind = field.field_info.annotation
        yield field.alias, getattr(kind, "__origin__", None) is not list
    for below in dependant.dependencies:
        yield from _parameters(below)


OnlyKnown: Final = Depends(only_known)
