"""Keys of caches and stores, tags and versions: which thing is meant, behind a colon."""

import re
from typing import Final

_COMMANDS: Final = (
    r"(?i:m?get|getex|getdel|set|setex|setnx|psetex|p?ttl|p?expire(?:at)?|persist|del|unlink|exists"
    r"|incr(?:by)?|decr(?:by)?|touch|type|dump|delete|fetch|put|has|remove|evict|rename(?:nx)?|keys|watch|match"
    r"|h(?:get|getall|mget|set|mset|del|exists|keys|len|incrby)|s(?:add|rem|members|card|ismember|pop)"
    r"|z(?:add|rem|range|score|card)|[lr](?:push|pop|range|len)"
    r"|object[ \f](?:encoding|idletime|freq|refcount)|memory[ \f]usage|debug[ \f]object)"
)
_STORE_COMMAND: Final = re.compile(rf"(?=[A-Z]{{3}}){_COMMANDS}")
_QUOTE: Final = r"\\{0,3}[\"'`]?"
# What a key-value store does with its keys: a command in capitals, a method, a command of its tool.
_STORE: Final = re.compile(
    rf"(?:(?:^|[^A-Za-z_])(?=[A-Z]{{3}})|(?:redis|valkey|cache|client|conn|store|kv)\."
    r"|[-]cli(?:[ \f]-\S+|[ \f][\d.]+){0,4}[ \f])"
    rf"{_COMMANDS}(?:{_QUOTE}[ ,\f(]{{1,3}}{_QUOTE}[\w:.-]+){{0,4}}"
    rf"{_QUOTE}[ ,\f(]{{1,3}}{_QUOTE}(?:[\w-]+:)*[\w-]*\Z"
)
_STORE_CHARS: Final = 128
# `user:1824`, `reset:3fa94c1d-…`, `3fa94c1d-…`, `*`: which of the keys.
_STORED: Final = re.compile(
    r"(?:[a-z][a-z_-]*:)*(?:(?i:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{24,128})|[0-9]{1,20}|\*)(?::[a-z_-]+){0,3}"
    r"|(?:[a-z]+:)+[a-z0-9_-]+"
)

# What a limiter and a queue count: bucket:ingest:5777, attempts:bob:17, hour.
_COUNTED: Final = re.compile(
    r"(?:bucket|counts?|counter|limit|quota|rate|attempts?|fail(?:ed|ures?)?|reset|lock|throttle|ttl|queue"
    r"|hour|minute|second|day|week|month)(?::[a-z_-]+){0,3}(?::[0-9]{1,20})?"
)
_COUNTED_BY: Final = re.compile(
    r"(?i)(?:reset|limit|rate|ratelimit|bucket|cache|lock|queue|counter|throttle|redis|store|quota)"
    r"[-_. ]?key\\{0,3}[\"']?[:=][ ]?\\{0,3}[\"']?(?:[\w-]+:)*[\w-]*\Z"
)
_COUNTED_NAME: Final = re.compile(r"[a-z_-]+(?::[a-z_-]+)*(?::[0-9]{1,20})?")


def _counted(text: str, start: int, value: str) -> bool:
    """`reset_key=password:hour`, `token:bucket:ingest:5777`: how often, and of whom."""
    if _COUNTED.fullmatch(value) and ":" in value:
        return True
    before = text[max(0, start - _STORE_CHARS) : start - 1]
    return bool(_COUNTED_NAME.fullmatch(value) and _COUNTED_BY.search(before))


# `{{resolve:ssm-secure:/prod/password:3}}`: which version of a value a stack takes.
_RESOLVED: Final = re.compile(r"\{\{resolve:(?:ssm|ssm-secure|secretsmanager):[\w./+=@:-]{0,128}\Z")
_WHICH: Final = re.compile(
    r"(?:[0-9]{1,5}|(?:Secret(?:String|Binary))?(?::[A-Za-z_-]{0,40}){0,2}:?(?:AWS(?:CURRENT|PREVIOUS|PENDING))?)\}\}"
)
# `image: acme/token:1.4`, `docker pull acme/token:1.4`, `ghcr.io/acme/token:1.4`
_IMAGE: Final = re.compile(
    r"(?i)(?:\bimage\\{0,3}[\"']?[:=][ \f]?\\{0,3}[\"']?"
    r"|(?:^|[\n\f ])(?:FROM|tagg?(?:ed|ing)?|push(?:ed|ing)?|pull(?:ed|ing)?|naming[ ]to|untagged:"
    r"|loaded[ ]image:)[ \f]"
    r"|\b(?:docker|podman|nerdctl|buildah|crane|skopeo|kind|k3d|ctr)[ \f][^\n|;&]{0,120}[ \f]"
    r"|(?:^|[\s\f\"'=(])(?:[a-z0-9-]{1,40}\.){1,4}[a-z]{2,8}(?::[0-9]{2,5})?/)[\w./-]{0,100}\Z"
)
_TAG: Final = re.compile(
    r"(?:[A-Za-z]+|[0-9]+|v[0-9]+|[0-9a-f]{7,40})(?:[-_.](?:[a-z]+[0-9]?|[0-9]+|v[0-9]+|[0-9a-f]{7,40}))*"
)


def _which_of(text: str, start: int, value: str) -> bool:
    """A version of what has the name before the colon."""
    before = text[max(0, start - 2 * _STORE_CHARS) : start - 1]
    if _RESOLVED.search(before) and _WHICH.match(text, start):
        return True
    return bool(_TAG.fullmatch(value.partition("@")[0]) and _IMAGE.search(before))


def is_store_command(text: str) -> bool:
    """A command of a store, as its monitor prints it."""
    return bool(_STORE_COMMAND.fullmatch(text))


def stored_key(text: str, start: int, value: str) -> bool:
    """`SETEX pass:3fa94c1d-… 60`: the value is a part of the name of what a store keeps."""
    if text[start - 1 : start] == ":" and (
        _counted(text, start, value) or _which_of(text, start, value)
    ):
        return True
    if text[start - 1 : start] != ":" or not _STORED.fullmatch(value):
        return False
    return bool(_STORE.search(text[max(0, start - _STORE_CHARS) : start - 1]))
