"""Santa's JSON log: one message of its protocol a line, fields and enums by name."""

import base64
import binascii
import json
from typing import Any, Final

import msgspec

from audit_events import text
from collector.contracts import Filtered, Reason
from collector.decoders.escapes import resolve_surrogates
from collector.decoders.line_decoder import Read, Reading
from collector.decoders.row import Row
from collector.decoders.santa_words import ACCESS, columns_of_decision

_KINDS: Final = {"execution": "EXEC", "file_access": "FILE_ACCESS"}
_ARGV_BYTES: Final = 65_536


def read_json(raw: bytes) -> Reading:
    """The event of one message: an execution or a file access; others are left out."""
    try:
        message = msgspec.json.decode(resolve_surrogates(text.from_bytes(raw)).encode())
    except RecursionError:
        return Reason.TOO_DEEP
    except msgspec.MsgspecError:
        return Reason.NOT_A_RECORD
    if not isinstance(message, dict):
        return Reason.NOT_AN_OBJECT
    time = message.get("event_time")
    for key, action in _KINDS.items():
        if isinstance(message.get(key), dict):
            return Read(_event(action, message[key]), time if isinstance(time, str) else None)
    if "policy_decision" in message:
        return Read(_event("FILE_ACCESS", message), None)
    return Filtered.NOT_ENFORCEMENT


def _event(action: str, body: dict[str, Any]) -> Row:
    word = _text(body, "decision") or _text(body, "policy_decision") or ""
    word = word.removeprefix("POLICY_").removeprefix("DECISION_")
    row = Row({
        "syscall": action, "enforcer": "santa", **columns_of_decision(action, {"decision": word}),
    })  # fmt: skip
    if row.columns["decision"] == "unknown":
        row.flags.add("unknown-decision")
    if word.endswith("AUDIT_ONLY"):
        row.flags.add("would-deny")
    who = body.get("target" if action == "EXEC" else "instigator")
    who = who if isinstance(who, dict) else {}
    row.columns |= {
        "pid": _number(who, "id", "pid"),
        "ppid": _number(who, "original_parent_pid"),
        "uid": _number(who, "effective_user", "uid"),
        "policy": _text(body, "policy_name"),
    }
    program = _text(who, "executable", "path")
    row.columns["process"] = program.rpartition("/")[2] if program else None
    row.columns["path"] = program if action == "EXEC" else _text(body, "target", "path")
    access = (_text(body, "access_type") or "").removeprefix("ACCESS_TYPE_")
    if action == "FILE_ACCESS":
        row.columns["access"] = ACCESS.get(access)
    row.columns["command"] = _argv(body.get("args"))
    taken = {"instigator", "target", "args", "decision", "policy_decision", "policy_name"}
    row.extra |= {k: v for k, v in body.items() if k not in taken and v not in (None, "", [], {})}
    return row


def _at(body: dict[str, Any], *keys: str) -> Any:
    found: Any = body
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _text(body: dict[str, Any], *keys: str) -> str | None:
    found = _at(body, *keys)
    return found if isinstance(found, str) and found else None


def _number(body: dict[str, Any], *keys: str) -> int | None:
    """A number; those of 64 bits are written as text."""
    found = _at(body, *keys)
    if isinstance(found, str) and found.removeprefix("-").isdecimal() and len(found) < 19:
        return int(found)
    return found if type(found) is int and abs(found) < 1 << 62 else None


def _argv(words: Any) -> str | None:
    if not isinstance(words, list) or not words:
        return None
    found, left = [], _ARGV_BYTES
    for word in words:
        try:
            decoded = text.from_bytes(base64.b64decode(word, validate=True))
        except (TypeError, ValueError, binascii.Error):
            decoded = word if isinstance(word, str) else ""
        left -= len(decoded)
        if left < 0:
            break
        found.append(decoded)
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))
