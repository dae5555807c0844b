"""Proofs that some formats carry in themselves."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import (
    HEX,
    UUID,
    classes,
    generated_case,
    random_looking,
    shuffled,
    slug,
)
from policies.redact.harmless.names import names_a_secret
from policies.redact.harmless.placeholders import filling, placeholder
from policies.redact.harmless.surroundings import in_message, only_words
from policies.redact.rule import SECRET
from policies.redact.values import is_argument, is_generated_word, is_opaque, is_password
from policies.redact.view import BREAK

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


_VARIED: Final = 12
# What such a key opens; else 88 letters of base64 are a hash or a signature.
_STORAGE: Final = re.compile(
    r"(?i)account|azure|cosmos|keyname|permissions|key[0-9][\"'\\\s\f]|storage|blob|\.windows\.net|servicebus|eventhub|iothub|batch|primary|secondary|(?:key|secret|token|password|conn\w*)[\"']?[ =:\f]"
)
_DIGEST_BEFORE: Final = re.compile(
    r"(?i)(?:hash|sha-?[0-9]{0,3}|digest|signature|sig|integrity|mac|data|iv|tag|proof|checksum|public\w*|nonce)[\"']?[ ]?[:=,][ ]?[\"']?\Z"
)


def not_a_digest(match: re.Match[str]) -> bool:
    """No integrity value of a lock file, which has the same length."""
    around = match.string[max(0, match.start() - 160) : match.start()]
    if _DIGEST_BEFORE.search(around[-24:]) or not _STORAGE.search(around):
        return False
    before = match.string[max(0, match.start() - 16) : match.start()]
    # Nor the end of something longer, nor the key of a zone.
    return not re.search(
        r"(?i)sha-?(?:256|384|512)[-:=]\Z|[A-Za-z0-9+/]\Z|[0-9] [0-9]{1,2} \Z", before
    )


# A prefix of letters is met by chance in a blob of base64.
_BLOB_BEFORE_CHARS: Final = 24
_CLOSE_CHARS: Final = 8
_STAND_IN: Final = re.compile(
    r"(?i)x{7,}|0{10,}|[*]{4,}|1234567890|abcdefghij|0123456789|your[-_]?|example|placeholder"
)
_PREFIX_CHARS: Final = 6


def _in_blob(text: str, start: int) -> bool:
    before = text[max(0, start - _BLOB_BEFORE_CHARS) : start]
    close = before[-_CLOSE_CHARS:]
    return shuffled(before) or (
        close.isalnum() and classes(close) > 2 and len(close) == _CLOSE_CHARS
    )


def not_words(match: re.Match[str]) -> bool:
    """No name made of plain words that begins as a token does: `pa-container-with-gutter`.

    Nor a stand-in behind a real prefix, nor a piece of a longer blob.
    """
    value: str = match[SECRET]
    start = match.start(SECRET)
    if value[:_PREFIX_CHARS].isalnum() and _in_blob(match.string, start):
        return False
    if (_STAND_IN.search(value) and len(set(value[-16:].lower())) < _VARIED) or filling(
        value[-12:]
    ):
        return False
    return bool(re.search(r"[0-9A-Z]", value[3:])) or len(re.findall(r"[-_]", value)) < 3


def three_kinds(match: re.Match[str]) -> bool:
    """Both cases and at least two runs of digits: what a generator writes, and no name is."""
    value: str = match[SECRET]
    runs = len(re.findall(r"[0-9]+", value))
    return runs > 1 and value.upper() != value and value.lower() != value


_HEADER: Final = re.compile(r"(?i)[a-z]+(?:-[a-z]+)+|accept|cookie|host|origin|range|referer")


def is_credential(match: re.Match[str]) -> bool:
    """What stands in an Authorization header, but neither the scheme nor the name of a part."""
    value: str = match[SECRET]
    if re.fullmatch(r"[A-Za-z_-]{1,24}=(?:[\w/+-]*/aws4_request)?|sr=.*", value):
        return False
    scheme = re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{1,30}", value)
    if scheme and re.match(r"[ ,]+[A-Za-z_]+=", match.string[match.end(SECRET) :][:40]):
        return False
    # A call, whose arguments are looked at by themselves; the words of a message.
    if re.fullmatch(r"[A-Za-z_][\w.]*\(|await", value) or in_message(
        match.string, *match.span(SECRET)
    ):
        return False
    # In a list of names of headers the next one follows.
    if match.string[match.start(SECRET) - 1] == BREAK and _HEADER.fullmatch(value):
        return False
    return is_opaque(match)


def is_header_value(match: re.Match[str]) -> bool:
    """What a header with a key holds; in a list, where names stand as well, only a key."""
    if match[0][: match.start(SECRET) - match.start()].endswith(BREAK):
        value = match[SECRET]
        named = slug(value) and not HEX.fullmatch(value) and not UUID.fullmatch(value)
        return random_looking(value) and not named
    # `apiKey: Promise<string>`
    typed = match[SECRET].istitle() and match.string.startswith("<", match.end(SECRET))
    played = _PLAYED.fullmatch(match[SECRET]) and match.string.endswith("#EXT", 0, match.start())
    return is_opaque(match) and not typed and not played


# How a stream is encrypted: `#EXT-X-KEY:METHOD=NONE`.
_PLAYED: Final = re.compile(
    r"METHOD=(?:NONE|AES-(?:128|256)(?:-GCM)?|SAMPLE-AES(?:-CTR|-CENC)?|ISO-23001-7)"
)


def private_and_mixed(match: re.Match[str]) -> bool:
    """As `three_kinds`, and no key that is made to be published."""
    value: str = match[SECRET]
    if re.match(r"(?i)pk|pub|phc|site", value):
        return False
    return three_kinds(match) or generated_case(re.split("[_-]", value)[-1])


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


_DIGIT_RUNS: Final = 4


def is_hook_id(match: re.Match[str]) -> bool:
    """Letters and digits by turns, and neither a UUID nor a digest."""
    value: str = match[SECRET]
    if three_kinds(match):
        return True
    runs = len(re.findall(r"[0-9]+", value))
    return value.isalnum() and runs >= _DIGIT_RUNS and not re.fullmatch(r"[0-9a-f]+", value)


_USERINFO: Final = re.compile(rf"[^:]{{1,70}}:(?P<{SECRET}>[^@]{{5,140}})@")


def userinfo(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The password of `user:password@host`, if a generator wrote it."""
    found = _USERINFO.match(match.string, match.start())
    if found and is_generated_word(found):
        yield found.span(SECRET)


