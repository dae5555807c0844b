"""Bare `audit`: the situation now, in at most 14 lines, from SQLite alone."""

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from audit import render_cells as cells
from audit import render_time as times
from audit.paper import Paper
from audit.render_flow import flowed, wrapped
from audit.render_style import Glyphs, safe
from audit.render_width import fit_target, pad, width
from query.contracts import Row

if TYPE_CHECKING:  # `status` shares some words with this page and shows no situation
    from query.situation import Situation
    from query.snapshot import SourceState
    from query.views import Collector

_NAME_CELLS: Final = 11
_STATE_CELLS: Final = 14
_COUNT_CELLS: Final = 14
_RULE_CELLS: Final = 26
_MARGIN: Final = 10
# Below this the counts move left and the rules are no wider than they must be.
_NARROW_BELOW: Final = 80
_NARROW_COUNT_CELLS: Final = 4
_MIN_TARGET_CELLS: Final = 12
COLLECTOR_WORDS: Final = {
    "running": "healthy",
    "hanging": "HANGING",
    "stopped": "STOPPED",
    "dead": "DEAD",
    "never": "NONE",
}
NEXT: Final = (
    ("show", "{prog} show last"),
    ("explain", "{prog} explain {seq}"),
    ("tail", "{prog} tail -f --deny"),
)


def welcome(prog: str, known: frozenset[str]) -> list[str]:
    """What a person sees who has not collected anything yet (G0)."""
    ways = [
        ("demo", "see it work", f"{prog} demo", "5 seconds, a throw-away store"),
        ("setup", "use it here", f"{prog} setup", "finds the logs, starts the collector"),
        ("collect", "one file", f"{prog} collect FILE --once", ""),
    ]
    lines = [
        "Sandtrail records what your agents' sandboxes allowed and refused.",
        "Nothing has been collected on this machine yet.",
        "",
    ]
    lines += [
        f"  {name:<15}{line:<26}{note}".rstrip() for verb, name, line, note in ways if verb in known
    ]
    return [*lines, "", f"  {'all commands':<15}{prog} --help"]


def midnight(now: int, zone: tzinfo) -> int:
    """When today began in a zone, in µs."""
    moment = times.local(now, zone)
    start = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    return now - int((moment - start) / timedelta(microseconds=1))


def situation_lines(found: "Situation", host: str, paper: Paper) -> list[str]:
    """The page (G2)."""
    now, zone, glyphs = paper.now, paper.zone, paper.glyphs
    moment: datetime = times.local(now, zone)
    head = f"{moment:%a %Y-%m-%d} {times.short_clock(now, zone)}"
    title = f"{host} {glyphs.dot} store {found.store} {glyphs.dot} {head}"
    lines = [*wrapped(title, paper.columns), ""]
    lines += _line("collector", *_collector(found, now), paper)
    lines += _line("record", *_record(found, paper), paper)
    lines += _exports(found, paper)
    hour = found.last_hour
    words = [f"{times.count(hour.allow)} allow", f"{times.count(hour.deny)} deny"]
    if hour.unknown:
        words.append(f"{times.count(hour.unknown)} unknown")
    if hour.masked:
        words.append(f"{times.count(hour.masked)} secret{'s' * (hour.masked > 1)} masked")
    text = f"{'last hour':<{_NAME_CELLS}}" + f" {glyphs.dot} ".join(words)
    lines += ["", *wrapped(text, paper.columns, _NAME_CELLS)]
    lines += _run(found, paper)
    return [line.rstrip() for line in lines]


def _line(name: str, state: str, text: str, paper: Paper) -> list[str]:
    detail = _NAME_CELLS + _STATE_CELLS
    return flowed([(0, name), (_NAME_CELLS, state), (detail, text)], paper.columns, detail)


def _collector(found: "Situation", now: int) -> tuple[str, str]:
    state = COLLECTOR_WORDS[found.collector.state]
    today = f"{times.count(found.today.events)} events today"
    if found.collector.state != "running":
        return state, f"{ended(found.collector, now)}, {today}"
    read = [source.last_read_at for source in found.sources if source.last_read_at]
    behind = f"{times.spoken(max(now - max(read), 0))} behind" if read else "nothing read yet"
    return state, f"{behind}, {today}"


def ended(collector: "Collector", now: int) -> str:
    """Since when nobody collects."""
    if collector.state == "never":
        return "none ever ran"
    since = collector.stopped or collector.heartbeat
    ago = f" {times.spoken(max(now - since, 0))} ago" if since else ""
    word = {"stopped": "stopped", "dead": "ended without a word"}.get(
        collector.state, f"pid {collector.pid}, last sign"
    )
    return word + ago


