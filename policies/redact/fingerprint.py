"""A name for a secret that does not tell the secret: keyed, so that nobody can try values out."""

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import unquote

KEY_BYTES: Final = 32
# 48 bits: a chance meeting among a million secrets is 1 in 500, and a person can still read it out.
FINGERPRINT_HEX: Final = 12
# A folded, percent-encoded or zero-width-padded secret is the same secret.
_PADDING: Final = re.compile(r"[\s\u00ad\u200b-\u200f\u2060\ufeff]|\\[nr]|=\r?\n|\\\r?\n")
_PERCENT: Final = re.compile(r"%[0-9A-Fa-f]{2}")


@dataclass(frozen=True, slots=True)
class FingerprintKey:
    """The secret of a store's fingerprints; `id` names it without telling it."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        """Raises ValueError unless the key has exactly `KEY_BYTES` bytes."""
        if len(self.secret) != KEY_BYTES:
            raise ValueError(f"a fingerprint key has {KEY_BYTES} bytes, not {len(self.secret)}")

    @property
    def id(self) -> str:
        """8 hex digits that stay the same as long as the key does."""
        return hashlib.sha256(b"sandtrail-key-id\0" + self.secret).hexdigest()[:8]


def normalise(secret: str) -> str:
    """The secret as its issuer wrote it: without folds, invisible characters, percent escapes."""
    bare = _PADDING.sub("", secret)
    for _ in range(2):
        if not _PERCENT.search(bare):
            break
        bare = unquote(bare, errors="surrogateescape")
    return bare


def fingerprint(key: FingerprintKey, kind: str, secret: str) -> str:
    """12 hex digits, equal for equal secrets of one kind under one key."""
    data = kind.encode() + b"\0" + normalise(secret).encode("utf-8", "surrogatepass")
    return hmac.digest(key.secret, data, "sha256").hex()[:FINGERPRINT_HEX]
