"""eslogger's JSON lines: programs started, forked and ended on macOS, as notices for correlation.

eslogger reports what happened, never a denial; the environment of a program is left out, since it
is where secrets are kept.
"""

import json
from typing import Any, Final

import msgspec

from audit_events import text
from collector.contracts import DecoderPlugin, Filtered, Reason
from collector.decoders.escapes import needs_care, resolve_surrogates
from collector.decoders.line_decoder import LineDecoder, Read, Reading
from collector.decoders.row import Row

# An audit token as an array: auid, euid, egid, ruid, rgid, pid, asid, pidversion.
_TOKEN_FIELDS: Final = {"euid": 1, "pid": 5, "pidversion": 7}
_TOKEN_SIZE: Final = 8
_ACCESS: Final = {"exec": "exec", "fork": "fork", "exit": "other"}
_ERRORS: Final = "ES_NEW_CLIENT_RESULT_"
_MAX_ARGV_CHARS: Final = 65_536


class _Message(msgspec.Struct, gc=False):
    """The keys we use of a message; their order is random."""

    event: dict[str, Any]
    process: dict[str, Any]
    time: str | None = None
    version: int | None = None
    global_seq_num: int | None = None
    seq_num: int | None = None


_MESSAGE: Final = msgspec.json.Decoder(_Message)


def read(raw: bytes) -> Reading:
    """One message; an event that we do not follow is left out."""
    if not raw.lstrip().startswith(b"{"):
        line = text.from_bytes(raw)
        if line.startswith(_ERRORS):
            return Read(Row({"kind": "notice", "resource": "other", "message": line}), None)
        return Reason.NOT_A_RECORD
    try:
        message = _MESSAGE.decode(_careful(raw) if needs_care(raw) else raw)
    except msgspec.ValidationError:
        return Reason.BAD_TYPE
    except RecursionError:
        return Reason.TOO_DEEP
    except msgspec.DecodeError:
        try:
            message = _MESSAGE.decode(_careful(raw))
        except (msgspec.MsgspecError, RecursionError):
            return Reason.NOT_A_RECORD
    name = next(iter(message.event), "")
    if name not in _ACCESS or not isinstance(message.event[name], dict):
        return Filtered.NOT_ENFORCEMENT
    return Read(_event(name, message.event[name], message), message.time)


def _careful(raw: bytes) -> bytes:
    return resolve_surrogates(text.from_bytes(raw)).encode()


def _event(name: str, body: dict[str, Any], message: _Message) -> Row:
    """exec: the program that the process became; fork: the child; exit: the process itself."""
    subject = {"exec": body.get("target"), "fork": body.get("child")}.get(name)
    who = subject if isinstance(subject, dict) else message.process
    actor, token = _token(message.process), _token(who)
    path = _path(who)
    row = Row({
        "kind": "notice", "resource": "process", "access": _ACCESS[name], "syscall": name,
        "pid": token.get("pid"), "uid": token.get("euid"), "path": path,
        "ppid": actor.get("pid") if name == "fork" else _number(who.get("ppid")),
        "process": path.rpartition("/")[2] if path else None,
        "command": _argv(body.get("args")) if name == "exec" else None,
    })  # fmt: skip
    more = {
        "pidversion": token.get("pidversion"),
        "actor_pid": actor.get("pid"),
        "actor_pidversion": actor.get("pidversion"),
        "actor_path": _path(message.process),
        "start_time": who.get("start_time"),
        "signing_id": who.get("signing_id"),
        "team_id": who.get("team_id"),
        "cwd": _path({"executable": body.get("cwd")}) if name == "exec" else None,
        "stat": _number(body.get("stat")) if name == "exit" else None,
        "version": message.version,
        # A step of more than one in this number is a loss.
        "global_seq_num": message.global_seq_num,
    }
    row.extra |= {key: value for key, value in more.items() if type(value) in (str, int)}
    return row


def _token(process: dict[str, Any]) -> dict[str, int]:
    """pid, pidversion and user of an audit token, an object until macOS 15, an array since."""
    token = process.get("audit_token")
    if isinstance(token, list) and len(token) == _TOKEN_SIZE:
        token = {name: token[place] for name, place in _TOKEN_FIELDS.items()}
    if not isinstance(token, dict):
        return {}
    numbers = {name: _number(token.get(name)) for name in _TOKEN_FIELDS}
    return {name: number for name, number in numbers.items() if number is not None}


def _number(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 62 else None


def _path(process: dict[str, Any]) -> str | None:
    executable = process.get("executable")
    path = executable.get("path") if isinstance(executable, dict) else None
    return path if isinstance(path, str) and path else None


def _argv(words: Any) -> str | None:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    kept, left = [], _MAX_ARGV_CHARS
    for word in words:
        left -= len(word)
        if left < 0:
            break
        kept.append(word)
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":")) if kept else None


def explain(raw: bytes) -> list[str]:
    """Which shape the audit token has; the environment is never kept."""
    shape = "an array (macOS 26)" if b'"audit_token":[' in raw.replace(b" ", b"") else "an object"
    return ["a message of Endpoint Security", f"audit token as {shape}", "environment left out"]


def recognises(sample: bytes) -> bool:
    """Whether the first lines are messages of Endpoint Security."""
    return b'"audit_token"' in sample and b'"event_type"' in sample


decoder = DecoderPlugin(
    name="eslogger", make=lambda: LineDecoder("eslogger", read), recognises=recognises
)
