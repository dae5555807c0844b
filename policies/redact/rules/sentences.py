"""Secrets in sentences: what a program or a person tells in words, in any language."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.rule import GUESS, SECRET, SHAPE, Rule
from policies.redact.rules.checks import is_marked_word
from policies.redact.rules.checks_around import (
    is_said_word,
    is_told_key,
    is_told_password,
    is_word_after,
)
from policies.redact.rules.grammar import PASSWORD_WORDS
from policies.redact.rules.samples import hexa, mix
from policies.redact.values import is_code, is_generated_word, is_mixed_word, is_prose_token

_CODE: Final = re.compile(
    r"(?<![A-Za-z0-9.])(?:[A-Z]-)?(?P<secret>[0-9]{3}[ -]?[0-9]{3,5})\Z", re.ASCII
)
_CODE_CHARS: Final = 12


def _code_before(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The digits of which the match begins with the last three."""
    end = match.start() + 3
    found = _CODE.search(match.string[:end], max(0, end - _CODE_CHARS))
    if found and is_code(found):
        yield found.span(SECRET)


def _after_password(match: re.Match[str]) -> bool:
    """The lines before speak of a password."""
    before = match.string[max(0, match.start() - 300) : match.start()]
    return bool(re.search("(?i)passw|secret|token|credential", before)) and is_mixed_word(match)


# Words for a password as `view.plain` leaves them, and for a key or token.
_PASSWORD: Final = r"(?:passwort|kennwort|zugangsdaten|mot de passe|contrase(?:n|\x7f)a|senha|parola|wachtwoord|has\x7fo|heslo|l\x7fsenord|salasana|adgangskode|passord|\x7fifre|jelsz\x7f|lozinka)"
_KEY: Final = r"(?:clave|chave|chiave|cl\x7f[ ](?:api|d|sec|pri)|schl\x7fssel|schluessel|sleutel|geheimnis|zugangstoken|jeton|token de|token d'acc|klucz)"
_SAYS: Final = r"(?:[ ]?[:=]|[ ](?:ist|lautet|es|est|is|jest|\x7f|e|lyder)[ :])"


def _is_key(match: re.Match[str]) -> bool:
    """A key that only a generator writes."""
    return is_generated_word(match) or is_prose_token(match)


_WORD = r"(?P<quote>[\"'`])?(?P<secret>(?(quote)[^\n\f\"'`]{4,512}|[^\s\"'`,]{4,512}))"

