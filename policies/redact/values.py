"""Is this value a secret? What names and values that only look like one have in common."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.rule import SECRET
from policies.redact.view import BREAK
from policies.redact.words import ABOUT, HIDDEN, NUMBERS, PROSE, SHOWN

# Names in which a keyword is part of another word.
_OTHER_WORDS: Final = re.compile(
    r"(?i)tokeni[sz]|keyboard|keyframe|monkey|passenger|bypass|compass|passive|passage|passthr"
    r"|passport|surpass|trespass|keynote|keypad|keyword|secretar|hotkey|turnkey"
    r"|amz-credential|goog-credential"
)
_PLACEHOLDER: Final = re.compile(
    r"""(?ix)
      \$[A-Za-z_]\w*(?:[/:}"'\[\]].*)? | \$[{(].* | \$[0-9@*\#?]? | %[A-Z_]+% | \{\{.*
    | \{[\w.\s]*\}? | <.* | \[[\w\s.-]*\]? | \[redacted.* | \([^)]*\)?
    | [*x.•\x7f_-]{3,} | \*+ | x{8,}.* | null | nil | none | true | false | undefined | void
    | empty | unset | your[-_ ].* | my[-_](?:password|token|secret|api[-_]?key) | .*[-_]here
    | example(?:[-_.]\w+)* | changeit | todo | tbd | redacted | filtered | masked | hidden | removed
    | secret | password | passwd | token | env:.* | file:.* | fd:\d+ | stdin | op://.*
    | vault:.* | ref\+.* | keychain:.* | aws:.* | sm://.* | arn:.* | pass:(?:\$|x{8}).* | env\.\s?.*
    | os\.environ.* | \.[*+?].* | [\w-]{0,12}(?:\.{3}|\x7f|\*{3,})[\w-]{0,8}
    | (?:id|type|src|source|target|env)=[\w./-]+(?:,.*)?
    | x-oauth-basic | process\.env.* | import\.meta.* | secrets\..* | vars\..*
    """
)
_CODE: Final = re.compile(
    r"&?[A-Za-z_$][\w$]*(?:(?:\?\.|\.|->|::)[A-Za-z_$][\w$]*)+(?:[)};,\]([].*)?|[A-Za-z_$][\w$]*[(\[].*"
    r"|[A-Za-z_$][\w$]*\s*=>.*|\[\][a-z]+\(.*|(?:new|await|async|function|lambda|def|let|const|var|typeof)(?:\s.*)?"
)
# A name of a program rarely has a digit between letters; a generated value mostly does.
_DIGIT_INSIDE: Final = re.compile(r"[A-Za-z][0-9]+[A-Za-z]|[A-Za-z][0-9]{3,}")
# What is left of a quoted string when the quote that we saw was its end.
_LEFTOVER: Final = re.compile(r"[)\]},;:](?:\s.*|[)\]},;].*)?")
_CLOSERS: Final = ".,:;!?)]}'\"`"
_PATH: Final = re.compile(
    r"(?:~|\.{0,2})/(?:[\w.@+~\x7f-]*/)*[\w.@+~ \x7f-]*|[A-Za-z]:\\\S*|\.{1,2}"
)
_URL: Final = re.compile(r"(?i)[a-z][a-z0-9+.-]{1,20}://[^@]*")
_SEGMENT: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NAME_BEFORE: Final = re.compile(r"[A-Za-z0-9_.\-]{0,64}\Z")
# `host:8080/path?mail=a@b`: no password before that `@`.
_PORT: Final = re.compile(r"[0-9]{1,5}[/?#]")
_USERINFO: Final = re.compile(r"://[\w.-]{0,64}\Z")
# Fewer different characters are a pattern, not a generator's work (three bits a character).
_MANY_LETTERS: Final = 8
# Words with signs between them, a constant's name.
_WORDS: Final = re.compile(r"[A-Za-z]+(?:[-_ .:/][A-Za-z]+)*|[A-Z]+(?:_[A-Z0-9]+)*")
# A piece of a slug: a word, a version, a hash.
_SLUG_PIECE: Final = re.compile(r"[A-Za-z]+|[0-9]+(?:\.[0-9]+)*|v[0-9]+|[0-9a-f]{7,}|[0-9A-F]{7,}")
# As long as a key in hex; what comes behind a slash is the rest of a path.
_HASH: Final = re.compile(r"[0-9a-fA-F]{32,}")
# Keys of services are 20 to 120 letters of one alphabet.
_KEY: Final = re.compile(r"[A-Za-z0-9_+/=-]{20,160}")
_LEAST_KEY: Final = 20
_FLAG_START: Final = re.compile(r"[-/]{0,2}[A-Za-z0-9_.-]{0,40}")
# Longer than any English word that follows such a name.
_LONG_WORD: Final = 16
# A whole word for a password, which also a number may follow.
_SHORT_NAME: Final = re.compile(r"(?i)(?:word|wd|phrase|code|pwd|_pass|otp|pin|mfa)\Z")
# The one id that opens doors (AppRole).
_SECRET_ID: Final = re.compile(r"(?i)secret[-_.]?id\Z")
_CAMEL: Final = re.compile(r"[A-Za-z][a-z]+(?:[A-Z][a-z]+)+")
# What a cluster calls its objects: db-credentials-eiw7q30tj2.
_RESOURCE: Final = re.compile(r"[a-z]+-(?:[a-z0-9]+-){0,6}[a-z0-9]{1,12}")
_PAIR: Final = re.compile(r"[A-Za-z_]{1,16}=[^=]")
_ASSIGNED: Final = re.compile(r"[A-Z][A-Z0-9_]+=")
_NEXT_WORD: Final = re.compile(r" +[A-Za-z\x7f]")
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def key_name(match: re.Match[str]) -> str:
    """The whole name around the keyword that a rule found in group `key`."""
    start, end = match.span("key")
    before = _NAME_BEFORE.search(match.string, max(0, start - 64), start)
    return (before[0] if before else "") + match.string[start:end]


def names_a_secret(name: str) -> bool:
    """False for `max_tokens`, `PASSWORD_FILE`, `cacheKey`: no secret is behind these."""
    if _OTHER_WORDS.search(name):
        return False
    if _SECRET_ID.search(name):
        return True
    # `--with-db-pass=X` tells a build which to use.
    words = [word.lower() for word in _SEGMENT.findall(name.removeprefix("--with-"))]
    if not words:
        return True
    if not SHOWN.isdisjoint(words) and HIDDEN.isdisjoint(words):
        return False
    return not (words[-1] in ABOUT or words[0] in NUMBERS)


def placeholder(value: str) -> bool:
    """A stand-in, a reference, a path: something that points to a secret at most."""
    bare = value.strip().strip("\"'`")
    return (
        not bare
        or bool(_PLACEHOLDER.fullmatch(bare))
        or bool(_PATH.fullmatch(bare))
        or bool(_LEFTOVER.fullmatch(bare))
        or bare.startswith("-----BEGIN")
    )


def code(value: str) -> bool:
    """An expression of a program: `os.environ`, `getpass(`, `e.token}`."""
    bare = value.strip()
    found = _CODE.fullmatch(bare)
    return found is not None and not _DIGIT_INSIDE.search(bare.partition("(")[0])


def classes(value: str) -> int:
    """How many of lower case, upper case, digits, other it holds."""
    return (
        any(c.islower() for c in value)
        + any(c.isupper() for c in value)
        + any(c.isdigit() for c in value)
        + any(not c.isalnum() for c in value)
    )


def random_looking(value: str, least: int = 16) -> bool:
    """Long and mixed as only a generator writes; words, slugs and dates are not."""
    return (
        len(value) >= least
        and any(c.isdigit() for c in value)
        and any(c.isalpha() for c in value)
        and len(set(value)) >= _MANY_LETTERS
    )


def guessable(value: str) -> bool:
    """Short or plain: who holds the key could try it out, so it gets no fingerprint."""
    return len(value) < 16 or not random_looking(value)


def is_password(match: re.Match[str]) -> bool:
    """A value behind a name that means a password."""
    value = match[SECRET]
    name = key_name(match)
    if not names_a_secret(name) or placeholder(value) or code(value) or len(value) < 3:
        return False
    if len(value) < _LONG_WORD and re.search(r"(?i)hash(?:es|ed|ing)?\Z", name):
        return False
    if value.isdigit() and (len(value) < 4 or not _SHORT_NAME.search(name)):
        return False
    word = value.rstrip(_CLOSERS)
    if word.lower() in PROSE or (word.isalpha() and word == word.upper()):
        return False
    if _URL.fullmatch(value) or _called(match) or _in_name(match) or _next_name(match):
        return False
    return not _words_around(match)


def is_token(match: re.Match[str]) -> bool:
    """A value behind a name that means a token or key: mixed, or long."""
    value = match[SECRET]
    if not names_a_secret(key_name(match)) or placeholder(value) or code(value):
        return False
    word = value.rstrip(_CLOSERS)
    if len(word) < 6 or (word.replace(".", "").isdigit() and len(word) < 10):
        return False
    if word.lower() in PROSE or _URL.fullmatch(word) or _called(match) or _in_name(match):
        return False
    if _next_name(match) or value.endswith("/aws4_request"):
        return False
    if word.isalpha() and len(word) >= _LONG_WORD and not _CAMEL.fullmatch(word):
        return True
    if _HASH.fullmatch(word.partition("/")[0]):
        return True
    return not _WORDS.fullmatch(word) and not ("/" in word and _slug(word))


def is_argv_password(match: re.Match[str]) -> bool:
    """`--password=X`, X to the end of the argument."""
    return _starts_argument(match) and is_password(match)


def is_argv_token(match: re.Match[str]) -> bool:
    """`--token=X`, X to the end of the argument."""
    return _starts_argument(match) and is_token(match)


def _starts_argument(match: re.Match[str]) -> bool:
    start = match.start("key")
    border = match.string.rfind(BREAK, max(0, start - 64), start)
    return border >= 0 and bool(_FLAG_START.fullmatch(match.string, border + 1, start))


def is_random_key(match: re.Match[str]) -> bool:
    """A value behind a name that may mean many things: only if a generator wrote it."""
    value = match[SECRET]
    if not names_a_secret(key_name(match)) or placeholder(value) or _UUID.fullmatch(value):
        return False
    if code(value) or _slug(value):
        return False
    return random_looking(value, 20) and classes(value) >= 3 and value[0] != "/"


# A name of a file made from a secret: what ends it is no part of the value.
_FILE_ENDING: Final = re.compile(r"\.[a-z]{1,6}\Z")


def is_service_key(match: re.Match[str]) -> bool:
    """A generated value of a key's length; a hash, an id or a number behind such a name is none."""
    value = _FILE_ENDING.sub("", match[SECRET].rstrip(_CLOSERS))
    if placeholder(value) or code(value) or _UUID.fullmatch(value) or _slug(value):
        return False
    return len(value) >= _LEAST_KEY and random_looking(value) and _KEY.fullmatch(value) is not None


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


def is_argument(match: re.Match[str]) -> bool:
    """What a tool takes as password behind a short flag: anything but a stand-in."""
    value = match[SECRET]
    return not placeholder(value) and not re.match(r"-{1,2}[A-Za-z][\w-]*\Z", value)


def is_user_pair(match: re.Match[str]) -> bool:
    """The part after `user:`; a URL behind the flag is none."""
    value = match[SECRET]
    return not placeholder(value) and not value.startswith("//") and len(value) > 1


def is_pair_word(match: re.Match[str]) -> bool:
    """The part after `user:` where it may be a group: only if a generator wrote it."""
    return is_user_pair(match) and (is_generated_word(match) or random_looking(match[SECRET], 20))


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
    return not placeholder(value) and value.rstrip(_CLOSERS).lower() not in PROSE


def is_mixed(match: re.Match[str]) -> bool:
    """A token without a telling name: letters and digits, no slug."""
    value = match[SECRET]
    return not placeholder(value) and random_looking(value, 12)


def is_mixed_word(match: re.Match[str]) -> bool:
    """A word of prose that is no prose: digits, signs or both cases in it."""
    value = match[SECRET]
    plain_word = re.fullmatch(r"[A-Z]?[a-z'-]+[.,;:!?]*|\d{1,3}[.,;]?|[A-Z][A-Z ]+", value)
    return is_opaque(match) and not plain_word and " " not in value.strip()


def is_generated_word(match: re.Match[str]) -> bool:
    """A word of prose with three kinds of characters in it."""
    value = match[SECRET].rstrip(_CLOSERS)
    if len(value) < 6 or classes(value) < 3 or "=" in value.rstrip("="):
        return False
    return is_mixed_word(match) and not _slug(value)


def is_query_secret(match: re.Match[str]) -> bool:
    """The value of a query parameter: behind a weak name only random ones."""
    value, name = match[SECRET], match["key"]
    if not names_a_secret(name) or placeholder(value):
        return False
    if re.search(
        r"(?i)passw|passwd|pwd|secret|access[_-]?token|apikey|api[_-]key|auth[_-]?token", name
    ):
        return len(value) >= 4 and value.lower() not in PROSE
    return random_looking(value, 12)


_COOKIE: Final = re.compile(r"([^\s;=]{1,128})[ ]?=[ ]?([^;]{1,4096})")
_COOKIE_SETTINGS: Final = frozenset(
    ("path", "domain", "expires", "max-age", "samesite", "priority", "version")
)
_SESSION_NAME: Final = re.compile(
    r"(?i)sess|sid\b|token|auth|jwt|login|remember|secret|xsrf|csrf|passw"
)


def cookie_values(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The values that open a session, by their name or because a generator wrote them."""
    base = match.start(SECRET)
    for pair in _COOKIE.finditer(match[SECRET]):
        name, value = pair[1], pair[2]
        if name.lower() in _COOKIE_SETTINGS or placeholder(value):
            continue
        if (_SESSION_NAME.search(name) and len(value) >= 8) or random_looking(value, 20):
            yield base + pair.start(2), base + pair.end(2)


def _in_name(match: re.Match[str]) -> bool:
    """`arn:…:secret:name`, `//x-access-token:…@host`: the colon is part of something else."""
    before = match.string[max(0, match.start("key") - 128) : match.start("key")]
    if before.endswith(":") and "arn:" in before:
        return True
    return bool(_USERINFO.search(before)) or before.endswith("@")


def _slug(value: str) -> bool:
    """Words, numbers and hashes with signs between them: a name."""
    return all(_SLUG_PIECE.fullmatch(piece) for piece in re.split(r"[-_.:/]", value))


def is_prose_token(match: re.Match[str]) -> bool:
    """A token in a sentence: a generator's work, and no hash or slug."""
    value = match[SECRET].rstrip(_CLOSERS)
    if placeholder(value) or code(value) or _slug(value) or _UUID.fullmatch(value):
        return False
    if _RESOURCE.fullmatch(value) or _PAIR.match(value):
        return False
    return random_looking(value) and "://" not in value


def _words_around(match: re.Match[str]) -> bool:
    """A sentence, a declaration, an assignment of one name to another: no value is given."""
    groups, value = match.groupdict(), match[SECRET].rstrip(_CLOSERS)
    if groups.get("quote") or groups.get("whole") or not value.replace("_", "").isalpha():
        return False
    sign = match.string[match.end("key") : match.start(SECRET)]
    if "=" in sign:
        return "_" in value and value.islower() and sign.strip("\"'") != sign.strip("\"' ")
    if _CAMEL.fullmatch(value):
        return True
    return sign.endswith(" ") and bool(_NEXT_WORD.match(match.string, match.end(SECRET)))


def _next_name(match: re.Match[str]) -> bool:
    """`A= B=c` and `a::b(c)`: what stands there is another name, and nothing was given."""
    start, value = match.start(SECRET), match[SECRET]
    before = match.string[max(0, start - 2) : start]
    if before.endswith(":") and value.startswith(":"):
        return True
    return before == "= " and bool(_ASSIGNED.match(value))


def _called(match: re.Match[str]) -> bool:
    """`key = function(...)`: the value is code."""
    end = match.end(SECRET)
    return match.string[end : end + 1] == "(" and match[SECRET].isidentifier()
