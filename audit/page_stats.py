"""`audit stats`: counts side by side, days across where they fit, a line for each (G14, G15)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any, Final

from audit import render_time as times
from audit.render_style import Glyphs, safe
from audit.render_width import fit_target, keep_start, pad, width
from query.axes import Axis
from query.calendar import Buckets
from query.stats import Group, Measure

NOTHING: Final = "-"
_SEP: Final = "  "
_MIN_AXIS_CELLS: Final = 8
# More buckets than this do not go across, however wide the line is.
MAX_ACROSS: Final = 62
_BARS: Final = "▁▂▃▄▅▆▇█"
_OBJECTS: Final = ("path", "path_to", "dst", "target", "command")
_HEADERS: Final = {
    "allow": "ALLOW", "deny": "DENY", "unknown": "UNKNOWN", "other": "OTHER", "runs": "RUNS",
    "first": "FIRST", "last": "LAST", "calls": "CALLS", "ok": "OK", "timeout": "TIMEOUT",
    "rate": "RATE", "retry": "RETRY", "policy_violation": "VIOLATION", "error": "ERROR",
    "p50": "P50", "p95": "P95", "p99": "P99", "max": "MAX", "events": "EVENTS",
    "secrets": "SECRETS", "gap": "GAP",
}  # fmt: skip
_MIN_CELLS: Final = {"allow": 6, "calls": 6, "events": 6}
# What gives way first where a line is too narrow; data formats always have all.
_GIVES_WAY: Final = ("first", "ok", "max", "runs", "p50", "retry", "error", "last")
_DURATIONS: Final = ("p50", "p95", "p99", "max", "gap")


@dataclass(frozen=True, slots=True)
class Sheet:
    """How and when the table is drawn; `columns` None cuts nothing."""

    now: int
    zone: tzinfo
    glyphs: Glyphs
    columns: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A line: its key without the time, its counts, and the counted number of each bucket."""

    key: tuple[Any, ...]
    values: Mapping[str, Any]
    across: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Across:
    """Buckets that stand side by side: their keys in order, and those with a gap."""

    axis: Axis
    buckets: Buckets
    keys: Sequence[int]
    gaps: frozenset[int]


def measures(measure: Measure, decisions: Sequence[str], total: Group) -> list[str]:
    """The numbers shown, in order; decisions that a filter leaves out are not."""
    if measure == "tools":
        return ["calls", "ok", "timeout", "rate", "retry", "policy_violation", "error",
                "p50", "p95", "p99"]  # fmt: skip
    if measure == "latency":
        return ["events", "p50", "p95", "p99", "max", "runs"]
    if measure == "redactions":
        return ["events", "secrets", "runs", "first", "last"]
    if decisions:
        return [*decisions, "runs", "first", "last"]
    seldom = [name for name in ("unknown", "other") if total.values[name]]
    return ["allow", "deny", *seldom, "runs", "first", "last"]


def counted(values: Mapping[str, Any], names: Sequence[str]) -> int:
    """The number that decides order, and that stands in a bucket."""
    for name in ("calls", "events"):
        if name in names:
            return int(values[name])
    return sum(values[name] for name in ("allow", "deny", "unknown", "other") if name in names)


def table(
    axes: Sequence[Axis],
    names: Sequence[str],
    entries: Sequence[Entry],
    across: Across | None,
    sheet: Sheet,
) -> list[str]:
    """The lines of the table, header first."""
    if not entries:
        return []
    if across:
        names = [name for name in names if name not in ("runs", "first")]
    dated = any(_not_today(entry, names, sheet) for entry in entries)
    columns = [_axis_column(axis, place, entries, sheet) for place, axis in enumerate(axes)]
    numbers = {name: _number_column(name, entries, sheet, dated=dated) for name in names}
    middle = _across_columns(across, entries, sheet) if across else []
    _give_way(columns, numbers, middle, sheet)
    before = [column for name, column in numbers.items() if name != "last"]
    after = [column for name, column in numbers.items() if name == "last"]
    every = [*columns, *before, *middle, *after]
    return [
        _SEP.join(column.text(line) for column in every).rstrip()
        for line in range(len(entries) + 1)
    ]


@dataclass(slots=True)
class _Column:
    """Cells with the header first; `cut` shortens a cell, None for one that is never cut."""

    cells: list[str]
    right: bool
    size: int
    cut: Callable[[str, int], str] | None = None

    def text(self, line: int) -> str:
        cell = self.cells[line]
        if self.cut is not None and width(cell) > self.size:
            cell = self.cut(cell, self.size)
        return " " * (self.size - width(cell)) + cell if self.right else pad(cell, self.size)


def _column(cells: list[str], *, right: bool, least: int = 0) -> _Column:
    return _Column(cells, right, max(least, *map(width, cells)))


def _axis_column(axis: Axis, place: int, entries: Sequence[Entry], sheet: Sheet) -> _Column:
    glyphs = sheet.glyphs
    cells = [axis.header, *(axis_text(axis, entry.key[place], sheet) for entry in entries)]
    column = _column(cells, right=False)
    if axis.name in _OBJECTS:
        column.cut = lambda text, room: fit_target(text, room, glyphs.ellipsis)
    elif axis.name != "policy_rule" and axis.size is None:
        column.cut = lambda text, room: keep_start(text, room, glyphs.ellipsis)
    return column


