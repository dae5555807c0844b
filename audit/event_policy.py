"""The policy behind an event: its text as it was then, what it says, and what holds today."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final

from audit_events.layout import StorePaths
from collector import policy_store
from policies.attribute import LINUX_ENFORCERS, MACOS_ENFORCERS, operation_of
from policies.decide import Judge, Operation, Verdict, masked
from policies.explain import Explanation, explanation
from policies.model import Policy, bare_digest
from query.contracts import Row

_COLUMNS: Final = ("resource", "access", "path", "path_to", "dst", "dst_host", "dst_port")


@dataclass(frozen=True, slots=True)
class Today:
    """What is in force for the sandbox now; `verdict` None where it cannot be decided again."""

    policy: Policy
    since: int
    verdict: Verdict | None
    changed: bool


@dataclass(frozen=True, slots=True)
class Origin:
    """An event's policy; `since` and `path` None where only its digest was told."""

    policy: Policy
    since: int | None
    path: str | None
    operation: Operation
    # None where the policy does not speak of it, or part of it is masked.
    found: Explanation | None
    masked: bool
    today: Today | None


def origin_of(store: StorePaths, row: Row, *, macos: bool) -> Origin | None:
    """The policy of an event, None where its text is not recorded or is not what its digest says.

    `macos` tells whose paths are meant where the event's enforcer does not.
    """
    digest = bare_digest(row.get("policy_digest") or "")
    if not digest or not store.control.exists():
        return None
    uri = store.control.resolve().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as con:
            return _origin(con, row, digest, macos=_is_macos(row, macos=macos))
    except sqlite3.Error:
        # Explanations are a gift; the event itself is shown without.
        return None


def _is_macos(row: Row, *, macos: bool) -> bool:
    enforcer = row.get("enforcer")
    return enforcer in MACOS_ENFORCERS or (macos and enforcer not in LINUX_ENFORCERS)


def _origin(con: sqlite3.Connection, row: Row, digest: str, *, macos: bool) -> Origin | None:
    policy = policy_store.text_of(con, digest)
    if policy is None:
        return None
    place = policy_store.applied_before(con, row.get("sandbox") or "", digest, row["ts"])
    columns: list[Any] = [row.get(name) for name in _COLUMNS]
    operation = operation_of(*columns)
    hidden = masked(operation.path, operation.path_to, operation.host)
    found = None if hidden else explanation(policy, operation, macos=macos)
    since, path = place or (None, None)
    today = _today(con, row, policy, None if hidden else operation, macos=macos)
    return Origin(policy, since, path, operation, found, hidden, today)


def _today(
    con: sqlite3.Connection, row: Row, policy: Policy, operation: Operation | None, *, macos: bool
) -> Today | None:
    last = policy_store.newest(con, row.get("sandbox") or "")
    if last is None:
        return None
    digest, since = last
    changed = digest != policy.digest
    now = policy_store.text_of(con, digest) if changed else policy
    if now is None:
        return None
    verdict = Judge(now, macos=macos).decide(operation) if operation else None
    return Today(now, since, verdict, changed)
