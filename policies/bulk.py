"""A policy asked about many operations: every distinct one once, answers as numbers."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from policies.decide import Judge, Operation, canonical, folded, rule_glob
from policies.model import (
    DENY_ALL,
    FILESYSTEM_DEFAULT,
    NETWORK_DEFAULT,
    PROCESS_DEFAULT,
    READ,
    WRITE,
    PathRule,
    Policy,
)
from policies.path_index import NONE, PathIndex

UNKNOWN: Final = -1
# Answers kept for the batches to come; a path and its answer are some 200 bytes.
MAX_KEPT: Final = 200_000
_DEFAULTS: Final = (FILESYSTEM_DEFAULT, PROCESS_DEFAULT, NETWORK_DEFAULT)


class Rules:
    """Names of rules as numbers; the same for every policy."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.sections: list[str | None] = []
        self.indices: list[int | None] = []
        self._codes: dict[str, int] = {}
        self._denying: list[bool] = []
        self._by_line: list[bool] = []

    def code(self, name: str) -> int:
        """The number of a rule, a new one if need be."""
        if (code := self._codes.get(name)) is not None:
            return code
        section, bracket, index = name.rstrip("]").partition("[")
        self.names.append(name)
        self.sections.append(section if bracket else name)
        self.indices.append(int(index) if bracket else None)
        line = name.startswith("filesystem.deny[") or name == DENY_ALL
        self._by_line.append(line)
        self._denying.append(line or name in _DEFAULTS)
        return self._codes.setdefault(name, len(self.names) - 1)

    def find(self, told: str) -> int:
        """The number of a rule as a record spells it; UNKNOWN for one that no policy named yet."""
        found = self._codes.get(told)
        if found is None:
            section, dot, index = told.rpartition(".")
            if dot and index.isdecimal():
                found = self._codes.get(f"{section}[{index}]")
        return UNKNOWN - 1 if found is None else found

    def denying(self) -> Any:
        """For each number whether its rule refuses; the last entry, of UNKNOWN, is false."""
        return np.array([*self._denying, False], bool)

    def by_line(self) -> Any:
        """As `denying`, for a refusal that stands in the policy."""
        return np.array([*self._by_line, False], bool)


class Bulk:
    """A judge for many operations; answers are the same as `Judge.decide` gives."""

    def __init__(self, policy: Policy, rules: Rules, *, macos: bool = False) -> None:
        self._rules = rules
        self._macos = macos
        self._judge = Judge(policy, macos=macos)
        self._deny = {need: _index(policy.deny, need, macos=macos) for need in (READ, WRITE)}
        self._allow = {need: _index(policy.allow, need, macos=macos) for need in (READ, WRITE)}
        self._denies = [rules.code(rule.name) for rule in policy.deny]
        self._allows = [rules.code(rule.name) for rule in policy.allow]
        self._default = rules.code(FILESYSTEM_DEFAULT)
        self._kept: dict[str, dict[str, int]] = {READ: {}, WRITE: {}}
        self._others: dict[Operation, int] = {}

    def paths(self, paths: Sequence[str], need: str) -> list[int]:
        """The number of the rule that decides each path; paths are distinct."""
        kept = self._kept[need]
        # One look-up each: the hashes of a batch's paths cost as much as deciding them.
        codes: list[int | None] = list(map(kept.get, paths))
        rows = [row for row, code in enumerate(codes) if code is None]
        if rows:
            fresh = [paths[row] for row in rows]
            if len(kept) + len(fresh) > MAX_KEPT:
                kept.clear()
            for row, path, code in zip(rows, fresh, self._decided(fresh, need), strict=True):
                codes[row] = kept[path] = code
        return codes  # type: ignore[return-value]

    def _decided(self, paths: Sequence[str], need: str) -> list[int]:
        if not paths:
            return []
        real = [canonical(path, macos=self._macos) for path in paths]
        known = [path or "/" for path in real]
        denied = self._deny[need].lowest([folded(p) for p in known] if self._macos else known)
        allowed = self._allow[need].lowest(known)
        return [
            UNKNOWN if path is None else self._code(deny, allow)
            for path, deny, allow in zip(real, denied.tolist(), allowed.tolist(), strict=True)
        ]

    def _code(self, deny: int, allow: int) -> int:
        if deny != NONE:
            return self._denies[deny]
        return self._allows[allow] if allow != NONE else self._default

    def other(self, operation: Operation) -> int:
        """The number of the rule that decides what is no plain path."""
        if operation not in self._others:
            if len(self._others) >= MAX_KEPT:
                self._others.clear()
            verdict = self._judge.decide(operation)
            self._others[operation] = self._rules.code(verdict.rule) if verdict else UNKNOWN
        return self._others[operation]


def _index(rules: Sequence[PathRule], need: str, *, macos: bool) -> PathIndex:
    return PathIndex(
        (rule.index, rule_glob(rule, macos=macos)) for rule in rules if need in rule.access
    )
