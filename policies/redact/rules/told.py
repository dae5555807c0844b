"""Secrets that programs tell, in other languages and in the line after; secrets put into files."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.cookies import cookie_values
from policies.redact.generated import HEX, UUID, classes, generated_case, random_looking, slug
from policies.redact.harmless.expressions import code
from policies.redact.harmless.names import key_name, names_a_secret
from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import GUESS, SECRET, SHAPE, Rule
from policies.redact.rules.grammar import TAIL
from policies.redact.rules.samples import hexa, mix
from policies.redact.values import is_generated_word, is_mixed_word, is_prose_token

# Words for a password as `view.plain` leaves them, and for a key or token.
_PASSWORD: Final = r"(?:passwort|kennwort|zugangsdaten|mot de passe|contrase(?:n|\x7f)a|senha|parola|wachtwoord|has\x7fo|heslo|l\x7fsenord|salasana|adgangskode|passord|\x7fifre|jelsz\x7f|lozinka)"
_KEY: Final = r"(?:clave|chave|chiave|cl\x7f[ ](?:api|d|sec|pri)|schl\x7fssel|schluessel|sleutel|geheimnis|zugangstoken|jeton|token de|token d'acc|klucz)"
_SAYS: Final = r"(?:[ ]?[:=]|[ ](?:ist|lautet|es|est|is|jest|\x7f|e|lyder)[ :])"
# What follows such words in a setting and is none.
_METHOD: Final = re.compile(r"(?i)(?:sha|md5|scram|bcrypt|argon|pbkdf|aes|rsa|hmac|utf)[-_0-9].*")


# `TOKEN.lock` is a token.
_ENDING: Final = re.compile(r"\.[a-z]{1,6}\Z")


def _is_said(match: re.Match[str]) -> bool:
    """A word with a digit or a sign in it that is no method."""
    value = _ENDING.sub("", match[SECRET])
    digit_or_sign = re.search(r"[0-9!#%^*~?$&+]", value)
    return (
        bool(digit_or_sign)
        and is_mixed_word(match)
        and not _METHOD.fullmatch(value)
        and not code(value)
    )


def _is_key(match: re.Match[str]) -> bool:
    """A key that only a generator writes."""
    return is_generated_word(match) or is_prose_token(match)


_ALONE: Final = re.compile(
    r"(?:[ \t]{0,8}(?:\r?\n|(?<!\\)\\{1,2}n)){1,3}[ \t>|]{0,8}(?P<secret>-?[^\s\"'`$#>|\f\\-][^\s\"'`\f\\]{5,4096})(?=[ \t]*(?:$|\r|\\{1,2}[nr]|[\"'\f]))",
    re.MULTILINE,
)
_STRONG: Final = re.compile(
    r"(?i)passw|passphrase|secret|token|(?:certificate|api|access|private|recovery|master|encryption|unseal|licen[cs]e)[ _-]key"
)


def _is_made(value: str) -> bool:
    """Long, with letters of both cases and digits, or as long as a key."""
    mixed = len(value) >= _LEAST_CHARS and re.search("[0-9]", value) and classes(value) > 2
    plain = random_looking(value, 20) and not re.search("[-/]", value)
    return plain or bool(mixed and value.lower() != value and value.upper() != value)


_LEAST_CHARS: Final = 12


def _next_line(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The word that has the next line to itself, if a generator wrote it."""
    found = _ALONE.match(match.string, match.end())
    start = match.string.rfind("\n", 0, match.start()) + 1
    line = match.string[max(start, match.start() - 100) : match.end()]
    if found is None or placeholder(found[SECRET]):
        return
    name, value = (
        re.search(r"[A-Za-z_-]+(?:[ ]key)?(?=[^A-Za-z]*\Z)|\Z", match[0]),
        _ENDING.sub("", found[SECRET]),
    )
    if not names_a_secret(name[0] if name else "") or re.search(
        r"(?i)public|fingerprint|cache", line
    ):
        return
    if HEX.fullmatch(value):
        if _STRONG.search(line):
            yield found.span(SECRET)
    elif not slug(value) and not code(value) and _is_made(value):
        yield found.span(SECRET)


def _is_put(match: re.Match[str]) -> bool:
    """What is put in the place of a stand-in: generated, or with a digit behind a password's name."""
    if re.search(r"[\\()\[\]*]", match[SECRET]) or not is_mixed_word(match):
        return False
    told = re.search(r"(?i)pass|pw", match[0][: -len(match[SECRET])])
    return (
        is_generated_word(match)
        or random_looking(match[SECRET], 20)
        or bool(told and _is_said(match))
    )


