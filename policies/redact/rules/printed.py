"""Secrets that a command prints or a program tells, on the line after the one that names them."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import classes, random_looking
from policies.redact.harmless.expressions import code
from policies.redact.harmless.placeholders import filling, placeholder
from policies.redact.rule import GUESS, SECRET, SHAPE, Rule
from policies.redact.rules.samples import hexa, mix
from policies.redact.values import (
    is_code,
    is_generated_word,
    is_mixed_word,
    is_opaque,
    is_pair_word,
    is_user_pair,
)

# The end of the command, and one word that has the next line to itself.
_LINE_END: Final = re.compile(r"\r?\n|(?<!\\)\\{1,2}n")
_MAX_COMMAND_CHARS: Final = 400
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
    end = _LINE_END.search(match.string, match.end(), match.end() + _MAX_COMMAND_CHARS)
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
    if is_generated_word(found) or random_looking(found[SECRET], 12) or _scrambled(found[SECRET]):
        yield found.span(SECRET)


_LEAST_SCRAMBLED: Final = 12
_LETTERS_A_RUN: Final = 2.8


def _scrambled(value: str) -> bool:
    """Letters only, in both cases by turns as in no word: a generator may do without digits."""
    runs, capitals = len(re.findall(r"[a-z]+|[A-Z]+", value)), sum(c.isupper() for c in value)
    if re.fullmatch(r"[a-z]*(?:[A-Z][a-z]+)+", value) and len(value) >= 3 * capitals:
        return False
    return value.isalpha() and len(value) >= _LEAST_SCRAMBLED and len(value) < _LETTERS_A_RUN * runs


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


_CODE: Final = re.compile(
    r"(?<![A-Za-z0-9.])(?:[A-Z]-)?(?P<secret>[0-9]{3}[ -]?[0-9]{3,5})\Z", re.ASCII
)
_CODE_CHARS: Final = 12


def _code_before(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The digits of which the match begins with the last three."""
    end = match.start() + 3
    found = _CODE.search(match.string[:end], max(0, end - _CODE_CHARS))
    if found and is_code(found):
        yield found.span(SECRET)


def _after_password(match: re.Match[str]) -> bool:
    """The lines before speak of a password."""
    before = match.string[max(0, match.start() - 300) : match.start()]
    return bool(re.search("(?i)passw|secret|token|credential", before)) and is_mixed_word(match)


