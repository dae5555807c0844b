"""Whole lines out of bytes that arrive in any pieces and cannot be read again."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from audit_events.schema import MAX_BLOCK_BYTES, MAX_LINE_BYTES


@dataclass(frozen=True, slots=True)
class Cut:
    """Bytes [start, end) of the stream: whole lines, or one line too long to be kept (no data)."""

    data: bytes
    start: int
    end: int
    lines: int

    @property
    def too_long(self) -> bool:
        """True if this stands for a line beyond MAX_LINE_BYTES."""
        return not self.data


# What one `feed` may be given: with the unfinished line it still fits one block.
MAX_FEED_BYTES: Final = MAX_BLOCK_BYTES - MAX_LINE_BYTES - 1


class LineCutter:
    """Holds at most one unfinished line, and of a line that is too long nothing but its length."""

    def __init__(self, start: int = 0) -> None:
        """`start` is the offset of the first byte that will be fed."""
        self._start = start
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._overlong = False

    @property
    def held_bytes(self) -> int:
        """Bytes in memory."""
        return 0 if self._overlong else self._held_bytes

    @property
    def unfinished(self) -> bool:
        """True if a line has begun and not ended."""
        return self._held_bytes > 0

    def feed(self, data: bytes) -> Iterator[Cut]:
        """What is whole now; at most MAX_FEED_BYTES at a time."""
        first = data.find(b"\n") + 1
        if not first:
            self._hold(data)
            return
        if self._held_bytes + first - 1 > MAX_LINE_BYTES:
            self._hold(data[:first])
            yield self._end_overlong(lines=1)
            data = data[first:]
        last = data.rfind(b"\n") + 1
        if last:
            whole = b"".join([*self._held, data[:last]])
            yield self._cut(whole)
        if last < len(data):
            self._hold(data[last:])

    def end(self) -> Cut | None:
        """The unfinished line as it is: nothing will follow."""
        if not self._held_bytes:
            return None
        if self._overlong:
            return self._end_overlong(lines=1)
        return self._cut(b"".join(self._held), lines=1)

    def _hold(self, data: bytes) -> None:
        self._held_bytes += len(data)
        if self._held_bytes > MAX_LINE_BYTES:
            self._overlong = True
            self._held.clear()
        else:
            self._held.append(data)

    def _end_overlong(self, *, lines: int) -> Cut:
        cut = Cut(b"", self._start, self._start + self._held_bytes, lines)
        self._forget(cut.end)
        return cut

    def _cut(self, whole: bytes, lines: int | None = None) -> Cut:
        count = whole.count(b"\n") if lines is None else lines
        cut = Cut(whole, self._start, self._start + len(whole), count)
        self._forget(cut.end)
        return cut

    def _forget(self, start: int) -> None:
        self._start, self._held_bytes, self._overlong = start, 0, False
        self._held = []
