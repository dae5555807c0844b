"""Why an event was decided so, as far as its policy tells: words, lines, what would change it."""

from dataclasses import dataclass

from audit.event_policy import Origin
from policies.decide import Verdict
from policies.explain import Explanation, shown_lines
from policies.model import Lines, spelled
from query.contracts import Row


@dataclass(frozen=True, slots=True)
class Reason:
    """`found` where the policy's own reason and its flip are the event's."""

    words: str
    found: Explanation | None = None
    # The policy's own reason where it disagrees with the record.
    own: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """Lines of a policy from `first`; `marked` those of the rule, None where none allows."""

    first: int
    lines: tuple[str, ...]
    marked: Lines | None


def rule_of(row: Row, origin: Origin) -> str:
    """The rule that the event names, else the one that its policy gives."""
    found = origin.found.verdict.rule if origin.found else ""
    return spelled(row.get("policy_rule") or found)


def reason_of(row: Row, origin: Origin) -> Reason:
    """Why; a record that the policy does not explain says so."""
    found = origin.found
    if origin.masked:
        return Reason("part of it is masked, so the policy is not asked again")
    if found is None:
        return Reason("the policy does not speak of this; somebody else decided")
    decided = "deny" if row.get("decision") == "deny" else "allow"
    if row.get("policy_rule") is None and found.verdict.decision != decided:
        return Reason(f"the policy says {said(found.verdict)}; somebody else decided")
    if row.get("policy_rule") and spelled(row["policy_rule"]) != found.verdict.rule:
        return Reason(f"the policy itself says {said(found.verdict)}:", own=found.why)
    return Reason(found.why, found)


def said(verdict: Verdict) -> str:
    """`DENY by filesystem.deny[1]`."""
    decision = "DENY" if verdict.decision == "deny" else "allow"
    return f"{decision} by {verdict.rule}"


def lines_of(row: Row, origin: Origin) -> Shown | None:
    """The rule's lines and what stands around them; None where no line is its own."""
    rule = rule_of(row, origin)
    lines = origin.policy.lines.get(rule)
    if lines is None:
        return None
    shown = shown_lines(origin.policy.text, lines)
    ours = [number for number, _, mine in shown if mine]
    # Where nothing allows, the lines are where one would stand: none is marked.
    marked = None if rule.endswith("default-deny") or not ours else (ours[0], ours[-1])
    return Shown(shown[0][0], tuple(text for _, text, _ in shown), marked)
