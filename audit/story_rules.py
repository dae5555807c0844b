"""The line of the policy behind each refusal of a story, as the policy read at that time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from audit import reads
from audit.page_origin import spelled
from policies.load import parse_policy
from policies.model import (
    FILESYSTEM_DEFAULT,
    NETWORK_DEFAULT,
    PROCESS_DEFAULT,
    Lines,
    Policy,
    bare_digest,
)
from query.contracts import Row


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


def rules_of(store: reads.Store, digests: Iterable[str | None]) -> RuleOf:
    """What finds the line of an event's rule; None where its policy's text is not recorded."""
    wanted = list(dict.fromkeys(bare_digest(digest) for digest in digests if digest))
    texts = reads.policy_texts(store, wanted) if wanted else {}
    policies = {digest: parse_policy(text.encode()) for digest, text in texts.items()}

    def find(row: Row) -> RuleLine | None:
        policy = policies.get(bare_digest(row.get("policy_digest") or ""))
        return rule_line(policy, row) if policy else None

    return find


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
