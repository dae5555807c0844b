"""Pointers to a value that is kept elsewhere: commands, types, names in a store of secrets."""

import re
from typing import Final

from policies.redact.rule import SECRET

# Programs whose output is meant, whatever they are given.
_COMMAND: Final = re.compile(
    r"(?:sudo[ ])?(?:\S*/)?(?:(?:vault|aws|gcloud|gh|glab|az|kubectl|oc|openssl|jq|yq|curl|wget"
    r"|security|sops|gpg|age|doppler|chamber|secret-tool|keyring|ansible-vault|terraform|tofu"
    r"|pulumi|consul|docker|kubeseal|systemd-creds)[ ]\S.*"
    r"|getpass|pwgen|uuidgen|hostname|whoami|mktemp"
    # And those whose words may be a passphrase: with a path, a flag or a variable.
    r"|(?:cat|head|tail|tr|pass|gopass|passage|op|bw|lpass|grep|egrep|awk|sed|cut|base64|date|ssh|python3?|ruby"
    r"|node|php|perl|pwgen|uuidgen|sudo|sh|bash|xargs|sort)[ ].*[-/$.~<|].*"
    r"|(?:echo|printf)[ ].*\$.*|<[ ]?[\w./~-]+|(?:~|\.{1,2}|/[a-z]+)/[\w./-]+(?:[ ][\w./=-]+)*)"
)
# `Data? = nil`, `Option<String>`: a declaration without a value.
_TYPE: Final = re.compile(r"&?[A-Za-z_][\w.]*[?!]?")
_NOTHING: Final = re.compile(
    r"[?!]?(?:<[\w<>,.?&' \[\]]{1,60}>|\[\])?[?!]?"
    r"(?:[ ]\|[ ](?:null|undefined|none|nil))?[ ]?=[ ]?(?i:nil|null|none|undefined)\b"
)
_GENERIC: Final = re.compile(r"<[A-Za-z&'][\w<>,.?&' \[\]]{0,60}>")
# The key by which a cache of packages is trusted, and what it signed.
_CACHE_KEY: Final = re.compile(r"[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==")
_CACHE_NAME: Final = re.compile(r"-[0-9]{1,2}\Z")
_CACHE_LINE: Final = re.compile(r"(?i)public[-_]?keys?|\bsig(?:nature)?s?\b")
_LINE_CHARS: Final = 1_000


def points(match: re.Match[str]) -> bool:
    """A command in backquotes, the type of a variable, the public key of a cache, a name."""
    return (
        _is_command(match)
        or _is_type(match)
        or _is_cache_key(match)
        or _is_cmdlet(match)
        or _is_colour(match)
        or _is_stored(match)
        or _is_progress(match)
    )


def _is_command(match: re.Match[str]) -> bool:
    value, start = match[SECRET], match.start(SECRET)
    quoted = match.string[max(0, start - 1) : start] == "`"
    if not quoted and value[:1] != "`":
        return False
    return bool(_COMMAND.fullmatch(value.strip("`")))


def _is_type(match: re.Match[str]) -> bool:
    text, (start, end) = match.string, match.span(SECRET)
    if not _TYPE.fullmatch(match[SECRET]) or text[start - 1 : start] not in (" ", ":"):
        return False
    generic = match[SECRET][:1].isupper() and _GENERIC.match(text, end)
    return bool(generic or _NOTHING.match(text, end))


def _is_cache_key(match: re.Match[str]) -> bool:
    start = match.start(SECRET)
    if not _CACHE_KEY.fullmatch(match[SECRET]) or match.string[start - 1 : start] != ":":
        return False
    key = match.start("key")
    line = match.string[max(0, key - _LINE_CHARS) : key].rpartition("\n")[2]
    return bool(_CACHE_NAME.search(match["key"]) and _CACHE_LINE.search(line))


# `$password = Read-Host`: without quotes a shell runs what has the form of a command.
_CMDLET: Final = re.compile(
    r"(?:Read-Host|Get-Credential|ConvertTo-SecureString|ConvertFrom-SecureString|Import-Clixml"
    r"|(?:Get|New|Read|Unprotect|Request|Resolve|Import)-[A-Z][A-Za-z]*"
    r"(?:Secret|Token|Password|Credential|Content|Item|Guid|Random|Key|Value|String|Variable|Host|Data|Property)"
    r"|Invoke-(?:RestMethod|WebRequest|Expression|Command)|Join-Path|Select-String)\)?"
)
_SHELL_NAME: Final = re.compile(r"\$\{?(?:[A-Za-z]{1,12}:)?\w*\Z")
_NAME_CHARS: Final = 64


def _is_cmdlet(match: re.Match[str]) -> bool:
    start, key = match.start(SECRET), match.start("key")
    if not _CMDLET.fullmatch(match[SECRET]) or match.string[start - 1 : start] not in (" ", "="):
        return False
    before = match.string[max(0, key - _NAME_CHARS) : key]
    return "=" in match.string[match.end("key") : start] and bool(_SHELL_NAME.search(before))


