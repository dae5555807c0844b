"""Entries of the unified log in JSON: one a line (ndjson) or spread over lines (json)."""

from typing import Any, Final

import msgspec

from audit_events import text
from collector.contracts import Filtered, Reason
from collector.decoders.escapes import needs_care, resolve_surrogates
from collector.decoders.seatbelt_entry import Entry, from_kernel


class _LogEntry(msgspec.Struct, gc=False):
    """The keys we use; their order differs from release to release."""

    eventMessage: str | None = None  # noqa: N815 - Apple's names
    timestamp: str | None = None
    processID: int | None = None  # noqa: N815
    senderImagePath: str | None = None  # noqa: N815
    processImagePath: str | None = None  # noqa: N815
    userID: int | None = None  # noqa: N815
    subsystem: str | None = None
    eventType: str | None = None  # noqa: N815
    MetaData: Any = None
    metadata: Any = None
    machTimestamp: int | None = None  # noqa: N815
    count: int | None = None
    finished: int | None = None


_ENTRY: Final = msgspec.json.Decoder(_LogEntry)


def parse(line: bytes) -> Entry | Filtered | Reason:
    """The entry of one JSON object; why it is left out; or why it cannot be read."""
    try:
        found = _ENTRY.decode(_careful(line) if needs_care(line) else line)
    except msgspec.ValidationError:
        return Reason.BAD_TYPE
    except RecursionError:
        return Reason.TOO_DEEP
    except msgspec.DecodeError:
        try:
            found = _ENTRY.decode(_careful(line))
        except (msgspec.MsgspecError, RecursionError):
            return Reason.NOT_A_RECORD
    return _entry(found)


def _careful(line: bytes) -> bytes:
    return resolve_surrogates(text.from_bytes(line)).encode()


def _entry(found: _LogEntry) -> Entry | Filtered:
    if found.eventMessage is None and found.eventType is None:
        return Filtered.TRAILER if found.finished is not None else Filtered.NOT_ENFORCEMENT
    metadata = found.MetaData if found.MetaData is not None else found.metadata
    return Entry(
        message=found.eventMessage or "",
        time=found.timestamp,
        kernel=from_kernel(found.processID, found.senderImagePath, found.processImagePath),
        process=found.processImagePath,
        pid=found.processID,
        uid=found.userID,
        subsystem=found.subsystem,
        event_type=found.eventType,
        mach_time=found.machTimestamp,
        metadata=metadata if isinstance(metadata, dict) else None,
    )
