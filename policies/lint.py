"""Warnings about a valid policy: rules that do nothing, and rules that do not what they seem to.

A `warning` is something to mend; a `note` is a fact about what a policy can hold back at all.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from policies.automaton import Patience, TooManyStates, shared
from policies.lint_cover import Cover, automaton_of, samples
from policies.lint_words import network_words, path_words, process_words
from policies.model import BOTH, READ, WRITE, PathRule, Place, Policy
from policies.yaml_text import Problem

# Overlaps are asked for pair by pair.
MAX_PAIRS: Final = 400
_INTERPRETERS: Final = frozenset(
    (
        "sh", "bash", "zsh", "dash", "fish", "ksh", "csh", "tcsh", "python", "python2", "python3",
        "perl", "ruby", "node", "deno", "bun", "php", "lua", "tclsh", "osascript", "awk", "make",
        "npm", "npx", "uv", "pip", "env", "xargs", "find",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """One warning or note; `witness` is a path that shows it."""

    level: Literal["warning", "note"]
    code: str
    rule: str
    problem: Problem
    witness: str | None = None


def lint(policy: Policy, patience: Patience | None = None) -> list[Finding]:
    """Everything that is odd about a policy, by line. What is said is exact; a policy so large or
    so twisted that not everything could be looked at gives the note `not-all-checked`."""
    patience = patience or Patience()
    found: list[Finding] = []
    checks: tuple[Callable[[Policy, Patience], Iterator[Finding]], ...] = (
        _rules_without_effect, _words, _programs, _moves, _idle_denies,
    )  # fmt: skip
    try:
        for check in checks:
            # One by one: what was found before giving up counts.
            for finding in check(policy, patience):
                found.append(finding)  # noqa: PERF402
    except TooManyStates:
        text = "not every rule was compared with every other: the policy is too large"
        found.append(Finding("note", "not-all-checked", "", Problem(1, 1, text)))
    return sorted(found, key=lambda f: (f.problem.line, f.problem.column, f.code))


def _at(place: Place, message: str, hint: str | None = None) -> Problem:
    return Problem(*place, message, hint)


def _rules_without_effect(policy: Policy, patience: Patience) -> Iterator[Finding]:
    dead: set[str] = set()
    denies = {need: Cover(_about(policy.deny, need)) for need in BOTH}
    for rule in policy.allow:
        by = {need: denies[need].of_rule(rule, patience, own=False) for need in rule.access}
        gone = [need for need in rule.access if by[need]]
        if gone:
            if len(gone) == len(rule.access):
                dead.add(rule.name)
            yield _dead(rule, gone, by[gone[0]] or [])
    for rules in (policy.deny, policy.allow):
        covers = {need: Cover(_about(rules, need)) for need in BOTH}
        # From the end, so that of two equal rules the later one is told.
        for rule in reversed(rules):
            if rule.name in dead:
                continue
            by = {need: covers[need].of_rule(rule, patience, own=True) for need in rule.access}
            if all(by.values()):
                for need in rule.access:
                    covers[need].drop(rule)
                yield _redundant(
                    rule, sorted({name for names in by.values() for name in names or ()})
                )


def _about(rules: tuple[PathRule, ...], need: str) -> list[PathRule]:
    return [rule for rule in rules if need in rule.access]


def _dead(rule: PathRule, gone: list[str], by: list[str]) -> Finding:
    what = "nothing" if len(gone) == len(rule.access) else f"no {' and no '.join(gone)}"
    witness = samples(rule.path)[0]
    text = f"{rule.name} allows {what}: {_names(by)} all of it, for example {witness}"
    return Finding("warning", "dead-allow", rule.name, _at(rule.place, text), witness)


def _redundant(rule: PathRule, by: list[str]) -> Finding:
    witness = samples(rule.path)[0]
    text = f"{rule.name} adds nothing: {_names(by)} all of it, for example {witness}"
    return Finding(
        "warning", f"redundant-{rule.section}", rule.name, _at(rule.place, text), witness
    )


def _names(by: list[str]) -> str:
    return f"{by[0]} covers" if len(by) == 1 else f"{', '.join(by)} together cover"


def _words(policy: Policy, _patience: Patience) -> Iterator[Finding]:
    for told in (*path_words(policy), *process_words(policy), *network_words(policy)):
        problem = _at(told.place, told.message, told.hint)
        yield Finding("warning", told.code, told.rule, problem, told.witness)


def _programs(policy: Policy, _patience: Patience) -> Iterator[Finding]:
    """The list of programs says which start, not what they run."""
    names = [rule for rule in policy.processes if rule.process in _INTERPRETERS]
    writable = next((rule for rule in policy.allow if WRITE in rule.access), None)
    if names and writable:
        listed = ", ".join(rule.process for rule in names)
        text = f"{listed} run code that {writable.name} lets be written: the list says what starts"
        text += ", not what it does"
        yield Finding("note", "interpreter", names[0].name, _at(names[0].place, text))


def _moves(policy: Policy, patience: Patience) -> Iterator[Finding]:
    """`**/A/B/**` in a folder that may be written: whoever moves A takes B along."""
    writable = [rule for rule in policy.allow if WRITE in rule.access]
    for rule in policy.deny[: MAX_PAIRS // max(len(writable), 1)]:
        parts = [part for part in rule.path.split("/") if part not in ("", "**")]
        if not rule.path.startswith("**/") or len(parts) < 2:
            continue
        for allow in writable:
            if witness := shared(automaton_of(rule.path), automaton_of(allow.path), patience):
                text = (
                    f"{rule.name} does not hold {parts[-1]} once {parts[0]} is moved, for example"
                )
                text += f" from {witness}; {allow.name} lets it be moved"
                yield Finding("note", "movable", rule.name, _at(rule.place, text), witness)
                break


def _idle_denies(policy: Policy, patience: Patience) -> Iterator[Finding]:
    """Denies that no allow meets: they guard allows to come, and programs that start."""
    if len(policy.deny) * len(policy.allow) > MAX_PAIRS:
        return
    for rule in policy.deny:
        if policy.processes and READ in rule.access:
            continue
        allows = [a for a in policy.allow if set(a.access) & set(rule.access)]
        mine = automaton_of(rule.path)
        if all(shared(mine, automaton_of(allow.path), patience) is None for allow in allows):
            text = f"{rule.name} meets no allow: what it covers is refused without it"
            yield Finding("note", "idle-deny", rule.name, _at(rule.place, text))