# `trustno-1511`: a word that somebody made harder to guess.
_WORD_NUMBER: Final = re.compile(r"[A-Za-z]{4,20}[-_.!#]?[0-9]{2,6}")
_STRONG_SIGN: Final = re.compile(r"[!#%^*~?@$&+]")
# The type of a column, a step of a list.
_TYPE: Final = re.compile(
    r"(?i)(?:base|utf|u?int|float|n?(?:var)?char2?|bytes?|string|text|sha|hex|bits?|step|level|version"
    r"|section|table|column|field|line|page|item|test|part|phase|chapter)[-_]?[0-9]+"
)
_LEAST_CELL: Final = 16
# What stands in brackets for a value.
_TOLD: Final = re.compile(
    r"(?i)pass|pwd|token|secret|key|your|str|byte|redact|mask|hidden|value|null|none|cred|object|function|type|user"
    r"|sha|hex|base|uuid|bit|char|len|md5|jwt|change|insert|enter|example|sample|place|some|any|new|old|num|code"
)


def _is_made_up(match: re.Match[str]) -> bool:
    """A generated word, a word with a number, or a key."""
    value = match[SECRET]
    path = "/" in value and value == value.lower()
    if path or placeholder(value) or code(value) or _METHOD.fullmatch(value):
        return False
    if HEX.fullmatch(value) or UUID.fullmatch(value):
        return True
    if random_looking(value, _LEAST_CELL) and not slug(value):
        return True
    if not re.search("(?i)pass|pwd", match["key"]):
        return bool(_STRONG_SIGN.search(value)) and classes(value) > 3
    word = _WORD_NUMBER.fullmatch(value) and not _TYPE.fullmatch(value)
    return bool(word) or is_generated_word(match)


def _is_bracketed(match: re.Match[str]) -> bool:
    """A value, where stand-ins stand in brackets."""
    value = match[SECRET]
    if not re.search("[0-9]", value) or not names_a_secret(key_name(match)):
        return False
    return _is_made_up(match) and not _TOLD.search(value)


def _is_cell(match: re.Match[str]) -> bool:
    """The value beside a name."""
    return names_a_secret(match["key"]) and _is_made_up(match)


_ECHOED: Final = re.compile(
    r"(?:echo|printf)[ \f](?:-[a-z]{1,3}[ ])?(?:[\"']?%s(?:\\n)?[\"']?[ ])?\\{0,3}[\"']?"
    r"(?P<secret>[^\s\"'`|;&<>$(){}\\]{6,4096})\\{0,3}[\"']?[ ]{0,2}>{1,2}[ ]?(?P<file>\S{0,160})"
)


