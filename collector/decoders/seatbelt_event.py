"""Events from Sandbox reports, forgeries, losses and other lines of Apple's log."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from audit_events import text
from audit_events.schema import BY_NAME, MAX_NAME_BYTES, MAX_TEXT_BYTES
from collector.decoders import seatbelt_target
from collector.decoders.seatbelt_message import Report
from collector.decoders.seatbelt_operations import operation

_ERRNO: Final = {1: "EPERM", 2: "ENOENT", 13: "EACCES", 17: "EEXIST", 22: "EINVAL", 78: "ENOSYS"}
_MAX_INT64: Final = (1 << 63) - 1


@dataclass(slots=True)
class Row:
    """One event in the making."""

    columns: dict[str, Any]
    flags: set[str] = field(default_factory=set)
    extra: dict[str, Any] = field(default_factory=dict)

    def finished(self) -> dict[str, Any]:
        """The columns within their bounds, with flags and extra."""
        row: dict[str, Any] = {"count": 1}
        for name, value in self.columns.items():
            row[name] = self._bounded(name, value)
        if self.extra:
            row["extra"] = self._extra()
        if self.flags:
            row["flags"] = ",".join(sorted(self.flags))
        return {name: value for name, value in row.items() if value is not None or name == "count"}

    def _bounded(self, name: str, value: Any) -> Any:
        if isinstance(value, str):
            limit = MAX_NAME_BYTES if BY_NAME[name].dictionary else MAX_TEXT_BYTES
            value, cut = text.clip(value, limit)
            if cut:
                self.flags.add("truncated")
        elif isinstance(value, int) and BY_NAME[name].type == "int64" and value > _MAX_INT64:
            self.extra[name] = value
            return None
        return value

    def _extra(self) -> str:
        whole = _dumps(self.extra)
        if len(whole.encode()) <= MAX_TEXT_BYTES:
            return whole
        self.flags.add("truncated")
        kept: dict[str, Any] = {}
        left = MAX_TEXT_BYTES - 64
        for key, value in self.extra.items():
            size = len(_dumps({key: value}).encode())
            if size <= left:
                kept[key] = value
                left -= size
        kept["members_left_out"] = len(self.extra) - len(kept)
        return _dumps(kept)


def decision(report: Report, message: str) -> Row:
    """The event of a report; one that reads in two ways names nobody and keeps its text."""
    row = Row({
        "kind": "decision", "enforcer": report.enforcer, "decision": report.decision or "unknown",
        "count": report.count,
    })  # fmt: skip
    if report.tag:
        row.extra["tag"] = report.tag
    if report.duplicate:
        row.extra["duplicate"] = True
    if report.truncated:
        row.flags.add("truncated")
    if report.ambiguous or report.operation is None:
        row.flags.add("ambiguous")
        row.columns |= {"message": message, "resource": "other"}
        return row
    kind = operation(report.operation)
    where, more = seatbelt_target.columns(report.operation, kind.resource, report.target)
    row.extra |= more
    row.columns |= where
    row.columns |= {
        "syscall": report.operation, "resource": kind.resource, "access": kind.access,
        "process": report.process, "pid": report.pid,
        "error": None if report.code is None or report.decision != "deny" else errno(report.code),
    }  # fmt: skip
    if report.code and report.decision == "allow":
        row.extra["code"] = report.code
    return row


def notice(message: str, **columns: Any) -> Row:
    """Something that is no decision but must be seen."""
    return Row({"kind": "notice", "resource": "other", "message": message, **columns})


def errno(code: int) -> str | None:
    """The name of an errno; 0 is none."""
    return _ERRNO.get(code, f"errno {code}") if code else None


def _dumps(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
