"""Checks that also read the text before and after a value."""

import re
from typing import Final

from policies.redact.generated import HEX, PIECE, UUID, classes, random_looking, shuffled, slug
from policies.redact.harmless.placeholders import filling, placeholder
from policies.redact.harmless.pointers import STORED_NAME
from policies.redact.harmless.store_keys import stored_key
from policies.redact.harmless.surroundings import in_message
from policies.redact.rule import SECRET
from policies.redact.rules.checks import is_pair_value, is_strong_password, three_kinds
from policies.redact.values import (
    CLOSERS,
    is_argument,
    is_generated_word,
    is_mixed_word,
    is_opaque,
    is_password,
    is_prose_token,
    is_told,
)
from policies.redact.view import BREAK

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
    # `"apiKey": "API key"`, `DKIM-Signature: v=1`
    if _LABEL.fullmatch(match[SECRET]) and match.string.startswith((" ", ";"), match.end(SECRET)):
        return False
    played = _PLAYED.fullmatch(match[SECRET]) and match.string.endswith("#EXT", 0, match.start())
    return is_opaque(match) and not typed and not played


_LABEL: Final = re.compile(r"[A-Z]{2,4}|[A-Z]?[a-z]{2,9}|[a-z]=[0-9]")


# How a stream is encrypted: `#EXT-X-KEY:METHOD=NONE`.
_PLAYED: Final = re.compile(
    r"METHOD=(?:NONE|AES-(?:128|256)(?:-GCM)?|SAMPLE-AES(?:-CTR|-CENC)?|ISO-23001-7)"
)


def is_element(match: re.Match[str]) -> bool:
    """The text of an element: named by an attribute, as labels are too, only if generated."""
    start = match.start("key")
    return is_pair_value(match) if match.string[start - 1] in "\"'" else is_password(match)


def is_sql_credential(match: re.Match[str]) -> bool:
    """The value of an option; `the key in secret 'x'` names an object."""
    return is_opaque(match) and not match.string.endswith(" in ", 0, match.start())


_BARE_FLAG: Final = re.compile(r"[ \f]--stdin\Z")


def is_piped(match: re.Match[str]) -> bool:
    """What is piped into a tool that asks for a password; behind a bare --stdin only a strong one."""
    if _BARE_FLAG.search(match[0]):
        return is_strong_password(match) and " " not in match[SECRET]
    return is_opaque(match)


def is_pass_argument(match: re.Match[str]) -> bool:
    """`pass:X`; a store has keys of that name."""
    start = match.start(SECRET)
    return is_argument(match) and not stored_key(match.string, start, match[SECRET].rstrip(CLOSERS))


_GENERATED_PIECE_CHARS: Final = 3


def is_subprotocol(match: re.Match[str]) -> bool:
    """A token in a list of protocols: letters of both cases and digits by turns, and no name."""
    if ".k8s.io." in match[0]:
        return True
    value: str = match[SECRET]
    if len(value) < _LEAST_PROTOCOL_TOKEN or not three_kinds(match):
        return False
    return len(value) < _GENERATED_PIECE_CHARS * len(PIECE.findall(value))


_LEAST_PROTOCOL_TOKEN: Final = 20

# `minisign -Vm a.tar.gz -P RWQ…`: what a signature is verified with.
_VERIFIES: Final = re.compile(r"\b(?:minisign|rsign)(?:\.exe)?[ \f][^\n|;&]{0,200}\Z")
_VERIFIER: Final = re.compile(r"RW[A-Za-z0-9+/]{54}")
_COMMAND_CHARS: Final = 240


def is_flag_word(match: re.Match[str]) -> bool:
    """A strong password behind -p or -P, which to some tools is a public key."""
    before = match.string[max(0, match.start() - _COMMAND_CHARS) : match.start() + 1]
    if _VERIFIER.fullmatch(match[SECRET]) and _VERIFIES.search(before):
        return False
    return is_strong_password(match)


# `[env: Acme_PASSWORD]`, as help texts say which variable is read.
_READ_FROM: Final = re.compile(r"(?i)[\[(. ](?:env(?:ironment)?(?:[ ]var(?:iable)?)?):[ ]{1,2}\Z")
_VARIABLE_NAME: Final = re.compile(
    r"\$?[A-Za-z][A-Za-z0-9]{0,24}(?:_[A-Za-z0-9]{1,24}){0,6}_(?i:pass|passw(?:or)?d|passphrase|pwd|pw|pin|token"
    r"|secret|key)=?[\])]?[.,;]?"
)


def is_told_password(match: re.Match[str]) -> bool:
    """What follows `password for …:`, but no name of a variable that holds it."""
    start = match.start(SECRET)
    if _VARIABLE_NAME.fullmatch(match[SECRET]) and _READ_FROM.search(
        match.string[max(0, start - 32) : start]
    ):
        return False
    return is_told(match)


# `docker login -p "$REG_PASSWORD" Host1.example.com`
_VARIABLE: Final = re.compile(r"\$\{?[A-Za-z0-9_]{0,40}\Z")

# `Vault password (prod-1): `
_ASKED: Final = re.compile(r"[(\[].{1,80}[)\]]:")

# `setPassword:(NSString *)password forService:(NSString *)service`
_SELECTOR_PART: Final = re.compile(
    r"[a-z]+(?:[A-Z][a-z]+)*:\((?:[A-Z]{2}\w{1,30}|[a-z_]{2,12})\)?\w{0,30};?"
)


def is_word_after(match: re.Match[str]) -> bool:
    """A generated word behind the word password, where that is no variable and asks for none."""
    if _ASKED.fullmatch(match[SECRET]) or _SELECTOR_PART.fullmatch(match[SECRET]):
        return False
    start = match.start()
    if _VARIABLE.search(match.string[max(0, start - 48) : start]) or _which_field(match):
        return False
    return is_generated_word(match)