PROSE: Final[tuple[Rule, ...]] = (
    Rule("prose-password", "password", "a sentence that tells a password",
         rf"{PASSWORD_WORDS}(?:[ ](?:for|of)[ ][^\n:=]{{1,60}}|[ ][\"'(\[][^\n:=]{{1,40}}[\"')\]])?[ ](?:(?:(?:is|was|has been|been|will be)[ ])?(?:now[ ])?(?:set|changed|reset|updated|rotated)[ ]to|is|was|are|generated|lautet|ist|est|es)[ :]", r"(?:now[ ]|generated[ ]|[a-z]{0,10}\x7f[a-z\x7f]{0,10}[ ]?(?=:))?(?:(?:for|as)[ ][^\s]{1,64}[ :])?[ :]*(?:\r?\n[ \t]*)?(?P<quote>[\"'`])?(?P<secret>(?(quote)[^\n\f\"'`]{1,512}|[^\s\"'`,]{1,512}))", check=is_said_word, caseless=True, fingerprint=False,
         wide=rf"{PASSWORD_WORDS}[ ][^\n]{{0,120}}(?:to|is|was|are|generated|lautet|ist|est|es)[ :]",
         hits=("generated root password is bfxezGXro73~s (change it)", "A temporary password is generated for root@localhost: K.wbfLfX_m01d",
               "the password was changed to K.wbfLfX_m01d today"),
         misses=("the password is required", "password is not set", "the password was rotated")),
    Rule("prose-password-for", "password", "password for …: value",
         rf"{PASSWORD_WORDS}[ ](?:for|of)[ ](?:\\{{0,3}}[\"'][a-z]{{2,8}}://[^\n\"'\\]{{1,100}}\\{{0,3}}[\"']|[^\n:]{{1,100}}):", r"(?:[ ]{1,2}|[ \t]{0,4}(?:\r?\n|\\{1,2}n)[ \t]+)(?P<secret>[a-z]{3,12}(?:[ ][a-z]{3,12}){3,7}(?=[^\w-]|$)|[^\s\"'`,]{3,512})", check=is_told_password, caseless=True, fingerprint=False,
         hits=("initial password for user root: Kq82!mmzT", "Enter passphrase for key '/k': jungle zephyr ivory dolly", "Password for the bob user (see x):\n  Kq82mmzT"), misses=("Password for bob: required",)),
    Rule("prose-token", "secret", "a token in a sentence",
         r"(?:token|api[ _-]?key|access key|secret|credential|bearer|(?:licen[cs]e|auth|recovery|encryption|private|master|signing|session|unseal)[ ]key)s?(?:[ ](?:is|was|has been))?(?:[ ](?:now[ ])?(?:set|changed|reset|updated|rotated)[ ]to)?[ (]", r"[(\[]?\\{0,3}[\"'`]?(?P<secret>[A-Za-z0-9+/=._~-]{16,4096})", check=is_told_key, caseless=True, rank=GUESS,
         hits=(f"DEBUG using api key {mix(30)}", f"invalid token '{mix(30)}'"), misses=(f"secret scanning of {hexa(40)}", f"token {hexa(40)} is a commit")),
    Rule("prose-token-for", "secret", "token for …: value",
         r"(?:token|api[ -]key|access key|secret|credential)s?[ ](?:for|of|from|in|via)[ ][^\n:]{1,60}:", r"[ ]{1,2}(?P<secret>[A-Za-z0-9+/=._~-]{16,4096})", check=is_prose_token, caseless=True, rank=GUESS,
         hits=(f"token for CI: {mix(40)}",), misses=(f"secret for build: {hexa(40)}",)),
    Rule("password-word", "password", "a word after the word password",
         rf"{PASSWORD_WORDS}\\{{0,3}}[\"']?[ \f\t]", r"[ \t]{0,3}\\{0,3}[\"']?(?P<secret>[^\s\"'`,]{6,512})", check=is_word_after, caseless=True, fingerprint=False, rank=GUESS,
         hits=("WARNING: using password T1gerX!9", "set -x PGPASSWORD T1gerX!9kk", '"password" "T1gerX!9"'),
         misses=("grep -w password /etc/session.conf", "password reset at 2025-11-29T10:22:31")),
    Rule("one-time-code", "one-time-code", "a code that opens a session once",
         r"(?:one[- ]?time|verification|2fa|mfa|otp|totp|login|sign[- ]?in|two[- ]?factor|security|sms|digit)[ -](?:auth[a-z]{0,11}[ ])?(?:code|pin|password|passcode)(?:[ ]is|[ ](?:you|sent|received|from|for|to)[ ][^\n]{1,60}:)?[ :=]", r"[ :=]{0,3}(?P<secret>[0-9]{3}[ -]?[0-9]{3,5})(?![0-9]|[.][0-9])", check=is_code, caseless=True, fingerprint=False, rank=SHAPE,
         hits=("Your one-time code is 482913", "MFA code: 482 913"), misses=("2fa code is 123456", "login code 200", "verification code sent")),
    Rule("quoted-password", "password", "a word in quotes after the word password",
         rf"(?:{PASSWORD_WORDS}|ConvertTo-SecureString(?:[ ]-String)?)[ :]{{1,2}}\\?[\"']", r"(?P<secret>[^\"'\n\f\\]{3,512})\\?[\"']", check=is_mixed_word, caseless=True, fingerprint=False,
         hits=("login failed for user 'admin' with password 'dragon_220' from x", "ConvertTo-SecureString 'S*k0!KJ#7KK' -AsPlainText"),
         misses=("unlock keychain: password 'required'",)),
    Rule("told-inline", "secret", "a token that a program made",
         r"(?:api[ -]?key|token|secret(?:[ ]key)?|access[ ]key)[ ](?:is|created|generated|issued|minted|rotated|added|[\"'(][^\n:\"')]{1,40}[\"')]|(?:for|of)[ ][^\n:]{1,40}[ ](?:is|created)):?[ ]", r"[ ]?[\"'`]?(?P<secret>[A-Za-z0-9+/=._~-]{16,4096})", check=is_prose_token, caseless=True, rank=GUESS,
         hits=(f"Your API token is: {mix(40)}. Keep it safe.", f'Created API token "ci": {mix(40)}'), misses=("token is: invalid", f"secret created: {hexa(40)}", "API key (see docs): required")),
)  # fmt: skip

