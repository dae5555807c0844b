"""What programs write where a value would be: variables, patterns, versions, masks, messages."""

import re
from typing import Final

from policies.redact.rule import SECRET
from policies.redact.words import NAMED

_NOTATION: Final = re.compile(
    r"""(?ix)
    # A lookup, in the words of the tool that does it.
      \$__[a-z]+\{.* | \$(?:env|_env|_server|config)[\[{].* | %\(\w+\)s | %env\(.*
    | @\{[a-z]+\(.* | @\{\w+(?:\.\w+)*\} | @(?:pipeline|variables|parameters|activity|dataset
        |linkedservice|concat|body|outputs|appsetting)\(.*
    | \[\[[a-z_\ -]+(?:[:./][\w:./\ -]+)?\]\] | from-?env:[a-z_]+
    | (?:cmd|exec|command|script|program):[a-z./~_-]+
    | (?:k8s|kubernetes|bitwarden|1password|keepassxc|akeyless|credstash|berglas|hashivault|awsssm
        |gcpsm):/{0,2}[a-z][\w-]*(?:/[\w.-]+)+
    | @(?:keychain|env|file):.*
    | @[\w-]+\.(?:txt|json|ya?ml|pem|key|crt|cer|p12|pfx|jwt|token|env|asc|gpg|age|enc
        |pw|pwd|pass|passwd|password|secret|secrets|creds?|credentials|b64|conf|cfg|bin|der|p8|jks|out)
    | (?:proxy:)?(?:hash|btree|lmdb|texthash|regexp|pcre|cdb|dbm|mysql|pgsql|ldap|sqlite|unix)
        :[/$][\w./${}-]*
    # Tags that look a value up.
    | !(?:[a-z]{1,24}[_:.-]){0,3}(?:vault|ref|secret|sub|env|lookup|include|ssm|param|parameter
        |get|file|import|sops|kms|resolve|lambda)(?:[_:.-][a-z]{1,24}){0,3}
    # Versions that will do.
    | (?:[\^~]|[<>]=?|[=!~]=|~>)\ ?v?\d+(?:\.(?:\d{1,5}|x|\*)){0,3}
        (?:-?(?:alpha|beta|rc|pre|dev|next|canary)[.-]?\d*)?
        (?:(?:\ |,\ ?|\ ?\|\|\ ?)(?:[\^~]|[<>]=?|[=!~]=|~>)\ ?v?\d+(?:\.(?:\d{1,5}|x|\*)){0,3})*
    | workspace:[\^~*]?
    # A mask of any making; the right side of a dump.
    | (?:[*<\[({_\#~=|%-]{1,6}|!!+)\ ?(?:removed|redacted|masked|hidden|filtered|saniti[sz]ed
        |scrubbed|omitted|censored|obfuscated|deleted|stripped|snipped|suppressed|concealed|protected|confidential|elided|withheld)
        (?:[\ _-][a-z]+){0,3}\ ?[*>\])}_\#~=!|%-]{1,6}
    | \*{2,6}\ ?(?:secret|private|password|token|sensitive)\ ?\*{2,6} | [.*\x06\x7f]+\|
    # The errors of a form, as their program shows them.
    | \[[a-z]{0,40}(?:error|detail|message|violation)[a-z]{0,40}\(.*
    # A pattern.
    | /\^?\(\?[=!:<].* | \^\(\?[=!:<].* | /\^[.\\].*
    | (?:/?\^\S{0,40}?|[a-z_:.()?|\\-]{0,16})
        \[\^?(?:[\w.+/=\\-]{0,20})(?<=[a-z0-9]-[a-z0-9])[\w.+/=\\-]{0,24}\](?:[+*?]|\{\d).*
    # The scheme of a header, to which the rest is added.
    | bearer | ssws | geniekey | apikey | sharedaccesssignature
    | always | on[-_](?:create|update|change|delete|demand|failure|success|login|first[-_]use)
    """
)
_SEGMENT: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# `@api_key`, `&&app_password`, `:new_password`: of an object, a script, a statement.
_SIGIL: Final = re.compile(r"(?:@{1,2}|&{1,2}|:)(?!dmin)(?P<name>[a-z]+(?:_[a-z]+)*)[.;)}\]]*")
# `*default_password`: what an anchor of YAML stands for.
_ALIAS: Final = re.compile(r"\*(?P<name>[a-z]+(?:[-_][a-z]+|[A-Z][a-z]+)*)")
_VARIABLE: Final = re.compile(
    r"(?:[A-Za-z_]+\??\.)*(?:_[a-z]+|[a-z]+(?:_[a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+)"
)
_CHAIN: Final = re.compile(
    r"[A-Za-z_]+(?:\([^()\n]{0,80}\))?(?:\.[A-Za-z_]+(?:\([^()\n]{0,80}\))?)*\.[A-Za-z_]+[!?]?\("
)
_CALL: Final = re.compile(r"[a-z]+(?:[A-Z_][a-z]+)*!?[(\[]")
_NAMES: Final = re.compile(r"[A-Za-z]+(?:[-_./][A-Za-z]+)*")
# What a check of a form says; no word of it mixes letters and digits.
_MESSAGE: Final = re.compile(
    r"""(?ix)
    (?: (?:(?:the|this|your|new|current)\ )?
        (?:(?:field|value|passwords?|token|secret|key|pin|code|string|input|size|length
          |:attribute)\ )?
        (?: (?:is|are|was)(?:n't)?\ (?:not\ |also\ |already\ )?
              (?:too\ (?:short|long|weak|common|simple|similar|easy|old)|required|invalid|incorrect
                |missing|empty|blank|expired|taken|in\ use|mandatory|allowed|valid|revoked|reserved
                |malformed|the\ same|a\ required)
          | (?:must|should|may|does|do|did|can|could|has|have|needs?)
              (?:n't|n\x7ft|'t|\x7ft|not|\ not)?\ (?:to\ )?
              (?:contain|include|match|exceed|consist|differ|at\ least|only\ contain|no\ value
                |meet\ (?:the|all|our)|expired|have\ (?:at|an?|exactly|between|one|invalid|\d)
                |(?:already\ )?been\ (?:used|taken|found|compromised|leaked|exposed|reset|revoked
                  |changed|breached|set|seen|pwned|disabled)
                |be\ (?:at|an?|between|blank|empty|filled|given|set|present|unique|the|null|valid
                  |accepted|confirmed|different|equal|exactly|greater|less|longer|shorter|more|\d
                  |one|alphanumeric|changed|used|provided|specified|reused)
                |invalid\ format))
      | (?:es|est|ist|is|\x7f|er|est\x7f|\x7fr|jest|e)\ (?:demasiado|trop|zu|te|muito|troppo|for
          |f\x7fr|za)[ ]
          (?:cort|court|cur|kurz|kort|corto|schwach|faible|d\x7fbil|fraca|debole|krotk|kr\x7ftk)\w*
      | (?:ne\ peut\ pas\ \x7ftre|no\ puede\ estar|darf\ nicht|muss\ mindestens|n\x7fo\ pode
          |non\ pu\x7f|mag\ niet)
      | ensure\ this\ (?:field|value) | please\ (?:enter|choose|provide|set|use|confirm|fill)
      | enter\ (?:a|your|the)\ (?:valid|new|password|token)
      | (?:min|max)(?:imum)?\.?\ (?:length|is|\d{1,3}\ (?:char|letter|digit|symbol)\w*)
      | at\ (?:least|most)\ \d{1,4}\ char\w*
      | invalid\ (?:password|token|secret|value|key|format|input) | (?:field|value)\ required
      | confirmation\ (?:doesn't|does\ not)\ match | too\ (?:short|long|weak|common|simple) )
    (?:[\s(),.;:!?<>="]+(?:[a-z\x7f'/-]+|\d{1,4}(?![\da-z])))*[\s(),.;:!?"]*
    """
)
# Words for a password in other languages; alone they may be one.
_OTHER_LANGUAGES: Final = re.compile(
    r"(?i)\x7fifre\w*|jelsz\x7f?\w*|lozink[aeu]|geslo|slapta\x7fodis|parool|parole"
    r"|lykilor\x7f?|contrasenya|palavra-passe|fjal\x7fkalimi|kodeord|pasahitza|sandi|laluan|kh\x7fu"
)
_LETTERS: Final = re.compile(r"[A-Za-z\x7f'-]+")


