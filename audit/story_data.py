"""A story for programs and for tickets: the same steps as JSON and as Markdown."""

from typing import Any

from audit import markdown
from audit import render_cells as cells
from audit import render_time as times
from audit.page_story import Telling, completeness, refusals, totals, what_next
from audit.render_style import UNICODE
from audit.story_rules import RuleOf, no_rule
from query.contracts import Gap, Row
from query.story import Step, Story


def story_data(story: Story, rule_of: RuleOf = no_rule) -> dict[str, Any]:
    """Times in RFC 3339 UTC, nothing cut, nulls left out."""
    run, found = story.run, story.totals
    return {
        "run": {
            "correlation_id": run.correlation_id,
            "host": run.host,
            "sandbox": run.sandbox,
            "first": times.utc(run.first_ts),
            "last": times.utc(run.last_ts),
            "first_seq": run.first_seq,
            "last_seq": run.last_seq,
        },
        "policies": [
            {"policy": name, **({"policy_digest": digest} if digest else {})}
            for name, digest in story.policies
        ],
        "allow": found.allow,
        "deny": found.deny,
        "unknown": found.unknown,
        "other": found.other,
        "secrets": found.secrets,
        "complete": not (story.gaps or story.damaged or story.more),
        "more": story.more,
        "damaged": [{"path": file.path, "rows": file.rows} for file in story.damaged],
        "steps": [
            gap_data(s) if isinstance(s, Gap) else step_data(s, rule_of) for s in story.steps
        ],
    }


def gap_data(gap: Gap) -> dict[str, Any]:
    """A gap; an open one has no `until`."""
    return {
        "kind": "gap",
        "first": times.utc(gap.since),
        **({"until": times.utc(gap.until)} if gap.until is not None else {}),
        "source": gap.source,
        "reason": gap.reason,
        **({"count": gap.count} if gap.count is not None else {}),
    }


def step_data(step: Step, rule_of: RuleOf = no_rule) -> dict[str, Any]:
    """A step: its first event's columns, how often, on how many objects, where."""
    row = step.row
    names = (
        "kind", "decision", "access", "process", "pid", "path", "path_to", "dst", "target", "tool",
        "outcome", "policy_rule", "rule_origin", "enforcer", "flags",
    )  # fmt: skip
    many = len(step.things) > 1
    data = {name: row[name] for name in names if name in row and not (many and name == "path")}
    data |= {
        "first": times.utc(row["ts"]),
        "last": times.utc(step.last_ts),
        "first_seq": row["seq"],
        "last_seq": step.last_seq,
        "times": step.times,
    }
    if many:
        data |= {"files": len(step.things), "folder": step.folder or "/"}
    if step.refused and (found := rule_of(row)):
        data |= {"rule_line": found.lines[0], "rule_text": found.text}
    if step.reporters:
        data["reported_by"] = sorted(step.reporters)
    if step.secrets:
        data |= {"secrets": step.secrets, "masked": step.masked}
    return data


def story_markdown(story: Story, telling: Telling, *, filtered: bool) -> list[str]:
    """A page for a ticket: the run, the refusals as a table, what else happened as a list."""
    run, zone = story.run, telling.zone
    lines = [
        f"## Run {markdown.code(run.correlation_id)} in {markdown.code(run.sandbox or '-')}",
        "",
        f"- host {markdown.code(run.host)}",
        f"- {times.full(run.first_ts, zone, millis=True)} to"
        f" {times.full(run.last_ts, zone, millis=True)}",
        *(f"- policy {markdown.code(name)}" for name, _ in story.policies),
        f"- {totals(story)}",
        *(f"- {line}" for line in completeness(story, telling, markdown.code, filtered=filtered)),
    ]
    if denied := refusals(story.steps):
        lines += ["", "### Refused", "", *_refused(denied, telling)]
        if way := what_next(story, telling):
            lines += ["", way.replace("   ", ": `", 1) + "`"]
    rest = [
        _told(step, telling) for step in story.steps if isinstance(step, Gap) or not step.refused
    ]
    return [*lines, *(["", "### Also", "", *rest] if rest else [])]


def _refused(denied: list[Step], telling: Telling) -> list[str]:
    rows = [
        [
            times.clock(step.row["ts"], telling.zone, millis=True),
            markdown.code(cells.process(step.row, UNICODE)),
            markdown.code(f"{cells.access(step.row, UNICODE)} {cells.target(step.row, UNICODE)}"),
            str(step.times),
            _rule(step, telling),
            str(step.row["seq"]),
        ]
        for step in denied
    ]
    return markdown.table(["time", "who", "what", "times", "rule", "event"], rows, {3, 5})


def _rule(step: Step, telling: Telling) -> str:
    """The rule, and the line of the policy as it was."""
    name, found = markdown.code(cells.rule(step.row, UNICODE)), telling.rule_of(step.row)
    return f"{name} {found.place}: {markdown.code(found.text)}" if found else name


def _told(step: Step | Gap, telling: Telling) -> str:
    if isinstance(step, Gap):
        end = "now" if step.until is None else times.clock(step.until, telling.zone)
        since = times.clock(step.since, telling.zone)
        why = markdown.code(step.reason)
        return f"- **gap** {since} to {end}, {markdown.code(step.source)}: {why}"
    row = step.row
    when = times.clock(row["ts"], telling.zone, millis=True)
    who = markdown.code(f"{cells.process(row, UNICODE)} {cells.access(row, UNICODE)}".strip())
    what = markdown.code(cells.target(row, UNICODE))
    if len(step.things) > 1:
        what = f"{len(step.things):,} files under {markdown.code(step.folder or '/')}"
    often = f", {step.times:,} times" if step.times > max(len(step.things), 1) else ""
    return f"- {when} {who} {what}{often} ({row['seq']})"


def event_markdown(rows: tuple[Row, ...], seq: int, telling: Telling) -> list[str]:
    """An event with its neighbours as a table; the event itself in bold."""
    lines = []
    for row in rows:
        mark = "**" if row["seq"] == seq else ""
        lines.append(
            [
                f"{mark}{times.full(row['ts'], telling.zone, millis=True)}{mark}",
                f"{mark}{cells.decision(row)}{mark}",
                markdown.code(row.get("sandbox") or "-"),
                markdown.code(cells.process(row, UNICODE)),
                markdown.code(f"{cells.access(row, UNICODE)} {cells.target(row, UNICODE)}"),
                markdown.code(cells.rule(row, UNICODE)),
                f"{mark}{row['seq']}{mark}",
            ]
        )
    return markdown.table(
        ["time", "decision", "sandbox", "who", "what", "rule", "event"], lines, {6}
    )
