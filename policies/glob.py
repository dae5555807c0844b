"""The one glob: the same for a policy's paths and for every filter, in Python and in SQL.

See docs/policy-glob.md. A path glob works on whole components; a name glob on a plain text.
"""

import re
import sys
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Final

# Longer than any real path; the matching engine of the database bounds its programs likewise.
MAX_PATTERN_CHARS: Final = 4096
# A masked component must be searchable as it is shown.
_MASK: Final = "[REDACTED:"
_ESCAPABLE: Final = frozenset("[]*?\\")
_ANY: Final = r"[\s\S]*"
_SPECIAL: Final = re.compile(r"[\[*?\\]")
_SIGNS: Final = re.compile("[^0-9A-Za-z\x80-\U0010ffff]")
_INDEX: Final = re.compile(r"(.+)(?:\[([0-9]{1,9})\]|\.([0-9]{1,9}))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of a pattern: text as it is, or a regular expression (of Python and RE2 alike)."""

    text: str
    regex: str
    literal: bool
    # Of a class: what it covers.
    ranges: tuple[tuple[int, int], ...] = ()


# None is `**`.
_Component = list[_Part] | None


@dataclass(frozen=True)
class Glob:
    """A compiled pattern; two are equal if they were written alike."""

    pattern: str
    _clauses: tuple[tuple[str, str], ...] = field(repr=False, compare=False)
    _regex: str = field(repr=False, compare=False)
    _steps: str = field(repr=False, compare=False)
    _head: str = field(default="", repr=False, compare=False)

    @property
    def clauses(self) -> tuple[tuple[str, str], ...]:
        """The pattern as plain comparisons, (is|starts|ends|holds|any, text); empty if it has
        none."""
        return self._clauses

    @property
    def re2(self) -> str:
        """A regular expression for the whole text, for engines that never backtrack."""
        return self._regex

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._steps)

    def matches(self, text: str) -> bool:
        """Whether the whole text is covered."""
        return self._compiled.fullmatch(text) is not None

    def sql(self, column: str) -> tuple[str, list[object]]:
        """A boolean DuckDB expression and its parameters; null where the column is null.

        `column` is our own code and goes in as it is; nothing of the pattern does.
        """
        if not self._clauses:
            test, value = f"regexp_full_match({column}, ?)", self._regex
            if not self._head:
                return test, [value]
            return f"(starts_with({column}, ?) AND {test})", [self._head, value]
        tests = [_TESTS[name].format(column=column) for name, _ in self._clauses]
        values: list[object] = [value for name, value in self._clauses if "?" in _TESTS[name]]
        return "(" + " OR ".join(tests) + ")", values


_TESTS: Final = {
    "is": "{column} = ?",
    "starts": "starts_with({column}, ?)",
    "ends": "ends_with({column}, ?)",
    "holds": "contains({column}, ?)",
    "any": "({column} = {column})",
}


def compile_glob(pattern: str, *, below: bool = False) -> Glob:
    """A path pattern; ValueError, with the position, if it is none.

    Without a wildcard it covers the path and everything under it. With `below` every pattern does.
    """
    _check_length(pattern)
    bare = pattern.rstrip("/")
    if bare in {"", "/**"}:
        return Glob(pattern, (("starts", "/"),), "/" + _ANY, "/" + _ANY)
    components = _collapsed(_components(bare))
    if below or not any(_active(component) for component in components):
        components = _collapsed([*components, None])
    regex, steps = _path_regex(components), _path_steps(components)
    return Glob(pattern, _simple(components), regex, steps, _head(components))


@lru_cache(maxsize=4_096)
def rule_pattern(pattern: str) -> Glob:
    """`compile_glob` for a rule of a policy, which is asked for more than once."""
    return compile_glob(pattern)


def path_components(pattern: str) -> list[_Component]:
    """The components of a path pattern that is none of `/`, `/**`; None is `**`."""
    components = _collapsed(_components(pattern.rstrip("/")))
    if not any(_active(component) for component in components):
        components = _collapsed([*components, None])
    return components


def ends_in_a_name(pattern: str) -> bool:
    """Whether the last component of a path pattern has no wildcard; ValueError as above."""
    _check_length(pattern)
    last = _components(pattern.rstrip("/"))[-1]
    return last is not None and not _active(last)


def name_glob(pattern: str) -> Glob:
    """A pattern for names: `*` any run of characters, `?` one, `[…]` one of these."""
    _check_length(pattern)
    return _name_glob(pattern, _parts(pattern, 0, within="any"))


