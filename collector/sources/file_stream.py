"""One stream of a file source: what is known of it, and its next blocks."""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from threading import Event
from typing import Final

from audit_events.schema import MAX_LINE_BYTES
from collector.contracts import Block, Emission, Reason, Reject, StreamPosition, Warned
from collector.sources.file_framing import (
    NO_LIMIT,
    Lines,
    TooLong,
    Unfinished,
    next_piece,
)
from collector.sources.file_identity import (
    Fingerprinter,
    Mark,
    Print,
    ReplacedError,
    Trace,
    decode_mark,
    encode_mark,
)
from collector.sources.file_readers import SETTLE_S, Reader, is_packed, still_written
from collector.sources.file_scan import Candidate, Key

MAX_CHECKPOINTS: Final = 16
CLOCK_SLACK_S: Final = 0.02  # a file system's clock ticks in steps and lags behind ours
STREAM_ID_BYTES: Final = 6

PackedState = tuple[int, int, int]


@dataclass(slots=True)
class Tail:
    """An unfinished last line in the flow's hands, and the trace to go on with if it is taken."""

    trace: Trace
    doubted_at: float = 0.0


@dataclass(slots=True, eq=False)
class Stream:
    """A stream and where it stands; `trace` ends at the first byte that was not emitted."""

    id: str
    trace: Trace
    path: str
    key: Key
    stored: Print | None = None  # from a committed position, until the file is found
    position: StreamPosition | None = None
    packed_done: PackedState | None = None
    previous_path: str = ""
    real_path: str = ""
    rotated: bool = False
    after_tail: bool = False
    announce: bool = False
    consumed: int = 0
    tail: Tail | None = None
    refused_end: int = -1
    rest_end: int = 0  # end of the unfinished line as last seen
    rest_since: float = 0.0
    scanned: int = 0
    size: int = -1  # as the last scan saw it
    mtime_ns: int = -1
    read_size: int = -1  # as the last turn left it
    read_mtime_ns: int = -1
    retry_at: float = 0.0
    seen: float = 0.0
    missing_since: float = 0.0
    rescues: int = 0
    indexed: bool = False

    @property
    def known(self) -> Print:
        """What tells this stream's file from others."""
        return self.stored or self.trace.print

    @property
    def packed(self) -> bool:
        """True if it is read from a gzip file now."""
        return is_packed(self.path)

    @property
    def unfinished(self) -> bool:
        """True if bytes of a line without newline are waiting."""
        return self.rest_end > self.trace.end

    @property
    def read_until_ns(self) -> int:
        """No line written before this time is unread, as far as clocks can tell."""
        return (
            self.read_mtime_ns
            if self.read_mtime_ns >= 0
            else int((self.seen - CLOCK_SLACK_S) * 1e9)
        )

    def found_at(self, candidate: Candidate) -> None:
        """Take the file's present name and state."""
        if candidate.path != self.path:
            self.previous_path, self.path, self.rotated = self.path, candidate.path, True
            self.real_path = ""
        self.key = candidate.key
        self.real_path = self.real_path or os.path.realpath(candidate.path)
        self.size, self.mtime_ns = candidate.size, candidate.mtime_ns


def new_stream(candidate: Candidate, prints: Fingerprinter) -> Stream:
    """A stream that starts with the file's first byte."""
    stream = Stream(
        secrets.token_hex(STREAM_ID_BYTES), Trace(prints), candidate.path, candidate.key
    )
    stream.found_at(candidate)
    return stream


def restored(position: StreamPosition, prints: Fingerprinter) -> Stream | None:
    """A stream as it was committed, its file not found yet; None if the mark is none of ours."""
    mark = decode_mark(position.mark)
    if mark is None:
        return None
    stored = Print(position.read_to, mark.head, mark.last)
    path = os.fsdecode(mark.path)
    stream = Stream(position.stream, Trace(prints), path, (mark.dev, mark.ino), stored, position)
    stream.real_path = path
    stream.after_tail = mark.tail and position.resume == position.read_to
    stream.packed_done = mark.packed
    stream.seen = stream.missing_since = mark.seen
    return stream


