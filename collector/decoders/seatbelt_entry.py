"""One entry of the unified log in any style, and what Sandbox, sandboxd and tccd say in it."""

import json
import re
from dataclasses import dataclass, replace
from typing import Any, Final

from audit_events import text
from collector.contracts import Filtered
from collector.decoders.row import Row, gap
from collector.decoders.seatbelt_event import decision, errno, notice
from collector.decoders.seatbelt_message import Report, imitates_report, looks_like_report, read

_KEXT: Final = "/Sandbox.kext/Contents/MacOS/Sandbox"
_SANDBOXD: Final = "/usr/libexec/sandboxd"
_APPLIED: Final = re.compile(r"Sandbox apply: (.+)\[(\d{1,10})\]", re.ASCII)
_LOST: Final = re.compile(r"lost (>=)?(\d{1,18}) unreliable messages", re.ASCII)
_SUPPRESSED: Final = re.compile(r"Sandbox reporting: (\d{1,9}) violations? suppressed", re.ASCII)
_TCC: Final = re.compile(r"AUTHREQ_[A-Z]+:|TCC(?:AccessRequest| denied)|kTCCService")
_TCC_FIELDS: Final = re.compile(
    r"\b(msgID|service|function|preflight|authValue|authReason|authVersion|desired_auth)"
    r"=([A-Za-z0-9_.]{1,80})"
)
_REPORT_FIELDS: Final = re.compile(r"^([A-Z][A-Za-z/ ]{2,24}):[ \t]+(.*)$", re.MULTILINE)
_NAME_PID: Final = re.compile(r"(.+?) \[(\d{1,10})\]", re.ASCII)


@dataclass(frozen=True, slots=True)
class Entry:
    """What the styles have in common; None where a style does not say it.

    `kernel`: the log itself vouches that the kernel extension wrote it (True), or somebody else
    (False); None if the line does not carry that.
    """

    message: str
    time: str | None = None
    kernel: bool | None = None
    process: str | None = None
    pid: int | None = None
    uid: int | None = None
    host: str | None = None
    subsystem: str | None = None
    event_type: str | None = None
    # Ticks since boot: the order of the kernel's own reports, which wall times do not keep.
    mach_time: int | None = None
    metadata: dict[str, Any] | None = None
    headless: bool = False
    # `Jul  1 09:32:13`: the year and the zone are those of the reader's guess.
    yearless: str | None = None
    # `14:21:33.887941 +0100`: a time of an unknown day.
    clock: str | None = None

    @property
    def stamped(self) -> bool:
        """Whether the line says when: then it is a line of a log, not an excerpt."""
        return bool(self.time or self.yearless or self.clock)

    @property
    def by_sandboxd(self) -> bool:
        """Whether sandboxd wrote it, as far as the line says who did."""
        return self.process in ("sandboxd", _SANDBOXD)


def from_kernel(process_id: int | None, sender: str | None, process: str | None) -> bool | None:
    """Only the kernel has pid 0; an absent pid proves nothing, and a process may log any text."""
    if process_id is None:
        return None if sender is None and process is None else False
    return process_id == 0 and (sender is None or sender.endswith(_KEXT))


def event(entry: Entry) -> Row | Filtered:
    """The entry as an event, or why it is none."""
    lost = _LOST.match(entry.message) is not None
    if entry.event_type == "lossEvent" or (lost and entry.kernel is not False):
        return _loss(entry)
    report = read(entry.message, headless=entry.headless)
    if entry.kernel is True and report:
        return decision(report, entry.message)
    if entry.kernel is not False and (other := _other_kernel_line(entry)):
        return other
    if report and (entry.by_sandboxd or entry.kernel is None):
        return _told_by_sandboxd(entry, report)
    if lost or imitates_report(entry.message):
        row = notice(entry.message, process=_base(entry.process), pid=entry.pid, uid=entry.uid)
        row.flags.add("forged")
        return row
    if _TCC.search(entry.message) or entry.message.startswith("log: "):
        row = notice(entry.message, resource="system", process=_base(entry.process), pid=entry.pid)
        row.extra |= {key: said for key, said in _TCC_FIELDS.findall(entry.message) if said}
        return row
    return Filtered.NOT_ENFORCEMENT


