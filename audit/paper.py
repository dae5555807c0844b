"""What every page is written on: by which name, at what time, in which zone, with which signs."""

from dataclasses import dataclass
from datetime import tzinfo

from audit.render_style import Glyphs


@dataclass(frozen=True, slots=True)
class Paper:
    """`now` in µs; `columns` is the width of a line, None where nothing is to be wrapped."""

    prog: str
    now: int
    zone: tzinfo
    glyphs: Glyphs
    columns: int | None = 80