def take_up(stream: Stream, candidate: Candidate, reader: Reader) -> bool:
    """True if the file continues the stream, which then stands where it must go on."""
    if stream.stored is None:
        return stream.trace.prints.fits(reader.read_at, stream.trace.print)
    resume = stream.trace.end if stream.position is None else stream.position.resume
    whole = resume == stream.stored.end
    if whole and stream.packed_done == (candidate.size, candidate.mtime_ns, candidate.ino):
        # Unpacking a finished archive again only to know it again would cost every start.
        stream.trace = replace(stream.trace, end=resume)
        stream.read_size, stream.read_mtime_ns = candidate.size, candidate.mtime_ns
    else:
        trace = stream.trace.recalled(reader.read_at, stream.stored, resume)
        if trace is None:
            return False
        at_line = resume == 0 or reader.read_at(resume - 1, 1) == b"\n"
        if not at_line and not stream.after_tail:
            return False
        stream.trace = trace
        stream.stored = stream.packed_done = None
    stream.position, stream.consumed = None, resume
    return True


class Drain:
    """Emits what a stream's file holds."""

    def __init__(self, source: str, emit: Callable[[Emission], None], stop: Event) -> None:
        self._source, self._emit, self._stop = source, emit, stop
        # When names were last looked at: what was written later may be in a file not seen yet.
        self.looked_at = time.time()

    def plain(self, stream: Stream, reader: Reader, limit: int) -> None:
        """Emit whole lines up to `limit`, the size of the file when the turn began."""
        self._begin(stream, reader)
        for block in self._blocks(stream, reader, limit):
            self._emit(block)

    def packed(self, stream: Stream, reader: Reader) -> None:
        """Emit the archive to its end; the last block is final, unless it is still being written.

        A damaged archive costs one reject where the damage begins.
        """
        try:
            self._begin(stream, reader)
        except ReplacedError:
            # One that is being written once more holds nothing, or a part, for a while.
            if not still_written(reader):
                raise
            stream.retry_at = time.monotonic() + SETTLE_S
            return
        held: Block | None = None
        for block in self._blocks(stream, reader, NO_LIMIT):
            if held is not None:
                self._emit(held)
            held = block
        info = reader.stat()
        if self._stop.is_set() or still_written(reader):
            if held is not None:
                self._emit(held)
            stream.retry_at = time.monotonic() + SETTLE_S
            return
        stream.retry_at = 0.0
        stream.packed_done = (info.st_size, info.st_mtime_ns, info.st_ino)
        self._finish(stream, reader, held)

    def _finish(self, stream: Stream, reader: Reader, held: Block | None) -> None:
        damage = reader.damage
        if held is not None and not damage and not stream.unfinished:
            mark = self._mark(stream, stream.trace, tail=False)
            self._emit(replace(held, final=True, mark=mark))
            return
        if held is not None:
            self._emit(held)
        if damage:
            stream.rest_end = stream.trace.end
            self._emit(self._empty(stream, (Reject(stream.trace.end, Reason.DAMAGED_ARCHIVE),)))
            self._emit(Warned(self._source, f"{stream.path}: damaged archive: {damage}"))
        else:
            self.last_line(stream, reader)

    def last_line(self, stream: Stream, reader: Reader) -> None:
        """Emit the unfinished line as whole: nothing will follow."""
        rest = next_piece(reader.read_at, stream.trace.end, stream.rest_end, stream.scanned)
        if isinstance(rest, Unfinished) and rest.too_long:
            start = stream.trace.end
            stream.trace = stream.trace.at(reader.read_at, rest.scanned)
            self._emit(self._empty(stream, (Reject(start, Reason.TOO_LONG),), start=start))
        elif isinstance(rest, Unfinished) and rest.data:
            self._emit(self._block(stream, rest.data, final=True))
            stream.after_tail = True
        else:
            self._emit(self._empty(stream, ()))
        stream.rest_end = stream.trace.end

    def tail(self, stream: Stream, reader: Reader, *, keep: bool) -> bool:
        """Emit the unfinished line for a decoder that knows it is whole; False if there is none.

        With `keep` the stream waits for `consumed` to say whether it was taken.
        """
        rest = next_piece(reader.read_at, stream.trace.end, stream.rest_end, stream.scanned)
        if not isinstance(rest, Unfinished) or rest.too_long or not rest.data:
            return False
        after = stream.trace.advanced(rest.data)
        if keep:
            stream.tail = Tail(after)
        mark = self._mark(stream, after, tail=True)
        start = stream.trace.end
        self._emit(Block(self._source, stream.id, rest.data, start, after.end, mark, tail=True))
        return True

    def _begin(self, stream: Stream, reader: Reader) -> None:
        if stream.stored is not None:
            trace = stream.trace.recalled(reader.read_at, stream.stored, stream.trace.end)
            if trace is None:
                raise ReplacedError
            stream.trace, stream.stored = trace, None
        if not stream.trace.matches(reader.read_at):
            raise ReplacedError
        if stream.announce:
            stream.announce = False
            self._emit(self._empty(stream, ()))

    def _skip_newline(self, stream: Stream, reader: Reader, limit: int) -> bool:
        """Step over the newline of a line that was taken without it; False if it is not there."""
        nearby = reader.read_at(stream.trace.end, min(2, limit - stream.trace.end))
        if nearby in (b"", b"\r"):
            return False
        endings = (e for e in (b"\n", b"\r\n") if nearby.startswith(e))
        ending = next(endings, b"")
        if stream.consumed == stream.trace.end:
            stream.consumed += len(ending)
        stream.trace = stream.trace.advanced(ending)
        stream.after_tail = False
        return True

    def _blocks(self, stream: Stream, reader: Reader, limit: int) -> Iterator[Block]:
        if stream.after_tail and not self._skip_newline(stream, reader, limit):
            return
        stream.rest_end = stream.trace.end
        while not self._stop.is_set():
            start = stream.trace.end
            piece = next_piece(reader.read_at, start, limit, stream.scanned)
            match piece:
                case Lines():
                    yield self._block(stream, piece.data)
                case TooLong():
                    stream.trace = stream.trace.at(reader.read_at, piece.end)
                    yield self._empty(stream, (Reject(start, Reason.TOO_LONG),), start=start)
                case Unfinished():
                    if piece.scanned > stream.rest_end:
                        stream.rest_end = piece.scanned
                    stream.scanned = piece.scanned if piece.too_long else 0
                    return
            stream.scanned = 0
            if not stream.trace.matches(reader.read_at):
                raise ReplacedError

    def _block(self, stream: Stream, data: bytes, *, final: bool = False) -> Block:
        start = stream.trace.end
        stream.trace = stream.trace.advanced(data)
        stream.trace.remember(MAX_CHECKPOINTS)
        stream.stored = None
        end, mark = stream.trace.end, self._mark(stream, stream.trace, tail=final)
        return Block(self._source, stream.id, data, start, end, mark, final=final)

    def _empty(
        self, stream: Stream, rejects: tuple[Reject, ...], *, start: int | None = None
    ) -> Block:
        """No bytes, but a position to keep."""
        end = stream.trace.end
        mark = self._mark(stream, stream.trace, tail=stream.after_tail)
        final = stream.packed_done is not None
        first = end if start is None else start
        return Block(self._source, stream.id, b"", first, end, mark, final=final, rejects=rejects)

    def _mark(self, stream: Stream, trace: Trace, *, tail: bool) -> bytes:
        known = trace.print
        path = os.fsencode(stream.real_path or stream.path)
        dev, ino = stream.key
        done = stream.packed_done
        return encode_mark(Mark(path, dev, ino, known.head, known.last, self.looked_at, tail, done))


def too_long_to_take(stream: Stream) -> bool:
    """True if the unfinished line is beyond what a decoder may be given."""
    return stream.rest_end - stream.trace.end > MAX_LINE_BYTES
