"""Surroundings of a value that show that none was given, or a public one."""

import re
from typing import Final

from policies.redact.harmless.expressions import expression
from policies.redact.harmless.names import SECRET_ID
from policies.redact.harmless.notations import VARIABLE, segments
from policies.redact.harmless.words import NAMED
from policies.redact.rule import SECRET

_AROUND_CHARS: Final = 400
_HEADING_CHARS: Final = 8_000
_SHELL_CHECK: Final = re.compile(r"\$\{\w{0,64}\Z")
_SHELL_FLAG: Final = re.compile(r"\+(?:--[a-z]+[0-9]?(?:-[a-z]+)*=?|-[A-Za-z])")
_SLICE: Final = re.compile(r"-?[0-9]{1,3}(?::-?[0-9]{1,3})?\}?.?")
_SELECTOR: Final = re.compile(r"\[[\w-]{1,32}[~|^$*]?=(?:\\{0,2}[\"'])?\Z")
_PSEUDO: Final = re.compile(r":{0,2}[a-z-]+(?:\(.*)?[,{]?")
_POD_LINE: Final = re.compile(r"\n {2}\"?[A-Za-z0-9_+/-]{1,64}\"?: \Z")
_LIST_OF: Final = re.compile(
    r"(?:\b(?:for|of|with|to|in)[ ]|==>[ ](?:[A-Z][a-z]{1,12}[ ](?:[a-z]{1,12}[ ]){0,3})?)\Z"
)
_NEXT_LISTED: Final = re.compile(r",?[ ][a-z][\w@.+-]*(?:,[ ]|[ \t]*$|\n)", re.MULTILINE)
_KEY_ID: Final = re.compile(r"\bkey_id(?:\":\s?\"|=\f)[0-9]{17,20}(?:\",\s{0,16}\"|\f)\Z")
_BOX_KEY: Final = re.compile(r"[A-Za-z0-9+/]{43}=")
# What a node of a mesh calls itself; its own half is a `privkey:`.
_NODE: Final = re.compile(r"(?:\b|_)(?:node|disco|m|chal)key\Z")
_NODE_KEY: Final = re.compile(r"[0-9a-f]{64}")
_SHA1: Final = re.compile(r"[0-9a-f]{40}")
_SCANNED: Final = re.compile(r"is_verified|line_number|is_secret|Secret Keyword|High Entropy")
_GPG_ID: Final = re.compile(r"(?:0x)?(?:[0-9A-F]{8}){1,2}!?|(?P<long>[0-9A-F]{40})")
_GIT: Final = re.compile(r"\[user\]|user\.\Z|gpgsign")
_ADDED: Final = re.compile(r"\\?[\"'][ ]?(?:\+|<>|\|\||\.[ ]?\$|&[ ])")
_HEAD: Final = re.compile(r"[A-Za-z][A-Za-z_.-]*[ :]+")
_OBJECT_NAME: Final = re.compile(
    r"[A-Za-z]{1,24}(?:[-_/.][A-Za-z]{1,24}|[-_/.][0-9]{1,4})*(?:-[A-Za-z0-9]{6})?"
)
# `secret_id=db-7 version=AWSCURRENT`: which secret was read, and in which version.
_WHICH_VERSION: Final = re.compile(
    r"(?i)\\{0,3}[\"']?[,;\s]{1,3}\\{0,3}[\"']?(?:version(?:[_-]?(?:id|stage|label))?|stage)s?"
    r"\\{0,3}[\"']?[ ]?[=:\f]"
    r"[ ]?\[?\\{0,3}[\"']?(?-i:AWS(?:CURRENT|PREVIOUS|PENDING))\b"
)
_WRONG: Final = re.compile(r"(?i)(?:\w{1,32}_)?(?:wrong|incorrect|bad)_?pass")


def surrounded(match: re.Match[str], name: str) -> bool:
    """Behind this name, in this place, no value is given."""
    text, value, (start, end) = match.string, match[SECRET], match.span(SECRET)
    first = match.end("key") - len(name)
    before, sign = text[max(0, first - _AROUND_CHARS) : first], text[match.end("key") : start]
    if sign == ":" and _SHELL_CHECK.search(text[max(0, first - 64) : first]):
        return value[0] == "?" or bool(_SHELL_FLAG.fullmatch(value) or _SLICE.fullmatch(value))
    if sign.endswith(("]:", "]::")) and _SELECTOR.search(before) and _PSEUDO.fullmatch(value):
        return True
    if name == "pin" and before[-1:] in ("?", "&"):
        return value.isalpha() and value.islower()
    listed = name == "pass" or before.endswith("==> ")
    if listed and sign == ": " and _LIST_OF.search(before) and value.rstrip(",").isalpha():
        return bool(_NEXT_LISTED.match(text, end)) or (name == "pass" and before[-4:] == "==> ")
    if SECRET_ID.search(name) and _OBJECT_NAME.fullmatch(value):
        return bool(_WHICH_VERSION.match(text, end))
    if _HEAD.fullmatch(value) and value[-1] == " " and _ADDED.match(text, end):
        return True
    if _WRONG.match(name) and " " in value and "\x7f" in value:
        return not any(c.isdigit() for c in value)
    if _named_object(name, value) or _renamed_to(text, match.span("key"), sign, value):
        return True
    if _OBJECTS.search(name) and _HOLDER_NAME.fullmatch(value.rstrip("]}")):
        return True
    if sign == " => " and before[-1:] == "{" and _renamed(text, start, value, before):
        return True
    return _public(match, name, before) or expression(match)


