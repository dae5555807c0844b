"""Proofs that some formats carry in themselves."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from typing import Final

from policies.redact.rule import SECRET

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


def jwt_header(match: re.Match[str]) -> bool:
    """The first part is the start of a JSON object in base64."""
    first = match[SECRET].partition(".")[0]
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
    r"(?:(?:\s|[nrt]\\{1,4}|[\"',+>|\x7f\\])*[A-Za-z0-9+/=]{1,128}){1,1024}"
)
# The longest private key in armour (RSA 16384) has some 13,000 characters.
_MAX_BODY_CHARS: Final = 16 * 1024


def body_before(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The base64 lines that end where the last line of the armour begins."""
    end = match.start()
    body = _BODY_BACKWARDS.match(match.string[max(0, end - _MAX_BODY_CHARS) : end][::-1])
    if body:
        yield end - body.end(), end


def not_a_digest(match: re.Match[str]) -> bool:
    """No integrity value of a lock file, which has the same length."""
    return not re.search(r"(?i)sha-?(?:256|384|512)[-:=]\Z", match.string[: match.start()][-8:])
