"""The socket source at work: one thread, every writer in its turn, every bound with a name."""

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Final

from collector.contracts import (
    Block,
    Closed,
    Emission,
    Idle,
    Lost,
    Peer,
    Reason,
    Reject,
    StreamPosition,
    Warned,
)
from collector.sources.line_cutter import Cut, LineCutter
from collector.sources.socket_connection import (
    Connection,
    IncompleteError,
    ProtocolError,
    Stage,
    first_line,
    from_line,
)
from collector.sources.socket_path import close, listen, peer_uid
from collector.sources.socket_share import READ_BYTES, first_lines, share_of
from collector.sources.socket_track import Track, restored
from collector.sources.socket_wakeup import Wakeup

MAX_WAIT_S: Final = 0.2  # how late a stop may be noticed
# A line that was begun must end within this time, and so must the first words.
MAX_LINE_S: Final = 30.0
# A writer that was quiet for this long makes room when all places are taken.
MIN_IDLE_S: Final = 60.0
# Unfinished lines of all writers together; the largest must go beyond it.
MAX_HELD_BYTES: Final = 64 << 20
MAX_ACCEPTS_A_TURN: Final = 32
ACCEPT_REST_S: Final = 1.0  # after the system refused a descriptor
# Names of writers that are remembered, and for how long after they were last heard.
MAX_WRITERS: Final = 1_024
FORGET_WRITER_S: Final = 30 * 86_400
TIDY_S: Final = 1.0
LOST_BY_WRITER: Final = "a writer no longer had lines that were not stored"


@dataclass(frozen=True, slots=True)
class SocketOptions:
    """What may be set; times in seconds."""

    path: Path
    allow_uids: frozenset[int]
    allow_sandboxes: frozenset[str] | None = None
    max_connections: int = 256
    idle_s: float = 86_400.0
    line_s: float = MAX_LINE_S


