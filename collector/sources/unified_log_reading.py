"""How the unified log is read: `log stream` is started and held, `log show` tells what came before,
then the stream goes on; whatever breaks is a gap, and everything begins again from the mark."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Final

from audit_events.errors import SourceError
from collector.contracts import (
    Block,
    Emission,
    GapClosed,
    GapOpened,
    Idle,
    Lost,
    Reason,
    Reject,
)
from collector.sources.child import BackOff, Child, Ended, trusted_command
from collector.sources.line_cutter import Cut, LineCutter
from collector.sources.unified_log_entry import (
    BANNERS,
    DROPPED,
    TRAILER,
    UNREADABLE,
    Key,
    read,
    show_words,
    stream_words,
)
from collector.sources.unified_log_mark import Recent, newest_of

STREAM: Final = "log"
READY_S: Final = 10.0
# `log show` may search through a day of everything for minutes before it finds a report.
SHOW_QUIET_S: Final = 900.0
# How long before what was read last `log show` begins: wall times of one entry differ by tens of
# milliseconds, and clocks are set.
MARGIN: Final = timedelta(minutes=5)
MAX_HELD_BYTES: Final = 16 << 20
MAX_WAIT_S: Final = 0.2  # how late a stop may be noticed
REMEMBER_S: Final = 10.0
HEALTHY_S: Final = 60.0  # a stream that lived so long was worth starting

DROPS: Final = "log stream could not keep up and dropped messages"
TOO_LONG_AGO: Final = "the log was not read for longer than it is read back"
NOT_READ_BACK: Final = "the log was not read back"
NO_TRAILER: Final = "log show ended before it had shown everything"
_COMPLAINTS: Final = (
    (b"Cannot run while sandboxed",
     "log cannot run while sandboxed: start the collector outside of the sandbox"),
    (b"Must be admin",
     "log must be run by an administrator: collect from an admin account or as root"),
)  # fmt: skip


class _OutageError(Exception):
    """The log cannot be read now; its text is our own words."""


class _AgainError(Exception):
    """The stream said more than can be held while the log was shown: begin again from there."""


def why(word: str, end: Ended) -> str:
    """Our own words for the end of `log WORD`."""
    known = next((text for said, text in _COMPLAINTS if said in end.complaint), None)
    if known:
        return known
    if end.code > 128:
        return f"log {word} was ended by signal {end.code - 128}"
    if end.code == 127:
        return f"log {word} could not be started"
    return f"log {word} ended with exit code {end.code}"


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How to read. `any_owner`: the command need not be root's."""

    command: str = "/usr/bin/log"
    sandboxd: bool = False
    backfill: timedelta = timedelta(hours=24)
    any_owner: bool = False
    ready_s: float = READY_S
    back_off_first_s: float = 0.5
    back_off_most_s: float = 60.0


@dataclass(slots=True)
class _Sifted:
    """What is left of a cut: lines to give on, and the entries among them."""

    lines: list[bytes] = field(default_factory=list)
    entries: list[Key] = field(default_factory=list)


