"""Secrets that a command printed, or a program announced, on the lines below."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import HEX, classes, long_and_mixed, random_looking, scrambled, slug
from policies.redact.harmless.expressions import code
from policies.redact.harmless.names import names_a_secret
from policies.redact.harmless.placeholders import filling, placeholder
from policies.redact.rule import GUESS, SECRET, Rule
from policies.redact.rules.grammar import LINE_END
from policies.redact.rules.samples import hexa, mix
from policies.redact.values import FILE_ENDING, is_generated_word, is_mixed_word

_MAX_COMMAND_CHARS: Final = 400
# One word that has the next line to itself.
_ALONE: Final = re.compile(
    r"[ \t]{0,8}(?P<secret>[^\s\"'`$#>|\f\\-][^\s\"'`\f\\]{5,4096})(?=[ \t]*(?:$|\r|\\{1,2}[nr]|[\"'\f]))",
    re.MULTILINE | re.ASCII,
)
_URL: Final = re.compile(r"(?i)[a-z][a-z0-9+.-]*://.*")
_FILE: Final = re.compile(r"[\w.-]+\.(?:[a-z]{1,5}|[a-z]{1,5}\.[a-z]{1,5}):?")
# A name of a file has no capitals and digits both.
_ALL_KINDS: Final = 3
_SECRET_WORD: Final = re.compile(
    r"(?i)pass|(?:^|[^a-z])pw(?:[^a-z]|$)|secret|token|[_.-]key|api_?key|cred|(?:^|[^a-z])pat(?:[^a-z]|$)"
)


def is_printed(match: re.Match[str]) -> bool:
    """The only output of a command that prints a secret: a word that is no message."""
    value = match[SECRET]
    if _URL.fullmatch(value) or value.endswith(":") or code(value):
        return False
    if _FILE.fullmatch(value) and classes(value.rpartition(".")[0]) < _ALL_KINDS:
        return False
    return is_mixed_word(match)


def _next_line(match: re.Match[str]) -> re.Match[str] | None:
    end = LINE_END.search(match.string, match.end(), match.end() + _MAX_COMMAND_CHARS)
    return _ALONE.match(match.string, end.end()) if end else None


def _printed(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The line after the command, if it looks like the only output."""
    found = _next_line(match)
    if found and is_printed(found):
        yield found.span(SECRET)


