"""Is this value a secret? What names and values that only look like one have in common."""

import math
import re
from collections.abc import Iterator
from typing import Final

from policies.redact.rule import SECRET

# A name with such a word at its end speaks about a secret, it does not hold one.
_ABOUT: Final = frozenset(
    "file filename path dir directory folder name names count counts ttl type types url uri header "
    "headers store backend length len min max limit limits expires expiry expiration expire "
    "endpoint provider manager policy rotation version status fd stdin env hint field format ref "
    "arn enabled disabled required valid validator index size usage prefix suffix suffixes mode "
    "class algorithm alg rules rule group label title prompt prompts id ids uid kind scope scopes "
    "source location service server host hosts port issuer audience at time date age seconds ms "
    "hours days interval timeout refresh refresher autofill chain agent cmd command script bits "
    "input placeholder template view controller row column table map lookup handler callback "
    "middleware factory builder encoder decoder generator counter bucket budget cost per rate "
    "tokens keys passwords secrets cookies schema response request alias serial fingerprint thumbprint"
    .split()
)  # fmt: skip
# A name that starts so counts or describes.
_NUMBERS: Final = frozenset(
    "max min num n total input output prompt completion next prev page cache cached partition sort "
    "primary foreign public pub bos eos pad unk sep cls mask last first has is no use show get set "
    "require requires need needs missing with without invalid expired".split()
)
# Names in which a keyword is part of another word.
_OTHER_WORDS: Final = re.compile(
    r"(?i)tokeni[sz]|keyboard|keyframe|monkey|passenger|bypass|compass|passive|passage|passthr"
    r"|amz-credential|goog-credential|passport|surpass|trespass|encompass|keynote|keypad|keyword|secretar|hotkey|turnkey"
)
_PLACEHOLDER: Final = re.compile(
    r"""(?ix)
      \$[A-Za-z_]\w*(?:[/:}"'\[\]].*)? | \$[{(].* | \$[0-9@*\#?]? | %[A-Z_]+% | \{\{.* | \{[\w.\s]*\}? | <.* | \[[\w\s.-]*\]? | \[redacted.* | \(.*
    | [*x.•\x7f_-]{3,} | \*+ | x{3,}.* | null | nil | none | true | false | undefined | void | empty | unset
    | your[-_ ].* | my[-_](?:password|token|secret|api[-_]?key) | .*[-_]here | example\S* | changeit
    | todo | tbd | redacted | filtered | masked | hidden | removed | secret | password | passwd | token
    | env: .* | file: .* | op://.* | vault:.* | ref\+.* | keychain:.* | aws:.* | sm://.* | arn:.*
    | pass:\$.* | env\. .* | os\.environ.* | process\.env.* | import\.meta.* | secrets\..* | vars\..*
    """
)
_CODE: Final = re.compile(
    r"&?[A-Za-z_$][\w$]*(?:(?:\?\.|\.|->|::)[A-Za-z_$][\w$]*)+(?:[)};,\]([].*)?|[A-Za-z_$][\w$]*[(\[].*"
    r"|[A-Za-z_$][\w$]*\s*=>.*|(?:new|await|async|function|lambda|def|let|const|var|typeof)(?:\s.*)?"
)
# A name of a program rarely has a digit between letters; a generated value mostly does.
_DIGIT_INSIDE: Final = re.compile(r"[A-Za-z][0-9]+[A-Za-z]")
# What is left of a quoted string when the quote that we saw was its end.
_LEFTOVER: Final = re.compile(r"[)\]},;:](?:\s.*|[)\]},;].*)?")
_CLOSERS: Final = ".,:;!?)]}'\"`"
_PATH: Final = re.compile(r"(?:~|\.{0,2})/(?:[\w.@+~\x7f-]*/)*[\w.@+~ \x7f-]*|[A-Za-z]:\\\S*|\.{1,2}")
_URL: Final = re.compile(r"(?i)[a-z][a-z0-9+.-]{1,20}://[^@]*")
# English that follows "password:" in prose.
_PROSE: Final = frozenset(
    "required prompt incorrect invalid expired missing empty not is must should and or for to the a "
    "an protected correct wrong string str bytes int optional any bool object number default auth "
    "authentication failed failure error ok yes no accepted rejected denied length change changed "
    "changes reset prompted provided given used unused set unset found none null was has have will "
    "can cannot does did of in on at with without from by as if it this that login enter entered "
    "your new old same safe strong weak short long too rotation update updated success successful "
    "text char varchar value values field input type manager store file path settings session "
    "basic bearer digest negotiate ntlm scheme grant flow refresh refreshed refreshing count "
    "scanning detected leaked exposed rotated revoked".split()
)
_SEGMENT: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_NAME_BEFORE: Final = re.compile(r"[A-Za-z0-9_.\-]{0,64}\Z")
# `host:8080/path?mail=a@b`: no password before that `@`.
_PORT: Final = re.compile(r"[0-9]{1,5}[/?#]")
_USERINFO: Final = re.compile(r"://[\w.-]{0,64}\Z")
# Words with signs between them, a constant's name.
_WORDS: Final = re.compile(r"[A-Za-z]+(?:[-_ .:/][A-Za-z]+)*|[A-Z]+(?:_[A-Z0-9]+)*")
# A piece of a slug: a word, a version, a hash.
_SLUG_PIECE: Final = re.compile(r"[A-Za-z]+|[0-9]+(?:\.[0-9]+)*|v[0-9]+|[0-9a-f]{7,}|[0-9A-F]{7,}")
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def key_name(match: re.Match[str]) -> str:
    """The whole name around the keyword that a rule found in group `key`."""
    start, end = match.span("key")
    before = _NAME_BEFORE.search(match.string, max(0, start - 64), start)
    return (before[0] if before else "") + match.string[start:end]


