"""Checks of a value by itself: what a rule found, is it a secret?"""

import re
from typing import Final

from policies.redact.generated import (
    ALL_CLASSES,
    HEX,
    UUID,
    classes,
    generated_case,
    random_looking,
    slug,
)
from policies.redact.harmless.expressions import code
from policies.redact.harmless.names import names_a_secret
from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import SECRET
from policies.redact.values import (
    FILE_ENDING,
    is_argument,
    is_generated_word,
    is_mixed_word,
    is_password,
)


def three_kinds(match: re.Match[str]) -> bool:
    """Both cases and at least two runs of digits: what a generator writes, and no name is."""
    value: str = match[SECRET]
    runs = len(re.findall(r"[0-9]+", value))
    return runs > 1 and value.upper() != value and value.lower() != value


def private_and_mixed(match: re.Match[str]) -> bool:
    """As `three_kinds`, and no key that is made to be published."""
    value: str = match[SECRET]
    if re.match(r"(?i)pk|pub|phc|site", value):
        return False
    return three_kinds(match) or generated_case(re.split("[_-]", value)[-1])


_DIGIT_RUNS: Final = 4


def is_hook_id(match: re.Match[str]) -> bool:
    """Letters and digits by turns, and neither a UUID nor a digest."""
    value: str = match[SECRET]
    if three_kinds(match):
        return True
    runs = len(re.findall(r"[0-9]+", value))
    return value.isalnum() and runs >= _DIGIT_RUNS and not re.fullmatch(r"[0-9a-f]+", value)


# Longer than any name without a sign in it.
_LONG_TOKEN: Final = 40
SIGNS: Final = re.compile(r"[!#%^*~?@$&+]")


def is_strong_password(match: re.Match[str]) -> bool:
    """Behind a flag that means many things: with signs no name has, or as mixed as a key."""
    value = FILE_ENDING.sub("", match[SECRET])
    if placeholder(value) or re.search(r"[/:=,|<>(){}\[\]]", value):
        return False
    if SIGNS.search(value[1:]):
        return classes(value) >= ALL_CLASSES
    if not value.isalnum():
        return False
    runs = len(re.findall(r"[0-9]+", value))
    long = (
        len(value) > _LONG_TOKEN and runs >= _DIGIT_RUNS and not re.fullmatch("[0-9a-fA-F]+", value)
    )
    return bool(long) or (three_kinds(match) and runs > 2)


def is_protocol_word(match: re.Match[str]) -> bool:
    """What follows a command of a protocol: generated, and no name of a file."""
    value: str = match[SECRET]
    stem = FILE_ENDING.sub("", value)
    file_like = "/" in value or (stem != value and classes(stem) < ALL_CLASSES)
    return is_generated_word(match) and not file_like


_SESSION: Final = re.compile(r"(?i)sess|sid|myacinfo|remember|jwt|csrf")
_SESSION_CHARS: Final = 16


def is_named_value(match: re.Match[str]) -> bool:
    """The value of an object with a name: of a session only what a generator wrote."""
    if _SESSION.match(match["key"]):
        return random_looking(match[SECRET], _SESSION_CHARS) and not placeholder(match[SECRET])
    return is_password(match)


def is_pair_value(match: re.Match[str]) -> bool:
    """The second of two arguments: generated, no message and no other name."""
    value: str = match[SECRET]
    return is_password(match) and (is_generated_word(match) or random_looking(value, 20))


_PLAIN_KEY: Final = re.compile(r"(?i)[0-9a-f]{24,128}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_likely(match: re.Match[str]) -> bool:
    """Where a command logs in: a generated word, or a key in hex or as a UUID."""
    key = _PLAIN_KEY.fullmatch(match[SECRET].rstrip("\"'"))
    return is_generated_word(match) or key is not None


# As long as a digest of a commit or an image, which also stands behind such names.
_DIGEST_CHARS: Final = (40, 64)
_LEAST_CHARS: Final = 20
_HEX_CHARS: Final = 32

# OP_SESSION_acme: whose session it is.
_OF_WHOM: Final = re.compile(r"(?<=SESSION)_[A-Za-z0-9]+\Z")

# `--key AuthKey_8MI2059C0O.p8`: the file that holds it.
_KEY_FILE: Final = re.compile(r"\.(?:p8|pem|p12|pfx|jks|ppk|der|crt|cer|key)\Z")


def is_hidden_key(match: re.Match[str]) -> bool:
    """A generated value behind a name that may mean many things."""
    value, name = FILE_ENDING.sub("", match[SECRET]), _OF_WHOM.sub("", match["key"])
    if (
        not names_a_secret(name)
        or placeholder(value)
        or value.lstrip("-=").startswith(("/", "~", "."))
        or (name.endswith("key") and _KEY_FILE.search(match[SECRET]))
    ):
        return False
    if re.fullmatch(r"[0-9A-Fa-f]+", value):
        return len(value) >= _HEX_CHARS and (
            len(value) not in _DIGEST_CHARS or bool(re.search("[_-]", name))
        )
    if is_generated_word(match):
        return True
    return random_looking(value, _LEAST_CHARS) and value.isalnum()


def is_windows_argument(match: re.Match[str]) -> bool:
    """`/p:X`; a build tool sets a property with it, `/p:Name=value`."""
    return is_argument(match) and not re.match(r"[A-Za-z_.]+=", match[SECRET])


# A name of a password; behind other names only what a generator wrote counts.
SAYS_PASSWORD: Final = re.compile(r"(?i)pass|pw|kennwort|senha|contrase")


def is_key(value: str) -> bool:
    """What only a generator writes."""
    if placeholder(value):
        return False
    if UUID.fullmatch(value) or HEX.fullmatch(value):
        return any(c.isdigit() for c in value)
    return random_looking(value) and not slug(value) and classes(value) > 1


# What follows the word password in a setting and says how it is hashed or sent.
METHOD: Final = re.compile(r"(?i)(?:sha|md5|scram|bcrypt|argon|pbkdf|aes|rsa|hmac|utf)[-_0-9].*")


def is_marked_word(match: re.Match[str]) -> bool:
    """A word with a digit or a sign in it that is no method."""
    value = FILE_ENDING.sub("", match[SECRET])
    digit_or_sign = re.search(r"[0-9!#%^*~?$&+]", value)
    return (
        bool(digit_or_sign)
        and is_mixed_word(match)
        and not METHOD.fullmatch(value)
        and not code(value)
    )