class Server:
    """Serves writers until `stop`."""

    def __init__(
        self,
        name: str,
        options: SocketOptions,
        wakeup: Wakeup,
        emit: Callable[[Emission], None],
        stop: Event,
    ) -> None:
        self._name, self._options, self._wakeup = name, options, wakeup
        self._emit, self._stop = emit, stop
        self._selector = selectors.DefaultSelector()
        self._listener: socket.socket | None = None
        self._connections: dict[Connection, None] = {}
        self._tracks: dict[str, Track] = {}
        self._refused: dict[str, int] = {}
        self._warned: dict[str, int] = {}
        self._accept_after = 0.0
        self._tidy_at = 0.0
        # Read by the flow's thread for `status`.
        self.writers = (0, 0)

    def serve(self, positions: Mapping[str, StreamPosition]) -> None:
        """Raises SourceError if the path cannot be listened on."""
        options = self._options
        shared = bool(options.allow_uids - {0, os.geteuid()})
        self._remember(positions)
        listener = self._listener = listen(options.path, shared=shared)
        try:
            self._selector.register(listener, selectors.EVENT_READ)
            self._selector.register(self._wakeup, selectors.EVENT_READ)
            self._emit(Idle(self._name))
            while not self._stop.is_set():
                self._turn()
        finally:
            for connection in list(self._connections):
                self._drop(connection)
            self._selector.close()
            close(listener, options.path)

    def _remember(self, positions: Mapping[str, StreamPosition]) -> None:
        for stream, position in positions.items():
            if (track := restored(position)) is not None:
                self._tracks[stream] = track

    def _turn(self) -> None:
        """One round: everybody who has something to say says a share of it."""
        waiting = [connection for connection in self._connections if connection.pending]
        told = self._selector.select(0 if waiting else MAX_WAIT_S)
        share = share_of(len({*waiting, *(key.data for key, _ in told)}))
        for key, mask in told:
            if self._stop.is_set():
                return
            if key.fileobj is self._listener:
                self._accept()
            elif key.fileobj is self._wakeup:
                self._acknowledge()
            elif key.data in self._connections:
                if mask & selectors.EVENT_WRITE:
                    self._send(key.data)
                if mask & selectors.EVENT_READ and not key.data.pending:
                    self._read(key.data, share)
        for connection in waiting:
            if self._stop.is_set():
                return
            if connection in self._connections:
                self._take(connection, connection.pending, share)
        now = time.monotonic()
        if now >= self._tidy_at:
            self._tidy_at = now + TIDY_S
            self._tidy(now)

    def _accept(self) -> None:
        assert self._listener is not None  # noqa: S101 - it is what woke us
        for _ in range(MAX_ACCEPTS_A_TURN):
            try:
                sock, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:
                # No descriptor is free: the writers wait in the backlog.
                self._selector.unregister(self._listener)
                self._accept_after = time.monotonic() + ACCEPT_REST_S
                self._refuse("no descriptor is free")
                return
            self._admit(sock)

    def _admit(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        try:
            uid = peer_uid(sock)
        except OSError:
            sock.close()
            return
        if uid not in self._options.allow_uids:
            self._turn_away(sock, f"uid {uid} is not allowed")
        elif not self._has_room():
            self._turn_away(sock, "too many connections")
        else:
            now = time.monotonic()
            peer = Peer(uid, self._options.allow_sandboxes)
            connection = Connection(sock, peer, now, last_heard=now, line_since=None)
            self._connections[connection] = None
            self._selector.register(sock, selectors.EVENT_READ, connection)

    def _turn_away(self, sock: socket.socket, why: str) -> None:
        with contextlib.suppress(OSError):
            sock.send(f"error {why}\n".encode())
        sock.close()
        self._refuse(why)

    def _refuse(self, why: str) -> None:
        """Counted; told at most once a `TIDY_S`."""
        if why in self._refused or len(self._refused) < 64:
            self._refused[why] = self._refused.get(why, 0) + 1

    def _has_room(self) -> bool:
        if len(self._connections) < self._options.max_connections:
            return True
        quiet = min(self._connections, key=lambda c: c.last_heard)
        if time.monotonic() - quiet.last_heard < MIN_IDLE_S:
            return False
        self._end(quiet)
        return True

    def _read(self, connection: Connection, share: int) -> None:
        try:
            data = connection.sock.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._end(connection)
            return
        self._take(connection, data, share)

    def _take(self, connection: Connection, data: bytes, share: int) -> None:
        """Hear a share of what was read; the rest waits for the next round."""
        connection.last_heard = time.monotonic()
        data, connection.pending = first_lines(data, share)
        try:
            self._hear(connection, data)
        except ProtocolError as error:
            with contextlib.suppress(OSError):
                connection.sock.send(f"error {error}\n".encode())
            self._drop(connection)
            self._refuse(f"not understood: {error}")

    def _hear(self, connection: Connection, data: bytes) -> None:
        if connection.stage is not Stage.EVENTS:
            data, connection.head = connection.head + data, b""
            try:
                data = self._greet(connection, data)
            except IncompleteError:
                connection.head = data
                data = b""
        if data:
            for cut in connection.cutter.feed(data):
                self._give(connection, cut)
                connection.line_since = None
        if not connection.unfinished:
            connection.line_since = None
        elif connection.line_since is None:
            connection.line_since = connection.last_heard

    def _greet(self, connection: Connection, data: bytes) -> bytes:
        """Take the lines of the protocol off the front; the rest is events."""
        if connection.stage is Stage.FIRST:
            name, data = first_line(data)
            if name is None:
                self._begin_plain(connection)
            else:
                self._begin_counted(connection, name.decode())
        if connection.stage is Stage.PLACE and data:
            try:
                line, data = from_line(data)
            except IncompleteError:
                connection.head, data = data, b""
                return data
            connection.stage = Stage.EVENTS
            if line is not None:
                self._leap(connection, line)
        return data

    def _begin_plain(self, connection: Connection) -> None:
        connection.stage = Stage.EVENTS
        # A position without a mark: if we are killed, the next start knows what was cut off.
        self._emit(Block(self._name, connection.stream, b"", 0, 0, peer=connection.peer))

    def _begin_counted(self, connection: Connection, name: str) -> None:
        stream = f"ack:{connection.peer.uid}:{name}"
        track = self._tracks.get(stream)
        if track is None:
            if len(self._tracks) >= MAX_WRITERS:
                raise ProtocolError("too many names of writers")
            track = self._tracks[stream] = Track(stream)
        for other in [c for c in self._connections if c.track is track]:
            # The newest connection counts: what the older one did not get in is sent again.
            self._drop(other)
        connection.stream, connection.track, connection.stage = stream, track, Stage.PLACE
        connection.cutter = LineCutter(track.heard[0])
        connection.told = track.stored
        connection.say(b"next %d\n" % (track.heard[1] + 1))
        if track.stored:
            connection.say(b"ok %d\n" % track.stored)

    def _leap(self, connection: Connection, line: int) -> None:
        track = connection.track
        assert track is not None  # noqa: S101 - only a counting writer gets here
        lost = line - (track.heard[1] + 1)
        if lost < 0:
            raise ProtocolError("from N: lines before `next` are stored already")
        if lost == 0:
            return
        now = datetime.now(UTC)
        since = datetime.fromtimestamp(track.seen_s, UTC) if track.seen_s else now
        self._emit(Lost(self._name, min(since, now), now, LOST_BY_WRITER, lost))
        track.leap(line)
        connection.cutter = LineCutter(track.heard[0])
        at = track.heard[0]
        self._emit(
            Block(
                self._name, track.stream, b"", at, at, track.mark(int(time.time())),
                peer=connection.peer,
            )
        )  # fmt: skip

    def _give(self, connection: Connection, cut: Cut, *, final: bool = False) -> None:
        mark = b""
        if connection.track is not None:
            new = connection.track.take(cut)
            if new is None:
                return
            cut, mark = new, connection.track.mark(int(time.time()))
        rejects = (Reject(cut.start, Reason.TOO_LONG),) if cut.too_long else ()
        self._emit(
            Block(
                self._name, connection.stream, cut.data, cut.start, cut.end, mark,
                final=final, rejects=rejects, peer=connection.peer,
            )
        )  # fmt: skip

    def _end(self, connection: Connection) -> None:
        """The writer is gone or must go: an uncounted one's last line is taken as it is."""
        self._drop(connection)
        if connection.track is not None:
            return
        if connection.pending:
            self._hear(connection, connection.pending)
        if connection.stage is Stage.FIRST:
            if not connection.head:
                return
            self._begin_plain(connection)
            for cut in connection.cutter.feed(connection.head):
                self._give(connection, cut)
        if (last := connection.cutter.end()) is not None:
            self._give(connection, last, final=True)
        self._emit(Closed(self._name, connection.stream))

    def _drop(self, connection: Connection) -> None:
        if self._connections.pop(connection, 0) is None:
            self._selector.unregister(connection.sock)
            connection.sock.close()

    def _acknowledge(self) -> None:
        moved: set[str] = set()
        for stream, resume, read_to in self._wakeup.take():
            if (track := self._tracks.get(stream)) is not None:
                track.consumed(resume, read_to)
                moved.add(stream)
        for connection in self._connections:
            if connection.stream in moved and connection.track is not None:
                connection.acknowledge(connection.track.stored)
                self._watch(connection)

    def _send(self, connection: Connection) -> None:
        connection.send()
        if connection.track is not None:
            connection.acknowledge(connection.track.stored)
        self._watch(connection)

    def _watch(self, connection: Connection) -> None:
        wanted = selectors.EVENT_READ
        if connection.sending:
            wanted |= selectors.EVENT_WRITE
        self._selector.modify(connection.sock, wanted, connection)

    def _tidy(self, now: float) -> None:
        assert self._listener is not None  # noqa: S101 - we serve
        if self._accept_after and now >= self._accept_after:
            self._accept_after = 0.0
            self._selector.register(self._listener, selectors.EVENT_READ)
        for connection in list(self._connections):
            since = connection.line_since
            slow = since is not None and now - since > self._options.line_s
            if slow or now - connection.last_heard > self._options.idle_s:
                self._end(connection)
                self._refuse("a line was not finished in time" if slow else "idle")
        self._bound_memory()
        self._forget_writers()
        plain = sum(c.track is None and c.stage is Stage.EVENTS for c in self._connections)
        self.writers = (len(self._connections), plain)
        self._emit(Idle(self._name))
        self._warn()

    def _bound_memory(self) -> None:
        held = {c: c.cutter.held_bytes for c in self._connections}
        while sum(held.values()) > MAX_HELD_BYTES:
            largest = max(held, key=lambda c: held[c])
            del held[largest]
            self._end(largest)
            self._refuse("too many unfinished lines")

    def _forget_writers(self) -> None:
        before = time.time() - FORGET_WRITER_S
        here = {c.stream for c in self._connections}
        for stream, track in list(self._tracks.items()):
            if track.seen_s >= before or stream in here:
                continue
            del self._tracks[stream]
            # One that only greeted has left nothing.
            if track.seen_s:
                self._emit(Closed(self._name, stream))

    def _warn(self) -> None:
        if self._refused != self._warned:
            self._warned = dict(self._refused)
            said = "; ".join(f"{why} ({n})" for why, n in sorted(self._refused.items()))
            self._emit(Warned(self._name, f"connections refused or ended: {said}"))