# What a cluster or a pipeline calls the object that holds the value: existingSecret=redis-auth-9.
_OBJECTS: Final = re.compile(
    r"(?i)(?:\b|_)(?:existing|(?:env[-_]?)?from|pull|image[-_]?pull|credentials?|tls)[-_]?secret(?:[-_]?\w{0,12}key)?\Z"
)
_HOLDER_NAME: Final = re.compile(r"[a-z]+(?:[-_.]+(?:[a-z]+[0-9]{0,3}|[0-9]{1,6}))*")
_PASSWORD_OBJECT: Final = re.compile(r"(?i)pass(?:word)?[-_]?secret\Z")
_OBJECT_WORDS: Final = NAMED | {
    "db",
    "database",
    "postgres",
    "postgresql",
    "mysql",
    "redis",
    "admin",
}


def _named_object(name: str, value: str) -> bool:
    """`passwordSecret: db-credentials`: the object that holds it."""
    bare = value.rstrip("]},")
    words = bare.split("-")
    return (
        bool(_PASSWORD_OBJECT.search(name))
        and 1 < len(words) <= 5
        and all(word.isalpha() and word.islower() for word in words)
        and not _OBJECT_WORDS.isdisjoint(words)
    )


def _renamed_to(text: str, key: tuple[int, int], sign: str, value: str) -> bool:
    """A name in backquotes, an arrow, another name in backquotes."""
    if not sign.startswith("`") or not sign.endswith("`") or ">" not in sign:
        return False
    named = VARIABLE.fullmatch(value) and not NAMED.isdisjoint(segments(value))
    return bool(named) and bool(_OPENED.search(text[max(0, key[0] - 64) : key[0]]))


_OPENED: Final = re.compile(r"`[\w.-]*\Z")
_RENAMED: Final = re.compile(r"[\w.@+-]{0,60}\}(?:/|[ ]\([0-9]{1,3}%\)|[ ]+\|[ ]+(?:[0-9]|Bin))")
_LEAST_GENERATED: Final = 20


def _renamed(text: str, start: int, value: str, before: str) -> bool:
    """`rename src/{token => vault}/a.ts`: what a file is called now."""
    stem = value.partition("}")[0]
    generated = len(stem) >= _LEAST_GENERATED and any(c.isdigit() for c in stem)
    known = re.search(r"(?:\b(?:rename|copy)[ ]|[\w]/)[\w./-]{0,80}\{\Z", before)
    return not generated and bool(_RENAMED.match(text, start) or (known and "}" in value))


def _public(match: re.Match[str], name: str, before: str) -> bool:
    """A checksum, the id of a key, the key that goes with an id: they open nothing."""
    text, value, (start, end) = match.string, match[SECRET], match.span(SECRET)
    if _NODE.search(name) and _NODE_KEY.fullmatch(value):
        return text[start - 1] == ":"
    if name == "key" and _BOX_KEY.fullmatch(value):
        return bool(_KEY_ID.search(before))
    if _SHA1.fullmatch(value):
        if name == "hashed_secret":
            around = text[max(0, start - _AROUND_CHARS) : end + _AROUND_CHARS]
            return bool(_SCANNED.search(around))
        heading = text.rfind("SPEC CHECKSUMS:\n", max(0, start - _HEADING_CHARS), start)
        return heading >= 0 and bool(_POD_LINE.search(text[max(0, start - 80) : start]))
    if name in ("signingkey", "signingKey", "user.signingkey", "user.signingKey"):
        found = _GPG_ID.fullmatch(value)
        around = before + text[end : end + _AROUND_CHARS]
        return found is not None and (
            not found["long"] or name[0] == "u" or bool(_GIT.search(around))
        )
    return False


# `--password= next`: the shell gives the flag nothing.
_EMPTY_FLAG: Final = re.compile(r"(?:^|[\s\"'])--[A-Za-z0-9_.-]{1,64}= +\Z")
_FLAG_CHARS: Final = 72

# `map <leader>pw :!pass show`: what comes is run.
_RUN: Final = re.compile(r"![a-z-]+\Z")
_ASKED: Final = re.compile(r"[ ]:\Z")

# `gift-cards?pass=all`: which of them.
_CHOICE: Final = re.compile(r"[?&](?i:pass|pin)=\Z")
_LONG_CHOICE: Final = 5

# `md5sum: conf/password.txt: 3fa9…`: the digest of a file, told by the tool that made it.
_DIGEST_OF: Final = re.compile(
    r"(?i)\b(?:(?:md5|sha[0-9]{0,3}|b[23])(?:sum)?|checksum|digest|hash)(?::|[ ](?:of|for))?[ ]"
    r"(?:[\w.~@+-]{0,40}/){0,6}[\w.~@+-]{1,60}"
    r"\.[a-z0-9]{1,8}:[ ]\Z"
)
_DIGEST_CHARS: Final = 256
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
    if _DIGEST.fullmatch(value) and _DIGEST_OF.search(text[max(0, start - _DIGEST_CHARS) : start]):
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