def _chap(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The third word of each line under the heading."""
    line = re.compile(
        r"[\n][ \t]*[\"']?[^\s\"'#]{1,80}[\"']?[ \t]+[\"']?[^\s\"']{1,80}[\"']?[ \t]+[\"']?(?P<secret>[^\s\"']{3,256})"
    )
    for found in line.finditer(match.string, match.end(), match.end() + _MAX_LIST_CHARS):
        if not placeholder(found[SECRET]):
            yield found.span(SECRET)


def _echoed(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """What a script that answers password prompts writes."""
    said = re.compile(
        r"(?:echo|printf)[ ](?:-n[ ])?(?:['\"]?%s(?:\\n)?['\"]?[ ])?\\{0,2}[\"']?(?P<secret>[^\s\"'`;|&\\]{6,256})"
    )
    for found in said.finditer(match.string, max(0, match.start() - 200), match.end() + 200):
        if is_mixed_word(found):
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
    # Told by a program
    Rule("new-value", "password", "the value that a program made",
         r"(?:New|Generated|Initial|Temporary)[ ](?:value|one):[ ]", r"[ \t]*(?P<secret>[^\s\"'`]{6,512})", check=_after_password, fingerprint=False,
         hits=("Password for the [bob] user successfully reset.\nNew value: T1gerX=9kk",), misses=("New value: T1gerX=9kk",)),
    Rule("told-login", "password", "user and password in a sentence",
         r"(?:(?:creds?|credentials|logins?|account|access)(?:[ ](?:for|to|on|at)[ ][^\n:]{1,60}|[ ](?:is|are))?:[ ]?[A-Za-z0-9_.@+-]{1,64}(?:[ ]?[/|:][ ]?|[ ]and[ ]|,[ ])|[ (\"'](?:admin|root|administrator):)", r"(?:password[ ])?(?!xnu-)(?P<secret>[^\s\"'`,/]{6,256})", check=is_generated_word, caseless=True, fingerprint=False, rank=GUESS,
         hits=("creds for h.example: admin / T1gerX!9kk (rotate)", "Login: bob / T1gerX!9kk"), misses=("access: read / write-all-2", "account: bob / 2024-11-02")),
    Rule("code-is-yours", "one-time-code", "a one-time code before what it is for",
         r"[0-9]{3}[ ](?:is|as)[ ]your[ ]", r"(?:[A-Za-z0-9'-]{1,20}[ ]){0,4}(?:code|otp|pin|passcode|password)", parts=_code_before, fingerprint=False, rank=SHAPE,
         hits=("G-728130 is your Google verification code.", "779853 is your login code"), misses=("12345 is your ticket number", "use 728130 as your id")),
    Rule("recovery-codes", "recovery-code", "the codes that replace a second factor",
         r"(?:recovery|backup|scratch|emergency|rescue)[ _-]codes?", "", parts=_codes, caseless=True, fingerprint=False, rank=GUESS,
         hits=("Save your recovery codes:\n  848f5-87c9c\n  e004d-45b9c",), misses=("backup codes: none left", "recovery code since 2024-11-02")),
    # Files
    Rule("chap-secrets", "password", "a line of a file of logins",
         r"#[ ]client[ \t]+server[ \t]+secret", "", parts=_chap, fingerprint=False,
         hits=("# client  server  secret  IP addresses\n\"bob\"  *  \"T1gerX9\"  *",)),
    Rule("sasl-passwd", "password", "a login for a relay",
         r"\]:[0-9]{2,5}[ \t]+[^\s:\"']{1,80}:", r"(?P<secret>[^\s\"'`]{3,256})", check=is_user_pair, fingerprint=False,
         hits=("[smtp.example.com]:587 bob@example.com:T1gerX9kk",), misses=("[::1]:587 bob:$PW",)),
    Rule("conf-login", "password", "user:password as the value of a setting",
         r"(?:(?:user|userpwd|credentials?|login|auth)[ ]?[=:][ ]?[\"']|user[._-]info[ ]?[=:][ ]?[\"']?|BUNDLE_[A-Z0-9_]{2,80}=[\"']?)[^\s:\"'`/\f,{}]{1,64}:", r"(?P<secret>[^\s\"'`\f]{6,512})(?=[\"'\f]|\s|$)", check=is_pair_word, caseless=True, fingerprint=False, rank=GUESS,
         wide=r"(?:(?:user|userpwd|credentials?|login|auth)[ ]?[=:][ ]?[\"']|user[._-]info|bundle_[a-z0-9_]{2,80}=)[^\f\n]{1,80}:",
         hits=('user = "etl:T1gerX9kk"', "schema.registry.basic.auth.user.info=K2:T1gerX9/kk"), misses=('user: "nobody:nogroup"', 'user="$U:$P"', "user = \"http://x/y\"")),
    Rule("license-pair", "secret", "a license of two short halves",
         r"(?:_KEY|__COM|contribsys\.com|SIDEKIQ[A-Z_]{0,20})[=: \f][\"']?(?P<secret>[0-9a-f]{8}:[0-9a-f]{8}", r")(?![0-9a-f:])", check=is_opaque, caseless=True, rank=GUESS,
         hits=(f"SIDEKIQ_PRO_KEY={hexa(8)}:{hexa(16)[8:]}",), misses=("a_key=00000000:00000000",)),
    Rule("askpass", "password", "what a script for SSH_ASKPASS writes",
         r"(?i:askpass)", "", parts=_echoed, fingerprint=False, rank=GUESS,
         hits=("echo T1gerX9kk > /tmp/askpass.sh; SSH_ASKPASS=/tmp/askpass.sh ssh-add",), misses=("SSH_ASKPASS=/bin/false; echo done",)),
    Rule("rpc-path", "secret", "the key in the address of a node of a chain or of a calendar",
         r"(?:alchemy(?:api)?\.(?:com|io)/(?:nft/)?v[0-9]/|infura\.io/(?:ws/)?v3/|quiknode\.pro/|blastapi\.io/|nodereal\.io/v1/|getblock\.io/|rpc\.ankr\.com/[a-z0-9_-]{1,40}/|(?:p2pify|chainstack)\.com/|gateway\.tenderly\.co/|calendar\.google\.com/calendar/(?:ical|feeds)/[^/\s]{1,120}/private-|outlook\.(?:office365|live|office)\.com/owa/calendar/(?:[^/\s]{1,120}/)?|caldav\.icloud\.com/published/2/)", r"(?P<secret>[A-Za-z0-9_-]{16,120})", rank=SHAPE,
         hits=(f"https://eth-mainnet.g.alchemy.com/v2/{mix(32)}", f"https://calendar.google.com/calendar/ical/a%40example.com/private-{hexa(32)}/basic.ics"), misses=("https://docs.alchemy.com/v2/getting-started",)),
)  # fmt: skip
