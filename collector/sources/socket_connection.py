"""One connection of the socket source: what it is, what it may still send, what it is told."""

import contextlib
import re
import secrets
import socket
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from collector.contracts import Peer
from collector.sources.line_cutter import LineCutter
from collector.sources.socket_track import Track

# The first line of a writer that counts its lines: version, then its name.
_ACK: Final = re.compile(rb"ack ([0-9]{1,4}) ([A-Za-z0-9][A-Za-z0-9._:-]{0,63})")
_FROM: Final = re.compile(rb"from ([1-9][0-9]{0,17})")
ACK_VERSION: Final = 1
# Longer than any line of the protocol: what goes on without a newline is an event.
MAX_WORD_BYTES: Final = 96


class Stage(Enum):
    """What the next bytes are."""

    FIRST = "ack line or event"
    PLACE = "from line or event"
    EVENTS = "events"


class ProtocolError(Exception):
    """What a writer is told before its connection is closed; our own words."""


@dataclass(slots=True, eq=False)
class Connection:
    """A writer at the other end; times are monotonic seconds."""

    sock: socket.socket
    peer: Peer
    opened: float
    stage: Stage = Stage.FIRST
    stream: str = field(default_factory=lambda: f"plain-{secrets.token_hex(6)}")
    track: Track | None = None
    cutter: LineCutter = field(default_factory=LineCutter)
    head: bytes = b""
    # Read, and not this writer's turn yet.
    pending: bytes = b""
    last_heard: float = 0.0
    # Since when a line is unfinished; None if none is.
    line_since: float | None = None
    told: int = 0
    _sending: bytes = b""

    @property
    def unfinished(self) -> bool:
        """True if the writer is in the middle of a line."""
        return bool(self.head) or self.cutter.unfinished

    def say(self, words: bytes) -> None:
        """Answer now; what the writer does not take at once waits for `send`."""
        self._sending += words
        self.send()

    def acknowledge(self, line: int) -> None:
        """`ok line`, unless something is still waiting: then the newest number goes later."""
        if line > self.told and not self._sending:
            self.told = line
            self.say(b"ok %d\n" % line)

    def send(self) -> None:
        """Send what waits, as far as the writer takes it; a dead writer is noticed when read."""
        with contextlib.suppress(OSError):
            while self._sending:
                self._sending = self._sending[self.sock.send(self._sending) :]

    @property
    def sending(self) -> bool:
        """True while an answer waits for the writer to read."""
        return bool(self._sending)


def first_line(data: bytes) -> tuple[bytes | None, bytes]:
    """(the name of an `ack` line, what follows); (None, all of it) for an event.

    Raises ProtocolError for an `ack` line that we cannot serve, and IncompleteError while the bytes
    do not tell yet.
    """
    line, rest = _word(data, b"ack ")
    if line is None:
        return None, data
    match = _ACK.fullmatch(line)
    if match is None:
        raise ProtocolError("ack VERSION NAME: a name is letters, digits and ._:- (at most 64)")
    if int(match[1]) != ACK_VERSION:
        raise ProtocolError(f"this version is not known here; known: {ACK_VERSION}")
    return match[2], rest


def from_line(data: bytes) -> tuple[int | None, bytes]:
    """(the number of a `from` line, what follows); (None, all of it) for an event. Raises alike."""
    line, rest = _word(data, b"from ")
    if line is None:
        return None, data
    match = _FROM.fullmatch(line)
    if match is None:
        raise ProtocolError("from N: a number from 1")
    return int(match[1]), rest


class IncompleteError(Exception):
    """More bytes are needed."""


def _word(data: bytes, keyword: bytes) -> tuple[bytes | None, bytes]:
    if data[: len(keyword)] != keyword[: len(data)]:
        return None, data
    line, newline, rest = data.partition(b"\n")
    if newline and len(line) <= MAX_WORD_BYTES:
        return line.removesuffix(b"\r"), rest
    if newline or len(data) > MAX_WORD_BYTES:
        return None, data
    raise IncompleteError