def _base(path: str | None) -> str | None:
    return path.rpartition("/")[2] if path else None


def _loss(entry: Entry) -> Row:
    """The log lost messages: a gap, of unknown size where the counter stood at its end."""
    match = _LOST.match(entry.message)
    count = int(match[2]) if match and not match[1] else None
    return gap("the system's log lost messages", count, entry.message or None)


def _other_kernel_line(entry: Entry) -> Row | None:
    """Profiles applied, reports suppressed, and reports of a grammar that we do not know."""
    suppressed = _SUPPRESSED.match(entry.message)
    if suppressed:
        reason = "Sandbox held back reports of violations"
        return gap(reason, int(suppressed[1]), entry.message)
    applied = _APPLIED.fullmatch(entry.message)
    if applied:
        return notice(
            entry.message, syscall="sandbox-apply", resource="process", enforcer="seatbelt",
            process=applied[1], pid=int(applied[2]),
        )  # fmt: skip
    if looks_like_report(entry.message) and not read(entry.message):
        row = notice(entry.message)
        row.flags.add("ambiguous")
        return row
    return None


def _told_by_sandboxd(entry: Entry, report: Report) -> Row:
    """sandboxd's report says more than the kernel's: parent, user, path of the program."""
    headline, _, rest = entry.message.partition("\n")
    metadata = entry.metadata or _metadata(rest)
    is_long = bool(metadata) or "\nProcess:" in entry.message
    if is_long:
        report = read(headline, headless=entry.headless) or report
    if isinstance(metadata.get("operation"), str) and not report.ambiguous:
        target = metadata.get("target", metadata.get("path"))
        # Where headline and metadata disagree, the metadata is the kernel's own record.
        report = replace(
            report, operation=metadata["operation"],
            target=target if isinstance(target, str) and target else report.target,
        )  # fmt: skip
    row = decision(report, entry.message)
    if entry.kernel is None and not entry.by_sandboxd and entry.subsystem is not None:
        row.flags.add("ambiguous")
    if is_long:
        _details(row, metadata, dict(_REPORT_FIELDS.findall(rest)))
    return row


def _metadata(report: str) -> dict[str, Any]:
    _, found, tail = report.partition("MetaData: ")
    if not found:
        return {}
    try:
        value, _ = json.JSONDecoder().raw_decode(tail)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _details(row: Row, metadata: dict[str, Any], fields: dict[str, str]) -> None:
    """uid, parent and the program's path; a value of the wrong type is not taken."""
    parent = _NAME_PID.fullmatch(fields.get("Parent Process", "").strip())
    numbers = {
        "uid": metadata.get("uid", fields.get("User ID")),
        "ppid": metadata.get("parent-process-pid", parent[2] if parent else None),
        "pid": row.columns.get("pid") or metadata.get("pid"),
    }
    for name, value in numbers.items():
        if str(value).strip().isdecimal() and not isinstance(value, bool):
            row.columns[name] = int(str(value).strip()[:18])
    code = metadata.get("errno")
    if type(code) is int and row.columns.get("decision") == "deny" and 0 <= code < 10_000:
        row.columns["error"] = errno(code)
    more = {
        "process_path": metadata.get("process-path", fields.get("Path")),
        "parent": metadata.get("parent-process-name", parent[1] if parent else None),
        "responsible": metadata.get("responsible-process-path", fields.get("Responsible")),
        "checker": metadata.get("checker"),
        "report_version": fields.get("Report Version"),
    }
    for name, value in more.items():
        if isinstance(value, str) and value.strip():
            row.extra[name] = text.from_str(value.strip())
