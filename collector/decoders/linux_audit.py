"""Linux audit: raw and enriched logs, syslog, dmesg and journal, assembled by serial number."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from audit_events import text
from collector.contracts import Block, Decoded, DecoderPlugin, Filtered, Reason, Reject, Tally
from collector.decoders import linux_fields, linux_journal, times
from collector.decoders.batches import batch_from
from collector.decoders.lines import LineReader
from collector.decoders.linux_event import Event
from collector.decoders.linux_fields import Record
from collector.decoders.row import Row, gap

MAX_PENDING_EVENTS: Final = 1024
MAX_PENDING_BYTES: Final = 4 << 20
# Records of one event come within milliseconds of each other; auditd itself waits two seconds.
EXPIRES_AFTER_US: Final = 5_000_000
_REMEMBERED: Final = 4096
_LOST: Final = re.compile(r"(audit_lost=|backlog limit exceeded|rate limit exceeded)")
# ausearch's own lines, and what the rest of a system says in the same file.
_OTHER_LINE: Final = re.compile(
    r"type=|node=|----|time->|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d |\d{4}-\d\d-\d\dT\S+ \S+ "
    r"|(?:<\d+>)?\[[^\]]{1,40}\] |-- "
)
_LOSSES: Final = {
    "audit_lost=": "the kernel lost audit records",
    "backlog limit exceeded": "the kernel's audit queue was full",
    "rate limit exceeded": "audit records came faster than the kernel's rate limit",
}
_IN_LOG: Final = re.compile(rb"audit\(\d{1,12}\.\d+:\d+\)|audit_lost=")

_Key = tuple[str | None, str, int]


@dataclass(slots=True)
class _Pending:
    """An event whose records are still coming."""

    start: int
    micros: int
    records: list[Record] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    size: int = 0


@dataclass(slots=True)
class _Found:
    rows: list[dict[str, Any]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    filtered: dict[Filtered, int] = field(default_factory=dict)

    def leave_out(self, reason: Filtered) -> None:
        self.filtered[reason] = self.filtered.get(reason, 0) + 1


def _now() -> datetime:
    return datetime.now(UTC)


class LinuxAuditDecoder:
    """Audit records of one stream, put together to events; `clock` tells skewed times."""

    def __init__(self, clock: Callable[[], datetime] = _now) -> None:
        self._clock = clock
        self._reader = LineReader()
        self._pending: dict[_Key, _Pending] = {}
        self._bytes = 0
        # Ended events, newest last: their key, and the offsets of their lines.
        self._ended: dict[_Key, list[int]] = {}
        self._resume = 0

    def decode(self, block: Block) -> Decoded:
        """The events that end in this block."""
        lines = self._reader.take(block)
        found, at = _Found(), lines.start
        now = self._clock()
        for raw in lines.data.removesuffix(b"\n").split(b"\n") if lines.data else ():
            self._line(raw, at, found, now)
            at += len(raw) + 1
        self._resume = lines.end
        return self._decoded(found)

    def flush(self, now: datetime) -> Decoded:
        """All events whose records nothing followed."""
        found = _Found()
        self._end_all(found, now)
        return self._decoded(found)

    def _end_all(self, found: _Found, now: datetime) -> None:
        for key in list(self._pending):
            self._end(key, found, now)

    def _line(self, raw: bytes, at: int, found: _Found, now: datetime) -> None:
        line = text.from_bytes(raw).rstrip("\r")
        if not line.strip():
            found.leave_out(Filtered.BLANK)
            return
        journal = linux_journal.message_of(line) if line.startswith("{") else None
        record = linux_fields.parse(journal or line)
        if record is None:
            self._other(journal or line, at, found, now, known=journal is not None)
        elif record.forged:
            row = Row({"kind": "notice", "resource": "other", "message": line})
            row.flags.add("forged")
            self._give(row, at, None, found, now)
        elif record.yearless:
            self._alone(record, at, found, now)
        else:
            self._add(record, at, len(raw), found, now)

    def _alone(self, record: Record, at: int, found: _Found, now: datetime) -> None:
        row = Event([record]).row()
        if row is None:
            found.leave_out(Filtered.NOT_ENFORCEMENT)
            return
        row.extra.pop("serial", None)
        self._give(row, at, times.yearless(record.yearless or "", now), found, now)

    def _other(
        self, line: str, at: int, found: _Found, now: datetime, *, known: bool = False
    ) -> None:
        """A line without a record: a loss, a line of something else, or nothing that we know."""
        if lost := _LOST.search(line):
            # The kernel counts since boot and does not say since when: how many is not known.
            self._give(gap(_LOSSES[lost[1]], said=line), at, None, found, now)
        elif known or _OTHER_LINE.match(line):
            if line.startswith("----"):
                self._end_all(found, now)
            found.leave_out(Filtered.NOT_ENFORCEMENT)
        else:
            found.rejects.append(Reject(at, Reason.NOT_A_RECORD))

    def _add(self, record: Record, at: int, size: int, found: _Found, now: datetime) -> None:
        key = (record.node, record.time, record.serial)
        ended = self._ended.get(key)
        if ended is not None:
            # The EOE of an event that ended with its title.
            ended.append(at)
            if record.type == "EOE":
                return
        pending = self._pending.get(key)
        if pending is None:
            moment = times.parse(record.time)
            if moment is None:
                found.rejects.append(Reject(at, Reason.BAD_TIME))
                return
            self._expire(moment[0], found, now)
            pending = self._pending[key] = _Pending(at, moment[0])
        pending.records.append(record)
        pending.offsets.append(at)
        pending.size += size
        self._bytes += size
        # ausearch prints the title first.
        if record.type == "EOE" or (record.type == "PROCTITLE" and len(pending.records) > 1):
            self._end(key, found, now)
        while len(self._pending) > MAX_PENDING_EVENTS or self._bytes > MAX_PENDING_BYTES:
            self._end(next(iter(self._pending)), found, now, incomplete=True)

    def _expire(self, micros: int, found: _Found, now: datetime) -> None:
        while self._pending:
            key = next(iter(self._pending))
            if self._pending[key].micros + EXPIRES_AFTER_US >= micros:
                break
            self._end(key, found, now)

    def _end(self, key: _Key, found: _Found, now: datetime, *, incomplete: bool = False) -> None:
        pending = self._pending.pop(key)
        self._bytes -= pending.size
        self._ended.setdefault(key, []).extend(pending.offsets)
        while len(self._ended) > _REMEMBERED:
            self._ended.pop(next(iter(self._ended)))
        if all(record.type == "EOE" for record in pending.records):
            found.leave_out(Filtered.TRAILER)
            return
        row = Event(pending.records).row()
        if row is None:
            found.leave_out(Filtered.NOT_ENFORCEMENT)
            return
        if incomplete:
            row.flags.add("incomplete")
        self._give(row, pending.start, key[1], found, now)

    def _give(
        self, row: Row, start: int, time: str | tuple[int, bool] | None, found: _Found,
        now: datetime,
    ) -> None:  # fmt: skip
        row.set_time(time, now)
        row.columns |= {"format": "linux-audit", "source_position": start, "redactions": 0}
        found.rows.append(row.finished())

    def _decoded(self, found: _Found) -> Decoded:
        resume = min((p.start for p in self._pending.values()), default=self._resume)
        done = []
        for key, offsets in list(self._ended.items()):
            later = [offset for offset in offsets if offset >= resume]
            if later:
                done.append(later[0])
            elif self._resume - offsets[-1] > MAX_PENDING_BYTES:
                del self._ended[key]
        seen = len(found.rows) + len(found.rejects) + sum(found.filtered.values())
        batch = batch_from(found.rows)
        return Decoded(
            batch, tuple(found.rejects), Tally(seen, found.filtered), resume, tuple(sorted(done))
        )


def explain(raw: bytes) -> list[str]:
    """Each line: its record's type and what was undone in it."""
    steps = []
    for line in text.from_bytes(raw).removesuffix("\n").split("\n"):
        journal = linux_journal.message_of(line) if line.startswith("{") else None
        record = linux_fields.parse(journal or line)
        if record is None:
            steps.append("no audit record")
            continue
        words = [f"record {record.type}"]
        words += ["inside a journal entry"] if journal else []
        words += ["enriched: names behind 0x1d"] if "\x1d" in line else []
        words += ["behind a name that the kernel does not use"] if record.forged else []
        words += ["no serial: an event of its own"] if record.yearless else []
        steps.append(", ".join(words))
    return steps


def recognises(sample: bytes) -> bool:
    """Whether the first lines hold audit records."""
    return _IN_LOG.search(sample) is not None


decoder = DecoderPlugin(name="linux-audit", make=LinuxAuditDecoder, recognises=recognises)
