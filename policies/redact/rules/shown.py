"""Secrets that a prompt, an interpreter, a tool's output or an encoder shows beside their names."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import HEX, UUID, classes, random_looking, slug
from policies.redact.harmless.names import key_name, names_a_secret
from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import GUESS, SECRET, Rule
from policies.redact.rules.grammar import PAIRS, TAIL, VALUE
from policies.redact.rules.samples import hexa, mix
from policies.redact.values import is_generated_word, is_mixed_word, is_password, is_token

_SAYS_PASSWORD: Final = re.compile(r"(?i)pass|pw|kennwort|senha|contrase")
_PUBLIC: Final = re.compile(r"(?i)pub")
_NAME_CHARS: Final = 40


def _is_key(value: str) -> bool:
    """What only a generator writes."""
    if placeholder(value):
        return False
    if UUID.fullmatch(value) or HEX.fullmatch(value):
        return any(c.isdigit() for c in value)
    return random_looking(value) and not slug(value) and classes(value) > 1


_ENDS: Final = re.compile(r"[ \t]*(?:$|[\r\n\f\"'`\\])")
_ALL_CLASSES: Final = 4


def _is_answer(match: re.Match[str]) -> bool:
    """What is typed behind a prompt: no word of prose, and of a key only what is generated."""
    start = match.start("key")
    name = match.string[max(0, start - _NAME_CHARS) : start] + match["key"]
    if not names_a_secret(key_name(match)) or _PUBLIC.search(name):
        return False
    value = match[SECRET]
    if not _SAYS_PASSWORD.search(match["key"]):
        return _is_key(value)
    # In a description of a parameter more words follow.
    alone = _ENDS.match(match.string, match.end()) or classes(value) >= _ALL_CLASSES
    return bool(alone) and is_mixed_word(match) and not value.endswith(":")


def _is_below(match: re.Match[str]) -> bool:
    """The value of an object whose own name means a secret; a token may be one of a language."""
    if _SAYS_PASSWORD.search(match["key"]):
        return is_password(match)
    return is_token(match) and _is_key(match[SECRET])


_PROMPT: Final = re.compile(
    r"(?:>>>|In \[[0-9]+\]:|[\w.)(:\[\] ]{0,40}[>*]|\((?:i?[Pp]db\+*|gdb|lldb|rdb|dlv)\)|PS [^\n>]{0,80}>"
    r"|php >|\.\.\.)[ ]"
)
_SHOWN: Final = re.compile(
    r"(?P<mark>Out\[[0-9]+\]: |=> |\$[0-9]+ (?:=|==>) (?:0x[0-9a-f]+ )?|[a-z]+[0-9]+: [A-Za-z]+ = )?"
    r"[bBuU]?(?P<quote>\\{0,3}[\"'])?(?P<secret>(?(quote)(?:(?!(?P=quote))[^\s\f\\]){5,4096}|[^\s\"'`\f\\]{5,4096}))"
    r"(?(quote)(?P=quote))[ \t]*(?=$|\r|\\{1,2}[nr]|[\"'\f])",
    re.MULTILINE | re.ASCII,
)
_LINE_CHARS: Final = 200


def _evaluated(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The line after the one that a user gave to an interpreter."""
    text = match.string
    before = text[max(0, match.start() - _LINE_CHARS) : match.start()]
    line = re.split(r"[\n\f\"](?![A-Za-z\])])|(?<!\\)\\{1,2}n", before)[-1].lstrip()
    found = _SHOWN.match(text, match.end() - 1)
    if found is None or not _PROMPT.match(line) or not names_a_secret(key_name(match)):
        return
    value = found[SECRET]
    if placeholder(value) or (found["quote"] is None and "(" in value):
        return
    told = (found["quote"] or found["mark"]) and _SAYS_PASSWORD.search(match["key"])
    if (told and is_mixed_word(found)) or _is_key(value) or is_generated_word(found):
        yield found.span(SECRET)


def _is_encoded(match: re.Match[str]) -> bool:
    """A word with a digit or a sign in it that is no template."""
    value = match[SECRET]
    if re.search(r"[{}]|%s|\$", value) or placeholder(value):
        return False
    return bool(re.search(r"[0-9!#%^*~?&+]", value)) and is_mixed_word(match)