def notation(value: str) -> bool:
    """A variable, a lookup, a pattern, a version, a mask or a message in place of a value."""
    sigil = _SIGIL.fullmatch(value)
    if sigil and not NAMED.isdisjoint(sigil["name"].split("_")):
        return True
    alias = _ALIAS.fullmatch(value)
    if alias and not NAMED.isdisjoint(_segments(alias["name"])):
        return True
    return (
        bool(_NOTATION.fullmatch(value))
        or bool(_MESSAGE.fullmatch(value))
        or _names(value)
        or _translated(value)
    )


def _segments(name: str) -> set[str]:
    return {word.lower() for word in _SEGMENT.findall(name)}


def _names(value: str) -> bool:
    """`db-password,api-key`: which secrets are meant."""
    if "," not in value:
        return False
    names = re.split(", ?", value)
    return all(_NAMES.fullmatch(n) and not NAMED.isdisjoint(_segments(n)) for n in names)


def _translated(value: str) -> bool:
    words = value.rstrip(".!?:* \x06\x7f").split(" ")
    return (
        len(words) > 1
        and all(_LETTERS.fullmatch(word) for word in words)
        and any(_OTHER_LANGUAGES.fullmatch(word) for word in words)
    )


_QUOTED_NAME: Final = re.compile(r"[\"'][ ]?[:=][ ]?\Z")
_SIGN: Final = re.compile(r"[:=,][ ]?\Z")
# `ALTER ROLE bob PASSWORD :'new_password'`: a variable of psql.
_SQL_VARIABLE: Final = re.compile(
    r"(?i)(?:role|user)\s+[\w\"]{1,64}\s+(?:[a-z]{2,12}\s+){0,8}password\s+:['\"]\Z"
)
_RANDOM: Final = re.compile(r"(?i)[ \t]+password\b")


