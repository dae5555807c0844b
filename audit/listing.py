"""An answer as lines for a person: whole lines are counted, so repeats do not use up the limit."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from audit import reads
from audit.asking import Question
from audit.render import Renderer
from audit.render_fold import Line, fold, line_of, merge
from audit.render_pipe import pipe_line
from audit.screen import Screen
from audit_events.layout import StorePaths
from query.contracts import Answer, Gap, Row

# Lines wanted, times this, is asked for first; then more, until the lines are full.
_FIRST_FACTOR: Final = 4
_GROWTH: Final = 8
# More events than this are not read to fill a screen with lines.
MAX_FOLDED_EVENTS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Listing:
    """The lines to show, the events in them, and the answer they come from."""

    lines: list[Line]
    events: int
    more: bool
    answer: Answer


def newest_lines(
    store: reads.Store, asked: Question, limit: int | None, *, oldest: bool, merged: bool
) -> Listing:
    """The newest (or oldest) `limit` lines, oldest first, whole: none misses a repeat."""
    most = MAX_FOLDED_EVENTS if isinstance(store, StorePaths) else reads.MAX_ANSWER_ROWS
    wanted = None if limit is None else limit
    if merged and limit is not None:
        wanted = max(limit, min(limit * _FIRST_FACTOR, most))
    while True:
        answer = reads.answer(store, asked.request(wanted, oldest=oldest))
        breaks = [gap.since for gap in answer.gaps]
        lines = (
            fold(merge(answer.rows), breaks) if merged else [line_of(row) for row in answer.rows]
        )
        # The line at the far end may be cut by the limit: one more line is needed than is shown.
        full = limit is not None and len(lines) > limit
        if wanted is None or limit is None or not answer.more or full or not merged:
            break
        if wanted >= most:
            break
        wanted = min(wanted * _GROWTH, most)
    more = answer.more or full
    if limit is not None and len(lines) > limit:
        lines = lines[:limit] if oldest else lines[-limit:]
    return Listing(lines, sum(line.times for line in lines), more, answer)


def text_of(lines: Iterable[Line], screen: Screen, renderer: Renderer) -> Iterator[str]:
    """The lines as this stdout shows them."""
    if screen.terminal:
        yield from renderer.text(lines)
        return
    for line in lines:
        yield pipe_line(line.row, screen.glyphs)


def gap_row(gap: Gap) -> Row:
    """A gap of the gaps table as a row to show; an open one has no seq yet."""
    row: Row = {"kind": "gap", "ts": gap.since, "source": gap.source, "message": gap.reason}
    if gap.until is not None:
        row["until"] = gap.until
    if gap.count:
        row["count"] = gap.count
    row["seq"] = gap.seq or 0
    return row