def rule_glob(pattern: str) -> Glob:
    """As `name_glob`, but an index at the end is one: `filesystem.deny[1]`, `filesystem.deny.1`."""
    _check_length(pattern)
    index = _INDEX.fullmatch(pattern)
    if index is None:
        return name_glob(pattern)
    text = f"[{index[2] or index[3]}]"
    tail = _Part(text, _escaped(text), literal=True)
    return _name_glob(pattern, [*_parts(index[1], 0, within="any"), tail])


def _check_length(pattern: str) -> None:
    if not pattern:
        raise ValueError("empty pattern at position 1")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise ValueError(f"pattern too long at position {MAX_PATTERN_CHARS + 1}")


def _components(pattern: str) -> list[_Component]:
    components: list[_Component] = []
    at = 0
    for text in pattern.split("/"):
        components.append(None if text == "**" else _parts(text, at, within="component"))
        at += len(text) + 1
    return components


def _collapsed(components: list[_Component]) -> list[_Component]:
    """`**/**` says no more than `**`, and would make matching slow."""
    return [
        c
        for i, c in enumerate(components)
        if c is not None or not i or components[i - 1] is not None
    ]


def _active(component: _Component) -> bool:
    return component is None or any(not part.literal for part in component)


def _text(component: list[_Part]) -> str:
    return "".join(part.text for part in component)


def _head(components: list[_Component]) -> str:
    """What every match starts with."""
    texts: list[str] = []
    for component in components:
        if component is None or _active(component):
            break
        texts.append(_text(component))
    return "/".join(texts)


def _path_regex(components: list[_Component]) -> str:
    if components == [None]:
        return _ANY
    out = ""
    last = len(components) - 1
    for number, component in enumerate(components):
        if component is None:
            out += "(?:/[\\s\\S]*)?" if number == last else "(?:[\\s\\S]*/)?"
            continue
        out += _component_regex(component)
        followed = number < last and not (components[number + 1] is None and number + 1 == last)
        out += "/" if followed else ""
    return out


def _path_steps(components: list[_Component]) -> str:
    """As `_path_regex`, for an engine that backtracks.

    The leftmost place where the components between two `**` fit is as good as any later one, so
    what was matched up to there is never tried again: time grows with the square at most.
    """
    groups: list[list[list[_Part]]] = [[]]
    for component in components:
        if component is None:
            groups.append([])
        else:
            groups[-1].append(component)
    texts = ["/".join(_steps(c, "[^/]*") for c in group) for group in groups]
    if len(groups) == 1:
        return texts[0]
    first, *middle, last = texts
    open_end = not groups[-1]
    if not middle and not groups[0]:
        return _ANY if open_end else rf"(?:[\s\S]*/)?{last}"
    if not middle and open_end:
        return rf"{first}(?:/[\s\S]*)?"
    out = f"{first}/" if groups[0] else ""
    for number, text in enumerate(middle, 1):
        border = r"(?:/|\Z)" if open_end and number == len(middle) else "/"
        out += f"(?>(?:[^/]*/)*?{text}{border})"
    return out + (r"[\s\S]*" if open_end else rf"(?:[\s\S]*/)?{last}")


def _steps(parts: list[_Part], run: str) -> str:
    """A component or name: between two `*` the leftmost fit is taken for good."""
    if parts and all(part.regex == run for part in parts):
        return "[^/]+" if run != _ANY else _ANY
    pieces = [""]
    for part in parts:
        if part.regex == run:
            pieces.append("")
        else:
            pieces[-1] += part.regex
    if len(pieces) == 1:
        return pieces[0]
    first, *middle, last = pieces
    return first + "".join(f"(?>{run}?{piece})" for piece in middle) + run + last


def _component_regex(component: list[_Part]) -> str:
    """A component that is only `*` is not empty."""
    if component and all(part.regex == "[^/]*" for part in component):
        return "[^/]+"
    return "".join(part.regex for part in component)


def _simple(components: list[_Component]) -> tuple[tuple[str, str], ...]:
    """The pattern as comparisons, which the database does much faster; empty if it needs more."""
    first, last = components[0] is None, components[-1] is None
    if components == [None]:
        return (("any", ""),)
    middle = components[first : len(components) - last]
    if any(_active(component) for component in middle):
        return ()
    text = "/".join(_text(component) for component in middle if component is not None)
    clauses = [("is", text)]
    if last:
        clauses.append(("starts", f"{text}/"))
    if first:
        clauses.append(("ends", f"/{text}"))
    if first and last:
        clauses.append(("holds", f"/{text}/"))
    return tuple(clauses)


