"""A decoder for formats of one record a line: the format is one function."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from collector.contracts import Block, Decoded, Filtered, Reason, Reject, Tally
from collector.decoders.batches import batch_from
from collector.decoders.lines import LineReader
from collector.decoders.row import Row


class Read(NamedTuple):
    """An event and its time as the line writes it."""

    row: Row
    time: str | None


Reading = Read | Filtered | Reason


def _now() -> datetime:
    return datetime.now(UTC)


class LineDecoder:
    """Lines of one stream through `read`; `clock` gives the time of lines that have none."""

    def __init__(
        self, name: str, read: Callable[[bytes], Reading], clock: Callable[[], datetime] = _now
    ) -> None:
        self._name, self._read, self._clock = name, read, clock
        self._reader = LineReader()
        self._resume = 0

    def decode(self, block: Block) -> Decoded:
        """One event, reject or left-out line for each line of the block."""
        lines = self._reader.take(block)
        rows, rejects, now, at = [], [], self._clock(), lines.start
        filtered: dict[Filtered, int] = {}
        for raw in lines.data.removesuffix(b"\n").split(b"\n") if lines.data else ():
            found = self._one(raw.removesuffix(b"\r"), now)
            if isinstance(found, Row):
                found.columns |= {"format": self._name, "source_position": at, "redactions": 0}
                rows.append(found.finished())
            elif isinstance(found, Filtered):
                filtered[found] = filtered.get(found, 0) + 1
            else:
                rejects.append(Reject(at, found))
            at += len(raw) + 1
        self._resume = lines.end
        seen = len(rows) + len(rejects) + sum(filtered.values())
        return Decoded(batch_from(rows), tuple(rejects), Tally(seen, filtered), self._resume)

    def flush(self, now: datetime) -> Decoded:
        """Nothing ever waits."""
        del now
        return Decoded(batch_from([]), (), Tally(), self._resume)

    def _one(self, raw: bytes, now: datetime) -> Row | Filtered | Reason:
        if not raw.strip():
            return Filtered.BLANK
        found = self._read(raw)
        if not isinstance(found, Read):
            return found
        return found.row if found.row.set_time(found.time, now) else Reason.BAD_TIME
