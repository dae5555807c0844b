"""What a redaction rule is: one row that says how a kind of secret looks."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

# True if what the pattern found is a secret indeed.
Check = Callable[[re.Match[str]], bool]

# Where in the text the secrets of a match are.
Parts = Callable[[re.Match[str]], Iterable[tuple[int, int]]]

# A group of this name is the secret; without one the whole match is.
SECRET: Final = "secret"  # noqa: S105
# The engine unrolls a bounded repeat; an unbounded one costs it nothing and finds no less.
_LONG_REPEAT: Final = re.compile(r"\{([01]),[0-9]{2,}\}")
_OPEN: Final = f"(?P<{SECRET}>"
# So many letters at the end of a pattern are proof enough to look: each one costs at the start.
_LONG_TAIL: Final = re.compile(r"(?<!\\)\{(?:1[3-9]|[2-9][0-9]|[0-9]{3,})(?:,[0-9]*)?\}(\)?)\Z")
_TAIL_ENOUGH: Final = 12
# What may stand before a token that starts like an ordinary word; stage 1 does without.
EDGE: Final = r"(?:^|[^A-Za-z0-9]|%[0-9A-Fa-f]{2}|\\[nrt])"
_NAMED_GROUP: Final = re.compile(r"\(\?P?<[A-Za-z_][A-Za-z0-9_]*>")

# Lower is named first when two rules mask the same text.
USER, PROVIDER, SHAPE, CONTEXT, GUESS = -1, 0, 1, 2, 3
# A pattern of a user may be built against itself; ours are tested to be linear.
USER_RULE_TIMEOUT_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to see a secret.

    `proof` is what stage 1 scans for in whole columns: it ends as soon as a hit is likely and knows
    no look-around. `proof + rest` is what stage 2 confirms in the hit rows; so stage 1 can never
    lose what stage 2 would mask. `wide` is scanned for in its place where a proof is costly for the
    engine to build: it must match wherever `proof` does (sampled in the tests); what else it sees
    is looked at in vain. If `proof` opens the group `secret`, `rest` closes it. `parts` picks the
    secrets out of what `check` let pass. Both stages see ASCII only (`view.py`). `hits`
    and `misses` are texts that must and must not be masked; they run as tests, and stage 1 must
    see every hit when the redactor starts.
    """

    id: str
    kind: str
    description: str
    proof: str
    rest: str = ""
    wide: str = ""
    check: Check | None = None
    parts: Parts | None = None
    caseless: bool = False
    fingerprint: bool = True
    rank: int = CONTEXT
    # A rule of a pack: its `proof` is the whole pattern, and it gets a time limit.
    user: bool = False
    drops_field: bool = False
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()

    def scanned(self) -> str:
        """The pattern of stage 1: the proof, or a wider one where that is cheaper."""
        if self.user:
            return _NAMED_GROUP.sub("(?:", self.proof)
        bare = (self.wide or self.proof).removeprefix(EDGE).replace(_OPEN, "")
        wide = _LONG_REPEAT.sub(lambda bound: "+" if bound[1] == "1" else "*", bare)
        return wide if self.wide else _LONG_TAIL.sub(rf"{{{_TAIL_ENOUGH}}}\1", wide)

    def confirm(self) -> re.Pattern[str]:
        """The pattern of stage 2."""
        return _compile(self.proof, self.rest, self.caseless)

    def matches(self, text: str) -> Iterator[Any]:
        """Every match of stage 2. Raises TimeoutError if a user's pattern takes too long."""
        if not self.user:
            return self.confirm().finditer(text)
        found: Iterator[Any] = _compile_user(self.proof, self.caseless).finditer(
            text, timeout=USER_RULE_TIMEOUT_S
        )
        return found


@dataclass(frozen=True, slots=True)
class Keep:
    """A user's exception: what `pattern` covers is not masked by `rules` (by any, if empty)."""

    id: str
    pattern: str
    caseless: bool = False
    rules: tuple[str, ...] = ()

    def covers(self, text: str) -> list[tuple[int, int]]:
        """What is to be left alone. Raises TimeoutError if the pattern takes too long."""
        pattern = _compile_user(self.pattern, self.caseless)
        return [match.span(SECRET) for match in pattern.finditer(text, timeout=USER_RULE_TIMEOUT_S)]


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) that a rule masks; `secret` is what the fingerprint names."""

    start: int
    end: int
    rule: Rule
    secret: str


@cache
def _compile(proof: str, rest: str, caseless: bool) -> re.Pattern[str]:
    whole = proof + rest
    pattern = whole if _OPEN in whole else f"{_OPEN}{whole})"
    return re.compile(pattern, re.ASCII | re.MULTILINE | (re.IGNORECASE if caseless else 0))


@cache
def _compile_user(pattern: str, caseless: bool) -> Any:
    # Of the two engines this one can be given a time limit.
    import regex

    whole = pattern if _OPEN in pattern else f"{_OPEN}{pattern})"
    flags = regex.ASCII | regex.MULTILINE | (regex.IGNORECASE if caseless else 0)
    return regex.compile(whole, flags)
