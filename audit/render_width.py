"""Text in terminal cells: how wide it is, and how it is cut without lying about what it names."""

import re
from collections.abc import Iterator
from typing import Final

_MASK: Final = re.compile(r"\[REDACTED:[^\]/]*\]")
SHORT_MASK: Final = "[REDACTED]"
# One cell each, and all that our own texts are made of: the tables of widths take 20 ms to load.
_PLAIN: Final = frozenset([*map(chr, range(0x20, 0x7F)), *"…×·─→–µ░▁▂▃▄▅▆▇█"])
# Text longer than this is cut before it is measured: no terminal line holds it.
MAX_MEASURED_CHARS: Final = 4096


def width(text: str) -> int:
    """Cells that a text takes: CJK two, combining none."""
    if text.isascii() or _PLAIN.issuperset(text):
        return len(text)
    from wcwidth import wcswidth

    cells: int = wcswidth(text)
    if cells >= 0:
        return cells
    # A control character has no width. It counts as one cell, and parts add up to the whole.
    parts = [(part, wcswidth(part)) for part in graphemes(text)]
    return sum(known if known >= 0 else len(part) for part, known in parts)


def graphemes(text: str) -> Iterator[str]:
    """What a reader calls characters; a cut never splits one."""
    if text.isascii() or _PLAIN.issuperset(text):
        yield from text
        return
    from wcwidth import iter_graphemes

    yield from iter_graphemes(text)


def pad(text: str, cells: int) -> str:
    """Text with blanks up to a width."""
    return text + " " * (cells - width(text))


def keep_start(text: str, cells: int, ellipsis: str = "…") -> str:
    """The beginning of a text in at most `cells`, with an ellipsis where it was cut."""
    text = text[:MAX_MEASURED_CHARS]
    if width(text) <= cells:
        return text
    return _take(graphemes(text), cells - width(ellipsis)) + ellipsis


def keep_end(text: str, cells: int, ellipsis: str = "…") -> str:
    """The end of a text in at most `cells`."""
    text = text[-MAX_MEASURED_CHARS:]
    if width(text) <= cells:
        return text
    taken = _take(reversed(list(graphemes(text))), cells - width(ellipsis), backwards=True)
    return ellipsis + taken


def _take(parts: Iterator[str], cells: int, *, backwards: bool = False) -> str:
    kept: list[str] = []
    for part in parts:
        cells -= width(part)
        if cells < 0:
            break
        kept.append(part)
    return "".join(reversed(kept) if backwards else kept)


def cell(text: str, cells: int, ellipsis: str = "…") -> str:
    """Text cut or padded to exactly `cells`."""
    return pad(keep_start(text, cells, ellipsis), cells)


def fit_target(text: str, cells: int, ellipsis: str = "…") -> str:
    """An object in at most `cells`: whole components from the right as long as any fit.

    A mask is shortened to `[REDACTED]` before anything is cut, and is never cut inside.
    """
    if width(text) <= cells:
        return text
    text = _MASK.sub(SHORT_MASK, text)
    if width(text) <= cells:
        return text
    return _fit_components(text, cells, ellipsis) or _fit_tail(text, cells, ellipsis)


def _fit_components(text: str, cells: int, ellipsis: str) -> str | None:
    parts = text.split("/")
    if parts[0] or len(parts) < 3:
        return None
    first, rest = parts[1], parts[2:]
    for start in range(len(rest)):
        tail = "/".join(rest[start:])
        if start and width(with_first := f"/{first}/{ellipsis}/{tail}") <= cells:
            return with_first
        if width(without := f"{ellipsis}/{tail}") <= cells:
            return without
    return None


def _fit_tail(text: str, cells: int, ellipsis: str) -> str:
    cut = keep_end(text, cells, ellipsis)
    kept = len(cut) - len(ellipsis)
    for mask in re.finditer(re.escape(SHORT_MASK), text):
        if mask.start() < len(text) - kept < mask.end():
            rest = text[mask.end() :]
            return keep_end(f"{ellipsis}{rest}", cells, ellipsis)
    return cut
