"""Checks that look at what stands around a value as well."""

import re
from typing import Final

from policies.redact.generated import HEX, UUID
from policies.redact.harmless.placeholders import placeholder
from policies.redact.harmless.pointers import STORED_NAME
from policies.redact.harmless.store_keys import stored_key
from policies.redact.rule import SECRET
from policies.redact.rules.checks import is_strong_password, three_kinds
from policies.redact.values import (
    CLOSERS,
    is_argument,
    is_generated_word,
    is_mixed_word,
    is_opaque,
    is_prose_token,
    is_told,
)

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


_PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_GENERATED_PIECE_CHARS: Final = 3


def is_subprotocol(match: re.Match[str]) -> bool:
    """A token in a list of protocols: letters of both cases and digits by turns, and no name."""
    if ".k8s.io." in match[0]:
        return True
    value: str = match[SECRET]
    if len(value) < _LEAST_PROTOCOL_TOKEN or not three_kinds(match):
        return False
    return len(value) < _GENERATED_PIECE_CHARS * len(_PIECE.findall(value))


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
