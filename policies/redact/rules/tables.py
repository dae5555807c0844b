"""Secrets beside their own name in the row of a table, or in an object named after them."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import HEX, UUID, classes, random_looking, slug
from policies.redact.harmless.expressions import code
from policies.redact.harmless.names import key_name, names_a_secret
from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import GUESS, SECRET, SHAPE, Rule
from policies.redact.rules.checks import METHOD, SAYS_PASSWORD, SIGNS, is_key, is_named_value
from policies.redact.rules.grammar import (
    ANY_NAME,
    NAMING_WORDS,
    PAIRS,
    PASSWORD_WORDS,
    TAIL,
    TOKEN_WORDS,
    VALUE,
)
from policies.redact.rules.samples import hexa, mix
from policies.redact.values import is_generated_word, is_mixed, is_mixed_word, is_password, is_token


def _is_below(match: re.Match[str]) -> bool:
    """The value of an object whose own name means a secret; a token may be one of a language."""
    if SAYS_PASSWORD.search(match["key"]):
        return is_password(match)
    return is_token(match) and is_key(match[SECRET])


def _both(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Both keys of an account, or none."""
    if is_key(match["one"]) and is_key(match["two"]):
        yield match.span("one")
        yield match.span("two")


_HOLDER: Final = rf"(?P<key>(?:{NAMING_WORDS}|(?:api|access|private|master|auth|encryption|admin|account)[-_]?key){TAIL})"
_KEY_SIGN: Final = r"(?:\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}|=\f)\\{0,3}[\"']?"

# `trustno-1511`: a word that somebody made harder to guess.
_WORD_NUMBER: Final = re.compile(r"[A-Za-z]{4,20}[-_.!#]?[0-9]{2,6}")
# The type of a column, a step of a list.
_TYPE: Final = re.compile(
    r"(?i)(?:base|utf|u?int|float|n?(?:var)?char2?|bytes?|string|text|sha|hex|bits?|step|level|version"
    r"|section|table|column|field|line|page|item|test|part|phase|chapter)[-_]?[0-9]+"
)
_LEAST_CELL: Final = 16
# What stands in brackets for a value.
_TOLD: Final = re.compile(
    r"(?i)pass|pwd|token|secret|key|your|str|byte|redact|mask|hidden|value|null|none|cred|object|function|type|user"
    r"|sha|hex|base|uuid|bit|char|len|md5|jwt|change|insert|enter|example|sample|place|some|any|new|old|num|code"
)


def _is_made_up(match: re.Match[str]) -> bool:
    """A generated word, a word with a number, or a key."""
    value = match[SECRET]
    path = "/" in value and value == value.lower()
    if path or placeholder(value) or code(value) or METHOD.fullmatch(value):
        return False
    if HEX.fullmatch(value) or UUID.fullmatch(value):
        return True
    if random_looking(value, _LEAST_CELL) and not slug(value):
        return True
    if not re.search("(?i)pass|pwd", match["key"]):
        return bool(SIGNS.search(value)) and classes(value) > 3
    word = _WORD_NUMBER.fullmatch(value) and not _TYPE.fullmatch(value)
    return bool(word) or is_generated_word(match)


def _is_bracketed(match: re.Match[str]) -> bool:
    """A value, where stand-ins stand in brackets."""
    value = match[SECRET]
    if not re.search("[0-9]", value) or not names_a_secret(key_name(match)):
        return False
    return _is_made_up(match) and not _TOLD.search(value)


def _is_cell(match: re.Match[str]) -> bool:
    """The value beside a name."""
    return names_a_secret(match["key"]) and _is_made_up(match)


