"""`audit explain`: what is known of one event, as a person would tell it (G9)."""

import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Final

from audit import render_cells as cells
from audit import render_time as times
from audit.event_policy import Origin
from audit.page_origin import confirmed, origin_lines
from audit.render_flow import wrapped
from audit.render_style import Glyphs, safe
from audit.render_width import fit_target, width
from query.contracts import Row

_INDENT: Final = " " * 6
_MAX_COLUMNS: Final = 80
_DIGEST_CHARS: Final = 6
_SYSTEMS: Final = {
    "seatbelt": "macOS", "system-policy": "macOS", "santa": "macOS", "landlock": "Linux",
    "apparmor": "Linux", "selinux": "Linux", "seccomp": "Linux",
}  # fmt: skip
# What a flag means for the one who reads the event.
_FLAGS: Final = {
    "asked": "a person was asked and answered",
    "would-deny": "only reported: the sandbox was told not to refuse",
    "truncated": "a field was longer than we keep",
    "incomplete": "parts of the record never came",
    "ambiguous": "its text can be read in more than one way",
    "correlation-guessed": "its run was guessed from sandbox and time",
    "skewed": "its time cannot be right",
    "masked_field": "a field was masked as a whole",
    "rule-mismatch": "the rule it names is not what the policy says",
    "policy-ambiguous": "two policies were in force within two seconds",
    "forged": "it imitates a record",
    "no-zone": "its time had no zone",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """How and for whom the page is written."""

    prog: str
    zone: tzinfo
    glyphs: Glyphs
    columns: int
    known: frozenset[str]


def event_lines(
    row: Row, reports: Sequence[Row], setting: Setting, origin: Origin | None = None
) -> list[str]:
    """The page; `reports` are other sources' records of the same operation, `origin` its policy."""
    lines = [*_what(row, setting), "", *_rule(row, reports, setting, origin)]
    if notes := list(_notes(row, setting)):
        lines += ["", *notes]
    return [*lines, "", *_next(row, setting)]


def _what(row: Row, setting: Setting) -> Iterator[str]:
    glyphs, zone = setting.glyphs, setting.zone
    columns = min(setting.columns, _MAX_COLUMNS)
    event_id = safe(row["event_id"], glyphs)
    head = f"{cells.decision(row):<5} {cells.access(row, glyphs)} "
    if row["kind"] == "gap":
        head = "gap   "
    target = cells.gap_text(row, glyphs) if row["kind"] == "gap" else cells.target(row, glyphs)
    shown = fit_target(
        target, max(columns - width(head) - width(event_id) - 2, 10), glyphs.ellipsis
    )
    yield head + shown + " " * max(columns - width(head + shown + event_id), 2) + event_id
    if shown != target:
        yield _INDENT + target
    by = cells.process(row, glyphs) or "an unknown process"
    sandbox = cells.sandbox(row, glyphs)
    where = f" in {sandbox}" if sandbox else ", sandbox unknown"
    run = cells.run(row, glyphs)
    if row["kind"] != "gap":
        yield f"{_INDENT}by {by}{where}" + (f", run {run}" if run else "")
    moment = times.full(row["ts"], zone, millis=True)
    utc = times.clock(row["ts"], UTC, millis=True)[:12]
    took = f", in {times.spoken_micros(row['latency_us'])}" if "latency_us" in row else ""
    source = safe(row.get("enforcer") or row.get("source") or "?", glyphs)
    when = f"{_INDENT}{moment} ({utc}Z){took}, by {source}".replace("µ", glyphs.micro)
    yield from wrapped(when, columns, len(_INDENT))


def _rule(
    row: Row, reports: Sequence[Row], setting: Setting, origin: Origin | None
) -> Iterator[str]:
    glyphs = setting.glyphs
    also = "".join(
        f"; {name} reported it too"
        for name in sorted({_system(report, glyphs) for report in reports})
    )
    if row["kind"] not in ("decision", "tool_call"):
        return
    if not row.get("policy_rule"):
        text = f"none known: {_who(row, glyphs)} reports no rule{also}"
        if not row.get("policy"):
            sandbox = cells.sandbox(row, glyphs)
            whose = f"for sandbox {sandbox} at that time" if sandbox else "for it"
            text += f", and no policy was recorded {whose}"
        yield from _wrapped("rule", text, setting)
        if origin:
            yield from origin_lines(row, origin, glyphs, setting.columns, setting.zone)
        return
    how = {
        "reported": f"reported by {safe(row.get('enforcer') or row['source'], glyphs)}",
        "tagged": "tagged by the enforcement layer",
        "linked": "taken from the record it is linked to",
        "derived": "derived from the policy, not reported",
    }.get(row.get("rule_origin") or "", "as recorded")
    how += confirmed(row, origin)
    yield from _wrapped("rule", f"{cells.rule(row, glyphs)} ({how}{also})", setting)
    if origin:
        yield from origin_lines(row, origin, glyphs, setting.columns, setting.zone)
        return
    policy = safe(row.get("policy") or "policy unknown", glyphs)
    if digest := row.get("policy_digest"):
        policy += f", sha256:{digest.removeprefix('sha256:')[:_DIGEST_CHARS]}{glyphs.ellipsis}"
    yield f"{_INDENT}{policy}; its text is not recorded here"


def _who(row: Row, glyphs: Glyphs) -> str:
    who = row.get("enforcer")
    if not who:
        return "the source"
    system = _SYSTEMS.get(who)
    return f"{system} ({safe(who, glyphs)})" if system else safe(who, glyphs)


def _system(row: Row, glyphs: Glyphs) -> str:
    return system(row.get("enforcer") or row["source"], glyphs)


def system(who: str, glyphs: Glyphs) -> str:
    """The operating system behind an enforcer, else the enforcer's own name."""
    return _SYSTEMS.get(who) or safe(who, glyphs)


def _notes(row: Row, setting: Setting) -> Iterator[str]:
    if (times_told := row.get("count") or 1) > 1:
        yield f"{'times':<6}this record stands for {times.count(times_told)} occurrences"
    if masked := row.get("redactions"):
        kinds = safe(row.get("redaction_kinds") or "", setting.glyphs).replace(",", ", ")
        secrets = f"{masked} secret{'s' * (masked != 1)} masked before anything was stored"
        yield from _wrapped("mask", f"{secrets}: {kinds}", setting)
    for flag in (row.get("flags") or "").split(","):
        if flag:
            yield from _wrapped(
                "flag", f"{safe(flag, setting.glyphs)}: {_FLAGS.get(flag, 'see the docs')}", setting
            )
    if message := row.get("message"):
        yield f"{'text':<6}{safe(message, setting.glyphs)}"


def _next(row: Row, setting: Setting) -> Iterator[str]:
    prog, seq, columns = setting.prog, row["seq"], min(setting.columns, _MAX_COLUMNS)
    ways = [
        ("policy suggest", f"{prog} policy suggest --run {cells.run(row, setting.glyphs)}"),
        ("show", f"{prog} show {seq} -C 10"),
        ("query", f"{prog} query --seq {max(seq - 10, 1)}:{seq + 10}"),
    ]
    there = [text for verb, text in ways if verb in setting.known][:2]
    if "show" not in setting.known and (run := cells.run(row, setting.glyphs)):
        there.append(f"{prog} query --deny --run {run}")
    if not row.get("policy_rule") and not row.get("policy_digest") and _sandbox(row):
        name = shlex.quote(safe(_sandbox(row), setting.glyphs))
        there.insert(0, f"{prog} policy apply -f POLICY.yaml --sandbox {name}     from now on")
        for n, text in enumerate(there[:2]):
            yield from wrapped(f"{'next' if not n else '':<6}{text}", columns, len(_INDENT))
        return
    text = f" {setting.glyphs.dot} ".join(there)
    yield from wrapped(f"{'next':<6}{text}", columns, len(_INDENT))


def _sandbox(row: Row) -> str:
    """The sandbox whose policy may decide such an event, empty for all else."""
    name = row.get("sandbox") or ""
    return "" if name == "-" or row["kind"] != "decision" else name


def _wrapped(name: str, text: str, setting: Setting) -> Iterator[str]:
    room = min(setting.columns, _MAX_COLUMNS) - len(_INDENT)
    label = f"{name:<6}" if len(name) < len(_INDENT) else f"{name} "
    for line in textwrap.wrap(text, max(room, 30), break_on_hyphens=False) or [""]:
        yield label + line
        label = _INDENT