def expression(match: re.Match[str]) -> bool:
    """Code where a literal would be in quotes: a variable, a chain of calls, words of SQL."""
    text, (start, end), value = match.string, match.span(SECRET), match[SECRET]
    before = text[max(0, start - 4) : start]
    if value.upper() == "RANDOM":
        return bool(_RANDOM.match(text, end))
    if before[-1:] in ("'", '"', "`"):
        named = before[-2:-1] == ":" and re.fullmatch(r"\w+", value)
        return bool(named) and bool(_SQL_VARIABLE.search(text[max(0, start - 240) : start]))
    if _CHAIN.match(value):
        return bool(_SIGN.search(before))
    bare = value.rstrip(")}];, ")
    if _CALL.match(value) or (value == "await" and text[end : end + 1] == " "):
        return bool(_QUOTED_NAME.search(before))
    if not _QUOTED_NAME.search(before) or not _VARIABLE.fullmatch(bare):
        return False
    return not NAMED.isdisjoint(_segments(bare))


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
_SECRET_ID: Final = re.compile(r"(?i)secret[-_.]?id\Z")
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
    if _SECRET_ID.search(name) and _OBJECT_NAME.fullmatch(value):
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
    named = _VARIABLE.fullmatch(value) and not NAMED.isdisjoint(_segments(value))
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


_ASSIGNED: Final = re.compile(r"[A-Z][A-Z0-9_]+=")


def next_name(match: re.Match[str]) -> bool:
    """`A= B=c` and `a::b(c)`: what stands there is another name, and nothing was given."""
    start, value = match.start(SECRET), match[SECRET]
    before = match.string[max(0, start - 2) : start]
    if before.endswith(":") and value.startswith(":"):
        return True
    return before == "= " and bool(_ASSIGNED.match(value))


_TRIED: Final = re.compile(r"(?:try[?!]?|await|yield|throw|new)")
_WORK: Final = re.compile(
    r"[ ](?:(?:await|from)[ ])?(?:\{|[A-Za-z_][\w.?!:<>]{0,120}(?:\(|[ ]?\{))"
)
# `runCatching { … }`: what a block gives.
_BLOCK: Final = re.compile(r"[a-z]+(?:[A-Z][a-z]+)+|lazy|run|suspend")


def called(match: re.Match[str]) -> bool:
    """`key = function(...)`: the value is code."""
    end = match.end(SECRET)
    if _TRIED.fullmatch(match[SECRET]) and _WORK.match(match.string, end):
        return True
    if match.string.startswith(" { ", end) and _BLOCK.fullmatch(match[SECRET]):
        return True
    return match.string[end : end + 1] == "(" and match[SECRET].isidentifier()