# Longer than any name without a sign in it.
_LONG_TOKEN: Final = 40
_SIGNS: Final = re.compile(r"[!#%^*~?@$&+]")


def is_strong_password(match: re.Match[str]) -> bool:
    """Behind a flag that means many things: with signs no name has, or as mixed as a key."""
    value = _ENDING.sub("", match[SECRET])
    if placeholder(value) or re.search(r"[/:=,|<>(){}\[\]]", value):
        return False
    if _SIGNS.search(value[1:]):
        return classes(value) >= _ALL_CLASSES
    if not value.isalnum():
        return False
    runs = len(re.findall(r"[0-9]+", value))
    long = (
        len(value) > _LONG_TOKEN and runs >= _DIGIT_RUNS and not re.fullmatch("[0-9a-fA-F]+", value)
    )
    return bool(long) or (three_kinds(match) and runs > 2)


# The words stand at the start of the blob, or at its end: then most of it was seen from the start.
_MAX_BLOB_BEFORE: Final = 2_048
_BLOB: Final = re.compile(rf"[A-Za-z0-9+/-]{{0,{_MAX_BLOB_BEFORE}}}")


def whole_blob(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The run of base64 that the match is part of; the match goes to its end."""
    low = max(0, match.start() - _MAX_BLOB_BEFORE)
    before = _BLOB.match(match.string[low : match.start()][::-1])
    yield match.start() - (before.end() if before else 0), match.end()


_ENDING: Final = re.compile(r"\.[a-z]{1,6}\Z")
_ALL_CLASSES: Final = 4


def is_protocol_word(match: re.Match[str]) -> bool:
    """What follows a command of a protocol: generated, and no name of a file."""
    value: str = match[SECRET]
    stem = _ENDING.sub("", value)
    file_like = "/" in value or (stem != value and classes(stem) < _ALL_CLASSES)
    return is_generated_word(match) and not file_like


_SESSION: Final = re.compile(r"(?i)sess|sid|myacinfo|remember|jwt|csrf")
_SESSION_CHARS: Final = 16


def is_named_value(match: re.Match[str]) -> bool:
    """The value of an object with a name: of a session only what a generator wrote."""
    if _SESSION.match(match["key"]):
        return random_looking(match[SECRET], _SESSION_CHARS) and not placeholder(match[SECRET])
    return is_password(match)


def is_element(match: re.Match[str]) -> bool:
    """The text of an element: named by an attribute, as labels are too, only if generated."""
    start = match.start("key")
    return is_pair_value(match) if match.string[start - 1] in "\"'" else is_password(match)


def is_sql_credential(match: re.Match[str]) -> bool:
    """The value of an option; `the key in secret 'x'` names an object."""
    return is_opaque(match) and not match.string.endswith(" in ", 0, match.start())


def is_pair_value(match: re.Match[str]) -> bool:
    """The second of two arguments: generated, no message and no other name."""
    value: str = match[SECRET]
    return is_password(match) and (is_generated_word(match) or random_looking(value, 20))


_PLAIN_KEY: Final = re.compile(r"(?i)[0-9a-f]{24,128}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_likely(match: re.Match[str]) -> bool:
    """Where a command logs in: a generated word, or a key in hex or as a UUID."""
    key = _PLAIN_KEY.fullmatch(match[SECRET].rstrip("\"'"))
    return is_generated_word(match) or key is not None


# As long as a digest of a commit or an image, which also stands behind such names.
_DIGEST_CHARS: Final = (40, 64)
_LEAST_CHARS: Final = 20
_HEX_CHARS: Final = 32


# OP_SESSION_acme: whose session it is.
_OF_WHOM: Final = re.compile(r"(?<=SESSION)_[A-Za-z0-9]+\Z")


# `--key AuthKey_8MI2059C0O.p8`: the file that holds it.
_KEY_FILE: Final = re.compile(r"\.(?:p8|pem|p12|pfx|jks|ppk|der|crt|cer|key)\Z")


def is_hidden_key(match: re.Match[str]) -> bool:
    """A generated value behind a name that may mean many things."""
    value, name = _ENDING.sub("", match[SECRET]), _OF_WHOM.sub("", match["key"])
    if (
        not names_a_secret(name)
        or placeholder(value)
        or value.lstrip("-=").startswith(("/", "~", "."))
        or (name.endswith("key") and _KEY_FILE.search(match[SECRET]))
    ):
        return False
    if re.fullmatch(r"[0-9A-Fa-f]+", value):
        return len(value) >= _HEX_CHARS and (
            len(value) not in _DIGEST_CHARS or bool(re.search("[_-]", name))
        )
    if is_generated_word(match):
        return True
    return random_looking(value, _LEAST_CHARS) and value.isalnum()


def is_windows_argument(match: re.Match[str]) -> bool:
    """`/p:X`; a build tool sets a property with it, `/p:Name=value`."""
    return is_argument(match) and not re.match(r"[A-Za-z_.]+=", match[SECRET])