# A rule about a command or a file knows more, so these come behind those.
TOLD: Final[tuple[Rule, ...]] = (
    Rule("new-value", "password", "the value that a program made",
         r"(?:New|Generated|Initial|Temporary)[ ](?:value|one):[ ]", r"[ \t]*(?P<secret>[^\s\"'`]{6,512})", check=_after_password, fingerprint=False,
         hits=("Password for the [bob] user successfully reset.\nNew value: T1gerX=9kk",), misses=("New value: T1gerX=9kk",)),
    Rule("told-login", "password", "user and password in a sentence",
         r"(?:(?:creds?|credentials|logins?|account|access)(?:[ ](?:for|to|on|at)[ ][^\n:]{1,60}|[ ](?:is|are))?:[ ]?[A-Za-z0-9_.@+-]{1,64}(?:[ ]?[/|:][ ]?|[ ]and[ ]|,[ ])|[ (\"'](?:admin|root|administrator):)", r"(?:password[ ])?(?!xnu-)(?P<secret>[^\s\"'`,/]{6,256})", check=is_generated_word, caseless=True, fingerprint=False, rank=GUESS,
         hits=("creds for h.example: admin / T1gerX!9kk (rotate)", "Login: bob / T1gerX!9kk"), misses=("access: read / write-all-2", "account: bob / 2024-11-02")),
    Rule("code-is-yours", "one-time-code", "a one-time code before what it is for",
         r"[0-9]{3}[ ](?:is|as)[ ]your[ ]", r"(?:[A-Za-z0-9'-]{1,20}[ ]){0,4}(?:code|otp|pin|passcode|password)", parts=_code_before, fingerprint=False, rank=SHAPE,
         hits=("G-728130 is your Google verification code.", "779853 is your login code"), misses=("12345 is your ticket number", "use 728130 as your id")),
    Rule("told-abroad", "password", "a password that a program tells in another language",
         rf"{_PASSWORD}[^\n\f:=\"]{{0,50}}?{_SAYS}", rf"[ :]{{0,4}}{_WORD}", check=is_marked_word, caseless=True, fingerprint=False, rank=GUESS,
         hits=("Passwort f\x7fr Benutzer admin: qX5GkECVmzoCX", "Senha do usuario admin: falcon_84", "La contrase\x7fa de admin es: pebble_76", "Wachtwoord voor bob: Welcome#7", "Kennwort f\x7fr bob lautet T1gerX!9"),
         misses=("Passwort ist falsch", "Das Passwort ist zu kurz (mind. 8 Zeichen)", "Mot de passe : requis", "Senha: ********", "wachtwoord is verplicht")),
    Rule("told-key-abroad", "secret", "a key that a program tells in another language",
         rf"{_KEY}[^\n\f:=\"]{{0,50}}?[ ]?[:=]", rf"[ :]{{0,4}}{_WORD}", check=_is_key, caseless=True, rank=GUESS,
         hits=(f"Chave de API: {mix(32)}", f"API-Schl\x7fssel: {mix(32)}"), misses=("clave: valor", "Chave: usuario-2", f"schluessel: {hexa(40)}")),
    Rule("told-set", "password", "a password that was set, in quotes or behind with",
         r"(?:passw(?:or)?d[ ][^\n\"':=]{1,80}?[ ]to[ :]{1,2}[\"'`]|with[ ](?:the[ ])?(?:temporary[ ]|initial[ ]|generated[ ])?passw(?:or)?d[ :]{1,2}[\"'`]?|[,(][ ]generated:[ ])", r"(?P<secret>[^\s\"'`,;)]{5,256})", check=is_marked_word, caseless=True, fingerprint=False, rank=GUESS,
         hits=("reset password for svc-deploy to 'FU97d^m^Y9' (must change)", "Created user admin with password monkey_91"), misses=("set password for bob to 'required'", "login with password prompt", "with password SCRAM-SHA-256", "with password and 2fa")),
    Rule("told-slash", "password", "user / password after a word that says so",
         r"(?:log[ -]?in|sign[ -]?in|credentials?|zugangsdaten|user|use|account|acceso|connexion)[ :][^\n/]{0,60}[ ]/[ ]", r"(?P<secret>[^\s\"'`,/|]{6,256})(?=$|[\s,;.)\"'])", check=lambda match: is_marked_word(match) and (is_generated_word(match) or bool(re.match(r"[A-Za-z]{5,}[_!#.-]?[0-9]{2,4}(?:\.|\Z)", match[SECRET]))), caseless=True, fingerprint=False, rank=GUESS,
         hits=("Created initial admin user: admin@example.com / sunshine-81", "Use admin / Tiger_5956 to log in"), misses=("user: read / write", "account 12 / 2024-11-02", "login page / step-2", "use / 500GB")),
)  # fmt: skip
