"""The smallest change of a policy's text that turns a decision over, tried before it is told.

Each candidate is an edit of lines; the edited text is read and asked again, and only one that
gives the other decision is handed out.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from policies.decide import EXEC, NEEDS, Judge, Operation, Verdict
from policies.load import parse_policy
from policies.model import FILESYSTEM_DEFAULT, NETWORK_DEFAULT, PROCESS_DEFAULT, Place, Policy
from policies.yaml_text import Loc, YamlError, load

_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+-]*")
_WILD: Final = re.compile(r"[\\\[\]*?]")


@dataclass(frozen=True, slots=True)
class Edit:
    """Lines `first` to `last` (from 1) become `lines`; `last` below `first` only inserts."""

    first: int
    last: int
    lines: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The edited text."""
        old = text.split("\n")
        end = "\r" if old[0].endswith("\r") else ""
        new = [line + end for line in self.lines]
        return "\n".join([*old[: self.first - 1], *new, *old[max(self.last, self.first - 1) :]])

    def told(self) -> str:
        """What to do, in words; the lines follow."""
        if self.last < self.first:
            return f"add below line {self.first - 1}"
        lines = f"line {self.first}"
        if self.last > self.first:
            lines = f"lines {self.first} to {self.last}"
        return f"replace {lines} by" if self.lines else f"remove {lines}"


@dataclass(frozen=True, slots=True)
class _Page:
    """A policy's lines, and where its values and keys stand."""

    values: Mapping[Loc, Place]
    keys: Mapping[Loc, Place]
    lines: tuple[str, ...]


def flip(
    policy: Policy, operation: Operation, verdict: Verdict, *, macos: bool = False
) -> Edit | None:
    """The edit that gives the other decision; None if none of ours does."""
    document = load(policy.text)
    lines = tuple(line.rstrip("\r") for line in policy.text.split("\n"))
    page = _Page(document.values, document.keys, lines)
    for edit in _candidates(policy, page, operation, verdict):
        try:
            edited = parse_policy(edit.applied(policy.text).encode())
        except YamlError:
            continue
        found = Judge(edited, macos=macos).decide(operation)
        if found is not None and found.decision != verdict.decision:
            return edit
    return None


def _candidates(
    policy: Policy, page: _Page, operation: Operation, verdict: Verdict
) -> Iterator[Edit]:
    paths = [path for path in (operation.path, operation.path_to) if path]
    if verdict.rule == FILESYSTEM_DEFAULT and paths:
        need = NEEDS[operation.access or ""]
        items = [_rule_item(path, need) for path in dict.fromkeys(paths)]
        for some in (items[:1], items[1:], items):
            if some:
                yield _new_rules(page, "allow", some)
    elif verdict.rule == PROCESS_DEFAULT and operation.path:
        name = operation.path.rstrip("/").rpartition("/")[2]
        yield from _appended(page, ("spec", "process", "allow"), scalar(name))
    elif verdict.rule.startswith("network.") and operation.host:
        yield from _network(policy, page, operation, verdict)
    elif verdict.rule.startswith("filesystem.allow") and paths:
        yield _new_rules(page, "deny", [[f"- path: {scalar(_literal(paths[0]))}"]])
    elif verdict.rule.startswith("process.allow") and operation.access == EXEC:
        index = int(verdict.rule.rstrip("]").rpartition("[")[2])
        yield from _without(page, ("spec", "process", "allow"), index)


def _network(policy: Policy, page: _Page, operation: Operation, verdict: Verdict) -> Iterator[Edit]:
    where: Loc = ("spec", "network", "egress")
    if verdict.rule == NETWORK_DEFAULT:
        yield from _appended(page, where, f'"{destination(operation)}"')
    elif verdict.decision == "deny":
        yield _value(page, where, f'["{destination(operation)}"]')
    elif policy.egress == "list" and len(policy.hosts) > 1:
        yield from _without(page, where, int(verdict.rule.rstrip("]").rpartition("[")[2]))
    else:
        yield _value(page, where, "deny-all")


