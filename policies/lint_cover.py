"""Which rules cover a rule whole: guessed by sample paths, proved by automata."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Final

from policies.automaton import Automaton, Patience, uncovered
from policies.glob import Glob, path_components, rule_pattern
from policies.model import PathRule

# A component that no policy names.
_FRESH: Final = "qzxv"
# Globs tried in the time of one state.
_TRIES_A_STATE: Final = 64


class Cover:
    """Rules of one section and one access; says which of them cover a path, or a whole rule."""

    def __init__(self, rules: Sequence[PathRule]) -> None:
        self._rules = {rule.index: rule for rule in rules}
        self._anywhere: set[int] = set()
        self._folders: dict[str, list[int]] = {}
        self._names: dict[str, list[int]] = {}
        self._rest: list[tuple[int, str, Glob]] = []
        for rule in rules:
            self._add(rule.index, rule_pattern(rule.path))
        self._depths = sorted({path.count("/") + 1 for path in self._folders})

    def _add(self, index: int, glob: Glob) -> None:
        kinds = [kind for kind, _ in glob.clauses]
        text = glob.clauses[0][1] if glob.clauses else ""
        if kinds == ["any"] or (kinds == ["starts"] and text == "/"):
            self._anywhere.add(index)
        elif kinds == ["is", "starts"]:
            self._folders.setdefault(text, []).append(index)
        elif kinds == ["is", "starts", "ends", "holds"] and "/" not in text:
            self._names.setdefault(text, []).append(index)
        else:
            self._rest.append((index, literal_head(glob.pattern), glob))

    def drop(self, rule: PathRule) -> None:
        """Forget a rule that adds nothing."""
        del self._rules[rule.index]

    def of_path(self, path: str, patience: Patience) -> set[int]:
        """The indices of the rules that cover a path."""
        patience.spend(len(self._rest) // _TRIES_A_STATE)
        found = set(self._anywhere)
        parts = path.split("/")
        for depth in self._depths:
            if depth > len(parts):
                break
            found.update(self._folders.get("/".join(parts[:depth]), ()))
        for part in parts:
            found.update(self._names.get(part, ()))
        for index, head, glob in self._rest:
            if path.startswith(head) and glob.matches(path):
                found.add(index)
        return found & self._rules.keys()

    def of_rule(self, rule: PathRule, patience: Patience, *, own: bool) -> list[str] | None:
        """Names of rules that together cover a rule whole, itself left out if `own`; else None.

        Exact: samples only say where to look. Raises TooManyStates.
        """
        apart = {rule.index} if own else set()
        chosen: set[int] = set()
        for path in samples(rule.path):
            found = self.of_path(path, patience) - apart
            if not found:
                return None
            if not found & chosen:
                chosen.add(min(found))
        mine = automaton_of(rule.path)
        while True:
            others = [automaton_of(self._rules[index].path) for index in sorted(chosen)]
            witness = uncovered(mine, others, patience)
            if witness is None:
                return [self._rules[index].name for index in self._needed(mine, chosen, patience)]
            found = self.of_path(witness, patience) - apart
            if not found:
                return None
            chosen.add(min(found))

    def _needed(self, mine: Automaton, chosen: set[int], patience: Patience) -> list[int]:
        """The chosen ones without those that the others make needless."""
        kept = sorted(chosen)
        for index in sorted(chosen, reverse=True):
            fewer = [other for other in kept if other != index]
            automata = [automaton_of(self._rules[other].path) for other in fewer]
            if fewer and uncovered(mine, automata, patience) is None:
                kept = fewer
        return kept


@lru_cache(maxsize=1_024)
def automaton_of(pattern: str) -> Automaton:
    """The automaton of a pattern."""
    return Automaton(pattern)


def literal_head(pattern: str) -> str:
    """What every path of a pattern starts with, as plain text."""
    ends = [at for sign in "*?[\\" if (at := pattern.find(sign)) >= 0]
    head = pattern[: min(ends)] if ends else pattern
    return head.rpartition("/")[0] if ends else head


@lru_cache(maxsize=4_096)
def samples(pattern: str) -> list[str]:
    """Some paths of a pattern: the shortest, and with components that no policy names."""
    bare = pattern.rstrip("/")
    if bare in {"", "/**"}:
        return ["/", f"/{_FRESH}"]
    if not any(sign in bare for sign in "*?[\\"):
        return [bare, f"{bare}/{_FRESH}"]
    components = path_components(pattern)
    made = [_sample(components, fill) for fill in ([], [_FRESH], [_FRESH, _FRESH])]
    glob = rule_pattern(pattern)
    # Only what needs a regular expression may have been filled in wrongly.
    sure = bool(glob.clauses)
    return [path for path in dict.fromkeys(made) if sure or glob.matches(path)]


def _sample(components: Iterable[Any], fill: list[str]) -> str:
    parts: list[str] = []
    for component in components:
        if component is None:
            parts += fill
        else:
            parts.append("".join(_text(part) for part in component))
    kept = [part for part in parts if part]
    return "/" + "/".join(kept)


def _text(part: Any) -> str:
    if part.literal:
        return str(part.text)
    if part.text == "*":
        return _FRESH
    if part.text == "?":
        return _FRESH[0]
    good = [low for low, high in part.ranges for low in (low, high) if 0x20 < low < 0x7F]
    return chr(good[0]) if good else "".join(chr(low) for low, _ in part.ranges[:1])
