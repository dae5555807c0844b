"""`audit show RUN`: a run as a person would tell it (G8)."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from typing import Final

from audit import render_cells as cells
from audit import render_time as times
from audit.page_event import system
from audit.render_flow import wrapped
from audit.render_style import Glyphs, safe
from audit.render_width import fit_target, keep_start, width
from audit.story_rules import RuleOf, no_rule
from query.contracts import Gap
from query.run_list import LIVE_US
from query.story import MAX_EVENTS, Step, Story

MAX_RUN_CELLS: Final = 40
MAX_NAMES_TOLD: Final = 3
_DIGEST_CHARS: Final = 6
_MIN_TARGET_CELLS: Final = 12
_NARROW_INDENT: Final = "    "
# Below a time with milliseconds and its two blanks, two more.
_MORE_CELLS: Final = 19
_HEAD_HANG: Final = 2
_NO_CUT: Final = 1 << 20
_VERBS: Final = {"unknown": "UNDECIDED ", "deny": "REFUSED "}
_FLAGS: Final = {
    "asked": "a person was asked",
    "would-deny": "only reported: the sandbox was told not to refuse",
}


@dataclass(frozen=True, slots=True)
class Telling:
    """How and for whom: `columns` None cuts nothing; `ended` is when collecting ended, if so.

    `rule_of` finds the policy's line behind a refusal.
    """

    prog: str
    now: int
    zone: tzinfo
    glyphs: Glyphs
    columns: int | None
    ended: int | None
    known: frozenset[str]
    rule_of: RuleOf = no_rule

    @property
    def live(self) -> int:
        """A run whose newest event is after this goes on."""
        return self.now - LIVE_US


def story_lines(story: Story, telling: Telling, *, filtered: bool = False) -> list[str]:
    """The page."""
    lines = []
    for line in head_lines(story, telling, filtered=filtered):
        lines += wrapped(line, telling.columns, _HEAD_HANG)
    lines.append("")
    for step in story.steps:
        lines += _gap(step, telling) if isinstance(step, Gap) else _step(step, telling)
    if not story.steps:
        lines.append("nothing of it matches" if filtered else "nothing of it is stored any more")
    lines += _last(story, telling)
    if story.totals.deny and (way := what_next(story, telling)):
        lines += ["", *wrapped(way, telling.columns, _HEAD_HANG)]
    return lines


def head_lines(story: Story, telling: Telling, *, filtered: bool) -> list[str]:
    """Which run, when, how much, and whether that is all."""
    run, glyphs, zone = story.run, telling.glyphs, telling.zone
    parts = [f"run {run_name(story, glyphs)}"]
    parts.append(f"{safe(run.sandbox or 'no sandbox', glyphs)} on {safe(run.host, glyphs)}")
    parts += [_policy(name, digest, glyphs) for name, digest in story.policies]
    lasted = times.spoken(max(run.last_ts - run.first_ts, 0))
    end = times.clock(run.last_ts, zone, millis=True)
    if times.day(run.last_ts, zone) != times.day(run.first_ts, zone):
        end = times.full(run.last_ts, zone, millis=True)
    return [
        f" {glyphs.dot} ".join(parts),
        f"{times.full(run.first_ts, zone, millis=True)} to {end} ({lasted})",
        totals(story),
        *completeness(story, telling, partial(safe, glyphs=glyphs), filtered=filtered),
    ]


def run_name(story: Story, glyphs: Glyphs) -> str:
    """The run's id, which can be pasted unless it is absurdly long."""
    return keep_start(safe(story.run.correlation_id, glyphs), MAX_RUN_CELLS, glyphs.ellipsis)


def _policy(name: str, digest: str | None, glyphs: Glyphs) -> str:
    if not digest:
        return safe(name, glyphs)
    short = safe(digest.removeprefix("sha256:")[:_DIGEST_CHARS], glyphs)
    return f"{safe(name, glyphs)} (sha256:{short}{glyphs.ellipsis})"


def totals(story: Story) -> str:
    """`219 allow, 5 deny, 1 secret masked`."""
    found = story.totals
    words = [f"{times.count(found.allow)} allow", f"{times.count(found.deny)} deny"]
    words += [f"{times.count(found.unknown)} unknown"] if found.unknown else []
    words += [f"{times.count(found.other)} without a decision"] if found.other else []
    if found.secrets:
        secrets = f"{times.count(found.secrets)} secret{'s' * (found.secrets != 1)} masked"
        words.append(secrets + (" in what is told" if story.more else ""))
    return ", ".join(words)


