"""The audit-netlink source: Linux audit records as the kernel sends them, beside any auditd.

The kernel's multicast group is read without taking auditd's place. It keeps nothing: what was said
while nobody listened is a gap.
"""

import errno
import select
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from secrets import token_hex
from threading import Event
from typing import Final

from audit_events.errors import SourceError
from audit_events.schema import MAX_BLOCK_BYTES
from collector.contracts import (
    Block,
    Closed,
    Emission,
    GapClosed,
    GapOpened,
    Idle,
    Lost,
    SourcePlugin,
    SourceSettings,
    StreamPosition,
)
from collector.sources.child import BackOff

NETLINK_AUDIT: Final = 9
GROUP_READLOG: Final = 1
# struct nlmsghdr: length, type, flags, sequence, port.
_HEADER: Final = struct.Struct("=IHHII")
MAX_RECORD_BYTES: Final = 16 * 1024  # the kernel's own limit is 8,970
# The kernel drops what does not fit: some ten thousand records.
RECEIVE_BUFFER_BYTES: Final = 16 << 20
MAX_TURN_BYTES: Final = min(256 * 1024, MAX_BLOCK_BYTES)
MAX_WAIT_S: Final = 0.2  # how late a stop may be noticed
OVERRUN: Final = "the kernel's audit records came faster than they were read"
NEEDS: Final = "the audit group needs CAP_AUDIT_READ"
_SAMPLE: Final = (
    b'type=1400 msg=audit(1764000000.000:1): apparmor="DENIED" operation="open" profile="p"'
    b' name="/etc/x" pid=1 comm="sh" requested_mask="r" denied_mask="r" fsuid=0 ouid=0\n'
)


def line_of(message: bytes) -> bytes | None:
    """A netlink message as a line of an audit log; None if it is none of a record.

    The length in the header is not to be trusted: kernels leave the header itself out of it.
    """
    if len(message) <= _HEADER.size:
        return None
    kind = _HEADER.unpack_from(message)[1]
    said = message[_HEADER.size :].rstrip(b"\0\n")
    if not said.startswith(b"audit("):
        return None
    return b"type=%d msg=%s\n" % (kind, said.replace(b"\n", b" "))


def listen() -> socket.socket:
    """A socket in the group; raises SourceError with what is missing."""
    if sys.platform != "linux":
        raise SourceError("the audit group is a Linux kernel's", hint="unified-log: on macOS")
    try:
        listening = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_AUDIT)
    except OSError as error:
        raise SourceError(f"this kernel has no audit socket: {error.strerror}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
        listening.bind((0, GROUP_READLOG))
    except OSError as error:
        listening.close()
        if error.errno == errno.EPERM:
            hint = "AmbientCapabilities=CAP_AUDIT_READ in the unit, or read the journal"
            raise SourceError(NEEDS, hint=hint) from error
        raise SourceError(f"the audit group cannot be read: {error.strerror}") from error
    listening.setblocking(False)
    return listening


class AuditNetlinkSource:
    """One stream from start to stop; its blocks have no mark, so a restart is a gap."""

    kind = "audit-netlink"
    rereadable = False
    location = "audit multicast group"

    def __init__(self, name: str, open_socket: Callable[[], socket.socket] = listen) -> None:
        self.name = name
        self._open = open_socket
        self._down = False
        self._read_until = datetime.now(UTC)

    def run(
        self,
        positions: Mapping[str, StreamPosition],  # noqa: ARG002 - nothing can be read again
        emit: Callable[[Emission], None],
        stop: Event,
        *,
        once: bool,
    ) -> None:
        """Listen until `stop`; raises SourceError with `once`, else what cannot be is a gap."""
        if once:
            raise SourceError("the audit group has no end", hint="collect without --once")
        back_off = BackOff()
        while not stop.is_set():
            try:
                with self._open() as listening:
                    if self._down:
                        self._down = False
                        emit(GapClosed(self.name, datetime.now(UTC)))
                    self._listen(listening, emit, stop)
            except SourceError as error:
                self._down = True
                emit(GapOpened(self.name, self._read_until, error.message))
                _pause(stop, back_off.next())

    def _listen(
        self, listening: socket.socket, emit: Callable[[Emission], None], stop: Event
    ) -> None:
        stream, at = f"audit-{token_hex(6)}", 0
        # Left open by any stop: the next start makes a gap of it, even before the first record.
        emit(Block(self.name, stream, b"", 0, 0))
        try:
            while not stop.is_set():
                lines, overrun = self._next(listening)
                if overrun:
                    emit(Lost(self.name, self._read_until, datetime.now(UTC), OVERRUN))
                if lines:
                    emit(Block(self.name, stream, lines, at, at + len(lines)))
                    at += len(lines)
                emit(Idle(self.name))
        except SourceError:
            emit(Closed(self.name, stream))
            raise

    def _next(self, listening: socket.socket) -> tuple[bytes, bool]:
        """What comes within a moment; while nothing waits all is read."""
        if select.select([listening], [], [], MAX_WAIT_S)[0]:
            return _receive(listening)
        self._read_until = datetime.now(UTC)
        return b"", False

    def consumed(self, stream: str, resume: int, read_to: int) -> None:
        """Nothing to do: nobody can be asked again."""


def _receive(listening: socket.socket) -> tuple[bytes, bool]:
    """What waits, as lines, and whether the kernel had to leave something out."""
    lines: list[bytes] = []
    size, overrun = 0, False
    while size < MAX_TURN_BYTES:
        try:
            message, (port, _groups) = listening.recvfrom(MAX_RECORD_BYTES)
        except BlockingIOError:
            break
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise SourceError(f"the audit group: {error.strerror}") from error
            overrun = True
            continue
        # Port 0 is the kernel; any program may send to a netlink socket.
        if port == 0 and (line := line_of(message)) is not None:
            lines.append(line)
            size += len(line)
    return b"".join(lines), overrun


def _pause(stop: Event, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not stop.wait(MAX_WAIT_S):
        pass


def _parse(argument: str) -> SourceSettings:
    if argument:
        raise ValueError("audit-netlink takes no argument")
    return SourceSettings(kind="audit-netlink")


def _samples(_settings: SourceSettings) -> Iterator[bytes]:
    yield _SAMPLE


def _check(_settings: SourceSettings) -> None:
    raise SourceError("the audit group has no end", hint="collect without --once")


source = SourcePlugin(
    kind="audit-netlink",
    settings=SourceSettings,
    parse=_parse,
    make=lambda name, _settings, _key: AuditNetlinkSource(name),
    usage="audit-netlink:",
    samples=_samples,
    check=_check,
)
