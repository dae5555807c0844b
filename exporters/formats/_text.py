"""Text values in JSON, logfmt and CSV: lossless, and without a byte that moves a cursor."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from audit_events.schema import BY_NAME

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Characters that JSON may hold raw but that move a cursor, hide or reorder text: DEL, C1, bidi
# controls, line separators, zero-width and tag characters, and escaped bytes.
_UNSAFE_RANGES: Final = (
    (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200F),
    (0x2028, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF0, 0xFFFB),
    (0xE0000, 0xE0FFF), (0x10FF80, 0x10FFFF),
)  # fmt: skip
_UNSAFE: Final = re.compile(
    "[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in _UNSAFE_RANGES) + "]"
)
# The same for RE2, with what JSON itself must escape.
_RE2_UNSAFE: Final = "".join(rf"\x{{{low:x}}}-\x{{{high:x}}}" for low, high in _UNSAFE_RANGES)
JSON_UNSAFE: Final = rf'["\\\x00-\x1f{_RE2_UNSAFE}]'
# Python and RE2 differ in what \s is, so blanks are listed.
_BLANKS: Final = "\x20\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
LOGFMT_UNSAFE: Final = rf'^$|[{_BLANKS}="\\\x00-\x1f{_RE2_UNSAFE}]'
CSV_SPECIAL: Final = r"^[=+\-@\t\r']|[\",\r\n]|^$"

_GUARDED: Final = tuple("=+-@\t\r'")
_CSV_QUOTED: Final = re.compile(r"[\",\r\n]|^$")
_LOGFMT_QUOTED: Final = re.compile(LOGFMT_UNSAFE.replace(_RE2_UNSAFE, _UNSAFE.pattern[1:-1]))


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


def harmless(document: str) -> str:
    """JSON text with the dangerous characters of its strings as escapes; same meaning."""
    return _UNSAFE.sub(_escape, document)


def json_text(value: str) -> str:
    """A JSON string."""
    return harmless(orjson.dumps(value).decode())


def logfmt_text(value: str) -> str:
    """The value itself, or a JSON string where it holds blanks, quotes, `=` or worse."""
    return json_text(value) if _LOGFMT_QUOTED.search(value) else value


def csv_text(value: str) -> str:
    """A CSV field that no spreadsheet takes for a formula.

    A value that starts with = + - @ TAB CR or ' gets one ' in front; take off one to read it.
    """
    guarded = f"'{value}" if value.startswith(_GUARDED) else value
    return '"' + guarded.replace('"', '""') + '"' if _CSV_QUOTED.search(guarded) else guarded


def timestamp(micros: int) -> str:
    """RFC 3339 UTC with six digits."""
    moment = _EPOCH + timedelta(microseconds=micros)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z".rjust(27, "0")


def plain(name: str, value: Any) -> Any:
    """A column's value as data formats show it: times as text, all else as stored."""
    column = BY_NAME.get(name)
    return timestamp(value) if column and column.type == "timestamp" else value