_COLOUR: Final = re.compile(r"#(?:[0-9A-Fa-f]{3,4}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})")
# `--token-color-upload: #dd8b0f;`, `"tokenColor": "#dd8b0f"`
_STYLE: Final = re.compile(r"--[A-Za-z]+-[\w-]+|.*colou?r.*", re.IGNORECASE)
# `"variable.secret": "#ff0000"`: a scope of an editor's theme.
_SCOPE: Final = re.compile(
    r"(?:variable|keyword|string|support|entity|storage|constant|meta)(?:\.[a-z]+)+"
)
_ENDS_SECRET: Final = re.compile(r"(?i)(?:password|passwd|pwd|secret|key)\Z")
_NAME: Final = re.compile(r"[\w.-]*\Z")


def _name(match: re.Match[str]) -> str:
    key = match.start("key")
    before = _NAME.search(match.string, max(0, key - _NAME_CHARS), key)
    return (before[0] if before else "") + match["key"]


def _is_colour(match: re.Match[str]) -> bool:
    if not _COLOUR.fullmatch(match[SECRET]):
        return False
    name, sign = _name(match), match.string[match.end("key") : match.start(SECRET)]
    if ":" not in sign or _SCOPE.fullmatch(name):
        return ":" in sign
    return bool(_STYLE.fullmatch(name)) and not _ENDS_SECRET.search(name)


# What a store of secrets calls one of them: words and short numbers.
STORED_NAME: Final = (
    r"[A-Z]?[a-z]+[0-9]{0,4}(?:[-_/.](?:[A-Z]?[a-z]+[0-9]{0,4}|[0-9]{1,4})){0,12}"
    r"(?::(?:latest|[0-9]{1,4}))?"
)
_STORED: Final = re.compile(STORED_NAME)
# Only podman tells in the same word what becomes of it; another program may take such a flag.
_GIVEN: Final = re.compile(rf"{STORED_NAME},(?:type|target|uid|gid|mode)=[\w.=,/-]*")
_COMMAND_CHARS: Final = 240
_NAMES_SECRET: Final = re.compile(
    r"(?:\bgcloud[ \f](?:[\w-]+[ \f]){0,4}secrets[ \f][^\n|;&]*"
    r"|\bdocker[ \f]service[ \f](?:create|update)[ \f][^\n|;&]*"
    r"|\baws[ \f][^\n|;&]*\bsecretsmanager[ \f][^\n|;&]*)--\Z"
)
_SETS_SECRETS: Final = re.compile(
    r"\bgcloud[ \f][^\n|;&]*--(?:set|update)-secrets[= \f][\"']?(?:[^\s\"'\f]*,)?\w*\Z"
)
_SHOWS: Final = re.compile(r"\blpass[ \f]show[ \f](?:-{1,2}[\w=-]+[ \f])*--\Z")
_PODMAN: Final = re.compile(r"\b(?:podman|buildah)[ \f][^\n|;&]*--\Z")
_KEY_NUMBER: Final = re.compile(r"[A-Z0-9]{10}")
_ALTOOL: Final = re.compile(r"\baltool[ \f][^\n|;&]*--\Z")


def _is_stored(match: re.Match[str]) -> bool:
    """`gcloud secrets … --secret=db-17`: which of them."""
    key, name, value = match.start("key"), match["key"], match[SECRET].rstrip("\"'")
    before = match.string[max(0, key - _COMMAND_CHARS) : key]
    if name == "apiKey" and _KEY_NUMBER.fullmatch(value):
        return bool(_ALTOOL.search(before))
    if name == "secret" and _GIVEN.fullmatch(value):
        return bool(_PODMAN.search(before))
    if not _STORED.fullmatch(value):
        return False
    if name in ("secret", "secret-id"):
        return bool(_NAMES_SECRET.search(before))
    if name == "password" and _SHOWS.search(before):
        return True
    return ":" in value and bool(_SETS_SECRETS.search(before))


_ID: Final = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9]{1,12}")
_WORK_TOKEN: Final = re.compile(r"(?i)(?:work_?done|partial_?result)_?token\Z")
_WORK: Final = re.compile(
    r"(?:\$/progress|workDoneProgress/(?:create|cancel))\W.{0,80}\Z", re.DOTALL
)


def _is_progress(match: re.Match[str]) -> bool:
    """`$/progress`: which work of an editor's helper is told of."""
    if not _ID.fullmatch(match[SECRET].rstrip("}")):
        return False
    if _WORK_TOKEN.search(_name(match)):
        return True
    key = match.start("key")
    return _name(match) == "token" and bool(_WORK.search(match.string[max(0, key - 120) : key]))
