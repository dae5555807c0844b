"""Lines for a terminal: fixed left, a target that gives way, rule and seq flush right.

`tail` and the table of `query` are this one renderer; SCREENS section 7 holds the rules.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from audit import render_cells as cells
from audit import render_time as times
from audit.render_fold import Line
from audit.render_style import UNICODE, Glyphs, Piece, paint
from audit.render_width import SHORT_MASK, cell, fit_target, keep_start, pad, width
from query.contracts import Row

TWO_LINES_BELOW: Final = 60
MIDDLE_FROM: Final = 100
WIDE_FROM: Final = 160
# A target with less room than this goes to a line of its own.
MIN_TARGET_CELLS: Final = 10
_INDENT: Final = "    "
_GAP: Final = 2
_SEQ_CELLS: Final = 6
_RULE_CELLS: Final = 23
_LATENCY_CELLS: Final = 6


@dataclass(frozen=True, slots=True)
class Look:
    """How wide, which zone, which signs; `pinned`: a filter fixes the run, so no heading."""

    columns: int = 80
    zone: tzinfo | None = None
    glyphs: Glyphs = UNICODE
    colour: bool = False
    pinned: bool = False
    today: str = ""


class Renderer:
    """Turns lines into text, remembering under which heading and day they stand."""

    def __init__(self, look: Look) -> None:
        self.look = look
        self._heading: tuple[str, str] | None = None
        self._day = look.today

    def text(self, lines: Iterable[Line]) -> Iterator[str]:
        """The lines of text for these events, headings and day changes included."""
        for line in lines:
            headings, body = self.parts(line)
            yield from headings
            yield from body

    def parts(self, line: Line) -> tuple[list[str], list[str]]:
        """Headings that have become due, and the event itself."""
        headings = list(self._headings(line.row))
        body = [paint(pieces, colour=self.look.colour) for pieces in self._pieces(line)]
        return headings, body

    def _headings(self, row: Row) -> Iterator[str]:
        look = self.look
        if look.columns >= WIDE_FROM:
            return
        if (day := times.day(row["ts"], look.zone)) != self._day:
            self._day = day
            heading = times.day_heading(row["ts"], look.zone)
            yield paint([(f"{look.glyphs.bar} {heading}", "heading")], colour=look.colour)
        if look.columns >= MIDDLE_FROM or look.pinned or row["kind"] == "gap":
            return
        place = (row.get("sandbox") or "", row.get("correlation_id") or "")
        if place != self._heading:
            self._heading = place
            yield paint([(self._place(row), "heading")], colour=look.colour)

    def _place(self, row: Row) -> str:
        glyphs = self.look.glyphs
        sandbox = cells.sandbox(row, glyphs) or "no sandbox"
        run = cells.run(row, glyphs)
        text = f"{glyphs.bar} {sandbox}" + (f" {glyphs.dot} run {run}" if run else "")
        return keep_start(text, self.look.columns, glyphs.ellipsis)

    def _pieces(self, line: Line) -> Iterator[list[Piece]]:
        if line.row["kind"] == "gap":
            yield self._gap(line.row)
            return
        left, right = self._left(line), self._right(line)
        extras = self._extras(line)
        room = self.look.columns - _cells([*left, *extras, *right]) - _GAP
        if line.more_us is not None:
            together = _cells([*left, *right]) + _GAP <= self.look.columns
            yield _joined(left, right, self.look.columns) if together else left
            if not together:
                yield _joined([(_INDENT, "")], right, self.look.columns)
        elif self.look.columns >= TWO_LINES_BELOW and room >= MIN_TARGET_CELLS:
            target = self._target(line.row, room)
            yield _joined([*left, *target], [*extras, *right], self.look.columns)
        else:
            yield from self._stacked(line, left, extras, right)

    def _stacked(
        self, line: Line, left: list[Piece], extras: list[Piece], right: list[Piece]
    ) -> Iterator[list[Piece]]:
        """The target on a line of its own; so is the rule where the first line has no room."""
        columns = self.look.columns
        together = _cells([*left, *right]) + _GAP <= columns
        yield _joined(left, right, columns) if together else left
        room = max(columns - len(_INDENT) - _cells(extras) - _GAP, MIN_TARGET_CELLS)
        yield [(_INDENT, ""), *self._target(line.row, room), ("  ", ""), *extras]
        if not together:
            yield _joined([(_INDENT, "")], right, columns)

    def _left(self, line: Line) -> list[Piece]:
        look, row, glyphs = self.look, line.row, self.look.glyphs
        middle, wide = look.columns >= MIDDLE_FROM, look.columns >= WIDE_FROM
        style = cells.style(row)
        day = f"{times.day(row['ts'], look.zone)} " if wide else ""
        before = f"{day}{times.clock(row['ts'], look.zone, millis=middle)} "
        base = "allow" if style == "allow" else ""
        pieces = [(before, base), (pad(cells.decision(row), 5), style), (" ", base)]
        if middle:
            sandbox = cells.sandbox(row, glyphs) or cells.NOTHING
            pieces.append((cell(sandbox, 12 if wide else 10, glyphs.ellipsis) + " ", base))
            if wide:
                run = cells.run(row, glyphs) or cells.NOTHING
                pieces.append((cell(run, cells.RUN_CHARS, glyphs.ellipsis) + " ", base))
            pieces.append((self._process(row, 16 if wide else 13) + " ", base))
        if line.more_us is not None:
            lasted = times.spoken(line.more_us)
            pieces.append((f"{glyphs.ellipsis} ", base))
            pieces.append((f"{glyphs.times}{line.times:,}", "times"))
            return [*pieces, (f" more in {lasted}", base)]
        return [*pieces, (cell(cells.access(row, glyphs), 7, glyphs.ellipsis) + " ", base)]

    def _process(self, row: Row, room: int) -> str:
        glyphs, pid = self.look.glyphs, row.get("pid")
        number = "" if pid is None else f"[{pid}]"
        name = cells.process({**row, "pid": None}, glyphs)
        return pad(keep_start(name, max(room - len(number), 1), glyphs.ellipsis) + number, room)

    def _right(self, line: Line) -> list[Piece]:
        row, glyphs = line.row, self.look.glyphs
        style = cells.style(row)
        base = "allow" if style == "allow" else ""
        rule = cells.rule(row, glyphs)
        pieces: list[Piece] = []
        if self.look.columns >= WIDE_FROM:
            pieces.append((f"{cells.latency(row, glyphs):>{_LATENCY_CELLS}}  ", base))
            pieces.append((" " * (_RULE_CELLS - width(rule)), base))
        pieces.append((rule, "deny-rule" if style == "deny" else base))
        seq = row["seq"] if line.more_us is None else line.last_seq
        return [*pieces, (f" {seq:>{_SEQ_CELLS}}", base)]

    def _extras(self, line: Line) -> list[Piece]:
        pieces: list[Piece] = []
        stands_for = line.times if line.times > 1 else line.row.get("count") or 1
        if stands_for > 1 and line.more_us is None:
            pieces.append((f"{self.look.glyphs.times}{stands_for:,}  ", "times"))
        if line.reported and self.look.columns >= MIDDLE_FROM:
            pieces.append(("+os  ", ""))
        return pieces

    def _target(self, row: Row, room: int) -> list[Piece]:
        base = "allow" if cells.style(row) == "allow" else ""
        text = fit_target(cells.target(row, self.look.glyphs), room, self.look.glyphs.ellipsis)
        return _masks(text, base)

    def _gap(self, row: Row) -> list[Piece]:
        look, glyphs = self.look, self.look.glyphs
        middle = look.columns >= MIDDLE_FROM
        day = f"{times.day(row['ts'], look.zone)} " if look.columns >= WIDE_FROM else ""
        left = f"{day}{times.clock(row['ts'], look.zone, millis=middle)} gap   "
        text = cells.gap_text(row, glyphs)
        if (until := row.get("until")) is None:
            end = f"  {glyphs.ellipsis}now"
            room = look.columns - len(left) - width(end)
            return [(left + keep_start(text, room, glyphs.ellipsis) + end, "gap")]
        lasted = times.duration(until - row["ts"]).replace("µ", glyphs.micro)
        end = f"  {lasted} {row['seq']:>{_SEQ_CELLS}}"
        room = max(look.columns - len(left) - width(end), 1)
        return [(left + cell(text, room, glyphs.ellipsis) + end, "gap")]


def _cells(pieces: Iterable[Piece]) -> int:
    return sum(width(text) for text, _ in pieces)


def _joined(left: list[Piece], right: list[Piece], columns: int) -> list[Piece]:
    space = max(columns - _cells(left) - _cells(right), _GAP)
    return [*left, (" " * space, ""), *right]


def _masks(text: str, base: str) -> list[Piece]:
    pieces: list[Piece] = []
    rest = text
    while (start := rest.find(SHORT_MASK[:-1])) >= 0 and (end := rest.find("]", start)) >= 0:
        pieces += [(rest[:start], base), (rest[start : end + 1], "mask")]
        rest = rest[end + 1 :]
    return [*pieces, (rest, base)]
