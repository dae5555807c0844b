"""One line of the Linux audit log: its event, its type, its fields; any prefix, raw or enriched."""

import re
from dataclasses import dataclass, field
from typing import Final

from audit_events import text

_LINE: Final = re.compile(
    r"(?P<prefix>.*?)(?:type=(?P<type>[A-Z0-9_]+(?:\[\d+\])?) )?(?:msg=)?"
    r"audit\((?P<time>\d{1,12}(?:\.\d{1,9})?):(?P<serial>\d{1,20})\): ?(?P<rest>.*)",
    re.DOTALL | re.ASCII,
)
# What may stand in front: nothing, a node, or what syslog, dmesg and the journal put before words
# of the kernel and the audit daemon. Behind any other name a process says what it likes.
_PREFIX: Final = re.compile(
    r"(?:node=(?P<node>\S+) )?"
    r"(?:(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) (?P<host>\S+) "
    # The kernel has no pid.
    r"(?:kernel|(?:audit|auditd|audispd|audisp-syslog)(?:\[\d+\])?): )?"
    r"(?:kern *: ?[a-z]+ *: )?(?:<\d+>)?"
    r"(?:\[(?: *\d+\.\d+|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\]"
    r"(?:\[ *[TC]\d+\])? )?(?:audit(?:\[\d+\])?: )?",
    re.ASCII,
)
_PAIR: Final = re.compile(
    r"([A-Za-z_][A-Za-z0-9_-]*)=(?:\"([^\"]*)\"|'([^']*)'|=?([^ \x1d]*(?: \([a-z]+\))?))"
)
_AVC: Final = re.compile(r"avc:\s+(?P<verdict>denied|granted)\s+\{ (?P<permissions>[^}]*)\} for ")
_UNKNOWN: Final = re.compile(r"UNKNOWN\[(\d+)\]")
_HEX: Final = re.compile(r"(?:[0-9A-F]{2})+")
# The kernel writes these in hex when they hold blanks, quotes or bytes beyond ASCII.
_UNTRUSTED: Final = frozenset({
    "comm", "exe", "name", "path", "cwd", "proctitle", "profile", "target", "key", "ocomm", "cmd",
    "data", "srcname", "peer", "peer_addr", "addr", "label", "old", "new", "acct", "dir",
})  # fmt: skip
WITH_DECISION: Final = frozenset({"AVC", "USER_AVC"})
_ARGUMENT: Final = re.compile(r"a\d{1,4}(?:\[\d+\])?")
_TYPES: Final[dict[str, str]] = {
    "1300": "SYSCALL", "1302": "PATH", "1305": "CONFIG_CHANGE", "1306": "SOCKADDR", "1307": "CWD",
    "1309": "EXECVE", "1320": "EOE", "1326": "SECCOMP", "1327": "PROCTITLE", "1331": "FANOTIFY",
    "1107": "USER_AVC",
    "1400": "AVC", "1402": "AVC_PATH", "1423": "LANDLOCK_ACCESS", "1424": "LANDLOCK_DOMAIN",
    "1501": "APPARMOR_AUDIT", "1502": "APPARMOR_ALLOWED", "1503": "APPARMOR_DENIED",
    "1504": "APPARMOR_HINT", "1505": "APPARMOR_STATUS", "1506": "APPARMOR_ERROR",
}  # fmt: skip
MAX_FIELDS: Final = 4096


# `journalctl` without -o: no serial, so a record is an event of its own.
_SHORT: Final = re.compile(
    r"(?P<stamp>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?P<host>\S+) audit(?:\[\d+\])?: "
    r"(?P<type>[A-Z][A-Z0-9_]{2,30}(?:\[\d+\])?) (?P<rest>[a-z].*)",
    re.DOTALL | re.ASCII,
)


@dataclass(slots=True)
class Record:
    """One line, its fields as text with hex undone."""

    type: str
    time: str
    serial: int
    fields: dict[str, str] = field(default_factory=dict)
    verdict: str | None = None
    permissions: tuple[str, ...] = ()
    node: str | None = None
    # The time of a record that has no serial either.
    yearless: str | None = None
    # Said by a process, not by the kernel or the audit daemon.
    forged: bool = False


def parse(line: str) -> Record | None:
    """The record of a line, None if it has no audit(time:serial)."""
    match = _LINE.fullmatch(line)
    if match is None:
        return _short(line)
    prefix = _PREFIX.fullmatch(match["prefix"])
    record = Record(
        _type(match["type"] or "1400"), match["time"], int(match["serial"]),
        node=(prefix["node"] or prefix["host"]) if prefix else None, forged=prefix is None,
    )  # fmt: skip
    return _filled(record, match["rest"])


def _short(line: str) -> Record | None:
    match = _SHORT.fullmatch(line)
    if match is None:
        return None
    record = Record(_type(match["type"]), "", 0, node=match["host"], yearless=match["stamp"])
    return _filled(record, match["rest"])


def _type(kind: str) -> str:
    unknown = _UNKNOWN.fullmatch(kind)
    kind = unknown[1] if unknown else kind
    return _TYPES.get(kind, kind)


def _filled(record: Record, rest: str) -> Record:
    raw, _, enriched = rest.partition("\x1d")
    if record.type == "USER_AVC":
        # Who was refused stands in msg='…'; what is around it speaks of the daemon that refused.
        raw = _said_by_daemon(raw)
    # Any other record may quote such words.
    avc = _AVC.search(raw) if record.type in WITH_DECISION else None
    if avc:
        record.verdict, record.permissions = avc["verdict"], tuple(avc["permissions"].split())
        raw = raw[avc.end() :]
    for key, value in _pairs(raw, record.type):
        record.fields.setdefault(key, value)
    for key, value in _pairs(enriched, record.type):
        record.fields.setdefault(key, value)
    return record


def _said_by_daemon(raw: str) -> str:
    _, said, inner = raw.partition(" msg='")
    return inner.rpartition("'")[0] if said else raw


def _pairs(raw: str, kind: str) -> list[tuple[str, str]]:
    found = []
    for number, match in enumerate(_PAIR.finditer(raw)):
        if number >= MAX_FIELDS:
            break
        key, double, single, plain = match.groups()
        if double is not None or single is not None:
            found.append((key, double if double is not None else single))
            continue
        found.append((key, _plain(key, plain, kind)))
    return found


def _plain(key: str, value: str, kind: str) -> str:
    """An unquoted value: hex where the kernel writes texts so."""
    argument = kind == "EXECVE" and _ARGUMENT.fullmatch(key)
    if (key in _UNTRUSTED or argument) and len(value) > 1 and _HEX.fullmatch(value):
        return unhex(value)
    return value


def unhex(value: str) -> str:
    """The text of hex digits."""
    return text.from_bytes(bytes.fromhex(value))
