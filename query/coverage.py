"""How often each rule of a policy decided, and which rules never did."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from audit_events.layout import StorePaths
from policies.model import (
    ALLOW_ALL,
    DENY_ALL,
    FILESYSTEM_DEFAULT,
    NETWORK_DEFAULT,
    PROCESS_DEFAULT,
    Lines,
    Policy,
    bare_digest,
    spelled,
)
from query.axes import Axis
from query.contracts import Damaged, Request
from query.memo import Memo
from query.stats import Counting, Stats, stats

_AXES: Final = (Axis("policy_digest"), Axis("policy_rule"))


@dataclass(frozen=True, slots=True)
class Hits:
    """Decisions of one rule; `last` in µs, None without any."""

    allow: int = 0
    deny: int = 0
    other: int = 0
    last: int | None = None

    @property
    def all(self) -> int:
        """Whatever was decided."""
        return self.allow + self.deny + self.other


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a policy, or what decides where none does; `lines` where it stands."""

    name: str
    kind: str
    lines: Lines | None


@dataclass(frozen=True, slots=True)
class Coverage:
    """Hits by bare digest, then by rule."""

    hits: Mapping[str, Mapping[str, Hits]]
    damaged: tuple[Damaged, ...]

    def of(self, digest: str, rule: str) -> Hits:
        """Of one rule."""
        return self.hits.get(digest, {}).get(rule, Hits())


def coverage(store: StorePaths, request: Request, memo: Memo | None = None) -> Coverage:
    """The hits of every rule of every policy in the events that match; errors as `stats`."""
    found = stats(store, request, Counting(_AXES), memo)
    return Coverage(_by_policy(found), found.damaged)


def _by_policy(found: Stats) -> Mapping[str, Mapping[str, Hits]]:
    held: dict[str, dict[str, Hits]] = {}
    for group in found.groups:
        digest, rule = group.key
        if digest is None or rule is None:
            continue
        rules = held.setdefault(bare_digest(digest), {})
        rules[spelled(rule)] = _added(rules.get(spelled(rule), Hits()), group.values)
    return held


def _added(hits: Hits, values: Mapping[str, int]) -> Hits:
    return Hits(
        hits.allow + values["allow"],
        hits.deny + values["deny"],
        hits.other + values["unknown"] + values["other"],
        max(hits.last or values["last"], values["last"]),
    )


def rules_of(policy: Policy) -> tuple[Rule, ...]:
    """Every rule that a line of the policy states, in the order of its lines."""
    rules = [Rule(one.name, one.section, one.lines) for one in (*policy.allow, *policy.deny)]
    rules += [Rule(one.name, "allow", one.lines) for one in policy.processes]
    rules += [Rule(one.name, "allow", one.lines) for one in policy.hosts]
    for word, name in (("deny-all", DENY_ALL), ("allow-all", ALLOW_ALL)):
        if policy.egress == word and name in policy.lines:
            rules.append(Rule(name, word.partition("-")[0], policy.lines[name]))
    return tuple(sorted(rules, key=lambda rule: (rule.lines or (0, 0), rule.name)))


def defaults_of(policy: Policy) -> tuple[Rule, ...]:
    """What decides where no line does."""
    names = [FILESYSTEM_DEFAULT, PROCESS_DEFAULT]
    if policy.egress in (None, "list"):
        names.append(NETWORK_DEFAULT)
    return tuple(Rule(name, "default", None) for name in names)


def never_hit(rules: Iterable[Rule], hits: Mapping[str, Hits]) -> list[str]:
    """The rules among these that decided nothing."""
    return [rule.name for rule in rules if not hits.get(rule.name, Hits()).all]
