"""The policy behind an event: its text as it was then, what it says, and what holds today."""

from dataclasses import dataclass
from typing import Any, Final

from audit import reads
from audit.policy_records import Applied, Records
from policies.attribute import LINUX_ENFORCERS, MACOS_ENFORCERS, operation_of
from policies.decide import Judge, Operation, Verdict, masked
from policies.explain import Explanation, explanation
from policies.load import parse_policy
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


def origin_of(store: reads.Store, row: Row, *, macos: bool) -> Origin | None:
    """The policy of an event, None where its text is not recorded or is not what its digest says.

    `macos` tells whose paths are meant where the event's enforcer does not.
    """
    digest = bare_digest(row.get("policy_digest") or "")
    if not digest:
        return None
    found = reads.policy_records(store, digest, row.get("sandbox") or "", row["ts"])
    return None if found is None else _origin(found, row, macos=_is_macos(row, macos=macos))


def _is_macos(row: Row, *, macos: bool) -> bool:
    enforcer = row.get("enforcer")
    return enforcer in MACOS_ENFORCERS or (macos and enforcer not in LINUX_ENFORCERS)


def _origin(records: Records, row: Row, *, macos: bool) -> Origin:
    then, policy = records.then, parse_policy(records.then.text.encode())
    columns: list[Any] = [row.get(name) for name in _COLUMNS]
    operation = operation_of(*columns)
    hidden = masked(operation.path, operation.path_to, operation.host)
    found = None if hidden else explanation(policy, operation, macos=macos)
    today = _today(records.now, policy, None if hidden else operation, macos=macos)
    return Origin(policy, then.since, then.path, operation, found, hidden, today)


def _today(
    now: Applied | None, policy: Policy, operation: Operation | None, *, macos: bool
) -> Today | None:
    if now is None or now.since is None:
        return None
    changed = now.text != policy.text
    newest = parse_policy(now.text.encode()) if changed else policy
    verdict = Judge(newest, macos=macos).decide(operation) if operation else None
    return Today(newest, now.since, verdict, changed)
