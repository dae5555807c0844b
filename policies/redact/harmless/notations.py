"""Notations of tools: lookups, variables, patterns, versions, masks, messages of forms."""

import re
from typing import Final

from policies.redact.harmless.words import NAMED

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
VARIABLE: Final = re.compile(
    r"(?:[A-Za-z_]+\??\.)*(?:_[a-z]+|[a-z]+(?:_[a-z]+)+|[a-z]+(?:[A-Z][a-z]+)+|[A-Z][a-z]+(?:[A-Z][a-z]+)+)"
)
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
    if alias and not NAMED.isdisjoint(segments(alias["name"])):
        return True
    return (
        bool(_NOTATION.fullmatch(value))
        or bool(_MESSAGE.fullmatch(value))
        or _names(value)
        or _translated(value)
    )


def segments(name: str) -> set[str]:
    return {word.lower() for word in _SEGMENT.findall(name)}


def _names(value: str) -> bool:
    """`db-password,api-key`: which secrets are meant."""
    if "," not in value:
        return False
    names = re.split(", ?", value)
    return all(_NAMES.fullmatch(n) and not NAMED.isdisjoint(segments(n)) for n in names)


def _translated(value: str) -> bool:
    words = value.rstrip(".!?:* \x06\x7f").split(" ")
    return (
        len(words) > 1
        and all(_LETTERS.fullmatch(word) for word in words)
        and any(_OTHER_LANGUAGES.fullmatch(word) for word in words)
    )
