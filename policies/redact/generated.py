"""Does a value look like a generator's work, or like words that a person put together?"""

import re
from typing import Final

# Fewer different characters are a pattern, not a generator's work (three bits a character).
_MANY_LETTERS: Final = 8
# As many as `classes` tells apart.
ALL_CLASSES: Final = 4
# A piece of a slug: a word, a version, a hash.
_SLUG_PIECE: Final = re.compile(r"[A-Za-z]+|[0-9]+(?:\.[0-9]+)*|v[0-9]+|[0-9a-f]{7,}|[0-9A-F]{7,}")
HEX: Final = re.compile(r"(?i)[0-9a-f]{24,128}")
UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


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


def slug(value: str) -> bool:
    """Words, numbers and hashes with signs between them: a name."""
    return all(_SLUG_PIECE.fullmatch(piece) for piece in re.split(r"[-_.:/]", value))


_BASE64: Final = re.compile(r"[A-Za-z0-9+/]{20,}={0,2}")
_RUN: Final = re.compile(r"[a-z]+|[A-Z]+|[0-9]+")
# A generator changes between lower case, upper case and digits every 1.6 letters, a name every 4.
_SHUFFLED_RUN_CHARS: Final = 2.8


def shuffled(value: str) -> bool:
    """Base64 by its look: all three kinds of characters, changing all the time."""
    if not _BASE64.fullmatch(value):
        return False
    runs = _RUN.findall(value)
    kinds = {run[0].isdigit() + 2 * run[0].isupper() for run in runs}
    return len(kinds) > 2 and len(value) / len(runs) < _SHUFFLED_RUN_CHARS


# A generator changes the case every three letters, a programmer with each word.
_HUMP: Final = re.compile(r"[a-z0-9](?=[A-Z])")
PIECE: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_WORD: Final = re.compile(r"[a-z]{6}")
_LONG_WORD: Final = re.compile(r"[a-z]{8}")
_LEAST_GENERATED: Final = 12
_LEAST_WITH_DIGIT, _LEAST_WITHOUT, _LEAST_HUMPS = 9, 16, 3
_DIGIT_BETWEEN: Final = re.compile(r"[A-Za-z_.][0-9]+[A-Za-z]")
_GENERATED_PIECE_CHARS: Final = 3.3


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
    return len(letters) < _GENERATED_PIECE_CHARS * len(PIECE.findall(value))


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
    return len(letters) < (2.0 if digit else 2.5) * len(PIECE.findall(value))


def generated_case(value: str) -> bool:
    """Letters alone, whose case changes as in no name."""
    if not value.isalpha() or len(value) < _LEAST_WITHOUT or _LONG_WORD.search(value):
        return False
    return len(value) < 2.5 * len(PIECE.findall(value)) and len(_HUMP.findall(value)) > 3


# `-CW1wsfTkdTZ`: no flag has a digit inside, both cases and no word.
_FLAG_WORD: Final = re.compile(r"[a-z]{5}")
_LEAST_BEHIND_DASH: Final = 8


def generated_behind_dash(value: str) -> bool:
    """A password that begins with a dash, and no flag."""
    letters = value.lstrip("-")
    return (
        value.startswith("-")
        and len(letters) >= _LEAST_BEHIND_DASH
        and classes(letters.replace("-", "").replace("_", "")) > 2
        and bool(_DIGIT_BETWEEN.search(letters))
        and not _FLAG_WORD.search(letters)
    )


_LEAST_SCRAMBLED: Final = 12
_LETTERS_A_RUN: Final = 2.8


def scrambled(value: str) -> bool:
    """Letters only, in both cases by turns as in no word: a generator may do without digits."""
    runs, capitals = len(re.findall(r"[a-z]+|[A-Z]+", value)), sum(c.isupper() for c in value)
    if re.fullmatch(r"[a-z]*(?:[A-Z][a-z]+)+", value) and len(value) >= 3 * capitals:
        return False
    return value.isalpha() and len(value) >= _LEAST_SCRAMBLED and len(value) < _LETTERS_A_RUN * runs


def long_and_mixed(value: str) -> bool:
    """Long, with letters of both cases and digits, or as long as a key."""
    mixed = len(value) >= _LEAST_MIXED and re.search("[0-9]", value) and classes(value) > 2
    plain = random_looking(value, 20) and not re.search("[-/]", value)
    return plain or bool(mixed and value.lower() != value and value.upper() != value)


_LEAST_MIXED: Final = 12
