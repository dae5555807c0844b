"""Santa's log, text and JSON: binaries, files and disks allowed or denied on macOS."""

import re
from typing import Any, Final

from audit_events import text
from collector.contracts import DecoderPlugin, Filtered, Reason
from collector.decoders.line_decoder import LineDecoder, Read, Reading
from collector.decoders.row import Row, gap
from collector.decoders.santa_json import read_json
from collector.decoders.santa_words import ACCESS, columns_of_decision

_LINE: Final = re.compile(
    r"(?:\[(?P<time>\d{4}-[^\]]{10,40})\] [A-Z] santad: |.{0,200}?santad(?:\[\d+\])?: )?"
    r"(?P<fields>action=[A-Z_]+(?:\|.*)?)",
    re.DOTALL | re.ASCII,
)
# The path of FILE_ACCESS is written as it is: a | in a file's name forges fields. The order of the
# fields tells what is real, unless the name imitates that too.
_FILE_ACCESS: Final = re.compile(
    r"action=FILE_ACCESS\|policy_version=(?P<policy_version>[^|]*)\|policy_name=(?P<policy_name>.*?)"
    r"\|path=(?P<path>.*)\|access_type=(?P<access_type>[A-Z_]+)\|decision=(?P<decision>[A-Z_]+)"
    r"(?P<rest>(?:\|.*)?)",
    re.DOTALL,
)
_STAMP: Final = re.compile(r"\[(\d{4}-[0-9T:.Z+-]{10,40})\] ", re.ASCII)
_WHOLE: Final = re.compile(rb"\|access_type=[A-Z_]+\|decision=[A-Z_]+(?:\|[^\n]*)?\Z")
_IMITATED: Final = "|access_type="
_INTEGERS: Final = ("pid", "ppid", "uid")
_DROPPED: Final = "Dropping log queue messages"


def read(raw: bytes) -> Reading:
    """One line of santad, text or JSON."""
    if raw.lstrip()[:1] == b"{":
        return read_json(raw)
    line = text.from_bytes(raw)
    if _DROPPED in line:
        stamp = _STAMP.match(line)
        reason = "santad could not keep up and dropped lines"
        return Read(gap(reason, said=line), stamp[1] if stamp else None)
    match = _LINE.fullmatch(line)
    if match is None:
        return Filtered.NOT_ENFORCEMENT if "santad" in line else Reason.NOT_A_RECORD
    return Read(_event(match["fields"]), match["time"])


def is_cut(raw: bytes) -> bool:
    """Whether a line break of a file's name ended the line: the rest of its record comes next."""
    return b"action=FILE_ACCESS|" in raw and not _WHOLE.search(raw)


def _event(line: str) -> Row:
    fields, ambiguous = _fields(line)
    action = fields.pop("action")
    row = Row({"syscall": action, "enforcer": "santa", **columns_of_decision(action, fields)})
    if ambiguous:
        row.flags.add("ambiguous")
    if row.columns.get("decision") == "unknown":
        row.flags.add("unknown-decision")
    if fields.get("decision") == "AUDIT_ONLY":
        row.flags.add("would-deny")
    row.columns |= _placed(action, fields)
    row.extra |= {key: value for key, value in fields.items() if value not in ("", "(null)")}
    return row


def _placed(action: str, fields: dict[str, str]) -> dict[str, Any]:
    """Columns from fields; what finds its place is taken out of `fields`."""
    path = fields.pop("path", None)
    placed: dict[str, Any] = {"path": path or fields.pop("source", None)}
    placed["path_to"] = fields.pop("newpath", None) or fields.pop("new", None)
    target = fields.pop("target", None)
    placed["path_to" if action == "COPYFILE" else "target"] = target
    placed["process"] = fields.pop("process", None)
    if action == "EXEC" and path:
        placed["process"] = path.rpartition("/")[2]
    placed["policy"] = fields.pop("policy_name", None)
    for name in _INTEGERS:
        if re.fullmatch(r"-?\d{1,10}", fields.get(name, "")):
            placed[name] = int(fields.pop(name))
    if action.startswith("DISK"):
        placed["target"] = fields.pop("mount", None) or fields.get("bsdname")
    fields.pop("decision", None)
    access = fields.get("access_type", "")
    if action == "FILE_ACCESS" and access in ACCESS:
        placed["access"] = ACCESS[access]
    return {name: value for name, value in placed.items() if value not in (None, "")}


def _fields(line: str) -> tuple[dict[str, str], bool]:
    """Fields by key, and whether a field may be forged."""
    match = _FILE_ACCESS.fullmatch(line)
    if match:
        fields = {"action": "FILE_ACCESS", **match.groupdict(default="")}
        rest, twice = _split(fields.pop("rest").removeprefix("|"))
        doubtful = twice or bool(rest.keys() & fields.keys())
        if line.count(_IMITATED) > 1:
            fields = {key: fields[key] for key in ("action", "policy_version", "policy_name")}
            rest["line"], doubtful = line, True
        return {**rest, **fields}, doubtful
    fields, twice = _split(line)
    return {key: _unescaped(value) for key, value in fields.items()}, twice


def _split(line: str) -> tuple[dict[str, str], bool]:
    """key=value between bars; a bar inside a value ends in front of a piece that is no pair."""
    fields: dict[str, str] = {}
    last, twice = "", False
    for piece in line.split("|") if line else ():
        key, equals, value = piece.partition("=")
        if equals and re.fullmatch(r"[a-z_0-9]{2,20}", key):
            # The first of two is real: what santad does not escape comes after what it decides.
            twice |= key in fields
            last = key
            fields.setdefault(key, value)
        elif last:
            fields[last] += f"|{piece}"
    return fields, twice


def _unescaped(value: str) -> str:
    return value.replace("<pipe>", "|").replace("\\n", "\n").replace("\\r", "\r")


def explain(raw: bytes) -> list[str]:
    """Text or JSON, and by what rule its fields were told apart."""
    if raw.lstrip()[:1] == b"{":
        return ["one message of the protocol in JSON"]
    if b"action=FILE_ACCESS|" not in raw:
        return ["text: key=value between bars, the first of two equal keys is real"]
    steps = ["text: the path is whatever lies between path= and the last access_type=, decision="]
    if raw.count(_IMITATED.encode()) > 1:
        steps.append("the file's name imitates the fields behind it: two readings")
    if b"\n" in raw.rstrip(b"\n"):
        steps.append("a line break in the file's name: the record goes on behind it")
    return steps


def recognises(sample: bytes) -> bool:
    """Whether the first lines are santad's."""
    return b"santad: action=" in sample or sample.startswith(b"action=")


decoder = DecoderPlugin(
    name="santa", make=lambda: LineDecoder("santa", read, is_cut=is_cut), recognises=recognises
)
