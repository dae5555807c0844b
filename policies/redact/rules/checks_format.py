"""Checks by a format's own proof: checksums, headers in base64, lines of armour."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import random_looking
from policies.redact.rule import SECRET

_ESCAPED: Final = re.compile(r"\\+[nrt]")
_ARMOUR_RUN: Final = re.compile(r"[A-Za-z0-9+/=]+")
_PLAIN_WORD: Final = re.compile(r"[A-Z]?[a-z]{1,12}|[A-Z]{1,12}")
_MOST_WORDS: Final = 12


def only_words(body: str) -> bool:
    """What is told about a key or stands for its lines; of those some has a digit or both cases."""
    runs = _ARMOUR_RUN.findall(_ESCAPED.sub(" ", body))
    return len(runs) <= _MOST_WORDS and all(_PLAIN_WORD.fullmatch(run) for run in runs)


_BASE58: Final = {
    c: n for n, c in enumerate("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")
}
_CHECKSUM_BYTES: Final = 4


def base58check(match: re.Match[str]) -> bool:
    """The last four bytes are the double SHA-256 of the others."""
    number = 0
    for letter in match[SECRET]:
        number = number * 58 + _BASE58[letter]
    raw = number.to_bytes((number.bit_length() + 7) // 8, "big")
    body, check = raw[:-_CHECKSUM_BYTES], raw[-_CHECKSUM_BYTES:]
    return hashlib.sha256(hashlib.sha256(body).digest()).digest()[:_CHECKSUM_BYTES] == check


_JWT_LINE: Final = re.compile(r"(?:\r?\n|\\{1,2}n)([A-Za-z0-9_.-]{8,200})(?=\r|\n|\\|[\"'\s]|\Z)")
_LEAST_WRAP_CHARS: Final = 48
_MAX_WRAPPED_LINES: Final = 64


def jwt_lines(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The token, and the lines after it that a terminal or a mail wrapped it into."""
    text, start, end = match.string, *match.span(SECRET)
    yield start, end
    width = end - max(start, text.rfind("\n", 0, start) + 1)
    dots = match[SECRET].count(".")
    for _ in range(_MAX_WRAPPED_LINES):
        line = _JWT_LINE.match(text, end)
        if line is None or width < _LEAST_WRAP_CHARS:
            return
        dots += line[1].count(".")
        # Before the second dot more must come; after it only lines that look alike.
        if dots - line[1].count(".") > 1 and not random_looking(line[1], 8):
            return
        yield line.span(1)
        full, end = len(line[1]) >= width - 40, line.end()
        if dots > 1 and not full:
            return


def jwt_header(match: re.Match[str]) -> bool:
    """The first part is the start of a JSON object in base64."""
    first = match[SECRET].partition(".")[0]
    # A key of Mapbox that pages show: its first part is no header but the payload.
    if match.string.endswith("pk.", 0, match.start(SECRET)) and first.startswith("eyJ1I"):
        return False
    try:
        head = base64.urlsafe_b64decode(first[: len(first) // 4 * 4])
    except (ValueError, binascii.Error):
        return False
    return head.lstrip().startswith(b"{") and b'"' in head


def basic_credentials(match: re.Match[str]) -> bool:
    """Base64 of `user:password`."""
    try:
        plain = base64.b64decode(_padded(match[SECRET])).decode()
    except (ValueError, binascii.Error):
        return False
    return ":" in plain and plain.isprintable() and len(plain) > 3


def _padded(text: str) -> str:
    bare = text.rstrip("=")
    return bare + "=" * (-len(bare) % 4)


# Read from the last line of the armour backwards, so that one pass is enough.
_BODY_BACKWARDS: Final = re.compile(
    r"(?:(?:\s|[nrt]\\{1,4}|[\"',+>|\x7f\\]|\$?M\^|(?<=\n)[$^])*[A-Za-z0-9+/=]{1,128}){1,1024}"
)
# The longest private key in armour (RSA 16384) has some 13,000 characters.
_MAX_BODY_CHARS: Final = 16 * 1024


def is_key_body(match: re.Match[str]) -> bool:
    """Lines of base64, and neither `...` nor a few words."""
    return not only_words(match[SECRET])


def body_before(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The base64 lines that end where the last line of the armour begins."""
    end = match.start()
    body = _BODY_BACKWARDS.match(match.string[max(0, end - _MAX_BODY_CHARS) : end][::-1])
    if body and not only_words(match.string[end - body.end() : end]):
        yield end - body.end(), end


def beside_a_key_type(match: re.Match[str]) -> bool:
    """The number stands in a JSON web key."""
    start, end = match.span()
    return '"kty' in match.string[max(0, start - 4096) : end + 4096] or bool(
        re.search(r"(?:^|[^A-Za-z])kty\b", match.string[max(0, start - 4096) : end + 4096])
    )


_PREFIXED_LINES: Final = 512
_LINE_END: Final = re.compile(r"\r?\n|\\n|-----|\Z")
_RUN: Final = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_LAST_RUN: Final = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}(?=(?:\^M)?[^A-Za-z0-9+/=]{0,8}\Z)")


def prefixed_body(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The base64 at the end of each following line, whatever a log puts before it."""
    at = match.end()
    for _ in range(_PREFIXED_LINES):
        end = _LINE_END.search(match.string, at, at + _MAX_BODY_CHARS)
        if end is None:
            return
        line = match.string[at : end.start()]
        ended = end[0] == "-----"
        if ended or at == match.end():
            # All lines in one: whoever told of them took the line ends out.
            yield from ((at + run.start(), at + run.end()) for run in _RUN.finditer(line))
        elif found := _LAST_RUN.search(line):
            yield at + found.start(), at + found.end()
        elif line.strip():
            return
        if ended or end.end() == end.start():
            return
        at = end.end()


# The words stand at the start of the blob, or at its end: then most of it was seen from the start.
_MAX_BLOB_BEFORE: Final = 2_048
_BLOB: Final = re.compile(rf"[A-Za-z0-9+/-]{{0,{_MAX_BLOB_BEFORE}}}")


def whole_blob(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The run of base64 that the match is part of; the match goes to its end."""
    low = max(0, match.start() - _MAX_BLOB_BEFORE)
    before = _BLOB.match(match.string[low : match.start()][::-1])
    yield match.start() - (before.end() if before else 0), match.end()