def completeness(
    story: Story, telling: Telling, quote: Callable[[str], str], *, filtered: bool
) -> list[str]:
    """Whether this is all, in a sentence; several where several things are missing."""
    run = story.run
    lines = [
        f"record INCOMPLETE: {quote(file.path)} is damaged ({times.count(file.rows)} events)"
        for file in story.damaged
    ]
    if story.gaps:
        names = ", ".join(sorted({quote(gap.source) for gap in story.gaps}))
        number = f"{len(story.gaps)} gap{'s' * (len(story.gaps) != 1)}"
        lines.insert(0, f"record INCOMPLETE: {number} in this window ({names})")
    counted = run.allow + run.deny + run.other
    if story.more:
        rest = quote(f"{telling.prog} query --run {run.correlation_id}")
        lines.append(
            f"too long to tell: of {times.count(counted)} events the oldest"
            f" {times.count(MAX_EVENTS)}, then only what was refused; all of them: {rest}"
        )
    elif not filtered and not story.damaged and story.stored < counted:
        lost = times.count(counted - story.stored)
        lines.append(f"record INCOMPLETE: {lost} of its events are no longer stored")
    if lines:
        return lines
    # What ran until collecting ended may have gone on unseen; what was over by then is whole.
    if telling.ended is not None and telling.ended - run.last_ts < LIVE_US:
        when = times.clock(telling.ended, telling.zone)
        if times.day(telling.ended, telling.zone) != times.day(run.last_ts, telling.zone):
            when = f"{times.day(telling.ended, telling.zone)} {when}"
        return [f"record complete up to {when}, when collecting ended"]
    return ["record complete: no gap in this window"]


def _step(step: Step, telling: Telling) -> Iterator[str]:
    columns = telling.columns or _NO_CUT
    before = f"{times.clock(step.row['ts'], telling.zone, millis=True)}  "
    numbers, more = _numbers(step), list(_more(step, telling))
    # The numbers may stand at the end of a later line, so that the object keeps its room.
    lines = _first_lines(before, _said(step, telling.glyphs), numbers if not more else "", telling)
    yield from lines[:-1]
    if width(lines[-1]) + 2 + len(numbers) <= columns:
        yield _flush(lines[-1], numbers, telling.columns)
        numbers = ""
    else:
        yield lines[-1]
    for line in more:
        yield from _continued(line, numbers, " " * (len(before) + 2), telling)
        numbers = ""
    if numbers:
        yield _flush(_NARROW_INDENT, numbers, telling.columns)


def _first_lines(
    before: str, said: tuple[str, str, str], numbers: str, telling: Telling
) -> list[str]:
    """Who did what to what: one line if the object can keep enough of itself, else two."""
    start, thing, end = said
    columns, least = telling.columns or _NO_CUT, min(_MIN_TARGET_CELLS, width(thing))
    room = columns - width(before + start + end)
    beside = room - 2 - len(numbers) if numbers else room
    if width(thing) > beside >= least:
        thing = fit_target(thing, beside, telling.glyphs.ellipsis)
    if width(thing) <= room:
        return [before + start + thing + end]
    if room >= least:
        return [before + start + fit_target(thing, room, telling.glyphs.ellipsis) + end]
    room = max(columns - len(_NARROW_INDENT) - width(end), 1)
    shown = fit_target(thing, room, telling.glyphs.ellipsis)
    return [(before + start).rstrip(), _NARROW_INDENT + shown + end]


def _continued(line: str, numbers: str, indent: str, telling: Telling) -> Iterator[str]:
    columns = telling.columns or _NO_CUT
    if width(indent + line) > columns:
        indent = _NARROW_INDENT
    parts = [line]
    if width(indent + line) > columns and " " in line:
        room = max(columns - len(indent), 20)
        parts = textwrap.wrap(line, room, break_long_words=False, break_on_hyphens=False)
    for part in parts[:-1]:
        yield indent + part
    last = indent + parts[-1]
    if numbers and width(last) + 2 + len(numbers) > columns:
        yield last
        yield _flush(indent, numbers, telling.columns)
    else:
        yield _flush(last, numbers, telling.columns) if numbers else last


def _flush(left: str, right: str, columns: int | None) -> str:
    space = 2 if columns is None else max(columns - width(left) - len(right), 2)
    return left + " " * space + right