def _printed_named(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """As `_printed`, where the command says that it prints a secret."""
    found = _next_line(match)
    if found is None or not is_printed(found):
        return
    command = match.string[match.start() : found.start()]
    if "<<" in command or " >" in command or not _SECRET_WORD.search(command):
        return
    if is_generated_word(found) or random_looking(found[SECRET], 12) or scrambled(found[SECRET]):
        yield found.span(SECRET)


# Commands that print a secret and nothing else.
_PRINTS: Final = "|".join((
    r"find-(?:generic|internet)-password[ ][^\n]{0,200}-w", r"(?:^|[^A-Za-z])op[ ](?:read|item[ ]get)[ ]",
    r"vault[ ](?:kv[ ]get|read)[ ][^\n]{0,80}-field", r"print-(?:access|identity|refresh)-token",
    r"(?:^|[^A-Za-z-])(?:pass|gopass|passage|lpass)[ ]show[ ]", r"create[ ]token[ ]", r"get-login-password",
    r"(?:node|agent|join|bootstrap|access|server)-token(?:$|[^A-Za-z=:-])", r"(?:^|[^A-Za-z])bw[ ]get[ ]", r"secret-tool[ ]lookup",
    r"keyring[ ]get[ ]", r"auth[ :]token(?:$|[^A-Za-z=:])", r"nitial(?:Admin|_root_|-admin-|_admin_|-)[Pp]assword", r"secrets[ ]versions[ ]access",
    r"openssl[ ]rand[ ]", r"(?:^|[^A-Za-z])pwgen[ ]", r"wg[ ]gen(?:key|psk)", r"get-access-token", r"keygen(?:[ ]--?secret|$)",
    r"reset-password[ ][^\n]{0,120}-(?:b|-batch|s|-silent)",
))  # fmt: skip

# Commands that print what they are asked for, a secret among others.
_PRINTS_NAMED: Final = "|".join((
    r"(?:terraform|tofu|terragrunt)[ ]output[ ]", r"pulumi[ ](?:config[ ]get|stack[ ]output)", r"config[: ]get[ ]",
    r"\{\.data\.", r"base64[ ]-{1,2}[dD]", r"printenv[ ][A-Za-z0-9_]", r"doppler[ ]secrets[ ]get", r"jq[ ]-r[ ]",
    r"get-secret-value", r"keyvault[ ]secret[ ]show", r"get-parameter[ ]", r"sops[ ](?:-d|--decrypt|decrypt)", r"Get-Secret[ ]", r"gpg[ ](?:-q[ ])?(?:-d|--decrypt)[ ]",
))  # fmt: skip

_CODES: Final = re.compile(
    r"(?<![\w-])(?:[0-9a-z]{4,6}(?:-[0-9a-z]{4,6}){1,4}|[0-9A-Z]{4,6}(?:-[0-9A-Z]{4,6}){1,4}|[0-9a-f]{8,16}|[0-9]{4}[ ]?[0-9]{4})(?![\w-])"
)
_CODES_WORD: Final = re.compile("(?i)[ _-]codes?")
_MAX_LIST_CHARS: Final = 800


def _codes(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Each code of a list, one a line or side by side."""
    stop = match.end() + _MAX_LIST_CHARS
    again = _CODES_WORD.search(match.string, match.end(), stop)
    for found in _CODES.finditer(match.string, match.end(), again.start() if again else stop):
        if (
            re.search("[0-9]", found[0])
            and not re.match("20[0-9]{2}-", found[0])
            and not filling(found[0])
        ):
            yield found.span()


_ALONE_BELOW: Final = re.compile(
    r"(?:[ \t]{0,8}(?:\r?\n|(?<!\\)\\{1,2}n)){1,3}[ \t>|]{0,8}(?P<secret>-?[^\s\"'`$#>|\f\\-][^\s\"'`\f\\]{5,4096})(?=[ \t]*(?:$|\r|\\{1,2}[nr]|[\"'\f]))",
    re.MULTILINE,
)
_STRONG: Final = re.compile(
    r"(?i)passw|passphrase|secret|token|(?:certificate|api|access|private|recovery|master|encryption|unseal|licen[cs]e)[ _-]key"
)


def _alone_below(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The word that has the next line to itself, if a generator wrote it."""
    found = _ALONE_BELOW.match(match.string, match.end())
    start = match.string.rfind("\n", 0, match.start()) + 1
    line = match.string[max(start, match.start() - 100) : match.end()]
    if found is None or placeholder(found[SECRET]):
        return
    name, value = (
        re.search(r"[A-Za-z_-]+(?:[ ]key)?(?=[^A-Za-z]*\Z)|\Z", match[0]),
        FILE_ENDING.sub("", found[SECRET]),
    )
    if not names_a_secret(name[0] if name else "") or re.search(
        r"(?i)public|fingerprint|cache", line
    ):
        return
    if HEX.fullmatch(value):
        if _STRONG.search(line):
            yield found.span(SECRET)
    elif not slug(value) and not code(value) and long_and_mixed(value):
        yield found.span(SECRET)


RULES: Final[tuple[Rule, ...]] = (
    Rule("printed", "secret", "what a command that prints a secret printed",
         rf"(?:{_PRINTS})", "", parts=_printed, fingerprint=False, rank=GUESS,
         hits=("$ security find-generic-password -s x -w\nT1gerX9kk", "$ op read op://v/i/f\nT1gerX9kk", "cat /var/lib/k3s/node-token\nK10x9::y"),
         misses=("$ op read op://v/i/f\n[ERROR] not found", "$ pass show x\nError: x is not in the password store.", "op read op://v/i/f\n$ ls")),
    Rule("printed-named", "secret", "what a command printed that was asked for a secret",
         rf"(?:{_PRINTS_NAMED})", "", parts=_printed_named, fingerprint=False, rank=GUESS,
         hits=("$ terraform output -raw db_password\nT1gerX9kkM2w", "kubectl get secret s -o jsonpath='{.data.password}' | base64 -d; echo\nT1gerX9-kk"),
         misses=("$ terraform output -raw bucket_name\nT1gerX9kkM2w", "$ base64 -d x\nT1gerX9kkM2w")),
    Rule("printed-variable", "secret", "the value of a variable that was shown",
         r"echo[ ][\"']?\$\{?[A-Za-z0-9_]{0,40}(?:PASS|SECRET|TOKEN|KEY|PAT|pass|secret|token|key)", "", parts=_printed_named, fingerprint=False, rank=GUESS,
         hits=("$ echo $API_TOKEN\nT1gerX9kkM2w",), misses=("$ echo $API_TOKEN\n(empty)", "echo $TOKEN > x\nT1gerX9kkM2w")),
    Rule("printed-file", "secret", "a file with a secret that was shown",
         r"(?:^|[^A-Za-z])cat[ ][^\n|;&]{0,120}(?:pass|secret|token|key|cred)", "", parts=_printed_named, caseless=True, fingerprint=False, rank=GUESS,
         hits=("$ cat ~/.config/x/token\nT1gerX9kkM2w",), misses=("$ cat token.txt\ncat: token.txt: No such file or directory", "cat > token <<E\nT1gerX9kkM2w")),
    Rule("recovery-codes", "recovery-code", "the codes that replace a second factor",
         r"(?:recovery|backup|scratch|emergency|rescue)[ _-]codes?", "", parts=_codes, caseless=True, fingerprint=False, rank=GUESS,
         hits=("Save your recovery codes:\n  848f5-87c9c\n  e004d-45b9c",), misses=("backup codes: none left", "recovery code since 2024-11-02")),
    Rule("told-next", "secret", "a secret that has the next line to itself",
         r"(?:passw(?:or)?d|passphrase|secret|token|[ _-]key|credential)s?(?:[ ](?:to|for|once|only|now|below|and|store|save|shown|value|it|is|you|this|in|a|safe|place|again|will|not|be|proceed|installation|admin|the)|[ ,]{0,2}\([^()\n]{1,80}\)|[ ,]{1,2}(?:store|save|keep|copy)[^\n:]{0,40}){0,8}:", "", parts=_alone_below, caseless=True, fingerprint=False, rank=GUESS,
         wide=r"(?:passw(?:or)?d|passphrase|secret|token|[ _-]key|credential)s?[^\n:]{0,200}:",
         hits=(f"Please use the following password to proceed to installation:\n\n{hexa(32)}\n", f"Using certificate key:\n{hexa(64)}", f"New access token (shown once):\n{mix(40)}"),
         misses=(f"Public key:\n{mix(44)}", f"Key fingerprint:\n{hexa(40)}", f"cache key:\n{hexa(64)}", "token:\nnext-line-of-words", "Password:\nIncorrect. Try again:")),
)  # fmt: skip
