"""Why a policy decides an operation so, in words, with its lines and what would change it."""

from dataclasses import dataclass
from typing import Final

from policies.decide import NEEDS, Judge, Operation, Verdict, canonical, folded, rule_glob
from policies.edit import Edit, destination, flip
from policies.model import (
    ALLOW_ALL,
    DENY_ALL,
    FILESYSTEM_DEFAULT,
    NETWORK_DEFAULT,
    PROCESS_DEFAULT,
    READ,
    Lines,
    PathRule,
    Policy,
)

# A rule of more lines than this is shown from its start.
MAX_RULE_LINES: Final = 8
_WINDOW_LINES: Final = 3
# Folders that hold what an agent is kept away from.
_HOLDS: Final = {
    ".ssh": "private keys", ".gnupg": "private keys", "Keychains": "passwords and keys",
    "Cookies": "sessions of a browser", ".aws": "keys of a cloud", ".kube": "keys of a cluster",
    ".netrc": "passwords", ".env": "secrets", ".docker": "keys of registries",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Flip:
    """What turns the decision over: an edit, or why there is none, and a word of warning."""

    edit: Edit | None
    words: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything there is to say; `lines` of the rule, None where no line decides."""

    verdict: Verdict
    lines: Lines | None
    why: str
    flip: Flip


def explanation(policy: Policy, operation: Operation, *, macos: bool = False) -> Explanation | None:
    """Why; None for what the policy does not speak of or cannot be compared."""
    verdict = Judge(policy, macos=macos).decide(operation)
    if verdict is None:
        return None
    by_line = path_rule(policy, verdict.rule) if ".deny[" in verdict.rule else None
    if by_line is not None:
        turned = _only_by_hand(by_line)
    else:
        edit = flip(policy, operation, verdict, macos=macos)
        turned = Flip(edit, "" if edit else "no edit of a few lines does")
    return Explanation(
        verdict, policy.lines.get(verdict.rule), _why(policy, operation, verdict, macos=macos),
        turned,
    )  # fmt: skip


def path_rule(policy: Policy, name: str) -> PathRule | None:
    """The rule about paths of this name."""
    return next((rule for rule in (*policy.allow, *policy.deny) if rule.name == name), None)


def _only_by_hand(rule: PathRule) -> Flip:
    first, last = rule.lines
    lines = f"line {first}" if first == last else f"lines {first} to {last}"
    words = f"no allow rule can change this; only removing or narrowing {lines} would"
    parts = [part for part in rule.path.split("/") if part in _HOLDS]
    if not parts:
        return Flip(None, words)
    where = rule.path.removesuffix("/**")
    return Flip(None, words, f"Not advised: {where} holds {_HOLDS[parts[-1]]}")


def _why(policy: Policy, operation: Operation, verdict: Verdict, *, macos: bool) -> str:
    rule = verdict.rule
    if rule == DENY_ALL:
        return "deny-all refuses every destination; no other network rule exists"
    if rule == ALLOW_ALL:
        return "allow-all lets every destination through"
    if rule == NETWORK_DEFAULT:
        if policy.egress is None:
            return "the policy has no network section, and what nothing allows is refused"
        return f"no entry of egress covers {destination(operation)}"
    if rule == PROCESS_DEFAULT:
        name = (operation.path or "").rstrip("/").rpartition("/")[2]
        return f"process.allow does not name {name}"
    if rule == FILESYSTEM_DEFAULT:
        return _uncovered(policy, operation, macos=macos)
    if ".deny[" in rule:
        return _denied(policy, operation, verdict, macos=macos)
    return _allowed(verdict)


def _allowed(verdict: Verdict) -> str:
    more = f"; so does {', '.join(verdict.lost)}" if verdict.lost else ""
    return f"{verdict.rule} covers it, and no deny does{more}"


def _denied(policy: Policy, operation: Operation, verdict: Verdict, *, macos: bool) -> str:
    losers = [name for name in verdict.lost if ".allow[" in name]
    others = [name for name in verdict.lost if ".deny[" in name]
    also = f"; {', '.join(others)} would deny it as well" if others else ""
    if losers:
        return f"a deny beats every allow, here {', '.join(losers)}{also}"
    rule = path_rule(policy, verdict.rule)
    where = _covered_from(rule, operation, macos=macos) if rule else "it"
    return f"a deny beats every allow; no allow matches {where} anyway{also}"


def _covered_from(rule: PathRule, operation: Operation, *, macos: bool) -> str:
    """The highest folder of the operation's path that the rule covers."""
    glob = rule_glob(rule, macos=macos)
    for told in (operation.path, operation.path_to):
        real = canonical(told, macos=macos) if told else None
        for part in _parents(real) if real else ():
            if glob.matches(folded(part) if macos else part):
                return part
    return "it"


def _parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) or "/" for n in range(1, len(parts) + 1)]


def _uncovered(policy: Policy, operation: Operation, *, macos: bool) -> str:
    need = NEEDS.get(operation.access or "", READ)
    judge = Judge(policy, macos=macos)
    for path in (operation.path, operation.path_to):
        verdict = judge.path(path, need) if path else None
        if path is None or verdict is None or verdict.rule != FILESYSTEM_DEFAULT:
            continue
        real = canonical(path, macos=macos) or path
        for rule in policy.allow:
            if rule_glob(rule, macos=macos).matches(real):
                return f"{rule.name} covers {path} for {', '.join(rule.access)} only"
        near = _nearest(policy, real)
        hint = f"; the nearest allow is {near.path} ({near.name})" if near else ""
        return f"no allow covers {path}{hint}"
    return "no allow covers it"


def _nearest(policy: Policy, path: str) -> PathRule | None:
    """The allow with the most leading components in common with a path, if any."""

    def common(rule: PathRule) -> int:
        pairs = zip(rule.path.split("/")[1:], path.split("/")[1:], strict=False)
        return next((n for n, (a, b) in enumerate(pairs) if a != b), 99)

    best = max(policy.allow, key=common, default=None)
    return best if best and (common(best) or len(policy.allow) == 1) else None


def shown_lines(text: str, marked: Lines) -> list[tuple[int, str, bool]]:
    """(number, line, whether it is the rule's) of a rule and what stands around it."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    first, last = marked
    last = min(last, first + MAX_RULE_LINES - 1)
    start, end = first, last
    if end - start + 1 < _WINDOW_LINES:
        start, end = max(first - 1, 1), min(last + 1, len(lines))
        missing = max(_WINDOW_LINES - (end - start + 1), 0)
        if end == len(lines):
            start = max(start - missing, 1)
        else:
            end = min(end + missing, len(lines))
    return [
        (number, lines[number - 1].rstrip("\r"), first <= number <= last)
        for number in range(start, end + 1)
    ]
