"""Text that an agent may have chosen: lossless into UTF-8, bounded, harmless on a terminal.

Bytes that are not UTF-8 become the code point U+10FF00 + byte (all of plane 16's last row that is
not a byte below 0x80 is taken; true code points in that range and lone surrogates are taken as raw
bytes and escaped likewise), so the map is injective and ordinary text is untouched. DESIGN.md 3.
"""

import codecs
import re
import unicodedata
from typing import Final

_ESCAPE_BASE: Final = 0x10FF00
_ESCAPED: Final = re.compile("[\U0010ff80-\U0010ffff]")
# True private-use characters of the escape range, and lone surrogates: both are taken as bytes.
_TAKEN: Final = re.compile("[\U0010ff80-\U0010ffff\ud800-\udfff]")


_STRAY: Final = re.compile(rb"[\x80-\xc1\xf5-\xff]+")


def _escape_bytes(raw: bytes) -> str:
    return "".join(chr(_ESCAPE_BASE + byte) for byte in raw)


def _escape_error(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    # What follows and cannot start a character either is taken along: a line of nothing else
    # would call us a million times.
    stray = _STRAY.match(error.object, error.end)
    end = stray.end() if stray else error.end
    return _escape_bytes(error.object[error.start : end]), end


codecs.register_error("sandtrail-escape", _escape_error)


def from_bytes(raw: bytes) -> str:
    """UTF-8 bytes to text; never fails, and two different inputs never give one text."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return _decode_damaged(raw)
    # 0xF4 leads every code point of plane 16; without it nothing needs escaping.
    return from_str(text) if b"\xf4\x8f\xbe" in raw or b"\xf4\x8f\xbf" in raw else text


# U+10FF80 to U+10FFFF in UTF-8. 0xF4 always leads a sequence, so a split here breaks none.
_TAKEN_BYTES: Final = re.compile(rb"(\xf4\x8f[\xbe\xbf][\x80-\xbf])")


def _decode_damaged(raw: bytes) -> str:
    pieces = _TAKEN_BYTES.split(raw)
    return "".join(
        _escape_bytes(piece) if index % 2 else piece.decode(errors="sandtrail-escape")
        for index, piece in enumerate(pieces)
    )


def from_str(text: str) -> str:
    """Text of a JSON decoder made encodable: lone surrogates and the escape range are escaped."""
    if text.isascii() or not _TAKEN.search(text):
        return text
    return _TAKEN.sub(lambda m: _escape_bytes(m[0].encode("utf-8", "surrogatepass")), text)


def to_bytes(text: str) -> bytes:
    """The original bytes of `from_bytes`."""
    if not _ESCAPED.search(text):
        return text.encode()
    out, start = bytearray(), 0
    for match in _ESCAPED.finditer(text):
        out += text[start : match.start()].encode()
        out.append(ord(match[0]) - _ESCAPE_BASE)
        start = match.end()
    out += text[start:].encode()
    return bytes(out)


def clip(text: str, limit: int) -> tuple[str, bool]:
    """At most `limit` bytes of UTF-8, and whether anything was cut.

    A cut drops the unfinished word at the end too: half a token is a token that no redaction rule
    recognises any more.
    """
    if len(text) * 4 <= limit or len(raw := text.encode()) <= limit:
        return text, False
    kept = raw[:limit].decode(errors="ignore")
    # A word longer than this is no token; dropping all of it would lose the whole field.
    word = re.search(r"[^\s/&?=,;:\"']{1,4096}\Z", kept)
    return (kept[: word.start()] if word and word.start() else kept), True


# C0, DEL, C1, bidi controls and marks, line separators, zero-width and tag characters.
_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff0-\ufffb\U000e0000-\U000e0fff\U0010ff80-\U0010ffff\ud800-\udfff]"
)
_SHORT: Final = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}


def _escape_char(match: re.Match[str]) -> str:
    char = match[0]
    code = ord(char)
    if code >= _ESCAPE_BASE + 0x80:
        return f"\\x{code - _ESCAPE_BASE:02x}"
    if char in _SHORT:
        return _SHORT[char]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def terminal(text: str, *, unicode: bool = True) -> str:
    """Text that cannot move a cursor, hide itself or imitate another line.

    With `unicode=False` everything outside ASCII is escaped as well, for terminals without UTF-8.
    """
    if text.isascii() and text.isprintable():
        return text
    safe = _UNSAFE.sub(_escape_char, text)
    if unicode:
        return _escape_leading_marks(safe)
    return re.sub(r"[^\x20-\x7e]", _escape_char, safe)


def _escape_leading_marks(text: str) -> str:
    """A combining mark at the start would be drawn over our own text."""
    if text and unicodedata.combining(text[0]):
        return _escape_char(re.match(r".", text)) + text[1:]  # type: ignore[arg-type]
    return text


_SHOWN: Final = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([ntr]))")
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r"}


def typed(shown: str) -> tuple[str, ...]:
    """Every text that `terminal` may have shown like this, the very text first; for filters.

    `\\x85` may be a byte that is no UTF-8, or U+0085; which one is meant is the same for all.
    """
    if "\\" not in shown:
        return (shown,)
    bytes_ = _SHOWN.sub(lambda match: _unescaped(match, raw=True), shown)
    points = _SHOWN.sub(lambda match: _unescaped(match, raw=False), shown)
    return tuple(dict.fromkeys((shown, bytes_, points)))


def _unescaped(match: re.Match[str], *, raw: bool) -> str:
    if match[4]:
        return _LETTERS[match[4]]
    code = int(match[1] or match[2] or match[3], 16)
    if raw and match[1] and code >= 0x80:
        return chr(_ESCAPE_BASE + code)
    surrogate = 0xD800 <= code < 0xE000
    return match[0] if surrogate or code > 0x10FFFF else chr(code)
