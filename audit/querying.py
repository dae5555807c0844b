"""`audit query`: the answer in the wanted form, and the exit code that scripts rely on."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from audit import reads, wiring
from audit import screen as output
from audit.asking import Question
from audit.call import Call
from audit.heading import header
from audit.listing import gap_row, newest_lines, text_of
from audit.nothing import tell_nothing
from audit.reads import Store
from audit.render import Renderer
from audit.render_cells import gap_text
from audit.render_fold import Line, fold, line_of, merge
from audit.render_style import UNICODE
from audit.render_time import count, dated
from audit.say import Voice
from audit.screen import Screen
from audit_events.errors import Exit, UsageError
from query.contracts import Answer, Damaged, Gap
from query.filters import column_named

if TYPE_CHECKING:
    from exporters.contracts import Encoder

TABLE: Final = "table"
# Headers and footers stay on one line of the narrowest usual terminal.
NARROW_CELLS: Final = 80


@dataclass(frozen=True, slots=True)
class Limit:
    """How many, and from which end; None means all."""

    number: int | None
    oldest: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """How the answer is wanted."""

    format: str = TABLE
    columns: tuple[str, ...] | None = None
    limit: Limit = Limit(100)
    order: str = "asc"
    merge: bool | None = None
    quiet: bool = False
    color: str = "auto"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What scripts want to know from the exit code."""

    fail_if_any: bool = False
    fail_if_none: bool = False
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """What came out: how many matched, and what makes the answer a partial one."""

    number: int
    gaps: tuple[Gap, ...]
    damaged: tuple[Damaged, ...]
    searched: int = 0


@contextmanager
def store_or_export(call: Call, file: str | None) -> Iterator[Store]:
    """The store of a call, or an export that is read as one."""
    if file is None:
        yield wiring.find_trail(call)
        return
    from audit.borrowed import borrowed

    with borrowed(Path(file).expanduser(), Voice(call.prog, call.environ)) as paths:
        yield paths


def parse_limit(text: str) -> Limit:
    """`100` the newest, `+100` the oldest, `0` all."""
    digits = text.removeprefix("+")
    if not digits.isdecimal() or len(digits) > 12:
        raise UsageError(f"-n {text}: not a number", hint="-n 100 newest, -n +100 oldest, -n 0 all")
    return Limit(int(digits) or None, oldest=text.startswith("+"))


def parse_columns(text: str | None) -> tuple[str, ...] | None:
    """Column names of a comma list of flag or column names."""
    if text is None:
        return None
    words = [word.strip() for word in text.split(",") if word.strip()]
    return tuple(dict.fromkeys(column_named("columns", word) for word in words))


def show(call: Call, store: Store, asked: Question, wanted: Wanted, verdict: Verdict) -> Exit:
    """Print the answer; the exit code says what a script may conclude from it."""
    asked.request(None, order=wanted.order)  # refuses a wrong order before anything is printed
    screen = output.screen(call, wanted.color)
    for warning in asked.warnings:
        screen.voice.warning(warning)
    if wanted.format == TABLE and wanted.columns is not None:
        found = _grid(call, store, asked, wanted, screen)
    elif wanted.format == TABLE:
        found = _table(call, store, asked, wanted, screen)
    else:
        found = _data(store, asked, wanted, screen)
    return concluded(call, store, asked, found, verdict, screen)


def concluded(
    call: Call, store: Store, asked: Question, found: Found, verdict: Verdict, screen: Screen
) -> Exit:
    """Say what makes the answer partial or empty, and choose the exit code."""
    tell_damaged(screen, found.damaged)
    code = Exit.PARTIAL if found.damaged else Exit.DONE
    if not found.number:
        answer = Answer([], False, found.searched, 0, found.gaps, found.damaged)
        code = max(code, tell_nothing(store, asked, answer, screen, call.now()))
    elif verdict.strict and found.gaps:
        tell_gaps(screen, found.gaps, asked, call.now())
        code = Exit.PARTIAL
    if verdict.fail_if_any and found.number:
        return Exit.ANSWER_NO
    if verdict.fail_if_none and not found.number and code == Exit.DONE:
        return Exit.ANSWER_NO
    return code


