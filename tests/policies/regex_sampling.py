"""Texts that a regular expression matches, and the part of them that is the secret."""

import importlib
import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

parser: Any = importlib.import_module("re._parser")
codes: Any = importlib.import_module("re._constants")

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
PRINTABLE = [chr(code) for code in range(32, 127)] + ["\t", "\n"]
# What else our own patterns know: the border of two arguments, a folded letter, an escape.
OURS = [*PRINTABLE, "\f", "\x7f", "\x1b"]
TRIES = 40
HALF = 0.5
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


def _any_of(rng: Random, items: list[tuple[Any, Any]]) -> str:
    """As `_one_of`, with signs as often as letters."""
    negated = any(op is codes.NEGATE for op, _ in items)
    chars = [char for char in OURS if _holds(items, char) != negated] or ["x"]
    letters = [char for char in chars if char in LETTERS]
    return rng.choice(letters if letters and rng.random() < HALF else chars)


def _write(
    rng: Random,
    tree: Any,
    out: list[str],
    one_of: Callable[[Random, list[tuple[Any, Any]]], str] = _one_of,
) -> None:
    for op, value in tree:
        if op is codes.LITERAL:
            out.append(chr(value))
        elif op is codes.NOT_LITERAL:
            out.append("y" if value == ord("x") else "x")
        elif op is codes.ANY:
            out.append(rng.choice(LETTERS))
        elif op is codes.IN:
            out.append(one_of(rng, value))
        elif op is codes.BRANCH:
            _write(rng, rng.choice(value[1]), out, one_of)
        elif op is codes.SUBPATTERN:
            _write(rng, value[3], out, one_of)
        elif op in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            least, most, inner = value
            for _ in range(rng.randint(least, min(int(most), least + (MORE if least else 1)))):
                _write(rng, inner, out, one_of)


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


def seen_by(rng: Random, source: str, flags: re.RegexFlag, count: int) -> Iterator[str]:
    """Texts in which the pattern matches, about `count`: in any case, alone or beside others."""
    tree, pattern = parser.parse(source, flags), re.compile(source, flags)
    for _ in range(count):
        out: list[str] = []
        _write(rng, tree, out, _any_of)
        text = "".join(out)
        if flags & re.IGNORECASE:
            turn = rng.choice((str, str.upper, str.swapcase, lambda t: _mixed(rng, t)))
            text = turn(text)
        before, behind = rng.choice((("", ""), ("x ", ""), ("", "Zx81kk2q"), ("a=b; ", " c")))
        if pattern.search(before + text + behind):
            yield before + text + behind


def _mixed(rng: Random, text: str) -> str:
    return "".join(rng.choice((char.lower(), char.upper())) for char in text)
