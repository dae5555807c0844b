"""Chosen columns as a table of text, for `query --columns` on a screen or in a pipe."""

from collections.abc import Sequence
from datetime import tzinfo
from typing import Any, Final

from audit.render_cells import NOTHING
from audit.render_style import Glyphs, safe
from audit.render_time import full, utc
from audit.render_width import keep_start, pad, width
from audit_events.schema import BY_NAME
from query.contracts import Row

# A wider cell pushes the columns after it off the screen.
MAX_CELLS: Final = 48


def grid(
    columns: Sequence[str], rows: Sequence[Row], zone: tzinfo | None, glyphs: Glyphs, *, cut: bool
) -> list[str]:
    """A header and a line an event, columns two blanks apart; `zone` None: full times in UTC.

    With `cut` every column but the last is at most MAX_CELLS wide.
    """
    head = [name.upper() for name in columns]
    body = [[_cell(name, row.get(name), zone, glyphs) for name in columns] for row in rows]
    if cut:
        body = [[keep_start(text, MAX_CELLS, glyphs.ellipsis) for text in line] for line in body]
    numbers = [name in BY_NAME and BY_NAME[name].type.startswith("int") for name in columns]
    wide = [max(map(width, texts)) for texts in zip(head, *body, strict=True)]
    return [_line(line, wide, numbers) for line in (head, *body)]


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