def destination(operation: Operation) -> str:
    """`host:port` as a rule spells it."""
    host = operation.host or "*"
    shown = f"[{host}]" if ":" in host else host
    return f"{shown}:{operation.port if operation.port is not None else '*'}"


def scalar(text: str) -> str:
    """Text as YAML reads it back."""
    if _PLAIN.fullmatch(text) and text.lower() not in ("null", "true", "false"):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _literal(path: str) -> str:
    """A path as a pattern that means only itself and what lies under it."""
    return _WILD.sub(r"\\\g<0>", path)


def _rule_item(path: str, need: str) -> list[str]:
    return [f"- path: {scalar(_literal(path))}", f"  access: [{need}]"]


def _indent(lines: list[str], columns: int) -> tuple[str, ...]:
    return tuple(" " * columns + line for line in lines)


def _new_rules(page: _Page, section: str, items: list[list[str]]) -> Edit:
    """New entries below those that there are; the section itself where there is none."""
    loc: Loc = ("spec", "filesystem", section)
    flat = [line for item in items for line in item]
    entries = _entries(page, loc)
    if entries:
        _, column = page.values[entries[-1]]
        return _insert(_last_line(page, loc), _indent(flat, column - 3))
    return _new_section(page, loc, [f"  {line}" for line in flat])


def _new_section(page: _Page, loc: Loc, body: list[str]) -> Edit:
    """`filesystem: allow:` (as much of it as is missing) with a body, at the end of its parent."""
    *parents, key = loc
    lines = [f"{key}:", *body]
    parent = tuple(parents)
    while parent not in page.values and parent:
        lines = [f"{parent[-1]}:", *(f"  {line}" for line in lines)]
        parent = parent[:-1]
    column = page.values[parent][1] - 1
    return _insert(_last_line(page, parent), _indent(lines, column))


def _appended(page: _Page, loc: Loc, item: str) -> Iterator[Edit]:
    """One more word in a list, however it is written."""
    entries = _entries(page, loc)
    if not entries:
        edit = _new_section(page, loc, [])
        yield Edit(edit.first, edit.last, (*edit.lines[:-1], f"{edit.lines[-1]} [{item}]"))
        return
    line, column = page.values[entries[-1]]
    yield _insert(line, (" " * (column - 3) + f"- {item}",))
    text = page.lines[line - 1]
    close = text.rfind("]")
    if close > 0:
        yield Edit(line, line, (f"{text[:close].rstrip()}, {item}{text[close:]}",))


def _without(page: _Page, loc: Loc, index: int) -> Iterator[Edit]:
    """The list without one word."""
    line, column = page.values[(*loc, index)]
    text = page.lines[line - 1]
    if text[: column - 1].strip() == "-":
        yield Edit(line, line, ())
    start, end = text.find("["), text.rfind("]")
    if 0 <= start < end:
        words = [word.strip() for word in text[start + 1 : end].split(",")]
        first = min(at[-1] for at in _entries(page, loc) if page.values[at][0] == line)
        kept = [word for n, word in enumerate(words) if n + int(first) != index]
        yield Edit(line, line, (f"{text[: start + 1]}{', '.join(kept)}{text[end:]}",))


def _value(page: _Page, loc: Loc, value: str) -> Edit:
    """Another value for a key."""
    line, column = page.keys[loc]
    last = _last_line(page, loc)
    text = page.lines[line - 1]
    return Edit(line, last, (f"{text[: column - 1]}{loc[-1]}: {value}",))


def _entries(page: _Page, loc: Loc) -> list[Loc]:
    found: list[Loc] = []
    while (*loc, len(found)) in page.values:
        found.append((*loc, len(found)))
    return found


def _last_line(page: _Page, loc: Loc) -> int:
    return max(line for at, (line, _) in page.values.items() if at[: len(loc)] == loc)


def _insert(below: int, lines: tuple[str, ...]) -> Edit:
    return Edit(below + 1, below, lines)
