"""`audit stats`: from flags to counts, from counts to a table or data."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from audit import page_stats, questions, reads, tables, wiring
from audit import screen as output
from audit.asking import Asked, Question, described
from audit.call import Call
from audit.page_event import system
from audit.page_stats import Sheet
from audit.querying import Found, Verdict, concluded
from audit.quoting import quoted
from audit.render_time import clock, count, day, local, utc
from audit.running import with_default_window
from audit.screen import Screen
from audit.stats_shape import Shape, Span, shape
from audit_events.errors import Exit, UsageError
from audit_events.schema import BY_NAME, DECISIONS
from query import axes as axis_names
from query.axes import Axis
from query.calendar import DAY_US
from query.stats import Counting, Measure, Stats
from query.times import resolve

DEFAULT_LINES: Final = 40
DEFAULT_BY: Final[Mapping[Measure, str]] = {
    "decisions": "rule", "tools": "tool", "latency": "enforcer", "redactions": "secret",
}  # fmt: skip
# Who asks for an object wants to know who touched it last, not who did so most.
_OBJECTS: Final = ("path", "dst", "target", "secret")
_WHOLE_DAYS: Final = re.compile(r"([1-9][0-9]{0,3})([dw])")
_SUBJECTS: Final = {"calls": "tool calls", "events": "latency of decisions"}
_MICROS: Final = ("p50", "p95", "p99", "max")


@dataclass(frozen=True, slots=True)
class Wanted:
    """How the counts are wanted; `limit` None shows all lines."""

    by: str | None = None
    bucket: str | None = None
    measure: Measure = "decisions"
    format: str = "table"
    limit: int | None = DEFAULT_LINES
    merge: bool = True
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class _Counted:
    """An answer with its question, as the remarks above and below it need them."""

    call: Call
    ask: Question
    asked: Asked
    wanted: Wanted
    found: Stats
    names: tuple[str, ...]
    screen: Screen


def count_up(
    call: Call, asked: Asked, words: Sequence[str], wanted: Wanted, verdict: Verdict
) -> Exit:
    """Print the counts; exit codes as `query`."""
    if wanted.by == "help":
        output.put(column_help())
        return Exit.DONE
    axes, measure = _axes(wanted)
    store, screen, now = wiring.find_trail(call), output.screen(call), call.now()
    ask, _ = with_default_window(questions.ask(call, store, asked, list(words)), now)
    if any(axis.name == "day" for axis in axes):
        ask = _whole_days(ask, asked, now)
    for warning in ask.warnings:
        screen.voice.warning(warning)
    counting = Counting(axes, measure, ask.zone, wanted.merge)
    found = reads.stats(store, ask.request(None), counting)
    names = tuple(page_stats.measures(measure, _decisions(ask), found.total))
    if any(axis.name == "redaction_kinds" for axis in axes):
        # An event tells how many secrets it held, not how many of each kind.
        names = tuple(name for name in names if name != "secrets")
    counted = _Counted(call, ask, asked, wanted, found, names, screen)
    if wanted.format == "table":
        _put_table(counted)
    else:
        _put_data(counted)
    number = 0 if found.total.values["last"] is None else len(found.groups)
    result = Found(number, found.gaps, found.damaged, found.searched)
    return concluded(call, store, ask, result, verdict, screen)


def one_measure(**flags: bool) -> Measure:
    """What one of these flags asks for; UsageError for several."""
    chosen = [name for name, given in flags.items() if given]
    if len(chosen) > 1:
        raise UsageError(" and ".join(f"--{name}" for name in chosen) + ": one at a time")
    names: Sequence[Measure] = ("tools", "latency", "redactions")
    return next((name for name in names if flags.get(name)), "decisions")


def column_help() -> list[str]:
    """Everything that can follow --by."""
    lines = [
        "day             days of the display zone",
        "hour            hours",
        "bucket          5 minutes, or what --bucket says",
    ]
    lines += [f"{name:<15} {BY_NAME[name].meaning}" for name in axis_names.known()]
    return [*lines, "", "Filters' names work too: rule, run, secret, flag. Several: --by rule,day"]


def _axes(wanted: Wanted) -> tuple[tuple[Axis, ...], Measure]:
    size = None if wanted.bucket is None else axis_names.bucket(wanted.bucket)
    given = tuple(word.strip() for word in (wanted.by or "").split(",") if word.strip())
    if not given and (size is None or wanted.measure != "decisions"):
        given = (DEFAULT_BY[wanted.measure],)
    axes = axis_names.axes(given, size)
    calls = wanted.measure == "decisions" and any(axis.name == "tool" for axis in axes)
    return axes, "tools" if calls else wanted.measure


def _whole_days(ask: Question, asked: Asked, now: int) -> Question:
    """`--since 7d` by day means seven days, today the last of them: none is cut."""
    match = _WHOLE_DAYS.fullmatch((asked.since or "").strip().lower())
    if not match or ask.window.clock != "event":
        return ask
    days = int(match[1]) * (7 if match[2] == "w" else 1)
    noon = resolve("today 12:00", now, ask.zone)
    first = day(noon - (days - 1) * DAY_US, ask.zone)
    return replace(ask, window=replace(ask.window, since=resolve(first, now, ask.zone)))


def _decisions(ask: Question) -> tuple[str, ...]:
    """The decisions that a filter leaves; none if there is no such filter."""
    given = [word.lower() for word in ask.values.get("decision", ())]
    known = {"denied": "deny", "blocked": "deny", "allowed": "allow"}
    wanted = {known.get(word, word) for word in given if not word.startswith("!")}
    unwanted = {known.get(word[1:], word[1:]) for word in given if word.startswith("!")}
    left = [word for word in DECISIONS if word not in unwanted and (word in wanted or not wanted)]
    return tuple(left) if given else ()


def _put_table(counted: _Counted) -> None:
    call, ask, found = counted.call, counted.ask, counted.found
    by_event = ask.window.clock == "event"
    span = Span(
        ask.window.since if by_event else None, ask.window.until if by_event else None, call.now()
    )
    newest_first = any(flag in ask.values for flag in _OBJECTS)
    made = shape(found, counted.names, span, newest_first=newest_first)
    whole = len(found.axes) == 1 and found.times is not None
    shown = made.entries if whole else made.entries[: counted.wanted.limit]
    screen = counted.screen
    columns = screen.columns if screen.terminal else None
    sheet = Sheet(call.now(), ask.zone, screen.glyphs, columns)
    screen.remark(_header(counted), quiet=counted.wanted.quiet)
    output.put(page_stats.table(made.axes, made.names, shown, made.across, sheet))
    if made.entries:
        for line in _footer(counted, made, len(shown)):
            screen.remark(line, quiet=counted.wanted.quiet)


def _header(counted: _Counted) -> str:
    ask, now = counted.ask, counted.call.now()
    by_day = any(axis.name == "day" for axis in counted.found.axes)
    dates = _dates(ask, now) if by_day else None
    if dates:
        bare = replace(ask, window=replace(ask.window, since=None, until=None))
        parts = [*described(bare, now), dates]
    else:
        parts = described(ask, now)
    if counted.wanted.measure != "decisions" or "calls" in counted.names:
        parts.insert(0, _SUBJECTS[counted.names[0]] if "p50" in counted.names else "masked")
    elif not ask.values.get("decision"):
        parts.append("deny and allow")
    if counted.found.reports:
        who = {system(name, counted.screen.glyphs) for name in counted.found.reporters}
        parts.append(f"merged with {' and '.join(sorted(who))} reports")
    elif not counted.found.merged and counted.wanted.merge:
        parts.append("too many reports to merge")
    return " · ".join(parts)


def _dates(ask: Question, now: int) -> str | None:
    """`2026-07-22 to 2026-07-28, days in +09` where the window is whole days."""
    since, until = ask.window.since, ask.window.until
    edges = [at for at in (since, until) if at is not None]
    if since is None or any(
        f"{local(at, ask.zone):%H:%M:%S.%f}" != "00:00:00.000000" for at in edges
    ):
        return None
    last = day((now if until is None else until) - 1, ask.zone)
    return f"{day(since, ask.zone)} to {last}, days in {clock(now, ask.zone)[8:]}"


def _footer(counted: _Counted, made: Shape, shown: int) -> Iterable[str]:
    found, glyphs, prog = counted.found, counted.screen.glyphs, counted.call.prog
    parts = []
    if shown < len(made.entries):
        parts.append(f"top {count(shown)} of {count(len(made.entries))}; -n 0 for all")
    number = page_stats.counted(found.total.values, counted.names)
    if made.across is not None or shown < len(made.entries) or found.reports:
        parts.append(f"{count(number)} operation{'s' * (number != 1)}")
        if found.reports:
            parts[-1] += f", {count(number + found.reports)} reports"
    if made.across is not None:
        parts.append("scale per row")
        if made.across.gaps:
            none = "░" if glyphs.unicode else "."
            parts.append(f"{none} none, but a gap that {made.across.axis.name}")
    if secrets := found.total.values.get("secrets"):
        events = found.total.values["events"]
        parts.append(f"{count(secrets)} secret{'s' * (secrets != 1)} in {count(events)} events")
    if parts:
        yield " · ".join(parts)
    allowed, denied = found.total.values.get("allow"), found.total.values.get("deny")
    if allowed and denied and _asks_object(counted.ask) and "decision" not in counted.ask.values:
        verb = "event was" if allowed == 1 else "events were"
        yield f"{count(allowed)} {verb} ALLOWED: {prog} query --allow {_again(counted)}"


def _asks_object(ask: Question) -> bool:
    return any(flag in ask.values for flag in _OBJECTS)


def _again(counted: _Counted) -> str:
    """The filters of this question as they would be typed again."""
    words = []
    for flag, values in counted.ask.values.items():
        for value in values:
            no = "not-" if value.startswith("!") else ""
            words += [f"--{no}{flag}", quoted(value.removeprefix("!"))]
    for name in ("since", "until", "around"):
        if (given := getattr(counted.asked, name)) is not None:
            words += [f"--{name}", quoted(given)]
    if not {"--since", "--until", "--around"} & set(words):
        words += ["--since", "24h"]
    return " ".join(words)


def _put_data(counted: _Counted) -> None:
    found = counted.found
    held = [name for name in found.total.values if name != "secrets" or name in counted.names]
    columns = [axis.name for axis in found.axes]
    columns += [f"{name}_us" if name in _MICROS else name for name in held]
    columns += ["timeout_rate"] if "calls" in held else []
    rows = [_data(found, group.key, group.values) for group in found.groups]
    rows.sort(key=lambda row: [str(row.get(axis.name, "")) for axis in found.axes])
    screen = counted.screen
    tables.put_rows(screen, counted.wanted.format, columns, rows[: counted.wanted.limit])


def _data(found: Stats, key: Sequence[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for axis, value in zip(found.axes, key, strict=True):
        if value is None:
            continue
        if axis.size is not None and found.times is not None:
            begin = found.times.begin(value)
            row[axis.name] = day(begin, found.times.zone) if axis.name == "day" else utc(begin)
        else:
            is_time = axis.name in BY_NAME and BY_NAME[axis.name].type == "timestamp"
            row[axis.name] = utc(value) if is_time else value
    for name, value in values.items():
        if value is not None:
            shown = utc(value) if name in ("first", "last") else value
            row[f"{name}_us" if name in _MICROS else name] = shown
    if values.get("calls"):
        row["timeout_rate"] = round(values["timeout"] / values["calls"], 6)
    return row