def _name_glob(pattern: str, parts: list[_Part]) -> Glob:
    regex = "".join(part.regex for part in parts)
    return Glob(pattern, _simple_name(parts), regex, _steps(parts, _ANY))


def _simple_name(parts: list[_Part]) -> tuple[tuple[str, str], ...]:
    stars = [part.regex == _ANY for part in parts]
    inner = parts[bool(stars and stars[0]) : len(parts) - bool(len(stars) > 1 and stars[-1])]
    if not all(part.literal for part in inner):
        return ()
    text = _text(inner)
    if not any(stars):
        return (("is", text),)
    if not text:
        return (("any", ""),)
    if stars[0]:
        return (("holds" if stars[-1] else "ends", text),)
    return (("starts", text),)


def _parts(pattern: str, offset: int, *, within: str) -> list[_Part]:
    """One component, or a whole name, piece by piece; `offset` is for error positions only."""
    if not _SPECIAL.search(pattern):
        return [_literal(pattern)] if pattern else []
    one, run = ("[^/]", "[^/]*") if within == "component" else (r"[\s\S]", _ANY)
    parts: list[_Part] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and pattern[at + 1 : at + 2] in _ESCAPABLE and at + 1 < len(pattern):
            parts.append(_literal(pattern[at + 1]))
            at += 2
        elif char == "[" and (end := _class_end(pattern, at)):
            parts.append(_class(pattern[at:end], offset + at, within))
            at = end
        elif char == "*":
            if not (parts and parts[-1].regex == run):
                parts.append(_Part("*", run, literal=False))
            at += 1
        else:
            parts.append(_Part("?", one, literal=False) if char == "?" else _literal(char))
            at += 1
    return parts


def _literal(text: str) -> _Part:
    return _Part(text, _escaped(text), literal=True)


def _class_end(pattern: str, start: int) -> int | None:
    """Just behind the class that opens at `start`; None if it never closes or is a mask."""
    if pattern.startswith(_MASK, start):
        return None
    first = start + 1 + (pattern[start + 1 : start + 2] == "!")
    # A `]` that comes first is a member.
    end = pattern.find("]", first + 1)
    return end + 1 if end > 0 else None


def _class(text: str, position: int, within: str) -> _Part:
    negated = text[1] == "!"
    members = text[1 + negated : -1]
    ranges: list[tuple[int, int]] = []
    at = 0
    while at < len(members):
        low = high = members[at]
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            high = members[at + 2]
            if high < low:
                raise ValueError(
                    f"range {low}-{high} runs backwards at position {position + 2 + negated + at}"
                )
            at += 2
        at += 1
        ranges.append((ord(low), ord(high)))
    inside = within == "component"
    if inside and not negated:
        ranges = [part for item in ranges for part in _without_slash(*item)]
    body = "".join(_range(*item) for item in ranges)
    regex = f"[^{body}{'/' if inside else ''}]" if negated else f"[{body}]"
    return _Part(text, regex, literal=False, ranges=_covered(ranges, negated=negated))


def _covered(ranges: list[tuple[int, int]], *, negated: bool) -> tuple[tuple[int, int], ...]:
    """What a class of a component covers."""
    if not negated:
        return tuple(ranges)
    covered: list[tuple[int, int]] = []
    start = 0
    for low, high in sorted([*ranges, (ord("/"), ord("/"))]):
        if start < low:
            covered.append((start, low - 1))
        start = max(start, high + 1)
    return (*covered, (start, sys.maxunicode)) if start <= sys.maxunicode else tuple(covered)


def _without_slash(low: int, high: int) -> list[tuple[int, int]]:
    slash = ord("/")
    if not low <= slash <= high:
        return [(low, high)]
    return [part for part in ((low, slash - 1), (slash + 1, high)) if part[0] <= part[1]]


def _range(low: int, high: int) -> str:
    first = _member(low)
    return first if low == high else f"{first}-{_member(high)}"


def _member(code: int) -> str:
    """A character as both engines read it, in a class or out of one."""
    char = chr(code)
    return char if char.isalnum() or code > 0x7F else f"\\x{code:02x}"


def _escaped(text: str) -> str:
    return _SIGNS.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