class Reading:
    """One run of a source: `at` counts the bytes given on, since the log itself has no offsets."""

    def __init__(
        self,
        name: str,
        options: LogOptions,
        recent: Recent,
        emit: Callable[[Emission], None],
        stop: Event,
        *,
        session: str,
        at: int,
    ) -> None:
        self._name, self._options, self._recent = name, options, recent
        self._emit, self._stop, self._session, self._at = emit, stop, session, at
        self._back_off = BackOff(options.back_off_first_s, options.back_off_most_s)
        self._down = False
        self._held: deque[Cut] = deque()
        self._held_bytes = 0
        self._trailer = False

    def follow(self) -> None:
        """Read until `stop`."""
        while not self._stop.is_set():
            try:
                self._once_around()
            except _AgainError:
                continue
            except (_OutageError, SourceError) as error:
                self._fails(error.message if isinstance(error, SourceError) else str(error))

    def show(self) -> None:
        """Read what the log holds now; raises SourceError."""
        try:
            self._show(None)
        except _OutageError as error:
            raise SourceError(str(error)) from None

    def _fails(self, reason: str) -> None:
        since = self._recent.read_us
        now = datetime.now(UTC)
        self._emit(GapOpened(self._name, min(_moment(since), now) if since else now, reason))
        self._down = True
        wait = time.monotonic() + self._back_off.next()
        while time.monotonic() < wait and not self._stop.wait(MAX_WAIT_S):
            pass

    def _once_around(self) -> None:
        stream = self._child(stream_words(sandboxd=self._options.sandboxd))
        self._held.clear()
        self._held_bytes = 0
        cutter = LineCutter()
        try:
            self._wait_until_ready(stream, cutter)
            self._show((stream, cutter))
            while self._held and not self._stop.is_set():
                self._give(self._held.popleft(), live=False)
            self._live(stream, cutter)
        finally:
            stream.close()

    def _child(self, words: list[str]) -> Child:
        command = trusted_command(self._options.command, any_owner=self._options.any_owner)
        return Child([command, *words])

    def _wait_until_ready(self, stream: Child, cutter: LineCutter) -> None:
        """The stream misses what happens before it listens; it says so with its first line."""
        deadline = time.monotonic() + self._options.ready_s
        while not self._stop.is_set() and time.monotonic() < deadline:
            if not self._hold(stream, cutter, MAX_WAIT_S):
                raise _OutageError(why("stream", stream.ended()))
            if self._held or any(banner in stream.complaint for banner in BANNERS):
                return

    def _hold(self, stream: Child, cutter: LineCutter, timeout_s: float) -> bool:
        """Keep what the stream says for later; False at its end."""
        data = stream.read(timeout_s)
        for cut in cutter.feed(data) if data else ():
            self._held.append(cut)
            self._held_bytes += len(cut.data)
        return data is not None

    def _show(self, streaming: tuple[Child, LineCutter] | None) -> None:
        """Give what the log holds since the mark, meanwhile keeping the stream's words."""
        began = datetime.now(UTC)
        start = self._start(began)
        if start is None:
            self._covered(began)
            return
        self._trailer = False
        show = self._child(show_words(start, sandboxd=self._options.sandboxd))
        try:
            self._read_show(show, start, streaming)
            end = show.ended()
        finally:
            show.close()
        if self._stop.is_set():
            return
        if end.code:
            raise _OutageError(why("show", end))
        if not self._trailer:
            self._emit(Lost(self._name, min(self._known_until(start), began), began, NO_TRAILER))
        self._covered(began)
        if self._held_bytes > MAX_HELD_BYTES:
            raise _AgainError

    def _start(self, now: datetime) -> datetime | None:
        """Since when to show; None for not at all. What is further back than allowed is a gap."""
        earliest = now - self._options.backfill
        since = self._known_until(earliest)
        if since < earliest:
            reason = TOO_LONG_AGO if self._options.backfill else NOT_READ_BACK
            self._emit(Lost(self._name, since, earliest, reason))
            self._covered(earliest)
        return max(earliest, min(since, now) - MARGIN) if self._options.backfill else None

    def _known_until(self, otherwise: datetime) -> datetime:
        return _moment(self._recent.read_us) if self._recent.read_us else otherwise

    def _covered(self, until: datetime) -> None:
        """Nothing before this is missing: remember it, also if no entry came."""
        self._recent.read_us = max(self._recent.read_us, _micros(until))
        self._emit(Block(self._name, STREAM, b"", self._at, self._at, self._recent.mark()))

    def _read_show(
        self, show: Child, start: datetime, streaming: tuple[Child, LineCutter] | None
    ) -> None:
        cutter = LineCutter()
        deadline = time.monotonic() + SHOW_QUIET_S
        while not self._stop.is_set():
            data = show.read(MAX_WAIT_S if streaming is None else 0.02)
            if data is None:
                break
            if data:
                # From the first time on we answer for what lies since then.
                self._recent.read_us = self._recent.read_us or _micros(start)
                deadline = time.monotonic() + SHOW_QUIET_S
            for cut in cutter.feed(data):
                self._give(cut, live=False)
            if time.monotonic() > deadline:
                raise _OutageError("log show said nothing for a quarter of an hour")
            if streaming is not None and self._held_bytes <= MAX_HELD_BYTES:
                self._hold(*streaming, 0)
            self._emit(Idle(self._name))
        if not self._stop.is_set() and (last := cutter.end()) is not None:
            self._give(last, live=False)

    def _live(self, stream: Child, cutter: LineCutter) -> None:
        if self._down and not self._stop.is_set():
            self._emit(GapClosed(self._name, datetime.now(UTC)))
            self._down = False
        started = remembered = time.monotonic()
        while not self._stop.is_set():
            data = stream.read(MAX_WAIT_S)
            if data is None:
                raise _OutageError(why("stream", stream.ended()))
            for cut in cutter.feed(data) if data else ():
                self._give(cut, live=True)
            now = time.monotonic()
            if now - started > HEALTHY_S:
                self._back_off.reset()
            if not data and not cutter.unfinished:
                # Only an empty pipe proves that nothing waits in it.
                self._recent.read_us = max(self._recent.read_us, time.time_ns() // 1000)
                if now - remembered > REMEMBER_S:
                    remembered = now
                    self._covered(datetime.now(UTC))
            self._emit(Idle(self._name))

    def _give(self, cut: Cut, *, live: bool) -> None:
        """Pass on what is new in whole lines."""
        if cut.too_long:
            self._refuse(cut.end - cut.start, Reason.TOO_LONG)
            return
        sifted = _Sifted()
        for line in cut.data.removesuffix(b"\n").split(b"\n"):
            self._sift(line, sifted, live=live)
        self._pass_on(sifted)

    def _sift(self, line: bytes, sifted: _Sifted, *, live: bool) -> None:
        if line.startswith(DROPPED):
            self._pass_on(sifted)
            raise _OutageError(DROPS)
        found = read(line)
        if found == UNREADABLE:
            self._pass_on(sifted)
            self._refuse(len(line) + 1, Reason.NOT_A_RECORD)
            return
        self._trailer = self._trailer or found == TRAILER
        if isinstance(found, Key):
            if not self._recent.take(found, self._session, live=live):
                return
            sifted.entries.append(found)
        # No blanks before an object: the decoder shall never wait for its end.
        sifted.lines.append(line.strip() + b"\n")

    def _pass_on(self, sifted: _Sifted) -> None:
        if not sifted.lines:
            return
        newest = newest_of(sifted.entries)
        if newest is not None:
            now = time.time_ns() // 1000
            self._recent.read_us = max(self._recent.read_us, min(newest, now))
        data = b"".join(sifted.lines)
        sifted.lines.clear()
        sifted.entries.clear()
        start, self._at = self._at, self._at + len(data)
        self._emit(Block(self._name, STREAM, data, start, self._at, self._recent.mark()))

    def _refuse(self, size: int, reason: Reason) -> None:
        start, self._at = self._at, self._at + size
        mark = self._recent.mark()
        refused = (Reject(start, reason),)
        self._emit(Block(self._name, STREAM, b"", start, self._at, mark, rejects=refused))


def _moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def _micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
