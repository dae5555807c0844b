"""Audit records inside entries of `journalctl -o json`, and whom to believe there."""

import re
from typing import Any, Final

import msgspec

from audit_events import text
from collector.decoders.escapes import resolve_surrogates

_DAEMONS: Final = ("auditd", "audispd", "audisp-syslog")
_NUMBER: Final = re.compile(r"\d{1,17}", re.ASCII)


def message_of(line: str) -> str | None:
    """The record of an entry, with the host that the journal names; None if it is no entry.

    Fields without an underscore in front are the sender's own words, those with one are not.
    """
    try:
        entry = msgspec.json.decode(resolve_surrogates(line).encode())
    except (msgspec.MsgspecError, RecursionError):
        return None
    message = entry.get("MESSAGE") if isinstance(entry, dict) else None
    if isinstance(message, list):
        # Bytes that are no text come as numbers.
        try:
            message = text.from_bytes(bytes(message))
        except (TypeError, ValueError):
            return None
    if not isinstance(message, str):
        return None
    host = entry.get("_HOSTNAME")
    if not _is_trusted(entry):
        return f"{entry.get('SYSLOG_IDENTIFIER')} said: {message}"
    prefix = f"node={host} " if isinstance(host, str) and host and " " not in host else ""
    return prefix + _with_stamp(entry, message.removeprefix("audit: "))


def _is_trusted(entry: dict[str, Any]) -> bool:
    transport = entry.get("_TRANSPORT")
    if transport in ("kernel", "audit"):
        return True
    if transport is None:
        # An excerpt; the name is all there is.
        return entry.get("SYSLOG_IDENTIFIER") in ("kernel", "audit", "auditd", None)
    return entry.get("_UID") in ("0", 0) and entry.get("_COMM") in _DAEMONS


def _with_stamp(entry: dict[str, Any], message: str) -> str:
    """The journal takes type, time and serial out of the text that the kernel sends it."""
    kind, serial = entry.get("_AUDIT_TYPE"), entry.get("_AUDIT_ID")
    micros = entry.get("_SOURCE_REALTIME_TIMESTAMP", entry.get("__REALTIME_TIMESTAMP"))
    words = [str(word) for word in (kind, serial, micros)]
    if "audit(" in message or not all(_NUMBER.fullmatch(word) for word in words):
        return message
    name = entry.get("_AUDIT_TYPE_NAME")
    rest = message.removeprefix(f"{name} ") if isinstance(name, str) else message
    seconds, fraction = divmod(int(words[2]), 1_000_000)
    return f"type={kind} msg=audit({seconds}.{fraction:06}:{serial}): {rest}"