def tell_damaged(screen: Screen, damaged: Sequence[Damaged]) -> None:
    """T10: name each damaged file and what is missing because of it."""
    for file in damaged:
        screen.voice.warning(
            f"partial: {file.path} is damaged ({count(file.rows)} events not shown)",
            "every other file was read; restore this one from a backup",
        )


def tell_gaps(screen: Screen, gaps: Sequence[Gap], asked: Question, now: int) -> None:
    """A warning for each stretch in which something may be missing."""
    for gap in gaps:
        since = dated(gap.since, asked.zone, now)
        until = "" if gap.until is None else f" until {dated(gap.until, asked.zone, now)}"
        screen.voice.warning(f"{gap.source} unavailable since {since}{until}: {gap.reason}")


def number_of(
    call: Call, store: Store, asked: Question, verdict: Verdict, *, merged: bool = False
) -> Exit:
    """Print how many records match; `merged`: what two sources told is one."""
    screen = output.screen(call)
    found = reads.count(store, asked.request(None), merged=merged)
    output.put([str(found.records)])
    # A number is an answer, 0 too; only the record's gaps make it doubtful.
    result = Found(found.records, found.gaps, found.damaged, found.searched)
    if not found.records and not found.gaps:
        tell_damaged(screen, found.damaged)
        none = Exit.ANSWER_NO if verdict.fail_if_none else Exit.DONE
        return Exit.PARTIAL if found.damaged else none
    return concluded(call, store, asked, result, verdict, screen)


def _table(call: Call, store: Store, asked: Question, wanted: Wanted, screen: Screen) -> Found:
    merged = screen.terminal if wanted.merge is None else wanted.merge
    screen.remark(header(call, store, asked, _count_words(asked, wanted)), quiet=wanted.quiet)
    renderer = Renderer(screen.look(asked.zone, call.now(), pinned=asked.pins_run()))
    if wanted.limit.number is None and wanted.order == "asc":
        return _whole_table(store, asked, screen, renderer, merged=merged)
    limit = wanted.limit
    found = newest_lines(store, asked, limit.number, oldest=limit.oldest, merged=merged)
    lines = found.lines if wanted.order == "asc" else found.lines[::-1]
    output.put_painted(text_of(lines, screen, renderer))
    if found.lines:
        screen.remark(_footer(found.lines, found.more, wanted, found.answer), quiet=wanted.quiet)
    answer = found.answer
    return Found(len(found.lines), answer.gaps, answer.damaged, answer.searched)


def _grid(call: Call, store: Store, asked: Question, wanted: Wanted, screen: Screen) -> Found:
    """Chosen columns, an event a line: nothing is merged, so that each value is what it says."""
    from audit.grid import grid

    screen.remark(header(call, store, asked, _count_words(asked, wanted)), quiet=wanted.quiet)
    limit = wanted.limit
    request = asked.request(limit.number, oldest=limit.oldest, order=wanted.order)
    answer = reads.answer(store, request)
    zone = asked.zone if screen.terminal else None
    columns = wanted.columns or ()
    if answer.rows:
        room = screen.columns if screen.terminal else None
        output.put(grid(columns, answer.rows, zone, screen.glyphs, room))
        lines = [line_of(row) for row in answer.rows]
        screen.remark(_footer(lines, answer.more, wanted, answer), quiet=wanted.quiet)
    return Found(len(answer.rows), answer.gaps, answer.damaged, answer.searched)


def _whole_table(
    store: Store, asked: Question, screen: Screen, renderer: Renderer, *, merged: bool
) -> Found:
    from query import engine

    number, damaged = 0, {}
    for page in reads.pages(store, asked.request(None)):
        damaged.update({file.path: file for file in page.damaged})
        rows = engine.rows_of(page.table)
        number += len(rows)
        lines = fold(merge(rows)) if merged else [line_of(row) for row in rows]
        output.put_painted(text_of(lines, screen, renderer))
    searched = 0 if number else searched_by(store, asked)
    return Found(number, _gaps(store, asked), tuple(damaged.values()), searched)