def names_a_secret(name: str) -> bool:
    """False for `max_tokens`, `PASSWORD_FILE`, `cacheKey`, `keyboard`: no secret is behind those."""
    if _OTHER_WORDS.search(name):
        return False
    words = [word.lower() for word in _SEGMENT.findall(name)]
    if not words:
        return True
    return not (words[-1] in _ABOUT or words[0] in _NUMBERS)


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
    found = _CODE.match(bare)
    return bool(found) and found.end() == len(bare) and not _DIGIT_INSIDE.search(bare.partition("(")[0])


def entropy(value: str) -> float:
    """Bits a character, by the value's own letters."""
    size = len(value)
    counts = {char: value.count(char) for char in set(value)}
    return -sum(n / size * math.log2(n / size) for n in counts.values())


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
        and entropy(value) >= 2.9
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
    if value.isdigit() and (len(value) < 4 or name.lower() in {"pass", "-pass", "--pass"}):
        return False
    word = value.rstrip(_CLOSERS)
    if word.lower() in _PROSE or (word.isalpha() and word == word.upper()):
        return False
    return not _URL.fullmatch(value) and not _called(match)


def is_token(match: re.Match[str]) -> bool:
    """A value behind a name that means a token or key: mixed, or long."""
    value = match[SECRET]
    if not names_a_secret(key_name(match)) or placeholder(value) or code(value):
        return False
    word = value.rstrip(_CLOSERS)
    if len(word) < 6 or (word.replace(".", "").isdigit() and len(word) < 10):
        return False
    if word.lower() in _PROSE or _URL.fullmatch(word) or _called(match) or _in_name(match):
        return False
    return not _WORDS.fullmatch(word) and not ("/" in word and _slug(word))


def is_random_key(match: re.Match[str]) -> bool:
    """A value behind a name that may mean many things: only if a generator wrote it."""
    value = match[SECRET]
    if not names_a_secret(key_name(match)) or placeholder(value) or _UUID.fullmatch(value):
        return False
    if code(value) or _slug(value):
        return False
    return random_looking(value, 20) and classes(value) >= 3 and "/" != value[0]


def is_flag_value(match: re.Match[str]) -> bool:
    """The argument after a flag: no flag itself."""
    value = match[SECRET]
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


def is_userinfo(match: re.Match[str]) -> bool:
    """The password part of a URL."""
    value = match[SECRET]
    return not placeholder(value) and len(value) > 1 and not _PORT.match(value)


def is_opaque(match: re.Match[str]) -> bool:
    """A credential in a place that holds nothing else: anything but a stand-in or prose."""
    value = match[SECRET]
    return not placeholder(value) and value.rstrip(_CLOSERS).lower() not in _PROSE


def is_mixed(match: re.Match[str]) -> bool:
    """A token without a telling name: letters and digits, no slug."""
    value = match[SECRET]
    return not placeholder(value) and random_looking(value, 12)


def is_mixed_word(match: re.Match[str]) -> bool:
    """A word of prose that is no prose: digits, signs or both cases in it."""
    value = match[SECRET]
    plain_word = re.fullmatch(r"[A-Z]?[a-z'-]+[.,;:!?]*|\d{1,3}[.,;]?|[A-Z][A-Z ]+", value)
    return is_opaque(match) and not plain_word and " " not in value.strip()


def is_query_secret(match: re.Match[str]) -> bool:
    """The value of a query parameter: anything behind a strong name, else what a generator wrote."""
    value, name = match[SECRET], match["key"]
    if not names_a_secret(name) or placeholder(value):
        return False
    if re.search(r"(?i)passw|passwd|pwd|secret|access[_-]?token|apikey|api[_-]key|auth[_-]?token", name):
        return len(value) >= 4 and value.lower() not in _PROSE
    return random_looking(value, 12)


_COOKIE: Final = re.compile(r"([^\s;=]{1,128})[ ]?=[ ]?([^;]{1,4096})")
_COOKIE_SETTINGS: Final = frozenset("path domain expires max-age samesite priority version".split())
_SESSION_NAME: Final = re.compile(r"(?i)sess|sid\b|token|auth|jwt|login|remember|secret|xsrf|csrf|passw")


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
    return (before.endswith(":") and "arn:" in before) or bool(_USERINFO.search(before))


def _slug(value: str) -> bool:
    """Words, numbers and hashes with signs between them: a name."""
    return all(_SLUG_PIECE.fullmatch(piece) for piece in re.split(r"[-_.:/]", value))


def is_prose_token(match: re.Match[str]) -> bool:
    """A token in a sentence: a generator's work, and no hash or slug."""
    value = match[SECRET].rstrip(_CLOSERS)
    if placeholder(value) or code(value) or _slug(value) or _UUID.fullmatch(value):
        return False
    return random_looking(value) and "://" not in value


def _called(match: re.Match[str]) -> bool:
    """`key = function(...)`: the value is code."""
    end = match.end(SECRET)
    return match.string[end : end + 1] == "(" and match[SECRET].isidentifier()
