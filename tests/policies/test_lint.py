"""Warnings of a policy: each kind at its place, exact, and none about a plain policy."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.automaton import Automaton, uncovered
from policies.glob import compile_glob
from policies.lint import Finding, lint
from policies.load import parse_policy

ROOT = Path(__file__).parents[2]
HEAD = "apiVersion: openclaw.jexmac.com/v2\nkind: SandboxPolicy\nmetadata: {name: x}\nspec:\n"
Rules = list[tuple[str, str]]


def policy_text(allow: Rules, deny: Rules, rest: str = "") -> bytes:
    """A policy; a rule is its path and its accesses."""
    text = HEAD + ("  filesystem:\n" if allow or deny else "")
    for name, rules in (("allow", allow), ("deny", deny)):
        text += f"    {name}:\n" if rules else ""
        for path, access in rules:
            text += f"      - path: '{path}'\n" + (
                f"        access: [{access}]\n" if access else ""
            )
    return (text + rest).encode()


def found(allow: Rules, deny: Rules, rest: str = "") -> list[Finding]:
    """What is odd."""
    return lint(parse_policy(policy_text(allow, deny, rest)))


def told(findings: list[Finding], level: str = "warning") -> list[tuple[str, str]]:
    """Code and rule of the findings of a level."""
    return [(finding.code, finding.rule) for finding in findings if finding.level == level]


def test_the_example_has_no_warnings() -> None:
    """Notes say what such a policy cannot hold back; nothing is wrong with it."""
    findings = lint(parse_policy((ROOT / "examples" / "agent-readonly.yaml").read_bytes()))
    assert told(findings) == []
    assert told(findings, "note") == [
        ("movable", "filesystem.deny[2]"), ("interpreter", "process.allow[2]"),
    ]  # fmt: skip


RW, R, W = "read, write", "read", "write"


@pytest.mark.parametrize(
    ("allow", "deny", "expected"),
    [
        ([("/a/b", RW)], [("/a", "")], [("dead-allow", "filesystem.allow[0]")]),
        ([("/a/b", RW)], [("/a", W)], [("dead-allow", "filesystem.allow[0]")]),
        ([("/a/b", R)], [("/a", W)], []),
        ([("/a/.ssh/x", R)], [("**/.ssh/**", "")], [("dead-allow", "filesystem.allow[0]")]),
        ([("/a/*", R)], [("/a/[!b]*/**", ""), ("/a/b*", "")],
         [("dead-allow", "filesystem.allow[0]")]),
        ([("/a/*", R)], [("/a/[!b]*/**", ""), ("/a/bc*", "")], []),
        ([("/a", R), ("/a/b", R)], [], [("redundant-allow", "filesystem.allow[1]")]),
        ([("/a/b", R), ("/a", RW)], [], [("redundant-allow", "filesystem.allow[0]")]),
        ([("/a/b", RW), ("/a", R)], [], []),
        ([("/a", R), ("/a", R)], [], [("redundant-allow", "filesystem.allow[1]")]),
        ([("/a", R), ("/a/b", RW), ("/a", W)], [], [("redundant-allow", "filesystem.allow[1]")]),
        ([("/w", R)], [("**/k", ""), ("**/k/**", "")], [("redundant-deny", "filesystem.deny[0]")]),
        ([("/w", R)], [("**/a/**", ""), ("**/b/a/**", "")],
         [("redundant-deny", "filesystem.deny[1]")]),
        ([("/w", R)], [("**/a/**", ""), ("**/b/**", "")], []),
        ([("/w", R)], [("/x", ""), ("/x/*/**", ""), ("/x/?", R)],
         [("redundant-deny", "filesystem.deny[1]"), ("redundant-deny", "filesystem.deny[2]")]),
        ([("/", R)], [], [("allows-everything", "filesystem.allow[0]")]),
        ([("/w", "")], [], [("access-not-stated", "filesystem.allow[0]")]),
        ([("/w/", R)], [], [("trailing-slash", "filesystem.allow[0]")]),
        ([("/tmp/x", R)], [], [("symlink-root", "filesystem.allow[0]")]),
        ([("/app/[id]/x", R)], [], [("class-in-path", "filesystem.allow[0]")]),
        ([("/app/\\[id\\]/x", R)], [], []),
        ([("/app/[ab]*", R)], [], []),
        ([("/app/{a,b}", R)], [], [("braces", "filesystem.allow[0]")]),
        ([("/app/a**b", R)], [], [("stars-in-name", "filesystem.allow[0]")]),
        ([("/w", R)], [("**/.SSH/**", ""), ("**/.ssh/**", "")],
         [("case-twins", "filesystem.deny[1]")]),
    ],
)  # fmt: skip
def test_each_warning(allow: Rules, deny: Rules, expected: list[tuple[str, str]]) -> None:
    """Told for the rule that is odd, and for no other."""
    assert told(found(allow, deny)) == expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("  process: {allow: [git, rg, git]}\n", [("redundant-process", "process.allow[2]")]),
        ("  network: {egress: ['192.0.2.1:443', '*:443', '192.0.2.1:22']}\n",
         [("redundant-egress", "network.egress[0]")]),
        ("  network: {egress: ['a.x:443', 'b.x:443']}\n", [("host-name", "network.egress[0]")]),
        ("  network: {egress: ['192.0.2.1:443', '192.0.2.1:443']}\n",
         [("redundant-egress", "network.egress[1]")]),
    ],
)  # fmt: skip
def test_warnings_of_names_and_hosts(rest: str, expected: list[tuple[str, str]]) -> None:
    """Twice the same, covered by another, a name where addresses are seen."""
    assert told(found([], [], rest)) == expected


def test_notes() -> None:
    """A deny that meets nothing, a folder that can be moved away, programs that run anything."""
    findings = found([("/w", RW)], [("/x", W), ("**/A/B/**", "")], "  process: {allow: [bash]}\n")
    assert told(findings) == []
    assert told(findings, "note") == [
        ("idle-deny", "filesystem.deny[0]"), ("movable", "filesystem.deny[1]"),
        ("interpreter", "process.allow[0]"),
    ]  # fmt: skip


def test_a_warning_has_its_place_and_its_witness() -> None:
    """Line and column of the path, the rules that cover it, a path to try."""
    [warning] = found([("/a/b", RW)], [("/a", "")])
    assert (warning.problem.line, warning.problem.column, warning.witness) == (7, 15, "/a/b")
    assert warning.problem.message == (
        "filesystem.allow[0] allows nothing: filesystem.deny[0] covers all of it, for example /a/b"
    )


PATTERN = st.sampled_from(
    ["/a", "/a/b", "/a/*", "/a/**", "/*/b", "**/a/**", "**/b", "**/a/b/**", "/?", "/[ab]/**",
     "/a/?", "/[!a]/**", "/a/[ab]", "/a/[!b]*", "**", "/*", "/*/**", "/a/**/b", "/ab", "**/?b/**"]
)  # fmt: skip
RULE = st.tuples(PATTERN, st.sampled_from([R, W, RW]))


@settings(max_examples=150, deadline=None)
@given(st.lists(RULE, min_size=1, max_size=5), st.lists(RULE, max_size=5))
def test_what_is_told_is_exactly_what_is_so(allow: Rules, deny: Rules) -> None:
    """Dead: the denies cover it whole, asked of all at once. Redundant: the rest covers it."""
    findings = found(allow, deny)
    dead = {f.rule for f in findings if f.code == "dead-allow"}
    for index, (path, access) in enumerate(allow):
        gone = [need for need in access.split(", ") if covered(path, need, deny)]
        assert (f"filesystem.allow[{index}]" in dead) == bool(gone)
    for section, rules in (("allow", allow), ("deny", deny)):
        names = {f.rule for f in findings if f.code == f"redundant-{section}"}
        kept = [rule for n, rule in enumerate(rules) if f"filesystem.{section}[{n}]" not in names]
        # Without what is redundant the rest covers as much, and none of it can go as well.
        for path, access in rules:
            assert all(covered(path, need, kept) for need in access.split(", "))
        for n, (path, access) in enumerate(kept):
            number = rules.index((path, access))
            if f"filesystem.{section}[{number}]" not in dead and kept.count((path, access)) == 1:
                rest = [*kept[:n], *kept[n + 1 :]]
                assert not all(covered(path, need, rest) for need in access.split(", "))
    for finding in findings:
        if finding.witness and finding.code.startswith(("dead", "redundant")):
            section, index = finding.rule[11:].rstrip("]").split("[")
            rules = allow if section == "allow" else deny
            assert compile_glob(rules[int(index)][0]).matches(finding.witness)


def covered(path: str, need: str, rules: Rules) -> bool:
    """Whether the rules about an access cover a pattern whole."""
    others = [Automaton(other) for other, access in rules if need in access]
    return uncovered(Automaton(path), others) is None


def big(rules: int, path: str) -> bytes:
    """A policy of many rules."""
    return policy_text([(path.format(n=n), R) for n in range(rules)], [("**/.ssh/**", "")])


@pytest.mark.parametrize(
    ("rules", "path"),
    [(8_000, "/w/p{n}/src"), (4_000, "/w/*{n}*/**/x?"), (300, "/w/**/a*{n}*b*/**"), (900, "/w")],
)
def test_a_large_policy_is_checked_in_bounded_time(rules: int, path: str) -> None:
    """Literal, or as twisted as can be: seconds at most, and it is said if not all was checked."""
    policy = parse_policy(big(rules, path))
    before = time.process_time()
    lint(policy)
    assert time.process_time() - before < 8.0
