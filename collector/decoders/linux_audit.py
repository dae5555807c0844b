"""Linux audit: raw and enriched logs, syslog, dmesg and journal, assembled by serial number."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from audit_events import text
from collector.contracts import Block, Decoded, DecoderPlugin, Filtered, Reason, Reject, Tally
from collector.decoders import linux_fields, times
from collector.decoders.batches import batch_from
from collector.decoders.escapes import resolve_surrogates
from collector.decoders.lines import LineReader
from collector.decoders.linux_event import Event
from collector.decoders.linux_fields import Record
from collector.decoders.row import Row

MAX_PENDING_EVENTS: Final = 1024
MAX_PENDING_BYTES: Final = 4 << 20
# Records of one event come within milliseconds of each other; auditd itself waits two seconds.
EXPIRES_AFTER_US: Final = 5_000_000
# An event whose last record was seen may still be followed by its EOE.
_LAST_TYPES: Final = ("PROCTITLE", "EOE")
_REMEMBERED: Final = 4096
_LOST: Final = re.compile(r"(?:audit: )?(?:audit_lost=|backlog limit exceeded|rate limit exceeded)")
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
        for key in list(self._pending):
            self._end(key, found, now)
        return self._decoded(found)

    def _line(self, raw: bytes, at: int, found: _Found, now: datetime) -> None:
        line = text.from_bytes(raw).rstrip("\r")
        if not line.strip():
            found.leave_out(Filtered.BLANK)
            return
        if line.startswith("{"):
            message = _journal_message(line)
            if message is None:
                found.rejects.append(Reject(at, Reason.NOT_A_RECORD))
                return
            line = message
        record = linux_fields.parse(line)
        if record is None:
            self._other(line, at, found, now)
        elif record.forged:
            row = Row({"kind": "notice", "resource": "other", "message": line})
            row.flags.add("forged")
            self._give(row, at, None, found, now)
        else:
            self._add(record, at, len(raw), found, now)

    def _other(self, line: str, at: int, found: _Found, now: datetime) -> None:
        if _LOST.search(line):
            row = Row({"kind": "gap", "resource": "other", "count": None, "message": line})
            self._give(row, at, None, found, now)
        elif line.startswith(("type=", "----", "time->")):
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
        if record.type in _LAST_TYPES:
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

    def _give(self, row: Row, start: int, time: str | None, found: _Found, now: datetime) -> None:
        row.set_time(time, now)
        if row.columns["kind"] == "gap":
            row.columns["until"] = row.columns["ts"]
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


def _journal_message(line: str) -> str | None:
    """The message of an entry of `journalctl -o json`; bytes that are no text come as numbers."""
    try:
        entry = msgspec.json.decode(resolve_surrogates(line).encode())
    except (msgspec.MsgspecError, RecursionError):
        return None
    message = entry.get("MESSAGE") if isinstance(entry, dict) else None
    if isinstance(message, list):
        try:
            message = text.from_bytes(bytes(message))
        except (TypeError, ValueError):
            return None
    if not isinstance(message, str):
        return None
    who = entry.get("SYSLOG_IDENTIFIER")
    host = entry.get("_HOSTNAME")
    if who in ("kernel", "audit", "auditd", None) and entry.get("_TRANSPORT") != "syslog":
        prefix = f"node={host} " if isinstance(host, str) and host and " " not in host else ""
        return prefix + message.removeprefix("audit: ")
    return f"{who}: {message}"


def recognises(sample: bytes) -> bool:
    """Whether the first lines hold audit records."""
    return _IN_LOG.search(sample) is not None


decoder = DecoderPlugin(name="linux-audit", make=LinuxAuditDecoder, recognises=recognises)
