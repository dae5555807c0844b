"""The line of the policy behind each refusal of a story, as the policy read at that time."""

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from audit.page_origin import spelled
from audit_events.layout import StorePaths
from collector import policy_store
from policies.model import (
    FILESYSTEM_DEFAULT,
    NETWORK_DEFAULT,
    PROCESS_DEFAULT,
    Lines,
    Policy,
    bare_digest,
)
from query.contracts import Row

# A run under more policies than this is told without the lines of the others.
MAX_POLICIES: Final = 32


@dataclass(frozen=True, slots=True)
class RuleLine:
    """Where a rule stands: its lines, the text of the first; `why` where no line decided."""

    lines: Lines
    text: str
    why: str = ""

    @property
    def place(self) -> str:
        """`line 17`, `lines 8 to 9`."""
        first, last = self.lines
        return f"line {first}" if first == last else f"lines {first} to {last}"


RuleOf = Callable[[Row], RuleLine | None]


def no_rule(_row: Row) -> RuleLine | None:
    """Of a record without policies."""
    return None


def rules_of(store: StorePaths, digests: Iterable[str | None]) -> RuleOf:
    """What finds the line of an event's rule; None where its policy's text is not recorded."""
    wanted = list(dict.fromkeys(bare_digest(digest) for digest in digests if digest))
    policies = _policies(store, wanted[:MAX_POLICIES])

    def find(row: Row) -> RuleLine | None:
        policy = policies.get(bare_digest(row.get("policy_digest") or ""))
        return rule_line(policy, row) if policy else None

    return find


def _policies(store: StorePaths, digests: list[str]) -> dict[str, Policy]:
    if not digests or not store.control.exists():
        return {}
    uri = store.control.resolve().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as con:
            found = {digest: policy_store.text_of(con, digest) for digest in digests}
    except sqlite3.Error:
        # The lines are a gift; the story is told without.
        return {}
    return {digest: policy for digest, policy in found.items() if policy}


def rule_line(policy: Policy, row: Row) -> RuleLine | None:
    """Where the rule that an event names stands in a policy; None if it has no such rule."""
    rule = spelled(row.get("policy_rule") or "")
    lines = policy.lines.get(rule)
    if lines is None:
        return None
    text = policy.text.split("\n")[lines[0] - 1].strip()
    return RuleLine(lines, text, _missing(rule, row))


def _missing(rule: str, row: Row) -> str:
    """Why a default decided: what would have had to stand there."""
    if rule == PROCESS_DEFAULT:
        name = (row.get("path") or row.get("process") or "it").rstrip("/").rpartition("/")[2]
        return f"{name} is not in process.allow"
    if rule == FILESYSTEM_DEFAULT:
        return "nothing in filesystem.allow covers it"
    return "no entry of network.egress covers it" if rule == NETWORK_DEFAULT else ""
