"""The rule part of an event's page (G9): its policy's lines, why, what changes it, today."""

from collections.abc import Iterator
from datetime import tzinfo
from typing import Final

from audit.event_policy import Origin, Today
from audit.page_policy import INDENT, MAX_COLUMNS, numbered, reason_lines, wrapped
from audit.render_flow import wrapped as flow
from audit.render_style import Glyphs, safe
from policies.decide import Verdict
from policies.hosts import is_address
from query.contracts import Row
from query.times import stamp

_DIGITS: Final = 6


def confirmed(row: Row, origin: Origin | None) -> str:
    """How the record compares with the policy, for the line of the rule."""
    if origin is None or origin.found is None or row.get("rule_origin") == "derived":
        return ""
    verdict = origin.found.verdict
    same = (verdict.decision, verdict.rule) == (row.get("decision"), spelled(row["policy_rule"]))
    return ", confirmed by replay" if same else ""


def spelled(rule: str) -> str:
    """`filesystem.deny.1` as `filesystem.deny[1]`."""
    section, dot, index = rule.rpartition(".")
    return f"{section}[{index}]" if dot and index.isdecimal() else rule


def origin_lines(
    row: Row, origin: Origin, glyphs: Glyphs, columns: int, zone: tzinfo
) -> Iterator[str]:
    """The lines below that of the rule."""
    columns = min(columns, MAX_COLUMNS)
    policy = origin.policy
    since = f", in force since {stamp(origin.since, zone)}" if origin.since is not None else ""
    digest = f"sha256:{policy.digest[:_DIGITS]}{glyphs.ellipsis}"
    yield from flow(f"{INDENT}{safe(policy.name, glyphs)}, {digest}{since}", columns, len(INDENT))
    rule = spelled(row.get("policy_rule") or (origin.found.verdict.rule if origin.found else ""))
    if (lines := policy.lines.get(rule)) is not None:
        marked = not rule.endswith("default-deny")
        yield from numbered(policy.text, lines, origin.path or "", glyphs, columns, marked=marked)
    elif rule.startswith(("filesystem.", "process.", "network.")) and "default" not in rule:
        yield f"{INDENT}the policy has no such rule"
    yield from _reasons(row, origin, glyphs, columns)
    yield from _today(row, origin, glyphs, columns, zone)


def _reasons(row: Row, origin: Origin, glyphs: Glyphs, columns: int) -> Iterator[str]:
    yield ""
    found = origin.found
    if origin.masked:
        text = "part of it is masked, so the policy is not asked again"
        yield from wrapped("why", text, columns)
        return
    if found is None:
        text = "the policy does not speak of this; somebody else decided"
        yield from wrapped("why", text, columns)
        return
    decided = "deny" if row.get("decision") == "deny" else "allow"
    if row.get("policy_rule") is None and found.verdict.decision != decided:
        text = f"the policy says {_said(found.verdict)}; somebody else decided"
        yield from wrapped("why", text, columns)
        return
    if row.get("policy_rule") and spelled(row["policy_rule"]) != found.verdict.rule:
        yield from wrapped("why", f"the policy itself says {_said(found.verdict)}:", columns)
        yield from wrapped("", safe(found.why, glyphs), columns)
        return
    yield from reason_lines(found, glyphs, columns)
    host = origin.operation.host
    if found.flip.edit and host and is_address(host) and found.verdict.decision == "deny":
        port = origin.operation.port
        text = f"the record has no host name; if you know it, prefer  HOST:{port}"
        yield from wrapped("", text, columns)


def _said(verdict: Verdict) -> str:
    decision = "DENY" if verdict.decision == "deny" else "allow"
    return f"{decision} by {verdict.rule}"


def _today(row: Row, origin: Origin, glyphs: Glyphs, columns: int, zone: tzinfo) -> Iterator[str]:
    today = origin.today
    if today is None:
        return
    if not today.changed and not origin.masked:
        if today.verdict is not None:
            same = _still(row, today.verdict)
            yield from wrapped("today", f"{same} (policy unchanged since)", columns)
        return
    yield from wrapped("today", safe(_now(row, today, zone, glyphs), glyphs), columns)


def _now(row: Row, today: Today, zone: tzinfo, glyphs: Glyphs) -> str:
    if not today.changed:
        return "the same policy is in force"
    digest = f"sha256:{today.policy.digest[:_DIGITS]}{glyphs.ellipsis}"
    which = f"{today.policy.name} {digest}, since {stamp(today.since, zone)}"
    if today.verdict is None:
        return f"another policy is in force: {which}"
    return f"{_still(row, today.verdict)} by {today.verdict.rule} ({which})"


def _still(row: Row, verdict: Verdict) -> str:
    word = "denied" if verdict.decision == "deny" else "allowed"
    return f"still {word}" if verdict.decision == row.get("decision") else word
