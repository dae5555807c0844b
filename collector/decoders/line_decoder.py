"""A decoder for formats of one record a line: the format is one function."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from collector.contracts import Block, Decoded, Filtered, Reason, Reject, Tally
from collector.decoders.batches import batch_from
from collector.decoders.lines import LineReader
from collector.decoders.row import Row

# The longest path is 1,024 bytes, and a record has a dozen other fields.
MAX_CUT_BYTES: Final = 16 * 1024


class Read(NamedTuple):
    """An event and its time as the line writes it."""

    row: Row
    time: str | None


Reading = Read | Filtered | Reason


def _now() -> datetime:
    return datetime.now(UTC)


class LineDecoder:
    """Lines of one stream through `read`; `clock` gives the time of lines that have none.

    `is_cut` says of the lines so far that their record goes on in the next one.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[bytes], Reading],
        clock: Callable[[], datetime] = _now,
        is_cut: Callable[[bytes], bool] | None = None,
    ) -> None:
        self._name, self._read, self._clock, self._is_cut = name, read, clock, is_cut
        self._reader = LineReader()
        # The lines of a cut record, and the first one's place.
        self._cut: tuple[int, bytes] | None = None
        self._resume = 0

    def decode(self, block: Block) -> Decoded:
        """One event, reject or left-out line for each record that ends in the block."""
        lines = self._reader.take(block)
        found, now, at = _Found(self._name), self._clock(), lines.start
        for raw in lines.data.removesuffix(b"\n").split(b"\n") if lines.data else ():
            self._line(at, raw, found, now)
            at += len(raw) + 1
        self._resume = lines.end
        return found.decoded(self._cut[0] if self._cut else self._resume)

    def flush(self, now: datetime) -> Decoded:
        """A cut record that nothing followed, as far as it came."""
        found = _Found(self._name)
        if self._cut:
            (at, raw), self._cut = self._cut, None
            found.add(at, self._one(raw, now))
        return found.decoded(self._resume)

    def _line(self, at: int, raw: bytes, found: "_Found", now: datetime) -> None:
        raw = raw.removesuffix(b"\r")
        if self._cut:
            at, raw = self._cut[0], self._cut[1] + b"\n" + raw
        if self._is_cut and len(raw) <= MAX_CUT_BYTES and self._is_cut(raw):
            self._cut = (at, raw)
            return
        self._cut = None
        found.add(at, self._one(raw, now))

    def _one(self, raw: bytes, now: datetime) -> Row | Filtered | Reason:
        if not raw.strip():
            return Filtered.BLANK
        found = self._read(raw)
        if not isinstance(found, Read):
            return found
        return found.row if found.row.set_time(found.time, now) else Reason.BAD_TIME


@dataclass(slots=True)
class _Found:
    """What a block gave."""

    name: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    filtered: dict[Filtered, int] = field(default_factory=dict)

    def add(self, at: int, found: Row | Filtered | Reason) -> None:
        if isinstance(found, Row):
            found.columns |= {"format": self.name, "source_position": at, "redactions": 0}
            self.rows.append(found.finished())
        elif isinstance(found, Filtered):
            self.filtered[found] = self.filtered.get(found, 0) + 1
        else:
            self.rejects.append(Reject(at, found))

    def decoded(self, resume: int) -> Decoded:
        seen = len(self.rows) + len(self.rejects) + sum(self.filtered.values())
        tally = Tally(seen, self.filtered)
        return Decoded(batch_from(self.rows), tuple(self.rejects), tally, resume)
