"""The open files of a source: few at a time, closed when nothing comes."""

import time
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from collector.sources.file_readers import Reader, open_reader
from collector.sources.file_stream import Stream

MAX_OPEN_FILES: Final = 64
IDLE_CLOSE_S: Final = 30.0


class Pool:
    """Readers by stream, least recently used first."""

    def __init__(self, limit: int = MAX_OPEN_FILES, idle_s: float = IDLE_CLOSE_S) -> None:
        self._limit, self._idle_s = limit, idle_s
        self._open: OrderedDict[str, tuple[Reader, float]] = OrderedDict()

    def get(self, stream: Stream) -> Reader:
        """The stream's file; OSError if it cannot be opened, FileNotFoundError if it moved."""
        held = self._open.get(stream.id)
        reader = held[0] if held else open_reader(stream.path, stream.key)
        self._open[stream.id] = reader, time.monotonic()
        self._open.move_to_end(stream.id)
        while len(self._open) > self._limit:
            self.drop(next(iter(self._open)))
        return reader

    def holds(self, stream: Stream) -> bool:
        """True if the stream's file is open."""
        return stream.id in self._open

    def peek(self, stream: Stream) -> Reader | None:
        """The stream's file if it is open; looking does not count as use."""
        held = self._open.get(stream.id)
        return held[0] if held else None

    def adopt(self, stream: Stream, reader: Reader) -> None:
        """Keep a reader that was opened to look at the file."""
        self.drop(stream.id)
        self._open[stream.id] = reader, time.monotonic()

    def drop(self, stream_id: str) -> None:
        """Close one file, if it is open."""
        held = self._open.pop(stream_id, None)
        if held:
            held[0].close()

    def idle(self) -> Iterator[str]:
        """Streams whose file nobody used for a while."""
        oldest = time.monotonic() - self._idle_s
        return iter([name for name, (_, used) in self._open.items() if used < oldest])

    def close(self) -> None:
        """Close all."""
        for name in list(self._open):
            self.drop(name)
