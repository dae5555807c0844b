"""The evaluator against docs/policy-semantics.md, read a second time without any of its parts."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.decide import Judge, Operation
from policies.load import parse_policy

ROOT = Path(__file__).parents[2]
PARTS = ("a", "b", ".s", "A")
PATTERNS = (
    "/a", "/a/b", "/b", "/", "**/.s/**", "**/.s", "**/a/b/**", "/a/*", "/a/**/b", "**/?", "/*/b",
    "**", "/a/[ab]", "**/[!a]/**", "/a/b/**",
)  # fmt: skip
PATHS = ["/", *("/" + "/".join(p) for n in (1, 2, 3) for p in itertools.product(PARTS, repeat=n))]
READS, WRITES = ("read", "metadata", "map"), ("write", "create", "delete", "rename", "link")


def covers(pattern: list[str], parts: list[str]) -> bool:
    """A glob by its definition: component by component, no regular expression."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(covers(pattern[1:], parts[n:]) for n in range(len(parts) + 1))
    return bool(parts) and one(pattern[0], parts[0]) and covers(pattern[1:], parts[1:])


def one(pattern: str, part: str) -> bool:
    """One component."""
    if pattern == "*":
        return bool(part)
    if pattern == "?":
        return len(part) == 1
    if pattern.startswith("["):
        inside = part in pattern.strip("[]!") and len(part) == 1
        return len(part) == 1 and inside != pattern.startswith("[!")
    return pattern == part


def matches(pattern: str, path: str) -> bool:
    """The table's glob on canonical paths."""
    parts = [part for part in path.split("/") if part]
    wanted = [part for part in pattern.split("/") if part]
    if not any(sign in pattern for sign in "*?["):
        wanted.append("**")
    return covers(wanted, parts)


def by_the_table(rules: dict[str, list[tuple[str, tuple[str, ...]]]], verb: str, path: str) -> str:
    """The rule that is named for a path, read from the table."""
    need = "read" if verb in READS else "write"
    for section in ("deny", "allow"):
        for index, (pattern, access) in enumerate(rules[section]):
            if need in (access or ("read", "write")) and matches(pattern, path):
                return f"filesystem.{section}[{index}]"
    return "filesystem.default-deny"


RULE = st.tuples(
    st.sampled_from(PATTERNS),
    st.sampled_from([(), ("read",), ("write",), ("read", "write")]),
)


def yaml_of(rules: dict[str, list[tuple[str, tuple[str, ...]]]], rest: str = "") -> bytes:
    """A policy's text."""
    text = "apiVersion: openclaw.jexmac.com/v2\nkind: SandboxPolicy\nmetadata: {name: x}\nspec:\n"
    if any(rules.values()):
        text += "  filesystem:\n"
    for section, entries in rules.items():
        text += f"    {section}:\n" if entries else ""
        for path, access in entries:
            text += f'      - path: "{path}"\n'
            text += f"        access: [{', '.join(access)}]\n" if access else ""
    return (text + (rest or "  network: {egress: deny-all}\n")).encode()


@settings(max_examples=200, deadline=None)
@given(st.lists(RULE, max_size=5), st.lists(RULE, max_size=5))
def test_paths_are_decided_as_the_table_says(allow: list, deny: list) -> None:
    """Every path of three components, every verb: the same rule is named."""
    rules = {"allow": allow, "deny": deny}
    judge = Judge(parse_policy(yaml_of(rules)))
    for path, verb in itertools.product(PATHS, (*READS, *WRITES)):
        verdict = judge.decide(Operation("filesystem", verb, path))
        assert verdict is not None
        assert verdict.rule == by_the_table(rules, verb, path), (path, verb)
        assert verdict.decision == ("allow" if ".allow" in verdict.rule else "deny")


@settings(max_examples=100, deadline=None)
@given(st.lists(RULE, max_size=4), st.lists(RULE, max_size=4), st.sampled_from(PATHS),
       st.sampled_from(PATHS))  # fmt: skip
def test_a_rename_needs_both_paths(allow: list, deny: list, old: str, new: str) -> None:
    """Allowed only if both are; a deny by a line is named before a default."""
    rules = {"allow": allow, "deny": deny}
    verdict = Judge(parse_policy(yaml_of(rules))).decide(
        Operation("filesystem", "rename", old, new)
    )
    names = [by_the_table(rules, "rename", path) for path in (old, new)]
    worst = sorted(names, key=lambda n: (".allow" in n, n.endswith("default-deny"), n))[0]
    assert verdict is not None
    assert verdict.rule == worst


