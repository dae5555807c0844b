"""Texts that a regular expression matches, and the part of them that is the secret."""

import importlib
import re
from random import Random
from typing import Any

parser: Any = importlib.import_module("re._parser")
codes: Any = importlib.import_module("re._constants")

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
PRINTABLE = [chr(code) for code in range(32, 127)] + ["\t", "\n"]
TRIES = 40
# How much longer than its least a repeat may get.
MORE = 6


def _is(category: str, char: str) -> bool:
    name = category.rsplit("_", 1)[1]
    found = {
        "DIGIT": char.isdigit(), "SPACE": char.isspace(), "WORD": char.isalnum() or char == "_",
    }[name]  # fmt: skip
    return found != ("NOT" in category)


def _holds(items: list[tuple[Any, Any]], char: str) -> bool:
    for op, value in items:
        if op is codes.LITERAL and value == ord(char):
            return True
        if op is codes.RANGE and value[0] <= ord(char) <= value[1]:
            return True
        if op is codes.CATEGORY and _is(str(value), char):
            return True
    return False


def _one_of(rng: Random, items: list[tuple[Any, Any]]) -> str:
    negated = any(op is codes.NEGATE for op, _ in items)
    chars = [char for char in PRINTABLE if _holds(items, char) != negated]
    return rng.choice(
        [c for c in chars if c in LETTERS] or [c for c in chars if c != "\n"] or ["x"]
    )


def _write(rng: Random, tree: Any, out: list[str]) -> None:
    for op, value in tree:
        if op is codes.LITERAL:
            out.append(chr(value))
        elif op is codes.NOT_LITERAL:
            out.append("y" if value == ord("x") else "x")
        elif op is codes.ANY:
            out.append(rng.choice(LETTERS))
        elif op is codes.IN:
            out.append(_one_of(rng, value))
        elif op is codes.BRANCH:
            _write(rng, rng.choice(value[1]), out)
        elif op is codes.SUBPATTERN:
            _write(rng, value[3], out)
        elif op in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            least, most, inner = value
            for _ in range(rng.randint(least, min(int(most), least + (MORE if least else 1)))):
                _write(rng, inner, out)


def sample(rng: Random, source: str) -> re.Match[str] | None:
    """A match of the pattern in a text made for it; None if none could be made.

    Raises re.error for a pattern that Python's engine does not know.
    """
    flags = re.IGNORECASE if "(?i)" in source else re.NOFLAG
    plain = source.replace("(?i)", "").replace(r"\z", r"\Z")
    plain = plain.replace("[:alnum:]", "A-Za-z0-9")
    tree, pattern = parser.parse(plain, flags), re.compile(plain, flags)
    for _ in range(TRIES):
        out: list[str] = []
        _write(rng, tree, out)
        if match := pattern.search("".join(out)):
            return match
    return None
