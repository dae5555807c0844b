"""What a policy says of one operation, and which of its rules says so.

docs/policy-semantics.md is the table; this is its plain reading, one operation at a time. The bulk
form is attribute.py, and a property test holds both together.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from policies.glob import Glob, rule_pattern
from policies.hosts import ANY, compared, host_covers, is_address
from policies.model import (
    ALLOW_ALL,
    DENY_ALL,
    FILESYSTEM_DEFAULT,
    NETWORK_DEFAULT,
    PROCESS_DEFAULT,
    READ,
    WRITE,
    PathRule,
    Policy,
)

# An event's verb and the access of a rule that it needs; every other verb no policy speaks of.
NEEDS: Final = {
    "read": READ, "metadata": READ, "map": READ,
    "write": WRITE, "create": WRITE, "delete": WRITE, "rename": WRITE, "link": WRITE,
}  # fmt: skip
EXEC: Final = "exec"
# `resolve`, `bind`, `listen` and what comes in are no egress.
CONNECTS: Final = ("connect", "send")
# Where the first component leads on macOS; the kernel follows it before it compares.
_MACOS_ROOTS: Final = {
    "tmp": "/private/tmp", "var": "/private/var", "etc": "/private/etc",
    "home": "/System/Volumes/Data/home",
}  # fmt: skip
_MASK: Final = "[REDACTED"

Decision = Literal["allow", "deny"]


@dataclass(frozen=True, slots=True)
class Operation:
    """What was attempted, in the words of the event's columns."""

    resource: str
    access: str | None = None
    path: str | None = None
    path_to: str | None = None
    host: str | None = None
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision and its rule; `lost` matched as well and did not decide."""

    decision: Decision
    rule: str
    lost: tuple[str, ...] = ()


def canonical(path: str, *, macos: bool) -> str | None:
    """A path as rules are compared with it; None where that cannot be known (`..`, relative)."""
    if not path.startswith("/"):
        return None
    if "//" in path or "/." in path or path[-1] == "/":
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if ".." in parts:
            return None
        path = "/" + "/".join(parts)
    return macos_path(path) if macos else path


def macos_path(path: str) -> str:
    """`/tmp/x` as the kernel of macOS knows it; for patterns and paths alike."""
    first, slash, rest = path[1:].partition("/")
    root = _MACOS_ROOTS.get(first) if path.startswith("/") else None
    return root + slash + rest if root else path


def folded(text: str) -> str:
    """Equal for two spellings of one name on a disk of macOS."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def rule_glob(rule: PathRule, *, macos: bool) -> Glob:
    """The glob of a path rule; on macOS a deny folds case and Unicode, an allow never."""
    if not macos:
        return rule_pattern(rule.path)
    path = macos_path(rule.path)
    return rule_pattern(folded(path) if rule.section == "deny" else path)


class Judge:
    """A policy ready to be asked."""

    def __init__(self, policy: Policy, *, macos: bool = False) -> None:
        self.policy = policy
        self.macos = macos
        self._allow = [(rule, rule_glob(rule, macos=macos)) for rule in policy.allow]
        self._deny = [(rule, rule_glob(rule, macos=macos)) for rule in policy.deny]
        self._processes = {rule.process: rule.name for rule in reversed(policy.processes)}

    def decide(self, operation: Operation) -> Verdict | None:
        """The verdict; None for what the policy does not speak of or cannot be compared."""
        if operation.access == EXEC:
            return self._exec(operation.path)
        if operation.resource == "filesystem":
            return self._files(operation)
        if operation.resource == "network" and operation.access in CONNECTS:
            return self._network(operation)
        return None

    def _files(self, operation: Operation) -> Verdict | None:
        need = NEEDS.get(operation.access or "")
        paths = [path for path in (operation.path, operation.path_to) if path is not None]
        if need is None or not paths:
            return None
        verdicts = [self.path(path, need) for path in paths]
        known = [verdict for verdict in verdicts if verdict]
        if len(known) < len(verdicts):
            return None
        return both(known)

    def path(self, path: str, need: str) -> Verdict | None:
        """The verdict on one path."""
        real = canonical(path, macos=self.macos)
        if real is None:
            return None
        denies = self._denies(real, need)
        allows = [r.name for r, glob in self._allow if need in r.access and glob.matches(real)]
        if denies:
            return Verdict("deny", denies[0], (*denies[1:], *allows))
        if allows:
            return Verdict("allow", allows[0], tuple(allows[1:]))
        return Verdict("deny", FILESYSTEM_DEFAULT)

    def _denies(self, real: str, need: str) -> list[str]:
        text = folded(real) if self.macos else real
        return [r.name for r, glob in self._deny if need in r.access and glob.matches(text)]

    def _exec(self, path: str | None) -> Verdict | None:
        """A program needs to be readable in the eyes of every deny, and to be named."""
        name = path.rstrip("/").rpartition("/")[2] if path else ""
        if not path or not name:
            return None
        real = canonical(path, macos=self.macos)
        if real is None and "/" in path:
            return None
        denies = self._denies(real, READ) if real else []
        allowed = self._processes.get(name)
        if denies:
            return Verdict("deny", denies[0], (*denies[1:], *([allowed] if allowed else [])))
        if allowed:
            return Verdict("allow", allowed)
        return Verdict("deny", PROCESS_DEFAULT)

    def _network(self, operation: Operation) -> Verdict | None:
        if operation.host is None:
            return self._socket(operation.path)
        return egress(self.policy, operation.host, operation.port)

    def _socket(self, path: str | None) -> Verdict | None:
        """A socket with a path leaves no machine; only a deny of its path speaks of it."""
        real = canonical(path, macos=self.macos) if path else None
        denies = self._denies(real, WRITE) if real else []
        return Verdict("deny", denies[0], tuple(denies[1:])) if denies else None


def both(verdicts: Sequence[Verdict]) -> Verdict:
    """Of an operation on two paths: a deny by a line, else a default, else the lowest allow."""
    denied = [v for v in verdicts if v.decision == "deny"]
    if not denied:
        return min(verdicts, key=lambda v: rule_order(v.rule))
    return min(denied, key=lambda v: rule_order(v.rule))


def rule_order(rule: str) -> tuple[bool, int]:
    """Rules of one section by index, defaults behind them."""
    _, _, index = rule.rstrip("]").rpartition("[")
    return (False, int(index)) if index.isdecimal() and rule.endswith("]") else (True, 0)


def egress(policy: Policy, host: str, port: int | None) -> Verdict | None:
    """The verdict on a destination.

    None where it cannot be known: the event has an address and a rule of its port a name (or the
    other way round), or the event lacks what the rule needs.
    """
    if policy.egress == "deny-all":
        return Verdict("deny", DENY_ALL)
    if policy.egress == "allow-all":
        return Verdict("allow", ALLOW_ALL)
    host = compared(host)
    hits: list[str] = []
    for rule in policy.hosts:
        if rule.port is not None and port is not None and rule.port != port:
            continue
        sure = rule.port is None or port is not None
        if sure and host_covers(rule.host, host):
            hits.append(rule.name)
        elif not hits and not (sure and _comparable(rule.host, host)):
            return None
    if hits:
        return Verdict("allow", hits[0], tuple(hits[1:]))
    return Verdict("deny", NETWORK_DEFAULT)


def _comparable(rule: str, host: str) -> bool:
    """Whether one host that does not cover the other is known to be another."""
    if host == ANY:
        return False
    return is_address(rule) == is_address(host)


def masked(*texts: str | None) -> bool:
    """Whether a text lacks what was masked in it, so that no rule can be compared any more."""
    return any(text is not None and _MASK in text for text in texts)
