"""Escaped surrogates in JSON and logfmt: told apart from bytes before they are unescaped."""

import re
from typing import Final

from audit_events import text
from collector import bytewise

# A pair, half a pair, or any other escape, which is passed over whole.
_SURROGATES: Final = re.compile(
    r"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\.",
    re.DOTALL,
)

_SHORT: Final = 4096


def needs_care(data: bytes) -> bool:
    """Whether text may hold characters of the escape range, which msgspec passes on as they are."""
    raw = 0xF4 in data and b"\xf4\x8f" in data
    return raw or (0x5C in data and _has_unicode_escape(data) and b"\\udb" in data.lower())


def _has_unicode_escape(data: bytes) -> bool:
    # For a line or two the detour through numpy is the longer way.
    return b"\\u" in data if len(data) < _SHORT else bytewise.has_pair(data, 0x5C, 0x75)


def resolve_surrogates(line: str) -> str:
    """A line of JSON or logfmt whose escaped surrogates are characters already, made encodable.

    To be done before unescaping: afterwards an escape that the line spelled out could not be told
    from one that stands for a byte of it.
    """
    return _SURROGATES.sub(_surrogate, line) if "\\u" in line else line


def _surrogate(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    units = [int(unit, 16).to_bytes(2, "little") for unit in match[1].split("\\u")[1:]]
    return text.from_str(b"".join(units).decode("utf-16-le", "surrogatepass"))
