"""Whole lines out of a file, about a mebibyte at a time, without a loop over lines."""

from dataclasses import dataclass
from typing import Final

from audit_events.schema import MAX_LINE_BYTES
from collector.sources.file_identity import ReadAt

# A chunk without newline holds more than the longest line, so one look decides.
CHUNK_BYTES: Final = MAX_LINE_BYTES + 1
NO_LIMIT: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Lines:
    """Whole lines that end at `end`."""

    data: bytes
    end: int


@dataclass(frozen=True, slots=True)
class TooLong:
    """One line longer than MAX_LINE_BYTES; it ends, newline included, at `end`."""

    end: int


@dataclass(frozen=True, slots=True)
class Unfinished:
    """No newline yet. `data` is the line so far, or empty when it is already too long.

    `scanned` is where the search for its end must go on.
    """

    data: bytes
    scanned: int
    too_long: bool


Piece = Lines | TooLong | Unfinished


def next_piece(read_at: ReadAt, offset: int, limit: int, scanned: int = 0) -> Piece:
    """What starts at `offset`, the start of a line; bytes from `limit` on are not looked at."""
    if scanned <= offset + MAX_LINE_BYTES:
        chunk = read_at(offset, min(CHUNK_BYTES, limit - offset))
        cut = chunk.rfind(b"\n") + 1
        if cut:
            return Lines(chunk[:cut], offset + cut)
        if len(chunk) < CHUNK_BYTES:
            return Unfinished(chunk, offset + len(chunk), too_long=False)
        scanned = offset + len(chunk)
    return _end_of_long_line(read_at, scanned, limit)


def _end_of_long_line(read_at: ReadAt, scanned: int, limit: int) -> Piece:
    while scanned < limit:
        chunk = read_at(scanned, min(CHUNK_BYTES, limit - scanned))
        newline = chunk.find(b"\n")
        if newline >= 0:
            return TooLong(scanned + newline + 1)
        if not chunk:
            break
        scanned += len(chunk)
    return Unfinished(b"", scanned, too_long=True)


def line_start(read_at: ReadAt, end: int) -> int:
    """The start of the line that `end` lies in, or `end` if none is found within a line's bound."""
    start = max(0, end - CHUNK_BYTES)
    newline = read_at(start, end - start).rfind(b"\n")
    if newline >= 0:
        return start + newline + 1
    return 0 if start == 0 else end
