"""Apple's unified log: what Sandbox and System Policy allowed and denied, in every style of `log`.

A report carries no latency, no host name of a destination and no user; the kernel drops reports
without a word, so every count is a lower bound.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from audit_events import text
from collector.contracts import Block, Decoded, DecoderPlugin, Filtered, Reason, Reject, Tally
from collector.decoders import seatbelt_json, seatbelt_styles, times
from collector.decoders.batches import batch_from
from collector.decoders.lines import LineReader, is_closed_object
from collector.decoders.row import Row, gap
from collector.decoders.seatbelt_entry import Entry, event
from collector.decoders.seatbelt_explained import explain
from collector.decoders.seatbelt_message import CUT

# A sandboxd report has about 20 lines, an entry of `--style json` about 40.
MAX_PENDING_LINES: Final = 256
MAX_PENDING_BYTES: Final = 1 << 20
_SIGNS: Final = re.compile(
    rb"eventMessage|Filtering the log data using|\(Sandbox\)"
    rb"|(?:Sandbox|System Policy): .* (?:deny|allow)"
)


@dataclass(slots=True)
class _Pending:
    """An entry whose lines may go on; `start` is its first byte in the stream.

    `entry` is what its first line says, None for JSON.
    """

    start: int
    lines: list[bytes]
    entry: Entry | None = None
    size: int = 0
    # Lines beyond the bound were left out.
    cut: bool = False

    def fits(self, line: bytes) -> bool:
        return len(self.lines) < MAX_PENDING_LINES and self.size + len(line) <= MAX_PENDING_BYTES

    @property
    def stamped(self) -> bool:
        """Whether each entry of this log begins with its time."""
        return self.entry is not None and self.entry.stamped

    def add(self, line: bytes) -> None:
        self.lines.append(line)
        self.size += len(line)


@dataclass(slots=True)
class _Found:
    rows: list[dict[str, Any]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    filtered: dict[Filtered, int] = field(default_factory=dict)

    def leave_out(self, reason: Filtered) -> None:
        self.filtered[reason] = self.filtered.get(reason, 0) + 1


def _now() -> datetime:
    return datetime.now(UTC)


class SeatbeltDecoder:
    """Log entries of one stream. `clock` gives the time, and the year, of lines that have none."""

    def __init__(self, clock: Callable[[], datetime] = _now) -> None:
        self._clock = clock
        self._reader = LineReader()
        self._pending: _Pending | None = None
        self._last: dict[str, Any] | None = None
        self._latest: int | None = None
        self._resume = 0

    def decode(self, block: Block) -> Decoded:
        """The entries that end in this block."""
        lines = self._reader.take(block)
        found, now, at = _Found(), self._clock(), lines.start
        for line in lines.data.split(b"\n") if lines.data else ():
            if at < lines.start + len(lines.data):
                self._line(line.removesuffix(b"\r"), at, found, now)
            at += len(line) + 1
        self._resume = lines.end
        return self._decoded(found)

    def flush(self, now: datetime) -> Decoded:
        """The entry that nothing followed."""
        found = _Found()
        self._close(found, now)
        return self._decoded(found)

    def _line(self, line: bytes, start: int, found: _Found, now: datetime) -> None:
        pending = self._pending
        if pending is not None and pending.entry is None:
            self._json_line(pending, line, start, found, now)
        elif line.startswith((b"{", b"[{", b"},{", b"}]")) and not (pending and pending.stamped):
            self._close(found, now)
            self._json_starts(line, start, found, now)
        else:
            self._text_line(line, start, found, now)

    def _json_starts(self, line: bytes, start: int, found: _Found, now: datetime) -> None:
        body = line.removeprefix(b"[")
        if body.rstrip().endswith(b"}") and body.startswith(b"{") and len(body.strip()) > 1:
            self._take(seatbelt_json.parse(body), start, found, now)
        elif body.startswith(b"}]"):
            found.leave_out(Filtered.TRAILER)
        else:
            self._pending = _Pending(start, [body.removeprefix(b"},")])

    def _json_line(
        self, pending: _Pending, line: bytes, start: int, found: _Found, now: datetime
    ) -> None:
        """A line of an entry of `--style json`; it ends with a brace at the start of a line.

        A line that opens an object was never part of one: what was pending is broken.
        """
        if line.startswith(b"}"):
            pending.add(b"}")
            self._close(found, now)
            if line.startswith(b"},{"):
                self._pending = _Pending(start, [b"{"])
        elif line.startswith((b"{", b"[{")) or not pending.fits(line):
            self._pending = None
            found.rejects.append(Reject(pending.start, Reason.NOT_A_RECORD))
            self._line(line, start, found, now)
        else:
            pending.add(line)
            if line.endswith(b"}") and is_closed_object(b"\n".join(pending.lines)):
                self._close(found, now)

    def _text_line(self, raw: bytes, start: int, found: _Found, now: datetime) -> None:
        line = text.from_bytes(raw)
        if seatbelt_styles.is_banner(line):
            self._close(found, now)
            found.leave_out(Filtered.BANNER)
        elif line.startswith(seatbelt_styles.DROPPED):
            self._close(found, now)
            row = gap("the log's reader could not keep up and dropped messages", said=line)
            self._give(row, start, None, found, now)
        elif (times_again := seatbelt_styles.repeated(line)) is not None:
            self._close(found, now)
            self._again(times_again, start, found)
        elif (entry := self._starts(line)) is not None:
            self._close(found, now)
            self._pending = _Pending(start, [raw], entry)
        elif self._pending is not None and self._pending.fits(raw):
            self._pending.add(raw)
        elif self._pending is not None and self._pending.stamped:
            # Nobody can talk on for so long that his next line is taken for somebody else's.
            self._pending.cut = True
        else:
            self._close(found, now)
            found.leave_out(Filtered.NOT_ENFORCEMENT if line.strip() else Filtered.BLANK)

    def _starts(self, line: str) -> Entry | None:
        """The entry that a line starts. In a log whose entries begin with their time, a line
        without one is what the process before it goes on to say, whatever it looks like."""
        entry = seatbelt_styles.parse(line)
        goes_on = entry and not entry.stamped and self._pending and self._pending.stamped
        return None if goes_on else entry

    def _again(self, count: int, start: int, found: _Found) -> None:
        """syslogd folded repetitions of the line before into one."""
        if self._last is None:
            found.leave_out(Filtered.NOT_ENFORCEMENT)
            return
        found.rows.append({**self._last, "count": count, "source_position": start})

    def _close(self, found: _Found, now: datetime) -> None:
        pending, self._pending = self._pending, None
        if pending is None:
            return
        whole = b"\n".join(pending.lines).rstrip(b"\n") + (CUT.encode() if pending.cut else b"")
        if pending.entry is None:
            self._take(seatbelt_json.parse(whole), pending.start, found, now)
            return
        entry: Entry | None = pending.entry
        if len(pending.lines) > 1 or pending.cut:
            entry = seatbelt_styles.parse(text.from_bytes(whole))
        self._take(entry or Reason.NOT_A_RECORD, pending.start, found, now)

    def _take(
        self, entry: Entry | Filtered | Reason, start: int, found: _Found, now: datetime
    ) -> None:
        if isinstance(entry, Reason):
            found.rejects.append(Reject(start, entry))
            return
        row = event(entry) if isinstance(entry, Entry) else entry
        if isinstance(row, Filtered):
            found.leave_out(row)
            self._last = None
        else:
            self._give(row, start, entry if isinstance(entry, Entry) else None, found, now)

    def _give(
        self, row: Row, start: int, entry: Entry | None, found: _Found, now: datetime
    ) -> None:
        if row.columns["kind"] == "gap" and self._latest and not (entry and entry.stamped):
            # The line has no time; it stands behind this one.
            row.set_time((self._latest, False), now)
            row.flags.add("no-time")
        elif not _set_time(row, entry, now):
            found.rejects.append(Reject(start, Reason.BAD_TIME))
            return
        row.columns |= {"format": "seatbelt", "source_position": start, "redactions": 0}
        if entry is not None:
            row.columns["host"] = entry.host
            if entry.mach_time is not None:
                row.extra["mach_time"] = entry.mach_time
        self._latest = row.columns["ts"]
        finished = row.finished()
        self._last = finished if row.columns["kind"] == "decision" else None
        found.rows.append(finished)

    def _decoded(self, found: _Found) -> Decoded:
        seen = len(found.rows) + len(found.rejects) + sum(found.filtered.values())
        resume = self._resume if self._pending is None else self._pending.start
        return Decoded(
            batch_from(found.rows), tuple(found.rejects), Tally(seen, found.filtered), resume
        )


def _set_time(row: Row, entry: Entry | None, now: datetime) -> bool:
    """Set ts from what the line says; False if its time cannot be read."""
    if entry is None:
        return row.set_time(None, now)
    if entry.clock is not None:
        row.extra["time"] = entry.clock
    if entry.time is not None or entry.yearless is None:
        return row.set_time(entry.time, now)
    return row.set_time(times.yearless(entry.yearless, now), now)


def recognises(sample: bytes) -> bool:
    """Whether the first lines come from `log`, or are Sandbox reports."""
    return _SIGNS.search(sample) is not None


__all__ = ["SeatbeltDecoder", "decoder", "explain", "recognises"]
decoder = DecoderPlugin(name="seatbelt", make=SeatbeltDecoder, recognises=recognises)