def policy(rest: str) -> Judge:
    """A judge of a policy without rules for paths."""
    return Judge(parse_policy(yaml_of({}, rest)))


HOSTS = """  network:
    egress:
      - github.com:443
      - "*.example.org:*"
      - 192.0.2.7:22
      - "[2001:DB8::1]:443"
      - "*:8080"
"""


@pytest.mark.parametrize(
    ("host", "port", "rule"),
    [
        ("github.com", 443, "network.egress[0]"),
        ("GitHub.com.", 443, "network.egress[0]"),
        ("github.com", 80, "network.default-deny"),
        ("evil.github.com", 443, None),  # an address rule of that port: may be the same machine
        ("a.example.org", 9, "network.egress[1]"),
        ("example.org", 9, "network.default-deny"),
        ("192.0.2.7", 22, None),  # may be a name under example.org, whose index is lower
        ("::1", 80, None),
        ("2001:db8:0::1", 443, None),
        ("github.com", 8080, "network.egress[4]"),
        ("*", 9, None),
    ],
)
def test_destinations(host: str, port: int, rule: str | None) -> None:
    """Names and addresses are compared with their like; else nothing is said."""
    verdict = policy(HOSTS).decide(Operation("network", "connect", host=host, port=port))
    assert (verdict and verdict.rule) == rule


@pytest.mark.parametrize(
    ("operation", "rule"),
    [
        (Operation("process", "exec", "/usr/bin/git"), "process.allow[0]"),
        (Operation("process", "exec", "git"), "process.allow[0]"),
        (Operation("process", "exec", "/opt/node"), "process.default-deny"),
        (Operation("process", "exec", "/home/a/.ssh/git"), "filesystem.deny[0]"),
        (Operation("process", "fork", "/usr/bin/git"), None),
        (Operation("process", "exec"), None),
        (Operation("filesystem", "read", "/w/../x"), None),
        (Operation("filesystem", "read", "x"), None),
        (Operation("filesystem", "read", "/w//./y/"), "filesystem.allow[0]"),
        (Operation("filesystem", None, "/w"), None),
        (Operation("filesystem", "open", "/w"), None),
        (Operation("network", "bind", host="127.0.0.1", port=1), None),
        (Operation("network", "connect", "/w/.ssh/agent.sock"), "filesystem.deny[0]"),
        (Operation("network", "connect", "/w/x.sock"), None),
        (Operation("network", "connect", host="127.0.0.1", port=1), "network.egress.deny-all"),
        (Operation("mach", "lookup"), None),
    ],
)
def test_other_operations(operation: Operation, rule: str | None) -> None:
    """Programs by name, sockets by path, and what no policy speaks of."""
    rules = {"allow": [("/w", ())], "deny": [("**/.ssh/**", ())]}
    rest = "  process: {allow: [git]}\n  network: {egress: deny-all}\n"
    verdict = Judge(parse_policy(yaml_of(rules, rest))).decide(operation)
    assert (verdict and verdict.rule) == rule


def test_on_macos_a_deny_folds_and_an_allow_does_not() -> None:
    """/tmp is /private/tmp, .SSH is .ssh, an accent is one sign or two; over-blocking is safe."""
    rules = {"allow": [("/tmp/Work", ())], "deny": [("**/.ssh/**", ()), ("/tmp/Work/Größe", ())]}
    judge = Judge(parse_policy(yaml_of(rules)), macos=True)

    def rule(path: str) -> str | None:
        verdict = judge.decide(Operation("filesystem", "read", path))
        return verdict and verdict.rule

    assert rule("/private/tmp/Work/x") == rule("/tmp/Work/x") == "filesystem.allow[0]"
    assert rule("/tmp/work/x") == "filesystem.default-deny"
    assert rule("/Users/a/.SSH/id") == "filesystem.deny[0]"
    assert rule("/tmp/Work/GRÖSSE/x") == rule("/tmp/Work/Gro\u0308ße") == "filesystem.deny[1]"


def test_rules_that_lost_are_told() -> None:
    """What matched as well and did not decide, in order."""
    rules = {"allow": [("/a", ())], "deny": [("/a/b", ()), ("**/b", ())]}
    verdict = Judge(parse_policy(yaml_of(rules))).decide(Operation("filesystem", "read", "/a/b"))
    assert verdict is not None
    assert (verdict.rule, verdict.lost) == (
        "filesystem.deny[0]", ("filesystem.deny[1]", "filesystem.allow[0]"),
    )  # fmt: skip
