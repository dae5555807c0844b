"""Is this value a secret? The decisions behind names, flags, headers and words."""

import re
from typing import Final

from policies.redact.generated import (
    HEX,
    UUID,
    classes,
    generated_behind_dash,
    generated_halves,
    random_looking,
    shuffled,
    slug,
)
from policies.redact.harmless.expressions import called, code, expression, next_name
from policies.redact.harmless.names import key_name, names_a_secret
from policies.redact.harmless.placeholders import placeholder
from policies.redact.harmless.pointers import points
from policies.redact.harmless.store_keys import stored_key
from policies.redact.harmless.surroundings import nothing_given, surrounded
from policies.redact.harmless.words import PROSE
from policies.redact.rule import SECRET
from policies.redact.view import BREAK

# The end of the element, behind the word.
_MARKUP: Final = re.compile(r"(?:<|&lt;)(?:/|br)[^\n]*\Z")
CLOSERS: Final = ".,:;!?)]}'\"`"
# A name of a file made from a secret: what ends it is no part of the value.
FILE_ENDING: Final = re.compile(r"\.[a-z]{1,6}\Z")
_URL: Final = re.compile(r"(?i)[a-z][a-z0-9+.-]{1,20}://[^@]*")
# `host:8080/path?mail=a@b`: no password before that `@`.
_PORT: Final = re.compile(r"[0-9]{1,5}[/?#]")
_USERINFO: Final = re.compile(r"://[\w.+%-]{0,64}\Z")
# `checksum/secret: 6c5a…` is what a cluster watches.
_CHECKSUM: Final = re.compile(
    r"(?i)(?:checksum|digest|hash|sha256|md5|etag|revision)/[\w.-]{0,64}\Z"
)
# Words with signs between them, a constant's name.
_WORDS: Final = re.compile(r"[A-Za-z\x7f]+(?:[-_ .:/'][A-Za-z\x7f]+)*|[A-Z]+(?:_[A-Z0-9]+)*")
# As long as a key in hex; what comes behind a slash is the rest of a path.
_HASH: Final = re.compile(r"[0-9a-fA-F]{32,}")
_FLAG_START: Final = re.compile(r"[-/]{0,2}[A-Za-z0-9_.-]{0,40}")
# Longer than any English word that follows such a name.
_LONG_WORD: Final = 16
# An app password, if none of the words is English.
_GROUPS: Final = re.compile(r"[a-z]{4}(?: [a-z]{4}){3}")
# A name with a number: data-token="chip-96".
_NUMBERED: Final = re.compile(r"[a-z]+[-_][0-9]{1,2}")
# `PW='x' psql -h db` is a command and no argument.
_QUOTED_WORD: Final = re.compile(r"(['\"])[^'\"]+\1[ ]")
# A whole word for a password, which also a number may follow.
_SHORT_NAME: Final = re.compile(r"(?i)(?:word|wd|phrase|code|pwd|_pass|otp|pin|mfa)\Z")
# `passwordKey: admin-password` names the key under which another object holds it.
_NAMES_A_KEY: Final = re.compile(r"(?i)(?:pass\w*|token|secret|user\w*)[-_]?keys?\Z")
# A signed address: its own rule masks the signature and leaves the rest readable.
_SIGNED: Final = re.compile(r"X-(?:Amz|Goog|Oss)-Signature=")
# The next flag, the next name or attribute.
_NEXT: Final = re.compile(
    r"--?[A-Za-z][\w-]*(?:=.*)?|[A-Za-z_][A-Za-z_.:\[\]-]{0,40}=\]?|[A-Z][A-Z0-9_]{2,}=.+"
)
# An object whose own names tell which of its values are secrets.
_OBJECT: Final = re.compile(
    r"(?i)[\[{]\s*\\{0,3}[\"']"
    r"(?=.{0,400}(?:pass|secret|token|key|pwd|cred)[\w-]{0,16}\\{0,3}[\"']\s*:).*",
    re.DOTALL,
)
_TEST_NAME: Final = re.compile(
    r"(?:[Tt]est|check|spec|should)[\w/.:\[\]-]*|[\w.-]+(?:[/.:][\w.-]+)+"
)
_CAMEL: Final = re.compile(r"[A-Za-z][a-z]+(?:[A-Z][a-z]+)+")
# What a cluster calls its objects: db-credentials-eiw7q30tj2.
_RESOURCE: Final = re.compile(r"[a-z]+-(?:[a-z0-9]+-){0,6}[a-z0-9]{1,12}")
_PAIR: Final = re.compile(r"[A-Za-z_]{1,48}=[^=]")
_NEXT_WORD: Final = re.compile(r" +[A-Za-z\x7f]")


# `8spwDf2UJ…`: letters of a digest that happen to be those of a short word.
_SCRAMBLED_WORD: Final = re.compile(r"(?!pwd|PWD|Pwd)(?i:pwd)")