def _said(step: Step, glyphs: Glyphs) -> tuple[str, str, str]:
    """Who did what, to what, how often."""
    row = step.row
    often = f", {times.count(step.times)} times" if step.times > 1 else ""
    if row["kind"] == "tool_call":
        return _VERBS.get(row.get("decision", ""), "") + "tool ", cells.target(row, glyphs), often
    who = cells.process(row, glyphs) or "somebody"
    start = f"{_VERBS.get(row.get('decision', ''), '')}{who} {cells.access(row, glyphs)} "
    if len(step.things) > 1 and step.folder:
        often = often if step.times > len(step.things) else ""
        number = f"{times.count(len(step.things))} files under "
        return start + number, safe(step.folder, glyphs), often
    return start, cells.target(row, glyphs), often


def _numbers(step: Step) -> str:
    first = step.row["seq"]
    if step.last_seq == first or step.refused:
        return str(first)
    return f"{first} to {step.last_seq}"


def _more(step: Step, telling: Telling) -> Iterator[str]:
    glyphs, row = telling.glyphs, step.row
    if step.refused:
        yield from _ruled(step, telling)
    for who in sorted(step.reporters):
        yield f"{system(who, glyphs)} reported it too"
    for flag in (row.get("flags") or "").split(","):
        if flag in _FLAGS:
            yield _FLAGS[flag]
    if step.masked:
        many = len(step.masked)
        names = ", ".join(_mask(path, glyphs) for path in step.masked[:MAX_NAMES_TOLD])
        rest = f", {glyphs.ellipsis}" if many > MAX_NAMES_TOLD else ""
        yield f"{many} name{'s' * (many != 1)} held a secret: {names}{rest}"
    elif step.secrets:
        yield f"{step.secrets} secret{'s' * (step.secrets != 1)} masked"


def _ruled(step: Step, telling: Telling) -> Iterator[str]:
    """The rule, where it stands and what stands there: beside it if all of it fits, else below."""
    glyphs, row = telling.glyphs, step.row
    name = cells.rule(row, glyphs) if row.get("policy_rule") else _nobody(step, glyphs)
    found = telling.rule_of(row)
    if found is None:
        yield name
        return
    head, text = f"{name}, {found.place}", safe(found.why or found.text, glyphs)
    both = f"{name}: {text}, {found.place}" if found.why else f"{head}   {text}"
    room = (telling.columns or _NO_CUT) - _MORE_CELLS
    if width(both) + (0 if found.why else 2 + len(_numbers(step))) <= room:
        yield both
        return
    yield head
    yield keep_start(text, room, glyphs.ellipsis)


def _nobody(step: Step, glyphs: Glyphs) -> str:
    who = step.row.get("enforcer")
    return f"no rule known, by {system(who, glyphs)}" if who else "no rule known"


def _mask(path: str, glyphs: Glyphs) -> str:
    """The mask in a name, else the name."""
    start = path.find("[REDACTED:")
    end = path.find("]", start)
    return safe(path[start : end + 1] if 0 <= start < end else path, glyphs)


def _gap(gap: Gap, telling: Telling) -> Iterator[str]:
    """A gap as a line of its own."""
    glyphs = telling.glyphs
    before = f"{times.clock(gap.since, telling.zone, millis=True)}  "
    lasted = "not over yet"
    if gap.until is not None:
        lasted = times.spoken(max(gap.until - gap.since, 0))
    reason = safe(gap.reason, glyphs)
    text = f"GAP {safe(gap.source, glyphs)}, {lasted}: {reason}"
    room = max((telling.columns or _NO_CUT) - len(before), 20)
    yield before + keep_start(text, room, glyphs.ellipsis)


def _last(story: Story, telling: Telling) -> list[str]:
    if story.more:
        return []
    run = story.run
    if run.last_ts > telling.live:
        return [f"{times.clock(run.last_ts, telling.zone, millis=True)}  newest event; it goes on"]
    last = next((step for step in reversed(story.steps) if isinstance(step, Step)), None)
    if last is None or last.row["ts"] == run.last_ts or last.last_ts != run.last_ts:
        return []
    return [f"{times.clock(run.last_ts, telling.zone, millis=True)}  last event"]


def what_next(story: Story, telling: Telling) -> str:
    """What one would type about the refusals, of the commands that there are."""
    name = run_name(story, telling.glyphs)
    if "policy suggest" in telling.known:  # not yet a verb
        return f"what would change it   {telling.prog} policy suggest --run {name}"
    first = next((step.row["seq"] for step in refusals(story.steps)), None)
    return f"what decided it   {telling.prog} explain {first}" if first is not None else ""


def refusals(steps: Sequence[Step | Gap]) -> list[Step]:
    """The steps that were denied."""
    return [step for step in steps if isinstance(step, Step) and step.refused]
