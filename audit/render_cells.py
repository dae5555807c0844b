"""What an event says in each column of a line: decision, operation, object, rule."""

from typing import Final

from audit.render_style import Glyphs, safe
from audit.render_time import duration
from query.contracts import Row

_DECISIONS: Final = {"deny": "DENY", "allow": "allow", "unknown": "?"}
# The code of the outcome is long; the word is what one looks for.
_OUTCOMES: Final = {"policy_violation": "violation"}
NOTHING: Final = "-"
# Runs are told apart by the beginning of their id.
RUN_CHARS: Final = 8


def decision(row: Row) -> str:
    """`DENY` in capitals and `allow` in small letters, so that no colour is needed."""
    if row["kind"] == "tool_call" and "decision" not in row:
        return "tool"
    if row["kind"] in ("gap", "notice"):
        return "note" if row["kind"] == "notice" else "gap"
    return _DECISIONS.get(row.get("decision", ""), "?")


def style(row: Row) -> str:
    """The colour name that goes with the decision."""
    word = decision(row)
    return {"DENY": "deny", "allow": "allow", "gap": "gap", "?": "unknown"}.get(word, "")


def access(row: Row, glyphs: Glyphs) -> str:
    """The normalised verb, else the source's own word."""
    word = row.get("access") or row.get("syscall") or ""
    return safe("call" if row["kind"] == "tool_call" and not word else word, glyphs)


def sandbox(row: Row, glyphs: Glyphs) -> str:
    """The sandbox, empty where none is known."""
    name = row.get("sandbox") or NOTHING
    return "" if name == NOTHING else safe(name, glyphs)


def run(row: Row, glyphs: Glyphs) -> str:
    """The beginning of the run's id, long enough for `--run`; empty where none is known.

    What the system tells of a process outside any run is `os:BOOT:PID:START`: there the pid counts.
    """
    return short_run(row.get("correlation_id") or NOTHING, glyphs)


def short_run(correlation_id: str, glyphs: Glyphs) -> str:
    """`run` for an id alone."""
    if correlation_id == NOTHING:
        return ""
    if correlation_id.startswith("os:"):
        return safe(":".join(correlation_id.split(":")[:3]), glyphs)
    return safe(correlation_id, glyphs)[:RUN_CHARS]


def process(row: Row, glyphs: Glyphs) -> str:
    """`git[4023]`."""
    name, pid = row.get("process"), row.get("pid")
    number = "" if pid is None else f"[{pid}]"
    return safe(name or "", glyphs) + number


def target(row: Row, glyphs: Glyphs) -> str:
    """The object: path, address, other object; for a tool call the tool and how it ended."""
    if row["kind"] == "tool_call" and (name := row.get("tool")):
        outcome = row.get("outcome") or ""
        parts = [name, _OUTCOMES.get(outcome, outcome)]
        if (took := row.get("duration_us")) is not None:
            parts.append(_micros(took, glyphs))
        return safe(" ".join(part for part in parts if part), glyphs)
    if (path := row.get("path")) is not None:
        second = row.get("path_to")
        return safe(path, glyphs) + (f" {glyphs.arrow} {safe(second, glyphs)}" if second else "")
    for name in ("dst", "target", "command", "message"):
        if (text := row.get(name)) is not None:
            return safe(text, glyphs)
    return ""


def rule(row: Row, glyphs: Glyphs) -> str:
    """The rule as reported; `~` derived by replay, `!` at odds with the policy, `(who)` unknown."""
    name = row.get("policy_rule")
    if not name:
        who = row.get("enforcer")
        return f"({safe(who, glyphs)})" if who else NOTHING
    mark = "~" if row.get("rule_origin") == "derived" else ""
    if "rule-mismatch" in (row.get("flags") or "").split(","):
        mark = "!"
    return mark + safe(name, glyphs)


def latency(row: Row, glyphs: Glyphs) -> str:
    """How long the decision took, where the source says so."""
    micros = row.get("latency_us")
    return "" if micros is None else _micros(micros, glyphs)


def gap_text(row: Row, glyphs: Glyphs) -> str:
    """`unified-log: Must be admin to run 'stream' command`."""
    reason = row.get("message") or row.get("error") or "incomplete"
    lost = row.get("count")
    number = f" ({lost:,} lost)" if lost else ""
    return f"{safe(row.get('source') or 'all', glyphs)}: {safe(reason, glyphs)}{number}"


def _micros(micros: int, glyphs: Glyphs) -> str:
    return duration(micros).replace("µ", glyphs.micro)
