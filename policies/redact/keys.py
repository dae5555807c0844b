"""Is this value a key? Behind names that may mean many things, by what a generator writes."""

import re
from typing import Final

from policies.redact.generated import HEX, UUID, classes, random_looking, shuffled, slug
from policies.redact.harmless.expressions import code
from policies.redact.harmless.names import key_name, names_a_secret
from policies.redact.harmless.placeholders import path, placeholder
from policies.redact.rule import SECRET
from policies.redact.values import CLOSERS, FILE_ENDING, in_name, no_value

# Keys of services are 20 to 120 letters of one alphabet.
_KEY: Final = re.compile(r"[A-Za-z0-9_+/=-]{20,160}")
_LEAST_KEY: Final = 20
_COORDINATES: Final = re.compile(r"[a-z][\w.-]*(?::[A-Za-z0-9][\w.-]*){1,4}(?:@[a-z]+)?")
# Keys that are a hash, a UUID or lower-case only in many tools.
_STRONG_KEY: Final = re.compile(
    r"(?i)(?:routing|consumer|ingest(?:ion)?|certificate|agent|licen[cs]e|encrypt(?:ion)?|gossip"
    r"|instrumentation|decrypt(?:ion)?|validation|db"
    r"|priv(?:ate)?|secret|shared|master|service|server|device|join|node|cluster|data|read|write|project|user|admin|app"
    r"|client|api|rest|sdk|dsn|sync|http|rpc|provider|org|team|tenant|partner|merchant|push|fcm"
    r"|backend|internal|publish|upload|deploy|webhook|integration|access|account|auth|logs?|metrics?"
    r"|insert|query|pro|upgrade|enterprise|session|cookie|crypt|cipher|aes|hmac|jwt|sign(?:ing)?|bot"
    r"|edge|relay|stream)[-_. ]?(?:api[-_. ]?)?key(?:[-_]?base)?\Z"
)
_ANY_KEY: Final = re.compile(r"(?i)[a-z][-_.]?key\Z")
# The first of two keys of an account; of a table the primary key is no base64 of that length.
_PRIMARY_KEY: Final = re.compile(r"(?i)primary[-_ ]?(?:master|shared|readonly)?[-_ ]?key\Z")
_LONG_KEY: Final = 40
# As long as a digest of a commit or of a file, which such a name may hold as well.
_DIGESTS: Final = (40, 64)


def is_random_key(match: re.Match[str]) -> bool:
    """A value behind a name that may mean many things: only if a generator wrote it."""
    value, name = match[SECRET], key_name(match)
    if _PRIMARY_KEY.search(name) and len(value) > _LONG_KEY and shuffled(value):
        return True
    if not names_a_secret(name) or placeholder(value) or no_value(match) or in_name(match):
        return False
    strong = bool(_STRONG_KEY.search(name))
    if UUID.fullmatch(value):
        return strong
    if HEX.fullmatch(value) and re.search(r"[0-9]", value):
        return strong or (len(value) not in _DIGESTS and bool(_ANY_KEY.search(name)))
    if code(value) or slug(value) or _COORDINATES.fullmatch(value) or "%3A" in value:
        return False
    if "{{" in value or _names_a_test(match) or _OBJECT.fullmatch(value):
        return False
    if not strong and slug(_PLATFORM.sub("x", value)):
        return False
    if re.search(r"(?i)sig(?:nature)?\Z", name) and len(value) > _LONG_SIGNATURE:
        return False
    return random_looking(value, 20) and classes(value) >= 3 and not path(value)


# The name of an object in a bucket, which its programs call a key; an address with its own rule.
_OBJECT: Final = re.compile(
    r"otpauth(?:-migration)?://.*|[\w=.+-]{1,80}(?:/[\w=.+-]{1,120}){1,12}\.(?:parquet|avro|orc|jsonl?|ndjson|csv|tsv|gz|zst|zip|t[ag][rz]"
    r"|log|txt|md|png|jpe?g|gif|svg|webp|html?|[mc]?js|css|xml|ya?ml|tfstate|whl|jar|bin|pdf|mp[34]|db|sqlite|bak)"
)
# Where a package was built, as the key of a cache says: Linux-x64-node20.
_PLATFORM: Final = re.compile(
    r"(?i)(?<![A-Za-z0-9])(?:x64|x86(?:_64)?|arm64|aarch64|amd64|armv[67]l?|i[36]86|win(?:32|64)"
    r"|(?:py|python|node|go|jdk|java|ruby|php|ubuntu|macos|windows|pnpm|yarn|v)[0-9]{1,4})"
    r"(?![A-Za-z0-9])"
)
# `test auth::api_key_is_required_192 ... ok`: words, and a number or a method between them.
_TEST: Final = re.compile(
    r":(?:[a-z]+[0-9]{0,3}::)*[a-z]+[0-9]{0,3}(?:_(?:[a-z]+[0-9]{0,3}|[0-9]{1,4})){2,24}"
)


def _names_a_test(match: re.Match[str]) -> bool:
    start = match.start(SECRET)
    return match.string[start - 1 : start] == ":" and bool(_TEST.fullmatch(match[SECRET]))


# A signature of a message or an update proves, and opens nothing.
_LONG_SIGNATURE: Final = 64


def is_service_key(match: re.Match[str]) -> bool:
    """A generated value of a key's length; a hash, an id or a number behind such a name is none."""
    value = FILE_ENDING.sub("", match[SECRET].rstrip(CLOSERS))
    if placeholder(value) or code(value) or UUID.fullmatch(value) or slug(value):
        return False
    return len(value) >= _LEAST_KEY and random_looking(value) and _KEY.fullmatch(value) is not None
