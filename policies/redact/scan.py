"""Stage 1: which texts of a whole column may hold a secret, and of which rule."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from policies.redact.rule import Rule

# What damaged builds of the engine are known to lose (vectorscan #231, #358, #382, and one found
# by fuzzing): patterns compiled together, flags, a text in which the first of them must match.
KNOWN_ANSWERS: Final[tuple[tuple[tuple[bytes, ...], tuple[str, ...], bytes], ...]] = (
    (
        (rb"^.*MAPLE.*IX.*$", rb"^.*COCO.*NUT.*$", rb"^.*PEACH.*ROSES.*LILI.*$", rb"^ALPHA ONE.*$",
         rb"^PEACH \*VANILLA.*$", rb"^DD.*BEACON 800-123-4567$", rb"^.*WANG.*LI.*ZHU.*$"),
        ("CASELESS",), b"MAPLE STREET NORTHERN PHOENIX",
    ),
    (
        (rb"<%[\s\S]+%>", rb"<[^<>]+:(add|drop|move|copy|getValue|setValue|useItem|element|param)",
         rb"[\$#]{[\s\S]+\([\s\S]*\)[\s\S]*}"),
        (), b"<%print(x);int b%>",
    ),
    ((rb"wget.*\|\s*perl",), ("DOTALL",), b"wget http://abcd:8000/ 2>&1 | perl"),
    ((rb"\s--?[\w\-]{0,30}(?:user|pw)\s[^$<]",), (), b"/usr/bin/tool run --user x"),
)  # fmt: skip

# Rule ids that hit a text, by text number.
Hits = dict[int, list[int]]


class SelfTestError(RuntimeError):
    """The matching engine loses what it must find: nothing may be written."""


class Scanner:
    """Finds the (text, rule) pairs worth a second look; ASCII texts only.

    Without the engine every pair is: the answers are the same, only slow.
    """

    def __init__(self, rules: Sequence[Rule], *, engine: bool = True) -> None:
        """Raises SelfTestError if the engine misses a known answer or an example of a rule."""
        self._rules = rules
        self._all = list(range(len(rules)))
        self._found: list[tuple[int, int]] = []
        self._scanners = _build(rules, self._found) if engine else []
        if engine:
            _check_engine()
            self._check_rules()

    @property
    def fast(self) -> bool:
        """False if every text is a candidate of every rule."""
        return bool(self._scanners)

    def scan(self, texts: Sequence[str]) -> Hits:
        """The rules that may match each text; texts without any are left out."""
        if not self._scanners:
            return dict.fromkeys(range(len(texts)), self._all)
        if not texts:
            return {}
        joined = "\n".join(texts).encode("ascii")
        lengths = np.fromiter((len(text) for text in texts), np.int64, len(texts))
        return self._pairs(joined, np.cumsum(lengths + 1))

    def scan_bytes(self, joined: Any, ends: "np.ndarray[Any, np.dtype[np.int64]]") -> Hits:
        """As `scan` over texts joined by newlines; `ends[i]` is where text i + 1 starts."""
        if not self._scanners:
            return dict.fromkeys(range(len(ends)), self._all)
        return self._pairs(joined, ends)

    def _pairs(self, joined: Any, ends: "np.ndarray[Any, np.dtype[np.int64]]") -> Hits:
        self._found.clear()
        for scanner in self._scanners:
            scanner.scan(joined)
        if not self._found:
            return {}
        found = np.array(self._found, dtype=np.int64)
        rows = np.searchsorted(ends, found[:, 1] - 1, side="right")
        hits: Hits = {}
        for row, rule in sorted(set(zip(rows.tolist(), found[:, 0].tolist(), strict=True))):
            hits.setdefault(row, []).append(rule)
        return hits

    def _check_rules(self) -> None:
        examples = [(text, i) for i, rule in enumerate(self._rules) for text in rule.hits]
        hits = self.scan([text for text, _ in examples])
        for number, (_, rule) in enumerate(examples):
            if rule not in hits.get(number, ()):
                raise SelfTestError(f"redaction self-test: rule {self._rules[rule].id} is blind")


def pattern_error(rule: Rule) -> str | None:
    """What the engine has against a rule's pattern; None if nothing, or where it is missing."""
    if not engine_available():
        return None
    try:
        _build([rule], [])
    # The wheel does not export the class of its error.
    except Exception:  # noqa: BLE001
        return "the scanning engine cannot take it"
    return None


def engine_available() -> bool:
    """Whether the fast engine can be imported here."""
    try:
        import pyperscan  # noqa: F401
    except ImportError:
        return False
    return True


def _build(rules: Sequence[Rule], found: list[tuple[int, int]]) -> list[Any]:
    """Our rules together, and a user's together.

    The engine can lose matches of a pattern for what else it was compiled with. Ours are sampled in
    the tests as they are compiled here; what a user adds must not change that.
    """
    numbered = list(enumerate(rules))
    groups = [[n for n, rule in numbered if rule.user == user] for user in (False, True)]
    return [_automaton(rules, group, found) for group in groups if group]


def _automaton(rules: Sequence[Rule], numbers: list[int], found: list[tuple[int, int]]) -> Any:
    import pyperscan

    flag = pyperscan.Flag
    patterns = [
        pyperscan.Pattern(
            rules[number].scanned().encode("ascii"),
            flag.MULTILINE,
            *([flag.CASELESS] if rules[number].caseless else []),
            tag=number,
        )
        for number in numbers
    ]
    return pyperscan.BlockDatabase(*patterns).build(found, _collector(pyperscan.Scan.Continue))


def _collector(go_on: Any) -> Callable[..., Any]:
    def collect(found: list[tuple[int, int]], tag: int, _start: int, end: int) -> Any:
        found.append((tag, end))
        return go_on

    return collect


def _check_engine() -> None:
    import pyperscan

    for patterns, names, text in KNOWN_ANSWERS:
        flags = [getattr(pyperscan.Flag, name) for name in names]
        found: list[tuple[int, int]] = []
        database = pyperscan.BlockDatabase(
            *(pyperscan.Pattern(pattern, *flags, tag=n) for n, pattern in enumerate(patterns))
        )
        database.build(found, _collector(pyperscan.Scan.Continue)).scan(text)
        if not any(tag == 0 for tag, _ in found):
            raise SelfTestError("redaction self-test: the matching engine loses matches")