def _written(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The only word that is written, if it is no message."""
    found = _ECHOED.match(match.string, match.start())
    if found is None or not is_mixed_word(found) or "=" in found[SECRET][:-2]:
        return
    told = re.search(r"(?i)pass|secret|pw", found["file"])
    long = random_looking(found[SECRET], 16)
    if long or is_generated_word(found) or (told and _is_said(found)):
        yield found.span(SECRET)


_WINDOW_CHARS: Final = 2_000


def _flagged(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """What opens a session behind a flag; -b means that to a client of HTTP only."""
    found = list(cookie_values(match))
    if found and match[0].lstrip().startswith("-b"):
        start = match.start()
        if not any(
            match.string.rfind(tool, max(0, start - _WINDOW_CHARS), start) >= 0 for tool in _CLIENTS
        ):
            return
    yield from found


_CLIENTS: Final = ("curl", "http", "wget", "hey", "ab ", "ab\f", "xh", "oha", "sqlmap", "hurl")


_WORD = r"(?P<quote>[\"'`])?(?P<secret>(?(quote)[^\n\f\"'`]{4,512}|[^\s\"'`,]{4,512}))"

_USERINFO: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}:([^\s\"'`@/\f]{1,128})")


def _before(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The password of the user that stands before the match."""
    first = max(0, match.start() - 200)
    for found in _USERINFO.finditer(match.string, first, match.start()):
        if found.end() == match.start() and not placeholder(found[1]):
            yield found.span(1)


def _opens_channel(match: re.Match[str]) -> bool:
    """A word that stands where a token must; elsewhere an owner has that place, so a made one."""
    value = match[SECRET]
    if "/t/" in match[0] or "/auth/" in match[0]:
        return is_mixed_word(match)
    if HEX.fullmatch(value):
        return True
    if not value.isalnum() or len(value) < _LEAST_CELL or placeholder(value):
        return False
    return generated_case(value) or (_is_made(value) and not slug(value))


RULES: Final[tuple[Rule, ...]] = (
    Rule("told-abroad", "password", "a password that a program tells in another language",
         rf"{_PASSWORD}[^\n\f:=\"]{{0,50}}?{_SAYS}", rf"[ :]{{0,4}}{_WORD}", check=_is_said, caseless=True, fingerprint=False, rank=GUESS,
         hits=("Passwort f\x7fr Benutzer admin: qX5GkECVmzoCX", "Senha do usuario admin: falcon_84", "La contrase\x7fa de admin es: pebble_76", "Wachtwoord voor bob: Welcome#7", "Kennwort f\x7fr bob lautet T1gerX!9"),
         misses=("Passwort ist falsch", "Das Passwort ist zu kurz (mind. 8 Zeichen)", "Mot de passe : requis", "Senha: ********", "wachtwoord is verplicht")),
    Rule("told-key-abroad", "secret", "a key that a program tells in another language",
         rf"{_KEY}[^\n\f:=\"]{{0,50}}?[ ]?[:=]", rf"[ :]{{0,4}}{_WORD}", check=_is_key, caseless=True, rank=GUESS,
         hits=(f"Chave de API: {mix(32)}", f"API-Schl\x7fssel: {mix(32)}"), misses=("clave: valor", "Chave: usuario-2", f"schluessel: {hexa(40)}")),
    Rule("told-next", "secret", "a secret that has the next line to itself",
         r"(?:passw(?:or)?d|passphrase|secret|token|[ _-]key|credential)s?(?:[ ](?:to|for|once|only|now|below|and|store|save|shown|value|it|is|you|this|in|a|safe|place|again|will|not|be|proceed|installation|admin|the)|[ ,]{0,2}\([^()\n]{1,80}\)|[ ,]{1,2}(?:store|save|keep|copy)[^\n:]{0,40}){0,8}:", "", parts=_next_line, caseless=True, fingerprint=False, rank=GUESS,
         wide=r"(?:passw(?:or)?d|passphrase|secret|token|[ _-]key|credential)s?[^\n:]{0,200}:",
         hits=(f"Please use the following password to proceed to installation:\n\n{hexa(32)}\n", f"Using certificate key:\n{hexa(64)}", f"New access token (shown once):\n{mix(40)}"),
         misses=(f"Public key:\n{mix(44)}", f"Key fingerprint:\n{hexa(40)}", f"cache key:\n{hexa(64)}", "token:\nnext-line-of-words", "Password:\nIncorrect. Try again:")),
    Rule("told-inline", "secret", "a token that a program made",
         r"(?:api[ -]?key|token|secret(?:[ ]key)?|access[ ]key)[ ](?:is|created|generated|issued|minted|rotated|added|[\"'(][^\n:\"')]{1,40}[\"')]|(?:for|of)[ ][^\n:]{1,40}[ ](?:is|created)):?[ ]", r"[ ]?[\"'`]?(?P<secret>[A-Za-z0-9+/=._~-]{16,4096})", check=is_prose_token, caseless=True, rank=GUESS,
         hits=(f"Your API token is: {mix(40)}. Keep it safe.", f'Created API token "ci": {mix(40)}'), misses=("token is: invalid", f"secret created: {hexa(40)}", "API key (see docs): required")),
    Rule("told-set", "password", "a password that was set, in quotes or behind with",
         r"(?:passw(?:or)?d[ ][^\n\"':=]{1,80}?[ ]to[ :]{1,2}[\"'`]|with[ ](?:the[ ])?(?:temporary[ ]|initial[ ]|generated[ ])?passw(?:or)?d[ :]{1,2}[\"'`]?|[,(][ ]generated:[ ])", r"(?P<secret>[^\s\"'`,;)]{5,256})", check=_is_said, caseless=True, fingerprint=False, rank=GUESS,
         hits=("reset password for svc-deploy to 'FU97d^m^Y9' (must change)", "Created user admin with password monkey_91"), misses=("set password for bob to 'required'", "login with password prompt", "with password SCRAM-SHA-256", "with password and 2fa")),
    Rule("told-slash", "password", "user / password after a word that says so",
         r"(?:log[ -]?in|sign[ -]?in|credentials?|zugangsdaten|user|use|account|acceso|connexion)[ :][^\n/]{0,60}[ ]/[ ]", r"(?P<secret>[^\s\"'`,/|]{6,256})(?=$|[\s,;.)\"'])", check=lambda match: _is_said(match) and (is_generated_word(match) or bool(re.match(r"[A-Za-z]{5,}[_!#.-]?[0-9]{2,4}(?:\.|\Z)", match[SECRET]))), caseless=True, fingerprint=False, rank=GUESS,
         hits=("Created initial admin user: admin@example.com / sunshine-81", "Use admin / Tiger_5956 to log in"), misses=("user: read / write", "account 12 / 2024-11-02", "login page / step-2", "use / 500GB")),
    Rule("angle-value", "secret", "a value in angle brackets or braces, as a logger of a directory or a driver writes it",
         r"(?P<key>(?:pass(?:w(?:or)?d|phrase)?|pwd|secret|token|api[_-]?key))\\{0,3}[\"']?[ ]?[:=][ ]?(?:<|&lt;|\{)", r"(?P<secret>[^\s<>&\"'`\f{}]{5,512})(?:>|&gt;|\})", check=_is_bracketed, caseless=True, fingerprint=False, rank=GUESS,
         hits=("user=<sa> password=<falcon-1511> server=<db>", f"token=<{mix(30)}>", f"UID=sa;PWD={{{mix(18)}}};"), misses=("password=<password-12>", "token=<your-token-1>", "password=<bytes 20>", "pwd=<SecretStr2>", "password=<sha256>")),
    Rule("table-row", "secret", "a row of a table with a name and its value",
         rf"(?:[|][ \t]{{0,40}}|\x7f[ \t]{{1,40}})[`*]{{0,2}}(?P<key>[A-Za-z0-9_.-]{{0,40}}(?:(?:pass(?:w(?:or)?d|phrase|code|wort)|pwd|token|secret|api[-_. ]?key|[_-]key|credential){TAIL}|[a-z_-]pass))[`*]{{0,2}}(?:[ \t]{{0,80}}[|]|[ \t]{{1,80}}\x7f)", r"[ \t]{0,80}[`*]{0,2}(?P<secret>[^\s|`\f]{6,4096}?)[`*]{0,2}[ \t]{0,80}[|\x7f]", check=_is_cell, caseless=True, fingerprint=False, rank=GUESS,
         hits=(f"|  vercel_token  |  {mix(24)}  |", "| DB_PASSWORD | falcon-1511 |"), misses=("| password | string | required |", "| max_tokens | 4096128 |", "ls | token | sha256sum | head", "| password_policy | strict-v2-2024 |")),
    Rule("named-object", "secret", "an object that has the name of a secret and holds its value",
         r"(?P<key>[A-Za-z0-9_-]{0,24}(?:pass(?:w(?:or)?d|phrase|code)|token|secret|api[-_.]?key|[_-]key|credential))(?:\\{0,3}[\"'][ ]?:[ ]?\{\s{0,24}\\{0,3}[\"']|\f|:[ ]?\{[ ]?|:\n[ ]{1,24})(?:value|val|plain_?text|secret|string_?value|content|data|raw|S)(?:\\{0,3}[\"'])?[ ]?[:=]", r"[ ]?(?:\f|\\{0,3}[\"'])?(?P<secret>[^\s\"'`,\f\\{}]{6,4096})", check=_is_cell, caseless=True, fingerprint=False, rank=GUESS,
         hits=('{"createToken": {"token": {"value": "3fa94c1d-22b0-4e58-86af-10c9d4b1e277", "name": "ci"}}}', f"api_key:\n  value: {mix(30)}"), misses=('{"token": {"value": "identifier"}}', '"max_tokens": {"value": "4096128"}', '"token": {"data": "getUserName"}')),
    Rule("oauth-word", "secret", "a word of 30 letters that opens a chat",
         r"(?:^|[^A-Za-z])oauth:(?P<secret>[a-z0-9]{30}", r")(?![A-Za-z0-9])", check=lambda match: bool(re.search("[0-9]", match[SECRET])), rank=GUESS,
         hits=(f"NICK bob PASS oauth:{hexa(32)[:30]}", f"/tmp/oauth:{hexa(32)[:30]}.lock"), misses=("oauth:authorizationcodegrantflows",)),
    Rule("fcm-legacy-key", "fcm-key", "a key of a service that sends to telephones",
         r"AAAA[A-Za-z0-9_-]{7}:APA91", r"[A-Za-z0-9_-]{60,400}", rank=SHAPE,
         hits=(f"use AAAA{mix(7)}:APA91b{mix(134)} now", f"/tmp/AAAA{mix(7)}:APA91b{mix(134)}.lock")),
    Rule("channel-path", "secret", "the token in the address of a channel of packages",
         r"(?:conda\.[a-z0-9.-]{1,60}/(?:repo/)?t/|[a-z]\.cloudsmith\.io/|packagecloud\.io/(?:priv/)?|[a-z]\.fury\.io/|myget\.org/F/[A-Za-z0-9_-]{1,60}/auth/)", r"(?P<secret>[A-Za-z0-9_-]{8,200})", check=_opens_channel, rank=GUESS,
         hits=(f"https://conda.example.org/t/{mix(20)}/acme", f"https://dl.cloudsmith.io/{mix(16)}/acme/x/deb"), misses=("https://conda.example.com/t/$TOKEN/acme",)),
    # Put into files and lists
    Rule("replaced", "secret", "what an editor of streams puts in the place of a stand-in",
         r"s[/|#,][^/|#\n]{0,80}(?:pass|secret|token|key|pwd|change_?me|placeholder|replace_?me)[^/|#\n]{0,40}[/|#,]", r"(?:[A-Za-z0-9_.\"' -]{0,60}[=:][ ]?[\"']?)?(?P<secret>[^\s/|\"',\\&]{6,512})[\"']?[/|#,][gimI]{0,3}[\"' ;]", check=_is_put, caseless=True, rank=GUESS,
         hits=(f"sed -i 's/__TOKEN__/{mix(40)}/g' config.js", "perl -pi -e 's/password=.*/password=Summer#47/' a.conf"), misses=("sed -i 's/__TOKEN__/$TOKEN/g' x", "sed 's/password/passwd/g' x", "sed -i 's/key: .*/key: value/' x", "ls/tokens/v2/")),
    Rule("written", "secret", "what is echoed into a file that is named after a secret",
         r"(?:echo|printf)[ \f][^\n|;&>]{6,400}>{1,2}[ ]?[^\s;&|]{0,120}(?:pass|secret|token|key|cred|pw)", "", parts=_written, rank=GUESS, wide=r">{1,2}[ ]?[^\s;&|]{0,120}(?:pass|secret|token|key|cred|pw)",
         hits=(f"printf %s {mix(40)} > /run/credentials/x.key", "echo -n 'winter34-95' > ./secrets/db_password"), misses=("echo done > key.txt", "echo $TOKEN > token", "echo 1.2.3 > api_key_version", "echo hello-world > secret.txt")),
    Rule("cookie-flag", "session-cookie", "a session behind the flag for cookies",
         r"[ \f](?:-b|--cookie)[ =\f][\"']?", r"(?P<secret>[A-Za-z0-9_.-]{1,80}=[^\n\f\"'`]{3,4096})", parts=_flagged, rank=GUESS,
         hits=(f"curl -b 'session={mix(40)}' https://x",), misses=("curl -b cookies.txt https://x", "git checkout -b feature=x1", "curl -b 'lang=en' x")),
    # Lists and protocols
    Rule("env-table", "secret", "a variable and its value in a table of the environment",
         r"(?:PASSWORD|PASSWD|SECRET|TOKEN|API_KEY|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY)[ ]{3,80}", r"(?P<secret>[^\s\"'`|\\\f]{6,512})(?=[ ]*(?:$|[\f\"'\\]))", check=is_mixed_word,
         hits=("Name            Value\nCLIENT_SECRET   pE2lTXHI1eeAqAZRvs1h",), misses=("CLIENT_SECRET   required", "API_TOKEN   opaque   8 bytes")),
    Rule("protocol-pass", "password", "what a client of FTP, POP3 or Redis says to be let in",
         r"(?:(?:FTP|POP3?|SFTP)[^\n\f]{0,40}?[ ]PASS|AUTH[ ]default)[ ]", r"(?P<secret>[^\s\"'`,;<>\\\f]{5,256})(?=[ ]*(?:$|[\f\"'\\]))", check=is_mixed_word, fingerprint=False, rank=GUESS,
         hits=("length 30: FTP: PASS Welcome_1573", "127.0.0.1:6379> AUTH default football1012"), misses=("FTP: PASS required", "PASS test_a1.py", "FTP: PASS")),
    Rule("go-dsn", "password", "user:password before a network in brackets, as Go's drivers take it",
         r"@(?:tcp|unix|cloudsql)\(", "", parts=_before, fingerprint=False,
         hits=("app:raspberry-99@tcp(10.0.0.9:3306)/shop",), misses=("app:$PW@tcp(10.0.0.9:3306)/shop", "app@tcp(db)/x")),
    Rule("account-list", "private-key", "the keys of a test chain",
         r"\([0-9]{1,3}\)[ ]{1,2}0x(?P<secret>[0-9a-f]{64}", r")(?![0-9a-fA-F])", rank=GUESS,
         hits=(f"Private Keys\n(0) 0x{hexa(64)}",), misses=(f"(0) 0x{hexa(40)}",)),
)  # fmt: skip
