"""`audit tail`: the newest events, and with -f everything that follows, gaps included."""

import contextlib
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from audit import reads
from audit import screen as output
from audit.asking import Question
from audit.call import Call
from audit.heading import header
from audit.listing import Listing, gap_row, newest_lines, text_of
from audit.nothing import tell_nothing
from audit.querying import TABLE, Wanted, gap_words, tell_damaged
from audit.read_socket import ReadSocket
from audit.reads import Store
from audit.render import Renderer
from audit.render_fold import Line, LiveFold, line_of
from audit.render_time import clock, count, duration, spoken
from audit.say import is_terminal
from audit.screen import Screen
from audit_events.errors import Exit, StorageError, UsageError
from query.contracts import Gap, Row, Window

if TYPE_CHECKING:
    from query.trail import News
    from query.views import Collector

# How often held repeats, the collector and silence are looked at.
TICK_S: Final = 0.5
# Silence longer than this is worth a word, and the word is renewed this often.
QUIET_S: Final = 60
QUIET_AGAIN_S: Final = 10
STREAMED: Final = (TABLE, "ndjson", "logfmt", "csv")


def show(call: Call, store: Store, asked: Question, wanted: Wanted, *, follow: bool) -> Exit:
    """Print the newest events; follow until Ctrl-C if wanted."""
    if follow:
        # Loaded before anything is printed: Python 3.11 remembers a Ctrl-C in the midst of making
        # a class, and ends with it although it was caught.
        import watchdog.observers  # noqa: F401

        from query import trail  # noqa: F401
    screen = output.screen(call, wanted.color)
    for warning in asked.warnings:
        screen.voice.warning(warning)
    printer = _printer(call, asked, wanted, screen)
    number = f"newest {wanted.limit.number or 0}" + (", then live" if follow else "")
    screen.remark(header(call, store, asked, number), quiet=wanted.quiet)
    first, upto = _first(store, asked, wanted, screen)
    if first is not None:
        tell_damaged(screen, first.answer.damaged)
        printer.lines(first.lines)
    if follow:
        live = _Live(call, store, asked, wanted, screen, printer)
        if first is not None:
            live.lines, live.events = len(first.lines), first.events
        return _follow(live, upto)
    if first is not None and not first.lines:
        return tell_nothing(store, asked, first.answer, screen, call.now())
    return Exit.PARTIAL if first and first.answer.damaged else Exit.DONE


def _first(
    store: Store, asked: Question, wanted: Wanted, screen: Screen
) -> tuple[Listing | None, int]:
    """The newest lines, and the seq up to which they tell everything."""
    if not wanted.limit.number:
        return None, reads.newest_seq(store)
    merged = wanted.format == TABLE and (screen.terminal if wanted.merge is None else wanted.merge)
    found = newest_lines(store, asked, wanted.limit.number, oldest=False, merged=merged)
    return found, found.answer.upto


class _Text:
    """Prints lines for people and pipes."""

    def __init__(self, screen: Screen, renderer: Renderer) -> None:
        self._screen = screen
        self._renderer = renderer

    def lines(self, lines: Iterable[Line]) -> None:
        """Print at once."""
        output.put_painted(text_of(lines, self._screen, self._renderer))

    def gap(self, gap: Gap) -> None:
        """A gap is a line among the others."""
        self.lines([line_of(gap_row(gap))])


class _Data:
    """Prints rows in a data format; gaps that are not yet events go to stderr."""

    def __init__(self, screen: Screen, encoder: Any) -> None:
        self._screen = screen
        self._encoder = encoder
        output.put_document(encoder.start(), terminal=screen.terminal)

    def lines(self, lines: Iterable[Line]) -> None:
        """One write an event, so that no reader waits for the next one."""
        for line in lines:
            data = self._encoder.rows([line.row])
            output.put_document(data, terminal=self._screen.terminal)
        output.flush()

    def gap(self, gap: Gap) -> None:
        """Data formats hold events only."""
        state = "open" if gap.until is None else "closed"
        self._screen.voice.warning(f"gap {state}: {gap_words(gap)}")


def _printer(call: Call, asked: Question, wanted: Wanted, screen: Screen) -> _Text | _Data:
    name = "ndjson" if wanted.format == "json" else wanted.format
    if name not in STREAMED:
        raise UsageError(f"tail --format {name}: not a stream", hint=" ".join(STREAMED))
    if name == TABLE:
        look = screen.look(asked.zone, call.now(), pinned=asked.pins_run())
        return _Text(screen, Renderer(look))
    from exporters.contracts import ALL_COLUMNS, load_format

    return _Data(screen, load_format(name).make(wanted.columns or ALL_COLUMNS))


@dataclass(slots=True)
class _Live:
    """One `tail -f`: what was printed, what is held back, and who collects."""

    call: Call
    store: Store
    asked: Question
    wanted: Wanted
    screen: Screen
    printer: _Text | _Data
    folding: LiveFold | None = None
    lines: int = 0
    events: int = 0
    gaps: int = 0
    upto: int = 0
    told_gaps: set[int] = field(default_factory=set)
    collector: str = ""
    ended: int | None = None
    looked_at: float = -TICK_S
    spoke_at: float = 0.0
    quiet_at: float = 0.0


def _follow(live: _Live, after: int) -> Exit:
    folds = live.screen.terminal if live.wanted.merge is None else live.wanted.merge
    live.folding = LiveFold() if folds and isinstance(live.printer, _Text) else None
    live.upto, live.spoke_at = after, time.monotonic()
    _watch_collector(live)
    try:
        request = live.asked.request(None)
        for news in reads.follow(live.store, after, request, TICK_S):
            _tell(live, news)
            _watch_collector(live)
    except KeyboardInterrupt:
        _stopped(live)
    return Exit.INTERRUPTED


