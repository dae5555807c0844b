"""Secrets typed behind a prompt, shown by an interpreter, or echoed by a script for one."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import ALL_CLASSES, classes
from policies.redact.harmless.names import key_name, names_a_secret
from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import GUESS, SECRET, Rule
from policies.redact.rules.checks import SAYS_PASSWORD, is_key
from policies.redact.rules.grammar import NAMING_WORDS
from policies.redact.rules.samples import hexa, mix
from policies.redact.values import is_generated_word, is_mixed_word


def _echoed(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """What a script that answers password prompts writes."""
    said = re.compile(
        r"(?:echo|printf)[ ](?:-n[ ])?(?:['\"]?%s(?:\\n)?['\"]?[ ])?\\{0,2}[\"']?(?P<secret>[^\s\"'`;|&\\]{6,256})"
    )
    for found in said.finditer(match.string, max(0, match.start() - 200), match.end() + 200):
        if is_mixed_word(found):
            yield found.span(SECRET)


_PUBLIC: Final = re.compile(r"(?i)pub")
_NAME_CHARS: Final = 40

_ENDS: Final = re.compile(r"[ \t]*(?:$|[\r\n\f\"'`\\])")


def _is_answer(match: re.Match[str]) -> bool:
    """What is typed behind a prompt: no word of prose, and of a key only what is generated."""
    start = match.start("key")
    name = match.string[max(0, start - _NAME_CHARS) : start] + match["key"]
    if not names_a_secret(key_name(match)) or _PUBLIC.search(name):
        return False
    value = match[SECRET]
    if not SAYS_PASSWORD.search(match["key"]):
        return is_key(value)
    # In a description of a parameter more words follow.
    alone = _ENDS.match(match.string, match.end()) or classes(value) >= ALL_CLASSES
    return bool(alone) and is_mixed_word(match) and not value.endswith(":")


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
    told = (found["quote"] or found["mark"]) and SAYS_PASSWORD.search(match["key"])
    if (told and is_mixed_word(found)) or is_key(value) or is_generated_word(found):
        yield found.span(SECRET)


_NAMED: Final = rf"(?P<key>(?:{NAMING_WORDS}|[ _-]key)[A-Za-z0-9_]{{0,12}})"

RULES: Final[tuple[Rule, ...]] = (
    Rule("expect-send", "password", "what an expect script sends to a password prompt",
         r"(?:assword|assphrase)[^\n]{0,12}[\s;}][\s}]{0,4}send(?:[ ]--)?[ ]", r"\{?\\{0,3}[\"'](?P<secret>[^\"'\n\\]{3,256}(?:\\(?![rn\"'])[^\"'\n\\]*)*)", caseless=True, fingerprint=False,
         hits=("expect -c 'spawn ssh root@h; expect password:; send \"DnWS!#b^UzySTyujnc\\r\"; interact'",)),
    Rule("here-document", "password", "the login of a scripted session",
         r"(?:^[ \t]*|<<-?[\"']?\w{1,20}[\"']?(?:[ \t\n]|\\{1,8}n){1,4})(?:user|quote USER)[ ][^\s]{1,64}[ ]", r"(?P<secret>(?:[^\s\"'`\\]|\\(?!n)){4,256})(?=$|\\|\s)", check=is_generated_word, caseless=True, fingerprint=False, rank=GUESS,
         hits=("ftp -n h <<E\nuser bob Wint3r!Storm\nE", "ftp -n h <<E user bob Wint3r!Storm E", "ftp -n h <<E\\nuser bob Wint3r!Storm\\nE"), misses=("user bob logged in",)),
    Rule("expect-sends", "password", "a generated word that an expect script sends",
         r"send(?:ing|[ ]--)?[ ]\\{0,2}[\"']", r"(?P<secret>[^\s\"'\\]{6,256})\\{1,2}[rn]", check=is_generated_word, fingerprint=False, rank=GUESS,
         hits=("expect -c 'send \"T1gerX!9kk\\r\"'",), misses=("expect -c 'send \"continue\\r\"'",)),
    Rule("askpass", "password", "what a script for SSH_ASKPASS writes",
         r"(?i:askpass)", "", parts=_echoed, fingerprint=False, rank=GUESS,
         hits=("echo T1gerX9kk > /tmp/askpass.sh; SSH_ASKPASS=/tmp/askpass.sh ssh-add",), misses=("SSH_ASKPASS=/bin/false; echo done",)),
    Rule("prompt-hint", "secret", "what was typed behind a prompt with a default or a hint in brackets",
         rf"{_NAMED}(?:[ ](?:\[[^\]\n\f]{{0,60}}\]|\([^()\n\f]{{1,60}}\))){{1,2}}[ ]?:", r"[ \t]{1,4}(?P<quote>\\{0,3}[\"'])?(?P<secret>[^\s\"'`\f\\]{5,4096})", check=_is_answer, caseless=True, fingerprint=False, rank=GUESS,
         hits=(f"AWS Secret Access Key [None]: {mix(40)}", "Database password [none]: falcon_84", f"API token (leave empty to keep) [****]: {mix(40)}"),
         misses=("AWS Secret Access Key [None]: ", "Save password? [y/N]: y", "API token [required]: string", f"public key [none]: {mix(44)}", "password (string): The password of the user")),
    Rule("prompt-sign", "secret", "what was typed behind a prompt with a sign of its own",
         rf"{_NAMED}(?:[ ](?:value|here|again|now)){{0,2}}[ ]?[?:]?[ ]{{1,2}}(?:[\x06\x7f]|\\{{1,2}}u[0-9A-Fa-f]{{4}}|<after>)[ ]", r"(?P<secret>[^\s\"'`\f\\\x7f]{5,4096})(?!\x7f)", check=_is_answer, caseless=True, fingerprint=False, rank=GUESS,
         hits=(f"? Enter a secret value: \x7f {mix(36)}", "Password \x7f falcon_84x", "ops@10.0.0.5's password: <after> T1gerX!9kk"),
         misses=("? Which secret do you want? \x7f db-password", "? Select token type \x7f classic", "? Password \x7f ********", f"? Public key \x7f {mix(44)}", "A senha \x7f obrigat\x7fria")),
    Rule("evaluated", "secret", "what an interpreter shows for a name that means a secret",
         r"(?P<key>(?:pass|pw|secret|token|api_?key|[_.]key|cred|_pat|_dsn)[a-z0-9_]{0,24})\\{0,3}[\"'`]?[\])}]{0,3}(?:\([0-9]{0,3}\))?;?[ ]?(?:\r?\n|\\{1,2}n)[^\s#@(){}<>]", "", parts=_evaluated, caseless=True, fingerprint=False, rank=GUESS,
         hits=(f">>> os.environ[\"CODECOV_TOKEN\"]\n'{mix(36)}'", "In [3]: os.environ['DB_PASSWORD']\nOut[3]: 'falcon_84'", f'irb(main):001:0> ENV["API_TOKEN"]\n=> "{mix(36)}"'),
         misses=(">>> len(token)\n40", ">>> os.environ['API_TOKEN']\nTraceback (most recent call last):", f">>> cache_key\n'{hexa(40)}'", "> process.env.API_TOKEN\nundefined")),
)  # fmt: skip