def _record(found: "Situation", paper: Paper) -> tuple[str, str]:
    now, zone = paper.now, paper.zone
    if not found.open_gaps:
        if found.collector.state in ("running", "never"):
            return "complete", "no source is missing"
        last = found.collector.stopped or found.collector.heartbeat
        since = f" since {times.moment(last, zone, now)}" if last else ""
        return "INCOMPLETE", f"nothing is read{since}"
    gap, more = found.open_gaps[0], len(found.open_gaps) - 1
    others = f" and {more} more" if more else ""
    since = times.dated(gap.since, zone, now)
    return (
        "INCOMPLETE",
        f"{safe(gap.source, paper.glyphs)} down since {since}{others} ({paper.prog} doctor)",
    )


def _exports(found: "Situation", paper: Paper) -> Iterator[str]:
    """The export that is furthest behind, and that there are others: the page has an end."""
    if not found.cursors:
        return
    cursor = min(found.cursors, key=lambda cursor: cursor.seq)
    until = times.short_clock(cursor.updated_at, paper.zone)
    if (day := times.day(cursor.updated_at, paper.zone)) != times.day(paper.now, paper.zone):
        until = f"{day}T{until}"
    behind = found.last_seq - cursor.seq
    others = len(found.cursors) - 1
    has = "is last: all" if others else "has everything"
    text = f"{safe(cursor.name, paper.glyphs)} {has} up to {until}"
    text += f", {times.count(behind)} newer" if behind > 0 else ""
    text += f"; {others} more" if others else ""
    yield from _line("export", "healthy", text, paper)


def _run(found: "Situation", paper: Paper) -> list[str]:
    now, zone, glyphs = paper.now, paper.zone, paper.glyphs
    run = found.last_run
    if run is None:
        return []
    sandbox = cells.sandbox({"sandbox": run.sandbox}, glyphs) or "(no sandbox)"
    lasted = times.spoken(max(run.last_ts - run.first_ts, 0))
    denied = f"{times.count(run.deny)} denied" + (":" if found.denied else "")
    name = cells.short_run(run.correlation_id, glyphs) or "unknown"
    started = times.clock(run.first_ts, zone)
    if times.day(run.first_ts, zone) != times.day(now, zone):
        started = f"{times.day(run.first_ts, zone)} {started}"
    text = f"{name} {sandbox}, {started}, {lasted}, {denied}"
    lines = wrapped(f"{'last run':<{_NAME_CELLS}}{text}", paper.columns, _NAME_CELLS)
    causes = sorted(found.denied, key=lambda item: (-item.count, item.event["seq"]))
    shown = [(item.count, {"kind": "decision", **item.event}) for item in causes]
    return lines + _causes(shown, glyphs, paper.columns)


def _causes(shown: list[tuple[int, Row]], glyphs: Glyphs, columns: int | None) -> list[str]:
    """A line for each rule that refused: how often, and the newest object; two if it must be."""
    rules = [cells.rule(row, glyphs) for _, row in shown]
    counts, rule_cells, margin = _COUNT_CELLS, _RULE_CELLS, _MARGIN
    if columns is not None and columns < _NARROW_BELOW:
        counts, margin = _NARROW_COUNT_CELLS, 0
        rule_cells = max(map(width, rules), default=0) + 2
    lines = []
    for (number, row), rule in zip(shown, rules, strict=True):
        verb, thing = cells.access(row, glyphs), cells.target(row, glyphs)
        before = f"{times.count(number):>{counts}} {pad(rule, rule_cells)}{verb} "
        if columns is None:
            lines.append(before + thing)
            continue
        room = columns - margin - width(before)
        if room < min(_MIN_TARGET_CELLS, width(thing)):
            lines += wrapped(f"{times.count(number):>{counts}} {rule}", columns, counts + 1)
            before = f"{' ' * counts} {verb} "
            room = max(columns - width(before), 1)
        lines.append(before + fit_target(thing, room, glyphs.ellipsis))
    return lines


def next_lines(found: "Situation", prog: str, known: frozenset[str], paper: Paper) -> list[str]:
    """What one would do next, of the commands that there are."""
    # The rule that refused first is as a rule what the others follow from.
    seq = min((item.event["seq"] for item in found.denied), default="last")
    ways = [text.format(prog=prog, seq=seq) for verb, text in NEXT if verb in known]
    return wrapped(f"  {f' {paper.glyphs.dot} '.join(ways)}", paper.columns, 2)


def source_place(source: "SourceState") -> str:
    """The short name of where a source reads."""
    return PurePath(source.location).name or source.location
