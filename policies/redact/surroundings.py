"""What stands before a value and shows that it is none, and what a generator's work looks like."""

import re
from typing import Final

# A generator changes the case every three letters, a programmer with each word.
_HUMP: Final = re.compile(r"[a-z0-9](?=[A-Z])")
_PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_WORD: Final = re.compile(r"[a-z]{6}")
_LONG_WORD: Final = re.compile(r"[a-z]{8}")
_LEAST_GENERATED: Final = 12
_LEAST_WITH_DIGIT, _LEAST_WITHOUT, _LEAST_HUMPS = 9, 16, 3
_DIGIT_BETWEEN: Final = re.compile(r"[A-Za-z_.][0-9]+[A-Za-z]")
_GENERATED_PIECE_CHARS: Final = 3.3

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
# `--password= next`: the shell gives the flag nothing.
_EMPTY_FLAG: Final = re.compile(r"(?:^|[\s\"'])--[A-Za-z0-9_.-]{1,64}= +\Z")
_FLAG_CHARS: Final = 72


def generated_halves(value: str) -> bool:
    """`XBMRvQKCSM.RxmXL1`: a dot between letters whose case changes as in no name."""
    if ("_" in value or "-" in value) and _generated_pieces(value):
        return True
    letters = re.sub(r"[._]", "", value)
    if "." not in value or not letters.isalnum() or len(letters) < _LEAST_GENERATED:
        return False
    # Names have underscores and several dots; then a digit must stand inside of a piece as well.
    if len(value) - len(letters) > 1 and not _DIGIT_BETWEEN.search(value):
        return False
    if len(_HUMP.findall(value)) < 2 or _WORD.search(value):
        return False
    return len(letters) < _GENERATED_PIECE_CHARS * len(_PIECE.findall(value))


def _generated_pieces(value: str) -> bool:
    """`lSSRmhHrR_lAQuZQQRHD`, `fN_EX2_AKc.a`: between signs the letters change as in no name."""
    letters = re.sub(r"[-_.]", "", value)
    if not letters.isalnum() or value.lower() == value or value.upper() == value:
        return False
    digit = any(c.isdigit() for c in value)
    if len(letters) < (_LEAST_WITH_DIGIT if digit else _LEAST_WITHOUT) or _WORD.search(value):
        return False
    if len(_HUMP.findall(letters)) < (1 if digit else _LEAST_HUMPS):
        return False
    return len(letters) < (2.0 if digit else 2.5) * len(_PIECE.findall(value))


def generated_case(value: str) -> bool:
    """Letters alone, whose case changes as in no name."""
    if not value.isalpha() or len(value) < _LEAST_WITHOUT or _LONG_WORD.search(value):
        return False
    return len(value) < 2.5 * len(_PIECE.findall(value)) and len(_HUMP.findall(value)) > 3


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
# `image: acme/token:1.4`
_IMAGE: Final = re.compile(r"(?i)\bimage\\{0,3}[\"']?[:=][ \f]?\\{0,3}[\"']?[\w./-]{0,100}\Z")
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


# `map <leader>pw :!pass show`: what comes is run.
_RUN: Final = re.compile(r"![a-z-]+\Z")
_ASKED: Final = re.compile(r"[ ]:\Z")


# `gift-cards?pass=all`: which of them.
_CHOICE: Final = re.compile(r"[?&](?i:pass|pin)=\Z")
_LONG_CHOICE: Final = 5


# bin2hex(random_bytes(32)), sha256(x): functions that have a digit in their name.
_CONVERTS: Final = re.compile(
    r"(?i)(?:[a-z_]+\.){0,3}(?:[a-z]{2,16}_)?(?:(?:bin|hex|str|b64|base64|bytes?|int|ip|dec|oct|ascii|utf8|buf|text|a|b)2_?"
    r"(?:bin|hex|str|string|b64|base64|bytes?|int|ip|dec|oct|ascii|utf8|buf|text|a|b)|(?:ur?l?safe_?)?(?:b|base)(?:16|32|58|64|85)_?(?:url|raw)?_?"
    r"(?:en|de)code\w{0,12}|(?:hash_?)?(?:md5|sha_?(?:1|224|256|384|512)|blake2[bs]?|crc32|pbkdf2|argon2(?:id|i|d)?|uuid_?v?[1-7])"
    r"(?:_?(?:hex|sum|file|digest|hash|base64|string))?)\((?:[\"'$&@*]?[a-z_].*|\).*|)"
)


def converts(value: str) -> bool:
    """A call of a function that encodes, hashes or numbers."""
    return bool(_CONVERTS.fullmatch(value))


