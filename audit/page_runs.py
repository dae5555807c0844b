"""`audit runs`: what ran, and what was refused in it (G7)."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final

from audit import render_time as times
from audit.render_style import Glyphs, safe
from audit.render_width import cell, pad, width
from query.run_list import Listed, RunList

NOTHING: Final = "-"
UNKNOWN: Final = "?"
MIN_RUN_CHARS: Final = 8
MAX_RUN_CHARS: Final = 40
_INDENT: Final = "    "
_WIDE_FROM: Final = 120


def run_lines(
    found: Sequence[Listed], *, zone: tzinfo, glyphs: Glyphs, columns: int | None
) -> list[str]:
    """A table, newest last; `columns` None leaves every value whole."""
    wide = columns is None or columns >= _WIDE_FROM
    ids = _id_chars(found, glyphs)
    sandboxes = [safe(item.run.sandbox or NOTHING, glyphs) for item in found]
    room = max(10, *map(width, sandboxes)) if wide and sandboxes else 10
    room = room if columns is None else min(room, 30)
    head = (
        f"{'RUN':<{ids}} {'SANDBOX':<{room}} {'STARTED':<14} {'LAST':>6} {'ALLOW':>6} {'DENY':>4}"
    )
    lines = _joined(head, "MOST REFUSED", columns) if found else []
    for item, sandbox in zip(found, sandboxes, strict=True):
        name = pad(safe(item.run.correlation_id, glyphs)[:ids], ids)
        left = f"{name} {cell(sandbox, room, glyphs.ellipsis)} {_counts(item, zone, glyphs)}"
        rule = _refused(item, glyphs)
        lines += _joined(left, rule, columns)
    return lines


def _joined(left: str, rule: str, columns: int | None) -> list[str]:
    """The rule is what one looks up: it is never cut, so it may need a line of its own."""
    if columns is None or width(left) + 2 + width(rule) <= columns:
        return [f"{left}  {rule}"]
    return [left, _INDENT + rule]


def _counts(item: Listed, zone: tzinfo, glyphs: Glyphs) -> str:
    run = item.run
    span = max(run.last_ts - run.first_ts, 0)
    lasted = times.duration(span).replace("µ", glyphs.micro) if span else "0s"
    return (
        f"{started(run.first_ts, zone):<14} {'live' if item.live else lasted:>6}"
        f" {times.count(run.allow):>6} {times.count(run.deny):>4}"
    )


def started(micros: int, zone: tzinfo) -> str:
    """`07-28 18:03+09`."""
    return f"{times.day(micros, zone)[5:]} {times.short_clock(micros, zone)}"


def _refused(item: Listed, glyphs: Glyphs) -> str:
    if not item.run.deny:
        return NOTHING
    return safe(item.refused, glyphs) if item.refused else UNKNOWN


def _id_chars(found: Sequence[Listed], glyphs: Glyphs) -> int:
    """As many characters of an id as tell the runs shown apart."""
    ids = {safe(item.run.correlation_id, glyphs) for item in found}
    for chars in range(MIN_RUN_CHARS, MAX_RUN_CHARS):
        if len({name[:chars] for name in ids}) == len(ids):
            return chars
    return MAX_RUN_CHARS


def summary(found: RunList, prog: str, glyphs: Glyphs) -> str:
    """The line below: how many, over which gaps, what else there is."""
    number = len(found.runs)
    words = f"{number} run{'s' * (number != 1)}"
    if found.more:
        words = f"newest {words}, more match"
    over = [item for item in found.runs if item.gaps]
    if over:
        names = list(dict.fromkeys(safe(item.run.sandbox or NOTHING, glyphs) for item in over))
        shown = ", ".join(names[:3]) + (f", {glyphs.ellipsis}" if len(names) > 3 else "")
        words += f"; {len(over)} overlap{'s' * (len(over) == 1)} a gap ({shown})"
    return f"{words}. {prog} show RUN {glyphs.dot} {prog} query --run RUN"


DATA_COLUMNS: Final = (
    "correlation_id", "host", "sandbox", "first", "last", "first_seq", "last_seq", "allow", "deny",
    "other", "most_refused", "live", "gaps",
)  # fmt: skip


def run_data(item: Listed) -> dict[str, Any]:
    """A run for programs: times in RFC 3339 UTC, the whole id."""
    run = item.run
    return {
        "correlation_id": run.correlation_id,
        "host": run.host,
        "sandbox": run.sandbox,
        "first": times.utc(run.first_ts),
        "last": times.utc(run.last_ts),
        "first_seq": run.first_seq,
        "last_seq": run.last_seq,
        "allow": run.allow,
        "deny": run.deny,
        "other": run.other,
        **({"most_refused": item.refused} if item.refused else {}),
        "live": item.live,
        "gaps": len(item.gaps),
    }
