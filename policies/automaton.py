"""Path globs as automata: exactly what one covers, what two share, and a path that shows it.

Only canonical absolute paths count (no empty component, no `.` or `..`). Characters that no pattern
tells apart are one letter, so the search is over few letters whatever the patterns hold.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

from policies.glob import path_components

# States looked at for one policy, some 50 µs each; beyond it questions stay open.
MAX_STATES: Final = 15_000
_LAST: Final = 0x10FFFF
# Letters a reader likes to see in a witness, the best first.
_NICE: Final = "xabcdefghijklmnopqrstuvwyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_-"
Ranges = tuple[tuple[int, int], ...]
_NOT_SLASH: Final[Ranges] = ((0, 0x2E), (0x30, _LAST))
_SLASH: Final[Ranges] = ((0x2F, 0x2F),)
_ALL: Final[Ranges] = ((0, _LAST),)


class TooManyStates(Exception):  # noqa: N818 - not an error of anybody
    """The search was given up."""


class Patience:
    """How many states may still be looked at, over all searches that share it."""

    def __init__(self, states: int = MAX_STATES) -> None:
        self._left = states

    def spend(self, states: int = 1) -> None:
        """One state, or as much work; raises TooManyStates when none is left."""
        self._left -= states
        if self._left < 0:
            raise TooManyStates


class Automaton:
    """A nondeterministic automaton of one pattern: steps on ranges of characters, and jumps."""

    def __init__(self, pattern: str) -> None:
        self.steps: list[list[tuple[Ranges, int]]] = [[]]
        self.jumps: list[list[int]] = [[]]
        bare = pattern.rstrip("/")
        if bare in {"", "/**"}:
            at = self._step(0, _SLASH)
            self._loop(at, _ALL)
        else:
            at = self._components(path_components(pattern))
        self.accepts = at

    def _state(self) -> int:
        self.steps.append([])
        self.jumps.append([])
        return len(self.steps) - 1

    def _step(self, start: int, ranges: Ranges) -> int:
        end = self._state()
        self.steps[start].append((ranges, end))
        return end

    def _loop(self, at: int, ranges: Ranges) -> None:
        self.steps[at].append((ranges, at))

    def _components(self, components: list[Any]) -> int:
        at, last = 0, len(components) - 1
        if components == [None]:
            self._loop(0, _ALL)
            return 0
        for number, component in enumerate(components):
            if component is None:
                at = self._some(at, final=number == last)
                continue
            at = self._component(at, component)
            if number < last and not (components[number + 1] is None and number + 1 == last):
                at = self._step(at, _SLASH)
        return at

    def _some(self, start: int, *, final: bool) -> int:
        """Zero or more whole components: `(…/)?` or, at the end, `(/…)?`."""
        end = self._state()
        self.jumps[start].append(end)
        if final:
            inside = self._step(start, _SLASH)
            self._loop(inside, _ALL)
            self.jumps[inside].append(end)
        else:
            inside = self._state()
            self.jumps[start].append(inside)
            self._loop(inside, _ALL)
            self.steps[inside].append((_SLASH, end))
        return end

    def _component(self, at: int, parts: list[Any]) -> int:
        stars = [part.regex == "[^/]*" for part in parts]
        if parts and all(stars):
            at = self._step(at, _NOT_SLASH)
            self._loop(at, _NOT_SLASH)
            return at
        for part, star in zip(parts, stars, strict=True):
            if star:
                # A state of its own: the one before may be left by other steps.
                inside = self._state()
                self.jumps[at].append(inside)
                self._loop(inside, _NOT_SLASH)
                at = inside
            elif part.literal:
                for char in part.text:
                    at = self._step(at, ((ord(char), ord(char)),))
            else:
                at = self._step(at, part.ranges if part.text[0] == "[" else _NOT_SLASH)
        return at

    def closed(self, states: Iterable[int]) -> frozenset[int]:
        """The states and all that jumps lead to."""
        found = set(states)
        queue = list(found)
        while queue:
            for target in self.jumps[queue.pop()]:
                if target not in found:
                    found.add(target)
                    queue.append(target)
        return frozenset(found)

    def after(self, states: frozenset[int], code: int) -> frozenset[int]:
        """The states after one character."""
        return self.closed(
            target
            for state in states
            for ranges, target in self.steps[state]
            if any(low <= code <= high for low, high in ranges)
        )


def letters(automata: Sequence[Automaton]) -> list[int]:
    """One character of each kind that the patterns tell apart, nice ones first."""
    borders = {0, 0x2E, 0x2F, 0x30, _LAST + 1}
    for automaton in automata:
        for steps in automaton.steps:
            for ranges, _ in steps:
                borders.update(border for low, high in ranges for border in (low, high + 1))
    ordered = sorted(borders)
    nice = [ord(char) for char in _NICE]
    found = [
        next((code for code in nice if low <= code < end), max(low, 1))
        for low, end in pairwise(ordered)
    ]
    rank = {code: n for n, code in enumerate(nice)}
    return sorted(set(found), key=lambda code: (rank.get(code, 999), code))


# Where a path stands: nothing read, at the start of a component, after `.`, after `..`, inside one.
_EMPTY, _START, _DOT, _DOTS, _INSIDE, _BAD = range(6)


def _place(place: int, char: str) -> int:
    """Where a canonical path stands after one more character."""
    if char == "\0" or place == _BAD:
        return _BAD
    if place == _EMPTY:
        return _START if char == "/" else _BAD
    if char == "/":
        return _START if place == _INSIDE else _BAD
    if char == ".":
        return {_START: _DOT, _DOT: _DOTS}.get(place, _INSIDE)
    return _INSIDE


def _whole(place: int, length: int) -> bool:
    """Whether a path may end here; `/` alone may."""
    return place == _INSIDE or (place == _START and length == 1)


def uncovered(
    pattern: Automaton, others: Sequence[Automaton], patience: Patience | None = None
) -> str | None:
    """A shortest path of `pattern` that none of the others covers; None if they cover it whole.

    Raises TooManyStates where that would take too long.
    """
    return _search(pattern, others, patience or Patience(), shared=False)


def shared(pattern: Automaton, other: Automaton, patience: Patience | None = None) -> str | None:
    """A shortest path that both cover; None if there is none. Raises TooManyStates."""
    return _search(pattern, [other], patience or Patience(), shared=True)


def _search(
    pattern: Automaton, others: Sequence[Automaton], patience: Patience, *, shared: bool
) -> str | None:
    alphabet = [(code, chr(code)) for code in letters([pattern, *others])]
    start = (_EMPTY, pattern.closed([0]), tuple(other.closed([0]) for other in others))
    seen = {start}
    queue = deque([(start, "")])
    while queue:
        (place, mine, theirs), text = queue.popleft()
        if _whole(place, len(text)) and pattern.accepts in mine:
            covered = any(o.accepts in s for o, s in zip(others, theirs, strict=True))
            if covered == shared:
                return text
        for code, char in alphabet:
            where = _place(place, char)
            after = pattern.after(mine, code) if where != _BAD else frozenset()
            if not after:
                continue
            rest = tuple(o.after(s, code) for o, s in zip(others, theirs, strict=True))
            if shared and not rest[0]:
                continue
            state = (where, after, rest)
            if state not in seen:
                patience.spend()
                seen.add(state)
                queue.append((state, text + char))
    return None