# `md5sum: conf/password.txt: 3fa9…`: the digest of a file, told by the tool that made it.
_DIGEST_OF: Final = re.compile(
    r"(?i)\b(?:(?:md5|sha[0-9]{0,3}|b[23])(?:sum)?|checksum|digest|hash)(?::|[ ](?:of|for))?[ ]"
    r"(?:[\w.~@+-]{0,40}/){0,6}[\w.~@+-]{1,60}"
    r"\.[a-z0-9]{1,8}:[ ]\Z"
)
_DIGEST: Final = re.compile(r"[0-9a-f]{32,128}")


# What a page's header lets a script run by, once.
_NONCE: Final = re.compile(
    r"(?i)(?:<|&lt;)(?:script|style|link)\b[^<>]{0,48}[ ]nonce=\\{0,3}[\"']\Z"
)
# `?token=#top`: behind the sign stands the place in the page.
_EMPTY_PARAMETER: Final = re.compile(r"://[^\s\"'<>]{0,200}[?&][\w.-]{1,40}=\Z")
_PLACE: Final = re.compile(r"#[/!]{0,2}[a-z]+(?:[-_/][a-z]+)*")
# keytool -storepass:env NAME
_PASS_FROM: Final = re.compile(r"-(?:src|dest)?(?:store|key)pass:\Z")
# env A= B= program: nothing is given to A. In a list an object may look the same.
_CLEARED: Final = re.compile(
    r"(?:(?:^|[^=]\f)(?:/usr)?(?:/bin/)?env(?:\f(?:-[A-Za-z-]+|[A-Za-z_]\w*(?:=[^\f]*)?)){0,16}\f[A-Z][A-Z0-9_]*=\f"
    r"|(?:^|[\n\f;&|$] ?)(?:/usr)?(?:/bin/)?env"
    r"(?: (?:-[A-Za-z-]+|[A-Za-z_]\w*(?:=[^\f ]*)?)){0,16} [A-Z][A-Z0-9_]*= )\Z"
)
_PROGRAM: Final = re.compile(
    r"(?:[a-z.]+/)+[a-z_.-]+|psql|pg_[a-z]+|mysqldump|[a-z]+-cli|node|npm|npx|yarn|pnpm|python3?|ruby|bundle|rake|bash|sh"
)
_PROGRAM_WORD: Final = re.compile(r"[a-z]+(?:[-_][a-z]+)*")


def nothing_given(text: str, start: int, value: str) -> bool:
    """What follows is the next argument, a place, a command, a choice, a nonce of a page."""
    before = text[max(0, start - _FLAG_CHARS) : start]
    if _DIGEST.fullmatch(value) and _DIGEST_OF.search(
        text[max(0, start - 2 * _STORE_CHARS) : start]
    ):
        return True
    if _RUN.match(value) and _ASKED.search(before):
        return True
    if _PLACE.fullmatch(value) and _EMPTY_PARAMETER.search(text[max(0, start - 256) : start]):
        return True
    if value in ("env", "file") and _PASS_FROM.search(before):
        return True
    word = before.endswith("= ") and _PROGRAM_WORD.fullmatch(value)
    program = word or (before.endswith(("=\f", "= ")) and _PROGRAM.fullmatch(value))
    if program and _CLEARED.search(text[max(0, start - 256) : start]):
        return True
    if value.isalpha() and len(value) < _LONG_CHOICE and _CHOICE.search(before):
        return True
    return bool(_EMPTY_FLAG.search(before)) or bool(_NONCE.search(before))


_MESSAGE_BEFORE: Final = re.compile(r"[a-z]{2,} authorization: \Z")
_MESSAGE_AFTER: Final = re.compile(r"(?: [a-z]{2,16}){1,3}(?:[:.,;] |\.?$)", re.MULTILINE)


def in_message(text: str, start: int, end: int) -> bool:
    """`may require authorization: server message: denied`."""
    return (
        bool(re.fullmatch("[a-z]{2,16}", text[start:end]))
        and bool(_MESSAGE_BEFORE.search(text[max(0, start - 40) : start]))
        and bool(_MESSAGE_AFTER.match(text, end))
    )


_ESCAPED: Final = re.compile(r"\\+[nrt]")
_ARMOUR_RUN: Final = re.compile(r"[A-Za-z0-9+/=]+")
_PLAIN_WORD: Final = re.compile(r"[A-Z]?[a-z]{1,12}|[A-Z]{1,12}")
_MOST_WORDS: Final = 12


def only_words(body: str) -> bool:
    """What is told about a key or stands for its lines; of those some has a digit or both cases."""
    runs = _ARMOUR_RUN.findall(_ESCAPED.sub(" ", body))
    return len(runs) <= _MOST_WORDS and all(_PLAIN_WORD.fullmatch(run) for run in runs)
