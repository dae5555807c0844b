"""Forms that hide a secret from its rule (escapes, folds, base64, hex), and what is inside."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Final

from policies.redact.rule import Rule
from policies.redact.softwrap import PROOF, joined
from policies.redact.view import View, unwrapped

# The stems whose base64 (at its three alignments) or hex gives a wrapped secret away.
_STEMS: Final = (
    "password", "PASSWORD", "Password", "passwd", "_token", "_TOKEN", "token\"", "Token",
    "secret", "SECRET", "Secret",
    "_KEY=", "_key=", "api_key", "API_KEY", "apiKey", "sk-ant-", "sk-proj", "ghp_", "github_pat",
    "glpat-", "xoxb-", "AKIA", "BEGIN RSA", "BEGIN PRIV", "BEGIN OPENSSH", "BEGIN EC",
    "PRIVATE KEY", "Bearer ", "Basic ", "https://", "postgres", "oct-", "://",
    "pass=", "PASS=", "pwd=", "PWD=", "token=", "token:", "token ", "Token ", "key=", "KEY=",
    "key:", "gho_", "ghs_", "npm_", "hf_", "xoxp", "xapp", "AIza", "ya29", "dop_v1",
    "sk_live", "sk_test", "eyJhbG", "mysql", "redis", "mongodb",
    "AccountKey", "client_", "Cookie:", "hvs.", "pypi-",
)  # fmt: skip
# Shorter pieces are met by chance in any hash.
_MIN_STEM_CHARS: Final = 5
_MAX_BLOBS: Final = 64


def _base64_forms(stem: str) -> Iterator[str]:
    """The letters of a stem's base64 that do not depend on its neighbours."""
    for shift in range(3):
        coded = base64.b64encode(b"\0" * shift + stem.encode()).decode().rstrip("=")
        first = -(-shift * 8 // 6)
        whole = (shift + len(stem)) * 8 // 6
        form = coded[first:whole]
        if len(form) >= _MIN_STEM_CHARS:
            yield form


def _any_of(words: Iterator[str]) -> str:
    return "(?:" + "|".join(sorted({re.escape(word) for word in words})) + ")"


WRAPPED: Final = Rule(
    "wrapped", "wrapped", "escapes, line folds, colours, numbered arguments",
    r"%(?:25)?(?:3[0-9AaDd]|2[2DdEe]|40|7[Bb]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff])|&(?:lt|gt|quot);"
    r"|&#(?:[xX]0*[2-7][0-9A-Fa-f]|0*(?:[3-9][0-9]|1[0-2][0-9]));|\\u\{0*[2-7][0-9A-Fa-f]\}"
    r"|\\0?(?:1[0-7]{2}|0[4-7][0-7]|7[25])"
    r"|[\"'],[ ]?\\?[\"']-|\[\\?[\"'][A-Za-z0-9_./-]{1,40}\\?[\"'],[ ]?\\?[\"']"
    r"|\\(?:u00|x)(?:3[0-9AaDd]|2[26BbDdEeFf]|40|7[Bb]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff])|[0-9A-Za-z_-]=\r?\n[0-9A-Za-z]"
    # Escaped quotes: JSON or source in a text of JSON.
    r"|[^\s`][ ]`\r?\n|\.[a-z]{2,8}(?:\\/|%(?:25)?2[Ff])[A-Za-z0-9]"
    r"|[^\s^~][ ]?\^\r?\n|[A-Za-z0-9+/]{12}(?:\^M)?\$\r?\n[A-Za-z0-9+/]"
    r"|\\\r?\n|[ \t]a1=\"|\x1b\[|\\(?:x1b|u001b|e|033)\[|\\[\"']",
    hits=(
        "password%3Dx", r"password\u003dx", "a=\nb", "\x1b[0m", 'a0="x" a1="y"',
        r'{"x":"KEY = \"v"}',
        r"a\x35", r"a\075b", "a^\nb", "a&#61;b", r"a\u{3d}b", f"{'A' * 16}^M$\nb",
    ),
    misses=("a%20b",),
)  # fmt: skip
BASE64: Final = Rule(
    "base64", "base64", "base64 of something that names a secret",
    _any_of(form for stem in _STEMS for form in _base64_forms(stem))[:-1]
    + r"|base64[ \f]{1,3}-{1,2}[dD]|b64decode|atob\(|[Ee]ncoded[Cc]ommand|-[eE]nc[ \f])",
    hits=(base64.b64encode(b"x password=").decode(),), misses=("password",),
)  # fmt: skip
HEX: Final = Rule(
    "hex", "hex", "hex of something that names a secret",
    _any_of(stem.encode().hex() for stem in _STEMS if len(stem) > 3), caseless=True,
    hits=(b"x password=".hex(),), misses=("password",),
)  # fmt: skip
CUT: Final = Rule(
    "cut", "cut", "a token that goes on in the next line", PROOF,
    hits=("ghp_" + "a1B2" * 5 + "\n" + "c3D4" * 4,), misses=("ghp_ in\nprose",),
)  # fmt: skip
DISGUISES: Final = (WRAPPED, BASE64, HEX, CUT)

_BLOB: Final = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEX_BLOB: Final = re.compile(r"(?:[0-9A-Fa-f]{2}){8,}")


def open_disguises(view: View) -> Iterator[View]:
    """The views that lie inside this one, each leading back to the text."""
    inner = unwrapped(view) if WRAPPED.confirm().search(view.text) else None
    if inner is not None:
        yield inner
    whole = joined(view)
    if whole is not None:
        yield whole
    if BASE64.confirm().search(view.text):
        yield from _blobs(view, _BLOB, _from_base64)
    if HEX.confirm().search(view.text):
        yield from _blobs(view, _HEX_BLOB, binascii.unhexlify)


def _blobs(view: View, shape: re.Pattern[str], decode: Callable[[str], bytes]) -> Iterator[View]:
    for number, match in enumerate(shape.finditer(view.text)):
        if number >= _MAX_BLOBS:
            return
        try:
            inside = decode(match[0])
        except (ValueError, binascii.Error):
            continue
        yield View(inside.decode("ascii", "replace").replace("\ufffd", "\x7f"),
                   whole=view.back(match.start(), match.end()))  # fmt: skip


_WIDE_BYTES: Final = 8


def _from_base64(blob: str) -> bytes:
    bare = blob.rstrip("=").replace("-", "+").replace("_", "/")
    inside = base64.b64decode(bare[: len(bare) // 4 * 4] + _rest(bare))
    # PowerShell takes commands in two bytes a letter.
    wide = len(inside) > _WIDE_BYTES and not any(inside[1 : 2 * _WIDE_BYTES : 2])
    return inside[::2] if wide else inside


def _rest(bare: str) -> str:
    """The last unfinished group, padded; a single letter carries nothing."""
    rest = bare[len(bare) // 4 * 4 :]
    return rest + "=" * (4 - len(rest)) if len(rest) > 1 else ""
