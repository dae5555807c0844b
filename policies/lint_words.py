"""Rules that do not mean what their words suggest."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from policies.decide import folded, macos_path
from policies.glob import path_components
from policies.hosts import ANY, host_covers, is_address
from policies.lint_cover import samples
from policies.model import HostRule, PathRule, Place, Policy

MAX_LISTED: Final = 3
# Destinations that cover others are compared with all; nobody writes more of them.
MAX_WIDE: Final = 100
_BRACES: Final = re.compile(r"\{[^{}/]*,[^{}/]*\}")


@dataclass(frozen=True, slots=True)
class Told:
    """One oddity and where it stands."""

    code: str
    rule: str
    place: Place
    message: str
    hint: str | None = None
    witness: str | None = None


def path_words(policy: Policy) -> Iterator[Told]:
    """About the paths of rules."""
    for rules in (policy.allow, policy.deny):
        seen: dict[str, PathRule] = {}
        for rule in rules:
            yield from _path(rule)
            twin = seen.setdefault(folded(rule.path), rule)
            if twin.path != rule.path:
                text = f"{rule.name} differs from {twin.name} only by upper and lower case"
                hint = "on macOS a deny covers both" if rule.section == "deny" else None
                yield Told("case-twins", rule.name, rule.place, text, hint, samples(rule.path)[0])


def _path(rule: PathRule) -> Iterator[Told]:
    path, name, place = rule.path, rule.name, rule.place
    if rule.section == "allow" and not rule.stated:
        yield Told("access-not-stated", name, place, f"{name} names no access, so it allows both",
                   "access: [read]")  # fmt: skip
    if rule.section == "allow" and path.rstrip("/") in ("", "**", "/**"):
        yield Told("allows-everything", name, place, f"{name} allows every path", None, "/")
    if len(path) > 1 and path.endswith("/"):
        yield Told("trailing-slash", name, place, f"the '/' at the end of '{path}' says nothing",
                   path.rstrip("/"))  # fmt: skip
    if (real := macos_path(path)) != path:
        root = "/" + path.split("/")[1]
        text = f"on macOS {root} leads to {macos_path(root)}; the rule is compared as {real}"
        yield Told("symlink-root", name, place, text, real, samples(path)[0])
    yield from _signs(rule)


def _signs(rule: PathRule) -> Iterator[Told]:
    path, name, place = rule.path, rule.name, rule.place
    if "[" in path and not any(sign in path for sign in "*?") and _classes(path):
        text = f"in '{path}' the brackets stand for one character"
        hint = "for the name itself: " + re.sub(r"(?<!\\)([\[\]])", r"\\\1", path)
        yield Told("class-in-path", name, place, text, hint, samples(path)[0])
    if found := _BRACES.search(path):
        yield Told("braces", name, place, f"{found[0]} is no choice here, it is compared as it is",
                   "a rule for each")  # fmt: skip
    if any("**" in part and part != "**" for part in path.split("/")):
        yield Told("stars-in-name", name, place, f"in '{path}' a ** inside a name is a *",
                   "**/ stands for whole folders")  # fmt: skip


def _classes(path: str) -> bool:
    bare = path.rstrip("/")
    return bare != "" and any(
        part.ranges for component in path_components(path) if component for part in component
    )


def process_words(policy: Policy) -> Iterator[Told]:
    """About the names of programs."""
    first: dict[str, str] = {}
    for rule in policy.processes:
        known = first.setdefault(rule.process, rule.name)
        if known != rule.name:
            text = f"{rule.name} adds nothing: {known} is {rule.process} too"
            yield Told("redundant-process", rule.name, rule.place, text)


def network_words(policy: Policy) -> Iterator[Told]:
    """About destinations."""
    names = [r for r in policy.hosts if r.host != ANY and not is_address(r.host)]
    if names:
        listed = ", ".join(rule.host for rule in names[:MAX_LISTED])
        more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
        text = f"{listed}{more}: where only addresses are seen, a name covers nothing"
        hint = "an enforcer that sees names (a proxy), or addresses"
        yield Told("host-name", names[0].name, names[0].place, text, hint)
    wide = [rule for rule in policy.hosts if rule.host.startswith("*") or rule.port is None]
    wide = wide[:MAX_WIDE]
    exact: dict[tuple[str, int | None], HostRule] = {}
    for rule in policy.hosts:
        twin = exact.setdefault((rule.host, rule.port), rule)
        by = twin if twin is not rule else next((o for o in wide if _wider(o, rule)), None)
        if by is not None:
            text = f"{rule.name} adds nothing: {by.name} covers it"
            yield Told("redundant-egress", rule.name, rule.place, text)


def _wider(other: HostRule, rule: HostRule) -> bool:
    if other is rule or (other.host, other.port) == (rule.host, rule.port):
        return False
    ports = other.port is None or other.port == rule.port
    inside = rule.host.startswith("*.") and other.host.startswith("*.")
    hosts = host_covers(other.host, rule.host) or (inside and rule.host.endswith(other.host[1:]))
    return ports and hosts
