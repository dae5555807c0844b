"""Lines for a pipe: the columns of the screen, whole, in UTC, apart by two blanks."""

import re
from typing import Final

from audit import render_cells as cells
from audit.render_style import Glyphs, safe
from audit.render_time import duration, utc
from query.contracts import Row

_BLANKS: Final = re.compile(r"^ +| +$| {2,}")


def pipe_line(row: Row, glyphs: Glyphs) -> str:
    """One event for `grep`, `wc -l` and `awk -F'  +'`: never cut, never folded, never coloured."""
    times = row.get("count", 1)
    if row["kind"] == "gap":
        until = row.get("until")
        lasted = f"{glyphs.ellipsis}now" if until is None else duration(until - row["ts"])
        columns = [cells.gap_text(row, glyphs), lasted.replace("µ", glyphs.micro)]
    else:
        columns = [
            row.get("sandbox") or "",
            safe(row.get("correlation_id") or "", glyphs),
            cells.process(row, glyphs),
            cells.access(row, glyphs),
            cells.target(row, glyphs),
            *([f"{glyphs.times}{times}"] if times and times > 1 else []),
            cells.rule(row, glyphs),
        ]
        columns[0] = safe(columns[0], glyphs)
    seq = [str(row["seq"])] if "seq" in row else []
    whole = [utc(row["ts"]), cells.decision(row), *columns, *seq]
    return "  ".join(_BLANKS.sub(_escape, column) or cells.NOTHING for column in whole)


def _escape(match: re.Match[str]) -> str:
    return r"\x20" * len(match[0])
