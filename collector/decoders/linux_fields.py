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
    r"(?:kernel|audit|auditd|audispd|audisp-syslog)(?:\[\d+\])?: )?"
    r"(?:<\d+>)?(?:\[ *\d+\.\d+\](?:\[ *[TC]\d+\])? )?(?:audit(?:\[\d+\])?: )?",
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
_ARGUMENT: Final = re.compile(r"a\d{1,4}(?:\[\d+\])?")
_TYPES: Final[dict[str, str]] = {
    "1300": "SYSCALL", "1302": "PATH", "1305": "CONFIG_CHANGE", "1306": "SOCKADDR", "1307": "CWD",
    "1309": "EXECVE", "1320": "EOE", "1326": "SECCOMP", "1327": "PROCTITLE", "1331": "FANOTIFY",
    "1400": "AVC", "1402": "AVC_PATH", "1423": "LANDLOCK_ACCESS", "1424": "LANDLOCK_DOMAIN",
    "1501": "APPARMOR_AUDIT", "1502": "APPARMOR_ALLOWED", "1503": "APPARMOR_DENIED",
    "1504": "APPARMOR_HINT", "1505": "APPARMOR_STATUS", "1506": "APPARMOR_ERROR",
}  # fmt: skip
MAX_FIELDS: Final = 4096


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
    # Said by a process, not by the kernel or the audit daemon.
    forged: bool = False


def parse(line: str) -> Record | None:
    """The record of a line, None if it has no audit(time:serial)."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    kind = match["type"] or "1400"
    unknown = _UNKNOWN.fullmatch(kind)
    kind = unknown[1] if unknown else kind
    prefix = _PREFIX.fullmatch(match["prefix"])
    record = Record(
        _TYPES.get(kind, kind), match["time"], int(match["serial"]),
        node=(prefix["node"] or prefix["host"]) if prefix else None, forged=prefix is None,
    )  # fmt: skip
    raw, _, enriched = match["rest"].partition("\x1d")
    avc = _AVC.search(raw)
    if avc:
        record.verdict, record.permissions = avc["verdict"], tuple(avc["permissions"].split())
        raw = raw[avc.end() :]
    for key, value in _pairs(raw, record.type):
        record.fields.setdefault(key, value)
    for key, value in _pairs(enriched, record.type):
        record.fields.setdefault(key, value)
    return record


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