def _both(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Both keys of an account, or none."""
    if _is_key(match["one"]) and _is_key(match["two"]):
        yield match.span("one")
        yield match.span("two")


# Few and plain, so that both stages are through with them at once.
_WORDS: Final = r"passw(?:or)?d|passphrase|passcode|passwort|kennwort|contrase(?:n|\x7f)a|senha|pwd|secret|token|credential"
_NAMED: Final = rf"(?P<key>(?:{_WORDS}|[ _-]key)[A-Za-z0-9_]{{0,12}})"
_HOLDER: Final = rf"(?P<key>(?:{_WORDS}|(?:api|access|private|master|auth|encryption|admin|account)[-_]?key){TAIL})"
_KEY_SIGN: Final = r"(?:\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}|=\f)\\{0,3}[\"']?"

RULES: Final[tuple[Rule, ...]] = (
    Rule("prompt-hint", "secret", "what was typed behind a prompt with a default or a hint in brackets",
         rf"{_NAMED}(?:[ ](?:\[[^\]\n\f]{{0,60}}\]|\([^()\n\f]{{1,60}}\))){{1,2}}[ ]?:", r"[ \t]{1,4}(?P<quote>\\{0,3}[\"'])?(?P<secret>[^\s\"'`\f\\]{5,4096})", check=_is_answer, caseless=True, fingerprint=False, rank=GUESS,
         hits=(f"AWS Secret Access Key [None]: {mix(40)}", "Database password [none]: falcon_84", f"API token (leave empty to keep) [****]: {mix(40)}"),
         misses=("AWS Secret Access Key [None]: ", "Save password? [y/N]: y", "API token [required]: string", f"public key [none]: {mix(44)}", "password (string): The password of the user")),
    Rule("value-below", "secret", "the value of an object that is named after a secret",
         rf"{_HOLDER}(?:\\{{0,3}}[\"']?\s{{0,2}}[:=]?\s{{0,2}}\{{|\f|:[ ]{{0,2}}(?:\r?\n|\\{{1,2}}n))", rf"\s{{0,24}}{PAIRS}(?:\\{{0,3}}[\"'])?value\\{{0,3}}[\"']?\s?[:=]" + VALUE, check=_is_below, caseless=True, fingerprint=False,
         hits=('out {"db_password": {"type": "string", "value": "falcon_84"}}', "db_password\ftype=\fstring\fvalue=\ffalcon_84\f", "password:\n  value: falcon#84!"),
         misses=('{"token_ttl": {"type": "number", "value": 3600}}', '"password": {"label": "Password", "value": ""}', '"adminPassword": {"value": "[parameters(\'adminPassword\')]"}')),
    Rule("evaluated", "secret", "what an interpreter shows for a name that means a secret",
         r"(?P<key>(?:pass|pw|secret|token|api_?key|[_.]key|cred|_pat|_dsn)[a-z0-9_]{0,24})\\{0,3}[\"'`]?[\])}]{0,3}(?:\([0-9]{0,3}\))?;?[ ]?(?:\r?\n|\\{1,2}n)[^\s#@(){}<>]", "", parts=_evaluated, caseless=True, fingerprint=False, rank=GUESS,
         hits=(f">>> os.environ[\"CODECOV_TOKEN\"]\n'{mix(36)}'", "In [3]: os.environ['DB_PASSWORD']\nOut[3]: 'falcon_84'", f'irb(main):001:0> ENV["API_TOKEN"]\n=> "{mix(36)}"'),
         misses=(">>> len(token)\n40", ">>> os.environ['API_TOKEN']\nTraceback (most recent call last):", f">>> cache_key\n'{hexa(40)}'", "> process.env.API_TOKEN\nundefined")),
    Rule("encoded-login", "password", "user and password on their way into base64",
         r"(?:tobase64string\([^\"'\n]{0,80}|btoa\(|b64encode\(|base64_?encode\(|base64::encode\(|encode64\(|encodetostring\((?:\[\]byte\()?|buffer\.from\(|new[ ]buffer\()b?[\"'`][A-Za-z0-9_.@+-]{0,64}:", r"(?P<secret>[^\s\"'`:/\f\\]{5,512})[\"'`]", check=_is_encoded, caseless=True, fingerprint=False, rank=GUESS,
         hits=('[Convert]::ToBase64String([Text.Encoding]::ASCII.GetBytes(":falcon84xq"))', "btoa('bob:falcon_84')", 'Buffer.from("bob:falcon_84").toString("base64")'),
         misses=("btoa('hello:world')", 'GetBytes(":$pat")', "btoa(`${user}:${password}`)", 'Buffer.from("data:image/png")', "b64encode(b'%s:%s' % x)")),
    Rule("two-keys", "secret", "the two keys of an account side by side",
         rf"key1{_KEY_SIGN}(?P<one>[A-Za-z0-9]{{32,84}})\\{{0,3}}[\"',\s\f]{{1,12}}key2", rf"{_KEY_SIGN}(?P<two>[A-Za-z0-9]{{32,84}})", parts=_both, caseless=True, rank=GUESS,
         hits=(f'{{"key1": "{hexa(32)}", "key2": "{hexa(31)}b"}}',), misses=('{"key1": "value1", "key2": "value2"}',)),
)  # fmt: skip
