"""`audit gaps`: when the record was incomplete, and why (G13)."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Final

from audit import render_time as times
from audit.render_flow import flowed
from audit.render_style import Glyphs, safe
from audit.render_width import cell, keep_start
from query.contracts import Gap

HEADER: Final = "FROM              TO                LASTED  SOURCE      LOST  WHY"
# Below this there is no room for a reason beside the rest.
_BESIDE_FROM: Final = 76
_INDENT: Final = 4
_TIME_CELLS: Final = 17
_LASTED_CELLS: Final = 6
_SOURCE_CELLS: Final = 11
_LOST_CELLS: Final = 5


def gap_lines(
    gaps: Sequence[Gap], *, now: int, zone: tzinfo, glyphs: Glyphs, columns: int | None
) -> list[str]:
    """A table, oldest first; `columns` None leaves every reason whole."""
    beside = columns is None or columns >= _BESIDE_FROM
    head = [HEADER] if beside else _stacked(HEADER[: -len("WHY")], "WHY", columns)
    lines = head if gaps else []
    for gap in gaps:
        until = "now" if gap.until is None else _moment(gap.until, zone)
        lasted = times.duration(max((gap.until or now) - gap.since, 0)).replace("µ", glyphs.micro)
        lost = "?" if gap.count is None else times.count(gap.count)
        left = (
            f"{_moment(gap.since, zone):<{_TIME_CELLS}} {until:<{_TIME_CELLS}}"
            f" {lasted:>{_LASTED_CELLS}}  {cell(safe(gap.source, glyphs), _SOURCE_CELLS)}"
            f"{lost:>{_LOST_CELLS}}  "
        )
        why = safe(gap.reason, glyphs)
        if not beside:
            lines += _stacked(left, why, columns)
            continue
        room = None if columns is None else max(columns - len(left), 8)
        lines.append(left + (why if room is None else keep_start(why, room, glyphs.ellipsis)))
    return lines


def _stacked(left: str, why: str, columns: int | None) -> list[str]:
    """The reason below the rest, whole; the rest in two lines where even that is too wide."""
    edge = _TIME_CELLS + 1
    since, until, rest = left[:edge], left[edge : 2 * edge], left[2 * edge :]
    parts = [(0, since.rstrip()), (edge, until.rstrip()), (2 * edge, rest.rstrip())]
    return [*flowed(parts, columns, _INDENT), *flowed([(_INDENT, why)], columns, _INDENT)]


def summary(gaps: Sequence[Gap], *, now: int, span_us: int | None) -> str:
    """The line below: how many, how long in all, how much is known lost."""
    total = sum(max((gap.until or now) - gap.since, 0) for gap in gaps)
    known = sum(gap.count or 0 for gap in gaps)
    unknown = sum(gap.count is None for gap in gaps)
    of = f" of {times.spoken(span_us)}" if span_us else ""
    words = f"{len(gaps)} gap{'s' * (len(gaps) != 1)}, {times.duration(total)}{of}"
    lost = f"{times.count(known)} events known lost"
    more = f", {unknown} gap{'s' * (unknown != 1)} without a count" if unknown else ""
    return f"{words}; {lost}{more}"


def _moment(micros: int, zone: tzinfo) -> str:
    return f"{times.day(micros, zone)[5:]} {times.clock(micros, zone)}"