def _gaps(store: Store, asked: Question) -> tuple[Gap, ...]:
    return reads.gaps(store, asked.window)


def _data(store: Store, asked: Question, wanted: Wanted, screen: Screen) -> Found:
    from exporters.contracts import ALL_COLUMNS, load_format

    chosen = load_format(wanted.format)
    if screen.terminal and not chosen.text:
        raise UsageError(f"{chosen.name} on a terminal", hint="-o FILE with export, or | a file")
    encoder = chosen.make(wanted.columns or ALL_COLUMNS)
    put = partial(output.put_document, terminal=screen.terminal)
    put(encoder.start())
    limit = wanted.limit.number
    if wanted.order == "asc" and (limit is None):
        found = _paged(store, asked, encoder, put)
    else:
        found = _at_once(store, asked, wanted, encoder, screen)

    put(encoder.end())
    output.flush()
    return found


def _at_once(
    store: Store, asked: Question, wanted: Wanted, encoder: "Encoder", screen: Screen
) -> Found:
    limit = wanted.limit
    request = asked.request(limit.number, oldest=limit.oldest, order=wanted.order)
    answer = reads.answer(store, request)
    output.put_document(encoder.rows(answer.rows), terminal=screen.terminal)
    if answer.more:
        end = "oldest" if limit.oldest else "newest"
        screen.remark(f"{end} {limit.number} shown, more match; -n 0 for all", quiet=wanted.quiet)
    return Found(len(answer.rows), answer.gaps, answer.damaged, answer.searched)


def _paged(
    store: Store, asked: Question, encoder: "Encoder", put: Callable[[bytes], None]
) -> Found:
    number, damaged = 0, {}
    for page in reads.pages(store, asked.request(None)):
        damaged.update({file.path: file for file in page.damaged})
        number += page.rows
        for batch in arrow_batches(page.table):
            put(encoder.batch(batch))
    searched = 0 if number else searched_by(store, asked)
    return Found(number, _gaps(store, asked), tuple(damaged.values()), searched)


def searched_by(store: Store, asked: Question) -> int:
    """In how many events nothing was found: for an answer that came in pages."""
    return reads.count(store, asked.request(None)).searched


def arrow_batches(table: Any) -> Iterator[Any]:
    """The rows of a page as pyarrow batches."""
    import pyarrow as pa

    yield from pa.table(table).to_batches()


def _count_words(_asked: Question, wanted: Wanted) -> str:
    limit = wanted.limit
    if limit.number is None:
        return "all"
    return f"{'oldest' if limit.oldest else 'newest'} {count(limit.number)}"


def _footer(lines: Sequence[Line], more: bool, wanted: Wanted, answer: Answer) -> str:
    """What is shown and what is not, on one line of any terminal."""
    events = sum(line.times for line in lines)
    pairs = sum(line.reported for line in lines)
    details = [f"{count(events)} events"] if events != len(lines) else []
    details += [f"{count(pairs)} merged"] if pairs else []
    shown = f"{count(len(lines))} {'line' if len(lines) == 1 else 'lines'}"
    shown += f" ({', '.join(details)})" if details else ""
    if gaps := len(answer.gaps):
        shown += f", {gaps} gap{'s' * (gaps > 1)} in this time"
    if not more:
        return shown
    text = f"{'oldest' if wanted.limit.oldest else 'newest'} {shown}, more match; "
    longer = text + "--count for the number, -n 0 for all"
    return longer if len(longer) < NARROW_CELLS else text + "--count, -n 0 for all"


def gap_words(gap: Gap) -> str:
    """A gap in a sentence on stderr."""
    return gap_text(gap_row(gap), UNICODE)