def is_password(match: re.Match[str]) -> bool:
    """A value behind a name that means a password."""
    value = match[SECRET]
    name = key_name(match)
    if not names_a_secret(name) or placeholder(value) or code(value) or len(value) < 3:
        return False
    if no_value(match) or (name == "PASS" and _TEST_NAME.fullmatch(value)):
        return False
    if _SCRAMBLED_WORD.match(match["key"]):
        return False
    if len(value) < _LONG_WORD and re.search(r"(?i)hash(?:es|ed|ing)?\Z", name):
        return False
    if value.isdigit() and (len(value) < 4 or not _SHORT_NAME.search(name)):
        return False
    if _GROUPS.fullmatch(value) and not PROSE.isdisjoint(value.split(" ")):
        return False
    word = value.rstrip(CLOSERS)
    if word.lower() in PROSE or (word.isalpha() and word == word.upper()):
        return False
    if _URL.fullmatch(value) or called(match) or in_name(match) or next_name(match):
        return False
    return not _words_around(match)


def is_token(match: re.Match[str]) -> bool:
    """A value behind a name that means a token or key: mixed, or long."""
    value = match[SECRET]
    if not names_a_secret(key_name(match)) or placeholder(value) or code(value) or no_value(match):
        return False
    word = value.rstrip(CLOSERS)
    if (
        len(word) < 6
        or _NUMBERED.fullmatch(word)
        or (word.replace(".", "").isdigit() and len(word) < 10)
    ):
        return False
    if word.lower() in PROSE or _URL.fullmatch(word) or called(match) or in_name(match):
        return False
    if next_name(match) or value.endswith("/aws4_request"):
        return False
    if word.count(" ") > 1 and not any(c.isdigit() for c in word):
        return bool(_GROUPS.fullmatch(word))
    if word.isalpha() and len(word) >= _LONG_WORD and not _CAMEL.fullmatch(word):
        return True
    if _HASH.fullmatch(word.partition("/")[0]):
        return True
    if shuffled(word) or re.search(r"[:/][0-9a-f]{32}", word):
        return True
    if _WORDS.fullmatch(word):
        return generated_halves(word)
    return not ("/" in word and slug(word))


def _is_next(value: str) -> bool:
    """The next flag or setting, because no value was given."""
    return bool(_NEXT.fullmatch(value)) and not generated_behind_dash(value)


def no_value(match: re.Match[str]) -> bool:
    """What stands there is a URL, an object, the next name, or behind the quote's end."""
    value, end = match[SECRET], match.start(SECRET)
    if _is_next(value) or _OBJECT.match(value) or _SIGNED.search(value):
        return True
    if nothing_given(match.string, end, value):
        return True
    if value.startswith("//") and match.string[end - 1 : end] == ":":
        return True
    name = key_name(match)
    if surrounded(match, name):
        return True
    if _NAMES_A_KEY.search(name) and _WORDS.fullmatch(value):
        return True
    if _CHECKSUM.search(match.string[max(0, match.start("key") - 80) : match.end("key")]):
        return True
    return points(match) or _quote_ends(match)


def _quote_ends(match: re.Match[str]) -> bool:
    """`'Password: ' PASS`: the quote before the value closes what began before the name."""
    quote = match.groupdict().get("quote")
    if not quote or len(quote) != 1 or not match[SECRET][:1].isspace():
        return False
    key, sign = match.start("key"), match.string[match.end("key") : match.start("quote")]
    line = match.string[max(0, key - 200) : key].rpartition("\n")[2]
    # Many messages still quote `so'.
    if quote == "'" and line.rpartition("'")[2].count("`") % 2 == 1:
        return True
    return quote not in sign and line.count(quote) % 2 == 1


def is_argv_password(match: re.Match[str]) -> bool:
    """`--password=X`, X to the end of the argument."""
    return _starts_argument(match) and is_password(match)


def is_argv_token(match: re.Match[str]) -> bool:
    """`--token=X`, X to the end of the argument."""
    return _starts_argument(match) and is_token(match)


def _starts_argument(match: re.Match[str]) -> bool:
    if _QUOTED_WORD.match(match[SECRET]):
        return False
    start = match.start("key")
    border = match.string.rfind(BREAK, max(0, start - 64), start)
    return border >= 0 and bool(_FLAG_START.fullmatch(match.string, border + 1, start))


def is_flag_value(match: re.Match[str]) -> bool:
    """The argument after a flag: no flag itself."""
    value = match[SECRET]
    # `theme-password 1.2` is a name with a dash in it and no flag.
    if match.start() and match.string[match.start() - 1].isalnum():
        return False
    return not re.match(r"--?[A-Za-z]", value) and not placeholder(value)


def is_flag_password(match: re.Match[str]) -> bool:
    """`--password X`."""
    return is_flag_value(match) and is_password(match)


def is_flag_token(match: re.Match[str]) -> bool:
    """`--token X`."""
    return is_flag_value(match) and is_token(match)


# A flag, a chain of keys, a policy of signing.
_NO_ARGUMENT: Final = re.compile(
    r"-{1,2}[A-Za-z][\w-]*|codesigning|basic|sub|base|one(?:level)?|subtree|children"
)


