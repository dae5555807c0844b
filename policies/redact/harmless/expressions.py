"""Expressions of a program where a literal would be: calls, chains, names of variables."""

import re
from typing import Final

from policies.redact.generated import generated_halves
from policies.redact.harmless.notations import VARIABLE, segments
from policies.redact.harmless.words import NAMED
from policies.redact.rule import SECRET

_CODE: Final = re.compile(
    r"&?[A-Za-z_$][\w$]*(?:(?:\?\.|\.|->|::)[A-Za-z_$][\w$]*)+(?:[)};,\]([].*|[?!][\[(](?:[\"':&].*|[a-z_]{3,}(?:[,)\]].*)?)?)?|[A-Za-z_$][\w$]*[(\[].*"
    r"|[A-Za-z_$][\w$]*[?!][\[(](?:[\"':&].*|[a-z_]{3,}(?:[,)\]].*)?)?"
    r"|[A-Za-z_$][\w$]*\s*=>.*|\[\][a-z]+\(.*|(?:new|await|async|function|lambda|def|let|const|var|typeof)(?:\s.*)?"
)
# A name of a program rarely has a digit between letters; a generated value mostly does.
_DIGIT_INSIDE: Final = re.compile(r"[A-Za-z][0-9]+[A-Za-z]|[A-Za-z][0-9]{3,}")


def code(value: str) -> bool:
    """An expression of a program: `os.environ`, `getpass(`, `e.token}`."""
    bare = value.strip()
    found = _CODE.fullmatch(bare)
    if found is None or generated_halves(bare):
        return False
    return converts(bare) or not _DIGIT_INSIDE.search(bare.partition("(")[0])


_CHAIN: Final = re.compile(
    r"[A-Za-z_]+(?:\([^()\n]{0,80}\))?(?:\.[A-Za-z_]+(?:\([^()\n]{0,80}\))?)*\.[A-Za-z_]+[!?]?\("
)
_CALL: Final = re.compile(r"[a-z]+(?:[A-Z_][a-z]+)*!?[(\[]")

_QUOTED_NAME: Final = re.compile(r"[\"'][ ]?[:=][ ]?\Z")
_SIGN: Final = re.compile(r"[:=,][ ]?\Z")
# `ALTER ROLE bob PASSWORD :'new_password'`: a variable of psql.
_SQL_VARIABLE: Final = re.compile(
    r"(?i)(?:role|user)\s+[\w\"]{1,64}\s+(?:[a-z]{2,12}\s+){0,8}password\s+:['\"]\Z"
)
_RANDOM: Final = re.compile(r"(?i)[ \t]+password\b")


def expression(match: re.Match[str]) -> bool:
    """Code where a literal would be in quotes: a variable, a chain of calls, words of SQL."""
    text, (start, end), value = match.string, match.span(SECRET), match[SECRET]
    before = text[max(0, start - 4) : start]
    if value.upper() == "RANDOM":
        return bool(_RANDOM.match(text, end))
    if before[-1:] in ("'", '"', "`"):
        named = before[-2:-1] == ":" and re.fullmatch(r"\w+", value)
        return bool(named) and bool(_SQL_VARIABLE.search(text[max(0, start - 240) : start]))
    if _CHAIN.match(value):
        return bool(_SIGN.search(before))
    bare = value.rstrip(")}];, ")
    if _CALL.match(value) or (value == "await" and text[end : end + 1] == " "):
        return bool(_QUOTED_NAME.search(before))
    if not _QUOTED_NAME.search(before) or not VARIABLE.fullmatch(bare):
        return False
    return not NAMED.isdisjoint(segments(bare))


_ASSIGNED: Final = re.compile(r"[A-Z][A-Z0-9_]+=")


def next_name(match: re.Match[str]) -> bool:
    """`A= B=c` and `a::b(c)`: what stands there is another name, and nothing was given."""
    start, value = match.start(SECRET), match[SECRET]
    before = match.string[max(0, start - 2) : start]
    if before.endswith(":") and value.startswith(":"):
        return True
    return before == "= " and bool(_ASSIGNED.match(value))


_TRIED: Final = re.compile(r"(?:try[?!]?|await|yield|throw|new)")
_WORK: Final = re.compile(
    r"[ ](?:(?:await|from)[ ])?(?:\{|[A-Za-z_][\w.?!:<>]{0,120}(?:\(|[ ]?\{))"
)
# `runCatching { … }`: what a block gives.
_BLOCK: Final = re.compile(r"[a-z]+(?:[A-Z][a-z]+)+|lazy|run|suspend")


def called(match: re.Match[str]) -> bool:
    """`key = function(...)`: the value is code."""
    end = match.end(SECRET)
    if _TRIED.fullmatch(match[SECRET]) and _WORK.match(match.string, end):
        return True
    if match.string.startswith(" { ", end) and _BLOCK.fullmatch(match[SECRET]):
        return True
    return match.string[end : end + 1] == "(" and match[SECRET].isidentifier()


# bin2hex(random_bytes(32)), sha256(x): functions that have a digit in their name.
_CONVERTS: Final = re.compile(
    r"(?i)(?:[a-z_]+\.){0,3}(?:[a-z]{2,16}_)?(?:(?:bin|hex|str|b64|base64|bytes?|int|ip|dec|oct|ascii|utf8|buf|text|a|b)2_?"
    r"(?:bin|hex|str|string|b64|base64|bytes?|int|ip|dec|oct|ascii|utf8|buf|text|a|b)|(?:ur?l?safe_?)?(?:b|base)(?:16|32|58|64|85)_?(?:url|raw)?_?"
    r"(?:en|de)code\w{0,12}|(?:hash_?)?(?:md5|sha_?(?:1|224|256|384|512)|blake2[bs]?|crc32|pbkdf2|argon2(?:id|i|d)?|uuid_?v?[1-7])"
    r"(?:_?(?:hex|sum|file|digest|hash|base64|string))?)\((?:[\"'$&@*]?[a-z_].*|\).*|)"
)


def converts(value: str) -> bool:
    """A call of a function that encodes, hashes or numbers."""
    return bool(_CONVERTS.fullmatch(value))
