"""Exact inclusion and overlap of globs against trying every short path."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.automaton import Automaton, shared, uncovered
from policies.glob import compile_glob

COMPONENTS = ("a", "b", ".", "ab", "ba", "a.", "aa", "bb", "x")
DEPTH = 4
PATHS = ["/", *(
    "/" + "/".join(parts)
    for n in range(1, DEPTH)
    for parts in itertools.product([c for c in COMPONENTS if c != "."], repeat=n)
)]  # fmt: skip
PART = st.sampled_from(
    [
        "a",
        "b",
        "*",
        "?",
        "**",
        "a*",
        "*b",
        "[ab]",
        "[!a]",
        "a?",
        "*a*",
        "[a-b]x",
        "?*",
        "a.",
        "[!/]",
    ]
)
PATTERN = st.tuples(st.booleans(), st.lists(PART, min_size=1, max_size=3)).map(
    lambda made: ("**/" if made[0] else "/") + "/".join(made[1])
)


def canonical(path: str) -> bool:
    """Absolute, no empty component, no dots."""
    parts = path.split("/")[1:]
    return path == "/" or (path[0] == "/" and all(p not in ("", ".", "..") for p in parts))


@settings(max_examples=400, deadline=None)
@given(PATTERN, st.lists(PATTERN, min_size=1, max_size=3))
def test_inclusion_is_exact(pattern: str, others: list[str]) -> None:
    """A witness is covered by the pattern and by no other; without one no path is."""
    glob, rest = compile_glob(pattern), [compile_glob(other) for other in others]
    witness = uncovered(Automaton(pattern), [Automaton(other) for other in others])
    if witness is not None:
        assert canonical(witness)
        assert glob.matches(witness)
        assert not any(other.matches(witness) for other in rest)
    else:
        mine = [path for path in PATHS if glob.matches(path)]
        assert all(any(other.matches(path) for other in rest) for path in mine)


@settings(max_examples=300, deadline=None)
@given(PATTERN, PATTERN)
def test_overlap_is_exact(one: str, two: str) -> None:
    """A witness is covered by both; without one no path is."""
    globs = compile_glob(one), compile_glob(two)
    witness = shared(Automaton(one), Automaton(two))
    if witness is not None:
        assert canonical(witness)
        assert all(glob.matches(witness) for glob in globs)
    else:
        assert not any(all(glob.matches(path) for glob in globs) for path in PATHS)


@settings(max_examples=300, deadline=None)
@given(PATTERN, st.sampled_from(PATHS))
def test_an_automaton_covers_what_its_glob_covers(pattern: str, path: str) -> None:
    """Character by character the same language."""
    automaton = Automaton(pattern)
    states = automaton.closed([0])
    for char in path:
        states = automaton.after(states, ord(char))
    assert (automaton.accepts in states) == compile_glob(pattern).matches(path)