def axis_text(axis: Axis, value: Any, sheet: Sheet) -> str:
    """A value of an axis on a screen; `value` of a time is when it begins, in µs."""
    if value is None:
        return NOTHING
    if axis.name == "day":
        return f"{times.day(value, sheet.zone)} {times.local(value, sheet.zone):%a}"
    if axis.size is not None:
        return f"{times.day(value, sheet.zone)[5:]} {times.short_clock(value, sheet.zone)}"
    if axis.name in ("ts", "observed_at", "until"):
        return times.utc(value)
    return safe(str(value), sheet.glyphs) or '""'


def _number_column(name: str, entries: Sequence[Entry], sheet: Sheet, *, dated: bool) -> _Column:
    cells = [_HEADERS[name], *(_number(name, e.values, sheet, dated=dated) for e in entries)]
    return _column(cells, right=name not in ("first", "last"), least=_MIN_CELLS.get(name, 4))


def _number(name: str, values: Mapping[str, Any], sheet: Sheet, *, dated: bool) -> str:
    if name == "rate":
        return percent(values["timeout"], values["calls"])
    value = values.get(name)
    if value is None:
        return "" if name == "gap" else NOTHING
    if name in ("first", "last"):
        clock = times.short_clock(value, sheet.zone)
        return f"{times.day(value, sheet.zone)[5:]} {clock}" if dated else clock
    if name in _DURATIONS:
        return times.duration(value).replace("µ", sheet.glyphs.micro)
    return times.count(value)


def percent(part: int, whole: int) -> str:
    """`0%`, `2.5%`, `37%`: no decimals above 10, and never a false 0 or 100."""
    if not whole:
        return NOTHING
    share = 100 * part / whole
    if part and share < 0.1:
        return "<0.1%"
    if part < whole and share > 99.5:
        return ">99%"
    return f"{share:.0f}%" if share >= 10 or not part else f"{share:.1f}%"


def _not_today(entry: Entry, names: Sequence[str], sheet: Sheet) -> bool:
    today = times.day(sheet.now, sheet.zone)
    shown = [entry.values.get(name) for name in ("first", "last") if name in names]
    return any(value is not None and times.day(value, sheet.zone) != today for value in shown)


def _across_columns(across: Across, entries: Sequence[Entry], sheet: Sheet) -> list[_Column]:
    labels = [_label(across, key, sheet) for key in across.keys]
    numbers = [
        _column([label, *(times.count(e.across.get(key, 0)) for e in entries)], right=True)
        for key, label in zip(across.keys, labels, strict=True)
    ]
    lines = [sparkline(entry.across, across, sheet.glyphs) for entry in entries]
    return [*numbers, _Column(["", *lines], right=False, size=len(across.keys))]


def _label(across: Across, key: int, sheet: Sheet) -> str:
    begin = times.local(across.buckets.begin(key), sheet.zone)
    if across.axis.name == "day":
        return f"{begin:%d}"
    return f"{begin:%H}" if across.axis.name == "hour" else f"{begin:%H:%M}"


def sparkline(numbers: Mapping[int, int], across: Across, glyphs: Glyphs) -> str:
    """One sign a bucket, scaled to the largest; `░` is none where the record has a gap."""
    most = max(numbers.values(), default=0)
    return "".join(
        _bar(numbers.get(key, 0), most, key in across.gaps, glyphs) for key in across.keys
    )


def _bar(number: int, most: int, gap: bool, glyphs: Glyphs) -> str:
    if not number:
        none = " " if glyphs.unicode else "0"
        return ("░" if glyphs.unicode else ".") if gap else none
    if not glyphs.unicode:
        return str(max(-(-number * 9 // most), 1))
    return _BARS[max(-(-number * len(_BARS) // most), 1) - 1]


def _give_way(
    axes: list[_Column], numbers: dict[str, _Column], middle: list[_Column], sheet: Sheet
) -> None:
    """Make the line fit: numbers of buckets go first (their bars stay), then some columns."""
    if sheet.columns is None:
        return

    def over() -> int:
        every = [*axes, *numbers.values(), *middle]
        return sum(c.size for c in every) + len(_SEP) * (len(every) - 1) - (sheet.columns or 0)

    if middle and over() > 0:
        labels = [column.cells[0] for column in middle[:-1]]
        middle[:] = middle[-1:]
        # Without the numbers the bars need to say where they begin and end.
        span = f"{labels[0]}{sheet.glyphs.ellipsis}{labels[-1]}"
        middle[0].cells[0] = span if len(span) <= middle[0].size else ""
    for name in _GIVES_WAY:
        if over() > 0:
            numbers.pop(name, None)
    while (excess := over()) > 0:
        cut = [c for c in axes if c.cut is not None and c.size > _MIN_AXIS_CELLS]
        if not cut:
            return
        widest = max(cut, key=lambda c: c.size)
        widest.size = max(widest.size - excess, _MIN_AXIS_CELLS)
