"""Chosen columns as a table of text, for `query --columns` on a screen or in a pipe."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final

from audit.render_cells import NOTHING
from audit.render_style import Glyphs, safe
from audit.render_time import full, utc
from audit.render_width import fit_target, keep_start, pad, width
from audit_events.schema import BY_NAME
from query.contracts import Row

# A wider cell pushes the columns after it off the screen.
MAX_CELLS: Final = 48
MIN_CELLS: Final = 8
# What one looks up is never cut; a path keeps its end.
_WHOLE: Final = frozenset({"policy_rule", "correlation_id", "event_id"})
_PATHS: Final = frozenset({"path", "path_to", "target", "dst"})


def grid(
    columns: Sequence[str],
    rows: Sequence[Row],
    zone: tzinfo | None,
    glyphs: Glyphs,
    room: int | None = None,
) -> list[str]:
    """A header and a line an event, columns two blanks apart; `zone` None: full times in UTC.

    With `room` (cells of a line) every column is at most MAX_CELLS wide, and the widest give way
    until a line fits; numbers, times and rules are never cut, so that a line may still be wider.
    """
    head = [name.upper() for name in columns]
    body = [[_cell(name, row.get(name), zone, glyphs) for name in columns] for row in rows]
    wide = [max(map(width, texts)) for texts in zip(head, *body, strict=True)]
    if room is not None:
        wide = _fitted(columns, wide, room)
        cuts = [fit_target if name in _PATHS else keep_start for name in columns]
        body = [
            [
                cut(text, size, glyphs.ellipsis)
                for cut, text, size in zip(cuts, line, wide, strict=True)
            ]
            for line in body
        ]
        head = [
            keep_start(text, size, glyphs.ellipsis) for text, size in zip(head, wide, strict=True)
        ]
    numbers = [name in BY_NAME and BY_NAME[name].type.startswith("int") for name in columns]
    return [_line(line, wide, numbers) for line in (head, *body)]


def _fitted(columns: Sequence[str], wide: Sequence[int], room: int) -> list[int]:
    """The widths of the columns in a line of `room` cells."""
    cuttable = [n for n, name in enumerate(columns) if _may_be_cut(name)]
    sizes = [min(size, MAX_CELLS) if n in cuttable else size for n, size in enumerate(wide)]
    while (over := sum(sizes) + 2 * (len(sizes) - 1) - room) > 0:
        widest = max(cuttable, key=lambda n: sizes[n], default=None)
        if widest is None or sizes[widest] <= MIN_CELLS:
            return sizes
        sizes[widest] = max(MIN_CELLS, sizes[widest] - over)
    return sizes


def _may_be_cut(name: str) -> bool:
    kind = BY_NAME[name].type if name in BY_NAME else ""
    return name not in _WHOLE and kind != "timestamp" and not kind.startswith("int")


def _line(texts: Sequence[str], wide: Sequence[int], numbers: Sequence[bool]) -> str:
    cells = [
        f"{text:>{cells}}" if right else pad(text, cells)
        for text, cells, right in zip(texts, wide, numbers, strict=True)
    ]
    return "  ".join(cells).rstrip()


def _cell(name: str, value: Any, zone: tzinfo | None, glyphs: Glyphs) -> str:
    if value is None or value == "":
        return NOTHING
    if name in BY_NAME and BY_NAME[name].type == "timestamp":
        return utc(value) if zone is None else full(value, zone, millis=True)[4:]
    return safe(str(value), glyphs)