# `vault kv get -field=password secret/app/db24`: what is read, and where it lies.
_FIELD: Final = re.compile(
    r"(?:[ \f]--?fields?[ =\f][\"']?(?:label=)?|\bbw[ \f]get[ \f]|\blpass[ \f]show[ \f]--)"
    r"[A-Za-z_-]{1,40}[\"']?[ \f]{1,4}[\"']?\Z"
)
_LIES: Final = re.compile(STORED_NAME)


def _which_field(match: re.Match[str]) -> bool:
    value, start = match[SECRET].rstrip(CLOSERS), match.start(SECRET)
    if "/" not in value or not _LIES.fullmatch(value):
        return False
    return bool(_FIELD.search(match.string[max(0, start - 80) : start]))


# An option of `net user`, or where the output goes.
_OPTION: Final = re.compile(
    r"/(?:active|expires|times|passwordreq|passwordchg|passwordexpires|logonpasswordchg|fullname|comment"
    r"|usercomment|countrycode|homedir|profilepath|scriptpath|workstations|random|add|delete|domain)"
    r"(?::.*)?",
    re.IGNORECASE,
)
_NET_USER: Final = re.compile(r"\Wnet[ \f]user[ \f]|^net[ \f]user[ \f]")


def is_command_secret(match: re.Match[str]) -> bool:
    """What a command takes by place; `net user` takes options there as well."""
    value, before = match[SECRET], match.string[match.start(SECRET) - 1]
    if _NET_USER.match(match[0]) and (
        _OPTION.fullmatch(value) or (before == " " and re.match("[0-9]?>", value))
    ):
        return False
    return is_argument(match)


_SEED_CHARS, _LONG_SEED_CHARS, _SEED_LETTERS = 16, 26, 7


def is_seed(match: re.Match[str]) -> bool:
    """Base32 as an authenticator takes it, and no words in capitals."""
    groups = re.split("[ -]", match[SECRET].rstrip("="))
    letters = "".join(groups)
    digits = sum(any(c.isdigit() for c in group) for group in groups)
    if len(letters) < _SEED_CHARS or (len(groups) > 1 and digits < 2):
        return False
    if len(set(letters)) < _SEED_LETTERS or letters.upper().startswith("ABCDEFGH"):
        return False
    return digits > 0 or (len(letters) >= _LONG_SEED_CHARS and letters.isupper())


# `using token 3fa9…`; other tokens tell which request, page or lock.
_OPENS: Final = re.compile(
    r"(?i)(?:(?P<before>[a-z]+)[ _-])?(?:token|api[ _-]?key)(?:[ ]is)?[ (]{1,2}[\"'`]?\Z"
)
_OTHER_TOKENS: Final = re.compile(
    r"idempotency|continuation|cancel(?:lation)?|sync|pag(?:e|ing)|cursor|fencing|lease|state"
    r"|correlation|request|trace|lock|claim|change|conflict|resume|dedup|design|color|next|client"
    r"|start|task|upload"
)

# `--token-file=x --key-file=/etc/y`: the next flag, which says where something lies.
_NEXT_FLAG: Final = re.compile(r"--[a-z]+(?:-[a-z]+)*=(?P<value>.*)")


def is_told_key(match: re.Match[str]) -> bool:
    """A token in a sentence; a UUID only behind a word for a token that opens something."""
    flag = _NEXT_FLAG.fullmatch(match[SECRET])
    if flag and placeholder(flag["value"]):
        return False
    if not UUID.fullmatch(match[SECRET].rstrip(CLOSERS)):
        return _is_quoted_hex(match) or (is_prose_token(match) and not _which_field(match))
    start = match.start(SECRET)
    found = _OPENS.search(match.string[max(0, start - 48) : start])
    return found is not None and not _OTHER_TOKENS.fullmatch((found["before"] or "").lower())


# `hmac secret "3b34…"`; what is looked up by its hash stands behind other words.
_SIGNS: Final = re.compile(
    r"(?i)(?:\bsecret|(?:signing|hmac|private|master|encryption|session|shared)[ ]key)(?:[ ]is)?[ ]\\{0,3}[\"'`]\Z"
)


def _is_quoted_hex(match: re.Match[str]) -> bool:
    start = match.start(SECRET)
    before = match.string[max(0, start - 40) : start]
    return bool(HEX.fullmatch(match[SECRET]) and _SIGNS.search(before))


_ADJECTIVE: Final = re.compile(r"[a-z\x7f]+(?:[-'][a-z\x7f]+)*[.,;:!?]*")


def is_said_word(match: re.Match[str]) -> bool:
    """A word of a sentence about a password that is none of a language with accents."""
    return is_mixed_word(match) and not (
        match["quote"] is None and _ADJECTIVE.fullmatch(match[SECRET])
    )


_ANYBODY: Final = re.compile(r"(?i)login\s{1,4}(?:anonymous|ftp|guest)\s")
_MAIL: Final = re.compile(r"[A-Za-z._+-]{0,40}@(?:[A-Za-z.-]{1,60})?")


def is_netrc_password(match: re.Match[str]) -> bool:
    """The word behind `password`; who comes as anybody gives an address."""
    if _ANYBODY.search(match[0]) and _MAIL.fullmatch(match[SECRET]):
        return False
    return is_mixed_word(match)


def is_signature(match: re.Match[str]) -> bool:
    """A signature, and no word in its place."""
    value: str = match[SECRET]
    word = value.isalpha() and value in (value.lower(), value.upper())
    return not placeholder(value) and not (word and len(value) < _LEAST_SIGNATURE)


_LEAST_SIGNATURE: Final = 20
