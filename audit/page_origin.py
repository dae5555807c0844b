"""The rule part of an event's page (G9): its policy's lines, why, what changes it, today."""

from collections.abc import Iterator
from datetime import tzinfo
from typing import Final

from audit.event_policy import Origin, Today
from audit.event_reasons import reason_of, rule_of
from audit.page_policy import INDENT, MAX_COLUMNS, numbered, reason_lines, wrapped
from audit.render_flow import wrapped as flow
from audit.render_style import Glyphs, safe
from policies.decide import Verdict
from policies.hosts import is_address
from policies.model import spelled
from query.contracts import Row
from query.times import stamp

__all__ = ["confirmed", "origin_lines", "spelled"]

_DIGITS: Final = 6


def confirmed(row: Row, origin: Origin | None) -> str:
    """How the record compares with the policy, for the line of the rule."""
    if origin is None or origin.found is None or row.get("rule_origin") == "derived":
        return ""
    verdict = origin.found.verdict
    same = (verdict.decision, verdict.rule) == (row.get("decision"), spelled(row["policy_rule"]))
    return ", confirmed by replay" if same else ""


def origin_lines(
    row: Row, origin: Origin, glyphs: Glyphs, columns: int, zone: tzinfo
) -> Iterator[str]:
    """The lines below that of the rule."""
    columns = min(columns, MAX_COLUMNS)
    policy = origin.policy
    since = f", in force since {stamp(origin.since, zone)}" if origin.since is not None else ""
    digest = f"sha256:{policy.digest[:_DIGITS]}{glyphs.ellipsis}"
    yield from flow(f"{INDENT}{safe(policy.name, glyphs)}, {digest}{since}", columns, len(INDENT))
    rule = rule_of(row, origin)
    if (lines := policy.lines.get(rule)) is not None:
        marked = not rule.endswith("default-deny")
        yield from numbered(policy.text, lines, origin.path or "", glyphs, columns, marked=marked)
    elif rule.startswith(("filesystem.", "process.", "network.")) and "default" not in rule:
        yield f"{INDENT}the policy has no such rule"
    yield from _reasons(row, origin, glyphs, columns)
    yield from _today(row, origin, glyphs, columns, zone)


def _reasons(row: Row, origin: Origin, glyphs: Glyphs, columns: int) -> Iterator[str]:
    yield ""
    reason = reason_of(row, origin)
    if reason.found is None:
        yield from wrapped("why", reason.words, columns)
        if reason.own:
            yield from wrapped("", safe(reason.own, glyphs), columns)
        return
    yield from reason_lines(reason.found, glyphs, columns)
    host, denied = origin.operation.host, reason.found.verdict.decision == "deny"
    if reason.found.flip.edit and host and is_address(host) and denied:
        port = origin.operation.port
        text = f"the record has no host name; if you know it, prefer  HOST:{port}"
        yield from wrapped("", text, columns)


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
