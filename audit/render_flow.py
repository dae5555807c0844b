"""Pages on any width: prose that wraps, and columns that move down where they have no room."""

from collections.abc import Sequence
from typing import Final

from audit.render_width import graphemes, keep_start, width

# A text in a column goes on for at most so many lines.
MAX_CELL_LINES: Final = 3
_NARROW_INDENT: Final = 4
# Where a sentence breaks best; the sign between two parts goes.
_SIGNS: Final = (" · ", " | ")
_STOPS: Final = ("; ", ". ")
_COMMA: Final = ", "

# A text and the column where it likes to begin.
Part = tuple[int, str]


def wrapped(text: str, cells: int | None, hang: int = 0) -> list[str]:
    """Lines of at most `cells`, the later ones indented; `cells` None leaves the text whole."""
    lines, indent = [], ""
    while cells is not None and width(indent + text) > cells:
        end = _break(text, max(cells - len(indent), 1))
        lines.append(indent + text[:end].rstrip())
        text = _without_sign(text[end:])
        indent = " " * hang if hang < cells // 2 else ""
    return [*lines, indent + text]


def _break(text: str, room: int) -> int:
    """Where to break: between parts, after a sentence, between words; else in the midst of one."""
    limit = _chars(text, room)
    for mark in _SIGNS:
        if (found := text.rfind(mark, 0, limit + len(mark))) > limit // 3:
            return found
    for mark in _STOPS:
        if (found := text.rfind(mark, 0, limit)) >= limit // 3:
            return found + 1
    if (found := text.rfind(_COMMA, 0, limit)) > limit // 2:
        return found + 1
    found = text.rfind(" ", 0, limit + 1)
    return found if text[:found].strip() and found > 0 else limit


def _chars(text: str, room: int) -> int:
    """How many characters fill `room`; at least one grapheme, so that there is an end."""
    chars = 0
    for part in graphemes(text[: 2 * room + 64]):
        room -= width(part)
        if room < 0:
            break
        chars += len(part)
    return max(chars, 1)


def _without_sign(rest: str) -> str:
    for mark in _SIGNS:
        if rest.startswith(mark):
            return rest[len(mark) :]
    return rest.lstrip()


def flowed(parts: Sequence[Part], cells: int | None, indent: int) -> list[str]:
    """Texts in columns; one that has no room goes to a line of its own, wrapped if it must be."""
    lines, line = [], ""
    indent = indent if cells is None or indent <= cells // 2 else _NARROW_INDENT
    for column, text in parts:
        begin = max(column, width(line) + bool(line))
        if cells is None or begin + width(text) <= cells:
            line += " " * (begin - width(line)) + text
        elif line and column > indent and width(line) + 1 + width(text) <= cells:
            line += " " * (cells - width(line) - width(text)) + text
        else:
            first, *rest = _cut(text, cells - indent)
            # A text that would have begun here anyhow does so.
            if line and begin > indent:
                lines.append(line)
                line = ""
            line += " " * (indent - width(line)) + first
            for text_below in rest:
                lines.append(line)
                line = " " * indent + text_below
    return [*lines, line]


def _cut(text: str, cells: int) -> list[str]:
    found = wrapped(text, max(cells, 1))
    if len(found) <= MAX_CELL_LINES:
        return found
    last = " ".join(found[MAX_CELL_LINES - 1 : MAX_CELL_LINES + 1])
    return [*found[: MAX_CELL_LINES - 1], keep_start(last, cells)]