def _tell(live: _Live, news: "News") -> None:
    now = time.monotonic_ns() // 1000
    fresh = [gap for gap in news.gaps if gap.until is None or gap.id not in live.told_gaps]
    closing = {gap.seq for gap in news.gaps if gap.until is not None}
    lines: list[Line] = []
    for row in news.rows:
        if not (row["kind"] == "gap" and row["seq"] in closing):
            lines += _fed(live, row, now)
    if live.folding:
        lines += live.folding.flush() if fresh else live.folding.tick(now)
    if lines or fresh:
        _hush(live)
        live.printer.lines(lines)
        live.lines += len(lines)
        live.events += sum(line.times for line in lines)
    for gap in fresh:
        live.printer.gap(gap)
        live.gaps += gap.until is None
        live.spoke_at = time.monotonic()
    live.told_gaps |= {gap.id for gap in news.gaps if gap.until is not None}
    live.upto = news.upto
    if lines:
        live.spoke_at = time.monotonic()
    _quiet(live)


def _fed(live: _Live, row: Row, now: int) -> list[Line]:
    return live.folding.feed(row, now) if live.folding else [line_of(row)]


def _watch_collector(live: _Live) -> None:
    """Say at once when nobody collects, and when that changes (SCREENS T3)."""
    if time.monotonic() - live.looked_at < TICK_S:
        return
    live.looked_at = time.monotonic()
    found = reads.collector(live.store, live.call.now())
    if found.state == live.collector:
        return
    before, live.collector = live.collector, found.state
    live.ended = live.ended if found.state == "running" else found.stopped or found.heartbeat
    if found.state == "running" and before:
        _hush(live)
        live.screen.voice.note(_back(live, found))
    elif found.state != "running":
        _hush(live)
        live.screen.voice.warning(*_nobody(live, found))


def _back(live: _Live, found: "Collector") -> str:
    """Since when somebody collects again, and for how long nobody did."""
    zone, started = live.asked.zone, found.started or live.call.now()
    text = f"collector started {clock(started, zone)}"
    if live.ended is None or live.ended >= started:
        return text
    text += f"; nothing was read from {clock(live.ended, zone)} to {clock(started, zone)}"
    meanwhile = reads.gaps(live.store, Window(live.ended, started))
    told = [gap.seq for gap in meanwhile if gap.seq is not None]
    return f"{text} (gap #{told[-1]})" if told else text


def _nobody(live: _Live, found: "Collector") -> tuple[str, str]:
    # `install` starts one that is installed already.
    hint = f"sandtrail service install      or, by hand: {live.call.prog} collect FILE"
    if isinstance(live.store, ReadSocket):
        hint = "its owner starts it; this goes on by itself then"
    if found.state == "never":
        return "no collector is running (none ever was here)", hint
    if found.state == "hanging":
        beat = live.call.now() - (found.heartbeat or 0)
        again = hint if isinstance(live.store, ReadSocket) else "sandtrail service restart"
        return f"the collector (pid {found.pid}) gives no sign for {spoken(beat)}", again
    ended = found.stopped or found.heartbeat
    if ended is None:
        return "no collector is running", hint
    word = "stopped" if found.state == "stopped" else "was last seen"
    ago = spoken(live.call.now() - ended)
    moment = clock(ended, live.asked.zone)
    return f"no collector is running (last one {word} {moment}, {ago} ago)", hint


def _quiet(live: _Live) -> None:
    """On a terminal: a passing line about the silence, so that it is not taken for a hang."""
    now = time.monotonic()
    silent = now - live.spoke_at
    watched = live.screen.terminal and live.screen.watched and not live.wanted.quiet
    if not watched or silent < QUIET_S or now - live.quiet_at < QUIET_AGAIN_S:
        return
    live.quiet_at = now
    state = "alive" if live.collector == "running" else live.collector
    parts = [f"… quiet for {duration(int(silent) * 1_000_000)}", f"collector {state}"]
    live.screen.voice.passing(" · ".join([*parts, *_last_read(live)]))


def _last_read(live: _Live) -> list[str]:
    states = reads.source_states(live.store)
    read = [(s.last_read_at, s.source) for s in states if s.last_read_at]
    if not read:
        return []
    at, name = max(read)
    return [f"{name} read {spoken(max(live.call.now() - at, 0))} ago"]


def _hush(live: _Live) -> None:
    if live.quiet_at:
        live.quiet_at = 0.0
        live.screen.voice.passing("")


def _stopped(live: _Live) -> None:
    _hush(live)
    if live.folding and (rest := live.folding.flush()):
        live.printer.lines(rest)
        live.lines += len(rest)
        live.events += sum(line.times for line in rest)
    missed = ""
    with contextlib.suppress(StorageError):
        missed = f", {count(max(reads.newest_seq(live.store) - live.upto, 0))} missed"
    if live.wanted.quiet or not live.screen.watched:
        return
    if is_terminal(sys.stdin):
        # Behind the ^C that the terminal has just shown.
        live.screen.voice.line("")
    gaps = f"{live.gaps} gap{'' if live.gaps == 1 else 's'}"
    lines = f"{count(live.lines)} line{'' if live.lines == 1 else 's'}"
    live.screen.voice.line(f"stopped: {count(live.events)} events in {lines}, {gaps}{missed}")
