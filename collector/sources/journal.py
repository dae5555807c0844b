"""The journal source: what systemd's journal holds and goes on to say, by its cursors.

A decoder may still wait for more of a record when its lines are stored, and the journal knows no
bytes. So a mark names two places, each a cursor and how many bytes lie before it: where the block
ends, and an older one that no unfinished record reaches back behind. journalctl writes the fields
of an entry in another order each time: read again bytes differ, their number does not.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Event
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from audit_events.errors import SourceError
from collector.contracts import (
    Block,
    Emission,
    GapClosed,
    GapOpened,
    Idle,
    Reason,
    Reject,
    SourcePlugin,
    SourceSettings,
    StreamPosition,
)
from collector.sources.child import BackOff, Child, Ended, trusted_command
from collector.sources.line_cutter import Cut, LineCutter

STREAM: Final = "journal"
MAX_WAIT_S: Final = 0.2  # how late a stop may be noticed
# A journalctl that is still there after this long has found its journal.
SETTLED_S: Final = 1.0
MAX_CURSOR_BYTES: Final = 512
MATCH_PATTERN: Final = r"^(\+|[A-Z_][A-Z0-9_]{0,63}=[^\n\x00]{0,1024})$"
_COMPLAINTS: Final = (
    (b"Failed to seek to cursor", "the journal no longer has the place where reading stopped"),
    (b"insufficient permissions", "the journal may not be read: join the group systemd-journal"),
    # Then it shows what this user's own programs said, and calls that everything.
    (b"not seeing messages from other users",
     "only a part of the journal may be read: join the group systemd-journal"),
    (b"No journal files were found", "there is no journal"),
)  # fmt: skip
_SAMPLE: Final = (
    b'{"_TRANSPORT":"audit","_HOSTNAME":"h","__REALTIME_TIMESTAMP":"1764000000000000",'
    b'"MESSAGE":"type=1400 msg=audit(1764000000.000:1): apparmor=\\"DENIED\\" operation=\\"open\\"'
    b' profile=\\"p\\" name=\\"/etc/x\\" pid=1 comm=\\"sh\\" requested_mask=\\"r\\"'
    b' denied_mask=\\"r\\" fsuid=0 ouid=0"}\n'
)


class Place(msgspec.Struct, frozen=True, array_like=True):
    """An entry, and the bytes of the stream up to its end; cursor "" is before everything."""

    cursor: str
    end: int


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """What is stored with a position."""

    here: Place
    safe: Place


class _Entry(msgspec.Struct, gc=False):
    cursor: str = msgspec.field(name="__CURSOR")


_START: Final = Place("", 0)
_MARK: Final = msgspec.msgpack.Decoder(Mark)
_ENTRY: Final = msgspec.json.Decoder(_Entry)


def known_complaint(said: bytes) -> str | None:
    """Our own words for what journalctl complains of."""
    return next((text for words, text in _COMPLAINTS if words in said), None)


def why(end: Ended) -> str:
    """Our own words for the end of journalctl."""
    if known := known_complaint(end.complaint):
        return known
    if end.code > 128:
        return f"journalctl was ended by signal {end.code - 128}"
    return f"journalctl ended with exit code {end.code}"


@dataclass(slots=True)
class _Track:
    """Where the stream stands; bytes before `skip_to` were stored by an earlier start."""

    here: Place = _START
    safe: Place = _START
    skip_to: int = 0
    places: deque[Place] = field(default_factory=deque)

    @classmethod
    def at(cls, position: StreamPosition | None) -> "_Track":
        """From a position as stored."""
        if position is None:
            return cls()
        try:
            mark = _MARK.decode(position.mark)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            return cls(Place("", position.read_to), Place("", position.read_to))
        whole = position.resume >= position.read_to
        place = mark.here if whole else mark.safe
        return cls(place, place, skip_to=position.resume)

    def mark(self, place: Place) -> bytes:
        """For a block that ends here."""
        self.here = place
        self.places.append(place)
        return msgspec.msgpack.encode(Mark(place, self.safe))

    def consumed(self, resume: int) -> None:
        """A commit is in: what ends before `resume` is never needed again."""
        while self.places and self.places[0].end <= resume:
            self.safe = self.places.popleft()


class JournalSource:
    """Follows `journalctl -o json`; goes on after the cursor that was stored."""

    kind = "journal"
    rereadable = True

    def __init__(self, name: str, settings: "JournalSettings", back_off: BackOff) -> None:
        self.name = name
        self._settings, self._back_off = settings, back_off
        self._acknowledged: deque[int] = deque()
        self._down = False
        self._known_until = datetime.now(UTC)

    @property
    def location(self) -> str:
        """The program and what it is asked for."""
        return " ".join([self._settings.journal_command, *self._settings.matches])

    def run(
        self,
        positions: Mapping[str, StreamPosition],
        emit: Callable[[Emission], None],
        stop: Event,
        *,
        once: bool,
    ) -> None:
        """Follow until `stop`, or to the present end with `once` (SourceError if it cannot)."""
        track = _Track.at(positions.get(STREAM))
        self._acknowledged.clear()
        while not stop.is_set():
            try:
                self._read(track, emit, stop, once=once)
            except SourceError as error:
                if once:
                    raise
                self._fails(error.message, emit, stop)
            if once:
                return
            # Go on from what was given: the flow has it, stored or not.
            track.skip_to = max(track.skip_to, track.here.end)

    def consumed(self, stream: str, resume: int, read_to: int) -> None:  # noqa: ARG002
        """A commit is in."""
        self._acknowledged.append(resume)

    def _fails(self, reason: str, emit: Callable[[Emission], None], stop: Event) -> None:
        emit(GapOpened(self.name, self._known_until, reason))
        self._down = True
        stop.wait(self._back_off.next())

    def _command(self) -> str:
        return trusted_command(self._settings.journal_command, any_owner=self._settings.any_owner)

    def _look_at_rights(self) -> None:
        """Without `--quiet` journalctl says that it does not show all; raises SourceError."""
        child = Child([self._command(), "--lines=0", "--no-pager"])
        try:
            while child.read(MAX_WAIT_S) is not None:
                pass
            complaint = known_complaint(child.ended().complaint)
        finally:
            child.close()
        if complaint:
            raise SourceError(complaint)

    def _words(self, track: _Track, *, once: bool) -> list[str]:
        words = [self._command(), "-o", "json", "--all", "--no-pager", "--quiet"]
        words += [] if once else ["--follow", "--no-tail"]
        if track.here.cursor:
            words.append(f"--after-cursor={track.here.cursor}")
        elif not once:
            words.append("--since=-24h")
        return [*words, *self._settings.matches]

    def _read(
        self, track: _Track, emit: Callable[[Emission], None], stop: Event, *, once: bool
    ) -> None:
        self._look_at_rights()
        child = Child(self._words(track, once=once))
        cutter, settled = LineCutter(track.here.end), time.monotonic() + SETTLED_S
        try:
            while not stop.is_set():
                data = child.read(MAX_WAIT_S)
                while self._acknowledged:
                    track.consumed(self._acknowledged.popleft())
                if data is None:
                    break
                for cut in cutter.feed(data):
                    self._give(cut, track, emit)
                if data or time.monotonic() > settled:
                    self._works(emit)
                emit(Idle(self.name))
            else:
                return
            end = child.ended()
        finally:
            child.close()
        if end.code or not once:
            raise SourceError(why(end))

    def _works(self, emit: Callable[[Emission], None]) -> None:
        self._known_until = datetime.now(UTC)
        if self._down:
            self._down = False
            self._back_off.reset()
            emit(GapClosed(self.name, self._known_until))

    def _give(self, cut: Cut, track: _Track, emit: Callable[[Emission], None]) -> None:
        cursor = track.here.cursor if cut.too_long else _last_cursor(cut.data, track.here.cursor)
        mark = track.mark(Place(cursor, cut.end))
        if cut.end <= track.skip_to:
            return
        start, data = cut.start, cut.data
        if start < track.skip_to and data:
            start, data = track.skip_to, data[track.skip_to - start :]
        rejects = (Reject(cut.start, Reason.TOO_LONG),) if cut.too_long else ()
        emit(Block(self.name, STREAM, data, start, cut.end, mark, rejects=rejects))


def _last_cursor(data: bytes, otherwise: str) -> str:
    last = data.removesuffix(b"\n").rpartition(b"\n")[2]
    try:
        cursor = _ENTRY.decode(last).cursor
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return otherwise
    return cursor if len(cursor) <= MAX_CURSOR_BYTES else otherwise


class JournalSettings(SourceSettings, frozen=True, kw_only=True):
    """[sources.NAME] of kind journal.

    `matches`: fields as journalctl takes them, by default what the kernel and audit say.
    `journal_command`: absolute, root's, writable by nobody else; `any_owner` leaves that unchecked
    and is meant for tests.
    """

    journal_command: Annotated[str, Meta(pattern=r"^/")] = "/usr/bin/journalctl"
    any_owner: bool = False
    matches: tuple[Annotated[str, Meta(pattern=MATCH_PATTERN)], ...] = (
        "_TRANSPORT=audit",
        "_TRANSPORT=kernel",
    )


def _parse(argument: str) -> JournalSettings:
    if not argument:
        return JournalSettings(kind="journal")
    return msgspec.convert({"kind": "journal", "matches": argument.split()}, JournalSettings)


def _samples(_settings: JournalSettings) -> Iterator[bytes]:
    yield _SAMPLE


def _check(settings: JournalSettings) -> None:
    trusted_command(settings.journal_command, any_owner=settings.any_owner)


source = SourcePlugin(
    kind="journal",
    settings=JournalSettings,
    parse=_parse,
    make=lambda name, settings, _key: JournalSource(name, settings, BackOff()),
    usage="journal:[FIELD=VALUE …]",
    samples=_samples,
    check=_check,
)
