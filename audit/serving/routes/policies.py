"""`/v1/policies`: what was in force, and what each of its lines was worth."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Request, Response

from audit.asking import Asked
from audit.serving import answers, models
from audit.serving.asked import Filters, OnlyKnown, told
from audit.serving.callers import Caller, Serving, Who
from audit.serving.errors import not_found
from audit.serving.service import Service
from audit.serving.working import run
from audit_events.layout import StorePaths
from collector import policy_store
from policies.model import Policy, bare_digest
from query.contracts import Scope
from query.coverage import Coverage, Rule, coverage, defaults_of, never_hit, rules_of
from query.predicates import one_of

router = APIRouter(tags=["policies"], dependencies=[OnlyKnown])

# Policies told at once; one that changes daily for a year is fewer.
MAX_POLICIES: Final = 500

Digest = Annotated[
    str, Path(description="sha256 of the text, or its beginning", examples=["9c1e0d"])
]


@dataclass(frozen=True, slots=True)
class InForce:
    """A policy, for which sandboxes of the scope it was in force, and since when (µs)."""

    policy: Policy
    sandboxes: tuple[str, ...]
    since: int


@router.get(
    "/v1/policies", summary="Policies that were in force",
    responses=models.documented(models.Policies), response_class=Response,
)  # fmt: skip
async def policies(request: Request, service: Serving, who: Who, asked: Filters) -> Response:
    """The newest first, with their hits among the events that match."""
    return await run(service, request, _policies, service, who, asked)


@router.get(
    "/v1/policies/{digest}", summary="A policy's text with the hits of each line",
    responses=models.documented(models.PolicyText), response_class=Response,
)  # fmt: skip
async def one(
    request: Request, service: Serving, who: Who, asked: Filters, digest: Digest
) -> Response:
    """Each rule with its lines and how often it decided; and what decided where no line did."""
    return await run(service, request, _policy, service, who, asked, digest)


def _policies(service: Service, who: Caller, asked: Asked) -> Response:
    question = told(service, who, asked)
    held = in_force(service.store, question.scope)
    found = (
        coverage(service.store, question.request(), service.kept.counts)
        if held
        else Coverage({}, ())
    )
    return answers.answer({"policies": [_summary(one, found) for one in held]})


def _summary(one: InForce, found: Coverage) -> dict[str, Any]:
    rules, hits = rules_of(one.policy), found.hits.get(one.policy.digest, {})
    return {
        **_named(one),
        "rules": len(rules),
        "hits": sum(each.all for each in hits.values()),
        "never_hit": len(never_hit(rules, hits)),
    }


def _policy(service: Service, who: Caller, asked: Asked, digest: str) -> Response:
    question = told(service, who, asked)
    bare = bare_digest(digest)
    fits = [
        one
        for one in in_force(service.store, question.scope)
        if bare and one.policy.digest.startswith(bare)
    ]
    if len(fits) != 1:
        why = "is the beginning of several policies" if fits else "is no policy on record"
        raise not_found(f"{digest[:100]!r} {why}")
    found = coverage(service.store, question.request(), service.kept.counts)
    return answers.answer(_text(fits[0], found, question.scope))


def _text(one: InForce, found: Coverage, scope: Scope) -> dict[str, Any]:
    policy = one.policy
    rules, hits = rules_of(policy), found.hits.get(policy.digest, {})
    lines = policy.text.split("\n")
    return {
        **_named(one),
        "text_lines": [line.rstrip("\r") for line in (lines[:-1] if not lines[-1] else lines)],
        "rules": [_rule(rule, policy.digest, found) for rule in rules],
        "defaults": [_rule(rule, policy.digest, found) for rule in defaults_of(policy)],
        "never_hit": never_hit(rules, hits),
        "damaged": answers.damaged(found.damaged, scope),
    }


def _named(one: InForce) -> dict[str, Any]:
    return {
        "name": one.policy.name,
        "digest": one.policy.digest,
        "sandboxes": list(one.sandboxes),
        "from": answers.time(one.since),
    }


def _rule(rule: Rule, digest: str, found: Coverage) -> dict[str, Any]:
    hits = found.of(digest, rule.name)
    return {
        "rule": rule.name,
        "lines": None if rule.lines is None else list(rule.lines),
        "kind": rule.kind,
        "hits": hits.all,
        "allow": hits.allow,
        "deny": hits.deny,
        "last": answers.time(hits.last),
    }


def in_force(store: StorePaths, scope: Scope) -> list[InForce]:
    """The policies of the scope's sandboxes, the newest first; a damaged text is left out."""
    if not store.control.exists():
        return []
    where, params = ("true", ()) if scope is None else _bound(scope)
    uri = store.control.resolve().as_uri() + "?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as con:
        rows = con.execute(
            "SELECT digest, sandbox, from_ts FROM policy_history"  # noqa: S608
            f" WHERE {where} ORDER BY from_ts DESC, id DESC",
            params,
        ).fetchall()
        places: dict[str, list[tuple[str, int]]] = {}
        for digest, sandbox, since in rows:
            places.setdefault(digest, []).append((sandbox, since))
        texts = {digest: policy_store.text_of(con, digest) for digest in [*places][:MAX_POLICIES]}
    return [
        InForce(policy, tuple(dict.fromkeys(name for name, _ in places[digest])),
                places[digest][0][1])
        for digest, policy in texts.items()
        if policy is not None
    ]  # fmt: skip


def _bound(scope: tuple[str, ...]) -> tuple[str, tuple[Any, ...]]:
    where = one_of("sandbox", scope)
    return where.sql, where.params
