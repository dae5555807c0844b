"""What stands where a value would and only points to one: commands, types, keys of a cache."""

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
    """A command in backquotes, the type of a variable, the public key of a cache."""
    return _is_command(match) or _is_type(match) or _is_cache_key(match)


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
