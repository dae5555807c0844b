"""Names that hold a secret, and names that only speak about one."""

import re
from typing import Final

from policies.redact.harmless.words import ABOUT, FOR_ALL, HIDDEN, NUMBERS, SHOWN, SIGNING

# Names in which a keyword is part of another word.
_OTHER_WORDS: Final = re.compile(
    r"(?i)tokeni[sz]|keyboard|keyframe|monkey|passenger|bypass|compass|passive|passage|passthr"
    r"|libsecret|passport|surpass|trespass|keynote|keypad|keyword|secretar|hotkey|turnkey"
    r"|(?-i:LoadCredential|ImportCredential)"
    r"|amz-credential|goog-credential|(?:term|xdg|shell|security|desktop|buildkit|tmux|dbus|gnome|screen)_?session|dkim-signature|arc-message-signature"
    r"|(?:passw(?:or)?d|passphrase|token|secret|key)(?:file|path|dir|name|type|policy|prompt|field)\Z|websocket-(?:key|accept)|(?:shard|group|row|lookup|object)[-_]?key\Z"
)
_SEGMENT: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NAME_BEFORE: Final = re.compile(
    r"(?:(?i:public|pub|verify|verifying|verification|trusted|peer|minisign|site)[ ])?"
    r"[A-Za-z0-9_.\-]{0,64}\Z"
)
# N8N_ENCRYPTION_KEY, no count of keys.
_NUMERONYM: Final = re.compile(r"(?i)n[0-9]+n_|(?:in|out)put\.")
# The one id that opens doors (AppRole).
SECRET_ID: Final = re.compile(r"(?i)secret[-_.]?id\Z")


def key_name(match: re.Match[str]) -> str:
    """The whole name around the keyword that a rule found in group `key`."""
    start, end = match.span("key")
    before = _NAME_BEFORE.search(match.string, max(0, start - 64), start)
    return (before[0] if before else "") + match.string[start:end]


def names_a_secret(name: str) -> bool:
    """False for `max_tokens`, `PASSWORD_FILE`, `cacheKey`: no secret is behind these."""
    if _OTHER_WORDS.search(name):
        return False
    if SECRET_ID.search(name):
        return True
    # `--with-db-pass=X` tells a build which to use.
    words = [word.lower() for word in _SEGMENT.findall(name.removeprefix("--with-"))]
    if not words:
        return True
    if not SHOWN.isdisjoint(words) and HIDDEN.isdisjoint(words):
        return not SIGNING.isdisjoint(words[:-1]) and FOR_ALL.isdisjoint(words)
    last = words[-2 if len(words) > 1 and words[-1] in ("hash", "checksum") else -1]
    return not (last in ABOUT or (words[0] in NUMBERS and not _NUMERONYM.match(name)))
