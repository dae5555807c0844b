"""Signs and colours of human output: what a terminal gets, and what one without UTF-8 gets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from audit_events.text import terminal


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The few signs beyond ASCII that our layouts use."""

    ellipsis: str = "…"
    times: str = "×"
    bar: str = "──"
    dot: str = "·"
    arrow: str = "→"
    micro: str = "µ"
    unicode: bool = True


UNICODE: Final = Glyphs()
ASCII: Final = Glyphs("...", "x", "--", "|", "->", "u", unicode=False)

# 16-colour codes; meaning never hangs on them alone.
COLOURS: Final[Mapping[str, str]] = {
    "deny": "1;31",
    "deny-rule": "31",
    "allow": "2",
    "gap": "33",
    "unknown": "35",
    "mask": "36",
    "times": "1",
    "heading": "2",
}

# A piece of a line and the name of its colour, "" for none.
Piece = tuple[str, str]


def paint(pieces: Iterable[Piece], *, colour: bool) -> str:
    """One line of text, with colour if wanted."""
    if not colour:
        return "".join(text for text, _ in pieces).rstrip()
    return "".join(
        f"\x1b[{COLOURS[style]}m{text}\x1b[0m" if style and text.strip() else text
        for text, style in pieces
    ).rstrip()


def safe(text: str, glyphs: Glyphs) -> str:
    """Text of unknown origin, fit for a terminal."""
    return terminal(text, unicode=glyphs.unicode)
