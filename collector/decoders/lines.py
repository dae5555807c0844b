"""Whole lines of a stream, whatever the block borders: tails, bytes sent twice, the BOM."""

import json
from dataclasses import dataclass
from typing import Final

from collector.contracts import Block

_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Lines:
    """Bytes to decode: `data` starts at `start` of the stream; reading goes on at `end`."""

    data: bytes
    start: int
    end: int


class LineReader:
    """Cuts blocks of one stream to whole lines; a line sent twice is handed out once."""

    def __init__(self) -> None:
        self._next: int | None = None
        self._tail_taken = False
        self._partial = b""

    def take(self, block: Block) -> Lines:
        """The whole lines of a block that were not handed out before."""
        data, start = self._unread(block)
        if start == 0 and data.startswith(_BOM):
            data, start = data[len(_BOM) :], len(_BOM)
        if self._tail_taken and data:
            skip = 2 if data.startswith(b"\r\n") else 1 if data.startswith(b"\n") else 0
            data, start = data[skip:], start + skip
            self._tail_taken = False
        cut = len(data) if block.final else data.rfind(b"\n") + 1
        if cut < len(data) and block.tail and is_closed_object(data[cut:]):
            cut = len(data)
            self._tail_taken = True
        self._partial = data[cut:]
        # Bytes that a source kept back (a line too long) lie between the data and the block's end.
        self._next = start + cut if self._partial else max(block.end, start + cut)
        return Lines(data[:cut], start, self._next)

    def _unread(self, block: Block) -> tuple[bytes, int]:
        """The block without what was read; with the half line before it if it goes on there."""
        data, start = block.data, block.start
        if self._next is None:
            return data, start
        if self._partial and start == self._next + len(self._partial):
            return self._partial + data, self._next
        if start < self._next < start + len(data):
            return data[self._next - start :], self._next
        if start < self._next == start + len(data):
            return b"", self._next
        if start != self._next:
            # The source skipped the line's end itself, or the stream was put back.
            self._tail_taken = False
        return data, start


def is_closed_object(line: bytes) -> bool:
    """Whether a line without newline is one JSON object that nothing can be added to."""
    text = line.strip()
    if not (text.startswith(b"{") and text.endswith(b"}")):
        return False
    try:
        return isinstance(json.loads(text.decode(errors="replace"), parse_int=str), dict)
    except (ValueError, RecursionError):
        return False
