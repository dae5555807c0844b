"""Events from Sandbox reports, forgeries, losses and other lines of Apple's log."""

from typing import Any, Final

from collector.decoders import seatbelt_target
from collector.decoders.row import Row
from collector.decoders.seatbelt_message import Report
from collector.decoders.seatbelt_operations import operation

_ERRNO: Final = {1: "EPERM", 2: "ENOENT", 13: "EACCES", 17: "EEXIST", 22: "EINVAL", 78: "ENOSYS"}


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