RULES: Final[tuple[Rule, ...]] = (
    Rule("name-value", "secret", "an object with a name and a value",
         rf"(?:name|key|k|parametername)\\{{0,3}}[\"']?\s?[:=]\s?(?:\f|\\{{0,3}}[\"'])?[A-Za-z0-9_.-]{{0,40}}(?P<key>(?:{PASSWORD_WORDS}|{TOKEN_WORDS}|_pass|_key|_auth|_pat|sess|sid|myacinfo|remember|jwt|csrf)[A-Za-z0-9_]{{0,16}})(?:\f|\\{{0,3}}[\"']|[ ]?\n|\\{{1,2}}n|,(?=Parameter))",
         rf"\s{{0,24}}(?:,|-)?\s{{0,24}}{PAIRS}(?:\f|\\{{0,3}}[\"'])?(?:(?:parameter|output)?value|val|v)\\{{0,3}}[\"']?\s?[:=]" + VALUE, check=is_named_value, caseless=True,
         wide=rf"(?:name|key|k)\\{{0,3}}[\"']?\s?[:=]\s?(?:\f|\\{{0,3}}[\"'])?{ANY_NAME}(?:\f|\\{{0,3}}[\"']|\n|\\{{1,2}}n|,)",
         hits=('{"name": "DB_PASSWORD", "value": "Zx81kk2!q"}', "name=\fDB_PASSWORD\fvalue=\fZx81kk2!q\f"), misses=('{"name":"PASSWORD_FILE","value":"a12345"}',)),
    Rule("aws-pair", "secret", "a secret key beside its id",
         r"(?:AKIA|ASIA)[A-Z0-9]{16}[\"']?(?:[ ]{0,2}[,:;|\t \f]|\\{1,2}t)", r"(?:[ \f|\t]|\\{1,2}t){0,4}(?:[\"']?(?:20[0-9]{2}-[0-9T:.+Z-]{6,30}|(?:Ina|A)ctive)[\"']?(?:[ ,:;|\t\f]|\\{1,2}t){1,6}){0,2}[\"']?(?P<secret>[A-Za-z0-9/+]{38,40})(?![A-Za-z0-9/+=])", check=is_mixed, rank=SHAPE,
         hits=(f"bob,,AKIA{'Q7K2M4X3V5B6N2C6'},{mix(40)}", f"ACCESSKEY\tAKIA{'Q7K2M4X3V5B6N2C6'}\t2025-11-29T10:22:31+00:00\t{mix(40)}\tActive"), misses=("AKIA,eu-west-1",)),
    Rule("angle-value", "secret", "a value in angle brackets or braces, as a logger of a directory or a driver writes it",
         r"(?P<key>(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|api[_-]?key))\\{0,3}[\"']?[ ]?[:=][ ]?(?:<|&lt;|\{)", r"(?P<secret>[^\s<>&\"'`\f{}]{5,512})(?:>|&gt;|\})", check=_is_bracketed, caseless=True, fingerprint=False, rank=GUESS,
         hits=("user=<sa> password=<falcon-1511> server=<db>", f"token=<{mix(30)}>", f"UID=sa;PWD={{{mix(18)}}};"), misses=("password=<password-12>", "token=<your-token-1>", "password=<bytes 20>", "pwd=<SecretStr2>", "password=<sha256>")),
    Rule("table-row", "secret", "a row of a table with a name and its value",
         rf"(?:[|][ \t]{{0,40}}|\x7f[ \t]{{1,40}})[`*]{{0,2}}(?P<key>[A-Za-z0-9_.-]{{0,40}}(?:(?:pass(?:w(?:or)?d|phrase|code|wort)|pwd|token|secret|api[-_. ]?key|[_-]key|credential){TAIL}|[a-z_-]pass))[`*]{{0,2}}(?:[ \t]{{0,80}}[|]|[ \t]{{1,80}}\x7f)", r"[ \t]{0,80}[`*]{0,2}(?P<secret>[^\s|`\f]{6,4096}?)[`*]{0,2}[ \t]{0,80}[|\x7f]", check=_is_cell, caseless=True, fingerprint=False, rank=GUESS,
         hits=(f"|  vercel_token  |  {mix(24)}  |", "| DB_PASSWORD | falcon-1511 |"), misses=("| password | string | required |", "| max_tokens | 4096128 |", "ls | token | sha256sum | head", "| password_policy | strict-v2-2024 |")),
    Rule("named-object", "secret", "an object that has the name of a secret and holds its value",
         r"(?P<key>[A-Za-z0-9_-]{0,24}(?:pass(?:w(?:or)?d|phrase|code)|token|secret|api[-_.]?key|[_-]key|credential))(?:\\{0,3}[\"'][ ]?:[ ]?\{\s{0,24}\\{0,3}[\"']|\f|:[ ]?\{[ ]?|:\n[ ]{1,24})(?:value|val|plain_?text|secret|string_?value|content|data|raw|S)(?:\\{0,3}[\"'])?[ ]?[:=]", r"[ ]?(?:\f|\\{0,3}[\"'])?(?P<secret>[^\s\"'`,\f\\{}]{6,4096})", check=_is_cell, caseless=True, fingerprint=False, rank=GUESS,
         hits=('{"createToken": {"token": {"value": "3fa94c1d-22b0-4e58-86af-10c9d4b1e277", "name": "ci"}}}', f"api_key:\n  value: {mix(30)}"), misses=('{"token": {"value": "identifier"}}', '"max_tokens": {"value": "4096128"}', '"token": {"data": "getUserName"}')),
    Rule("env-table", "secret", "a variable and its value in a table of the environment",
         r"(?:PASSWORD|PASSWD|SECRET|TOKEN|API_KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY)[ ]{3,80}", r"(?P<secret>[^\s\"'`|\\\f]{6,512})(?=[ ]*(?:$|[\f\"'\\]))", check=is_mixed_word,
         hits=("Name            Value\nCLIENT_SECRET   pE2lTXHI1eeAqAZRvs1h",), misses=("CLIENT_SECRET   required", "API_TOKEN   opaque   8 bytes")),
    Rule("account-list", "private-key", "the keys of a test chain",
         r"\([0-9]{1,3}\)[ ]{1,2}0x(?P<secret>[0-9a-f]{64}", r")(?![0-9a-fA-F])", rank=GUESS,
         hits=(f"Private Keys\n(0) 0x{hexa(64)}",), misses=(f"(0) 0x{hexa(40)}",)),
    Rule("value-below", "secret", "the value of an object that is named after a secret",
         rf"{_HOLDER}(?:\\{{0,3}}[\"']?\s{{0,2}}[:=]?\s{{0,2}}\{{|\f|:[ ]{{0,2}}(?:\r?\n|\\{{1,2}}n))", rf"\s{{0,24}}{PAIRS}(?:\\{{0,3}}[\"'])?value\\{{0,3}}[\"']?\s?[:=]" + VALUE, check=_is_below, caseless=True, fingerprint=False,
         hits=('out {"db_password": {"type": "string", "value": "falcon_84"}}', "db_password\ftype=\fstring\fvalue=\ffalcon_84\f", "password:\n  value: falcon#84!"),
         misses=('{"token_ttl": {"type": "number", "value": 3600}}', '"password": {"label": "Password", "value": ""}', '"adminPassword": {"value": "[parameters(\'adminPassword\')]"}')),
    Rule("two-keys", "secret", "the two keys of an account side by side",
         rf"key1{_KEY_SIGN}(?P<one>[A-Za-z0-9]{{32,84}})\\{{0,3}}[\"',\s\f]{{1,12}}key2", rf"{_KEY_SIGN}(?P<two>[A-Za-z0-9]{{32,84}})", parts=_both, caseless=True, rank=GUESS,
         hits=(f'{{"key1": "{hexa(32)}", "key2": "{hexa(31)}b"}}',), misses=('{"key1": "value1", "key2": "value2"}',)),
)  # fmt: skip