def is_argument(match: re.Match[str]) -> bool:
    """What a tool takes as password behind a short flag: anything but a stand-in."""
    value = match[SECRET]
    other = _NO_ARGUMENT.fullmatch(value) and not generated_behind_dash(value)
    return not placeholder(value) and not other


def is_user_pair(match: re.Match[str]) -> bool:
    """The part after `user:`; a URL behind the flag is none."""
    value = match[SECRET]
    return not placeholder(value) and not value.startswith("//") and len(value) > 1


def is_pair_word(match: re.Match[str]) -> bool:
    """The part after `user:` where it may be a group: only if a generator wrote it."""
    value = match[SECRET]
    if not is_user_pair(match) or (slug(value) and not HEX.fullmatch(value)):
        return False
    return classes(value) >= 3 or random_looking(value, 20)


def is_userinfo(match: re.Match[str]) -> bool:
    """The password part of a URL."""
    value = match[SECRET]
    return not placeholder(value) and len(value) > 1 and not _PORT.match(value)


def is_code(match: re.Match[str]) -> bool:
    """A one-time code; 123456 and 000000 are what examples show."""
    digits = re.sub("[^0-9]", "", match[SECRET])
    return digits not in "01234567890" and len(set(digits)) > 1


def is_opaque(match: re.Match[str]) -> bool:
    """A credential in a place that holds nothing else: anything but a stand-in or prose."""
    value = match[SECRET]
    word = _MARKUP.sub("", value).rstrip(CLOSERS).lower()
    return not placeholder(value) and word not in PROSE and not expression(match)


def is_mixed(match: re.Match[str]) -> bool:
    """A token without a telling name: letters and digits, no slug."""
    value = match[SECRET]
    if re.match(r"[A-Z][A-Z0-9_]+=", value):
        return False
    return not placeholder(value) and random_looking(value, 12)


def is_mixed_word(match: re.Match[str]) -> bool:
    """A word of prose that is no prose: digits, signs or both cases in it."""
    value = _MARKUP.sub("", match[SECRET])
    plain_word = re.fullmatch(r"[A-Z]?[a-z'-]+[.,;:!?]*|\d{1,3}[.,;]?|[A-Z][A-Z ]+", value)
    if _is_next(value):
        return False
    return is_opaque(match) and not plain_word and " " not in value.strip()


def is_told(match: re.Match[str]) -> bool:
    """What follows `password for …:`: a word that is no prose, or the words of a passphrase."""
    words = match[SECRET].split(" ")
    return is_mixed_word(match) or (len(words) > 3 and PROSE.isdisjoint(words))


def is_generated_word(match: re.Match[str]) -> bool:
    """A word of prose with three kinds of characters in it."""
    value = match[SECRET].rstrip(CLOSERS)
    if len(value) < 6 or classes(value) < 3 or "=" in value.rstrip("="):
        return False
    if re.fullmatch(r"[A-Za-z]+\([0-9, ]*\)?", value):
        return False
    return is_mixed_word(match) and not slug(value)


def is_query_secret(match: re.Match[str]) -> bool:
    """The value of a query parameter: behind a weak name only random ones."""
    value, name = match[SECRET], match["key"]
    if not names_a_secret(name) or placeholder(value):
        return False
    if re.search(
        r"(?i)passw|passwd|pwd|secret|hmac|access[_-]?token|apikey|api[_-]key|auth[_-]?token", name
    ):
        return len(value) >= 4 and value.lower() not in PROSE
    return random_looking(value, 12)


def in_name(match: re.Match[str]) -> bool:
    """`arn:…:secret:name`, `//x-access-token:…@host`: the colon is part of something else."""
    before = match.string[max(0, match.start("key") - 128) : match.start("key")]
    if before.endswith(":") and ("arn:" in before or "{{resolve:" in before):
        return True
    if stored_key(match.string, match.start(SECRET), match[SECRET].rstrip(CLOSERS)):
        return True
    # `@token="X"` is a variable of an object.
    own = before[-2:-1] in " ,(<{[" and match.string.startswith("=", match.end("key"))
    return bool(_USERINFO.search(before)) or (before.endswith("@") and not own)


def is_prose_token(match: re.Match[str]) -> bool:
    """A token in a sentence: a generator's work, and no hash or slug."""
    value = match[SECRET].rstrip(CLOSERS)
    if placeholder(value) or code(value) or slug(value) or UUID.fullmatch(value):
        return False
    if _RESOURCE.fullmatch(value) or _PAIR.match(value):
        return False
    return random_looking(value) and "://" not in value


def _words_around(match: re.Match[str]) -> bool:
    """A sentence, a declaration, an assignment of one name to another: no value is given."""
    groups, value = match.groupdict(), match[SECRET].rstrip(CLOSERS)
    if groups.get("quote") or groups.get("whole") or not re.sub("[_\x7f]", "", value).isalpha():
        return False
    sign = match.string[match.end("key") : match.start(SECRET)]
    if "=" in sign:
        return "_" in value and value.islower() and sign.strip("\"'") != sign.strip("\"' ")
    if _CAMEL.fullmatch(value):
        return True
    return sign.endswith(" ") and bool(_NEXT_WORD.match(match.string, match.end(SECRET)))
