"""Attribution by the batch: the same answer as one by one, and what it fills and flags."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_events.rows import rows_to_batch
from policies.attribute import Attributor, operation_of
from policies.decide import Judge
from policies.history import Applied, History
from policies.load import parse_policy

ROOT = Path(__file__).parents[2]
EXAMPLE = parse_policy((ROOT / "examples" / "agent-readonly.yaml").read_bytes())
START = datetime(2026, 7, 28, 9, tzinfo=UTC)
HEAD = "apiVersion: openclaw.jexmac.com/v2\nkind: SandboxPolicy\nmetadata: {name: x}\nspec:\n"


def micros(moment: datetime) -> int:
    """µs since 1970."""
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def attributor(*policies: Any, macos: bool = False) -> Attributor:
    """Policies of sandbox `s`, one an hour from START on."""
    entries = [
        Applied("s", micros(START + timedelta(hours=n)), policy.digest)
        for n, policy in enumerate(policies)
    ]
    return Attributor({p.digest: p for p in policies}, History(entries), macos=macos)


def rows(*events: dict[str, Any], by: Attributor | None = None) -> list[dict[str, Any]]:
    """The events of sandbox `s`, a minute after START, as attributed."""
    base = {"sandbox": "s", "ts": START + timedelta(minutes=1)}
    batch = rows_to_batch([base | event for event in events])
    return (by or attributor(EXAMPLE)).attribute(batch).to_pylist()


def reads(path: str, decision: str, **more: Any) -> dict[str, Any]:
    """A read of a path."""
    return {"resource": "filesystem", "access": "read", "path": path, "decision": decision, **more}


def test_an_event_without_a_rule_gets_it() -> None:
    """Policy, digest, rule in all its columns, and that it was worked out here."""
    [row] = rows(reads("/Users/a/.ssh/id", "deny"))
    assert (row["policy"], row["policy_digest"]) == ("agent-readonly", EXAMPLE.digest)
    assert (row["policy_rule"], row["rule_section"], row["rule_index"], row["rule_origin"]) == (
        "filesystem.deny[1]", "filesystem.deny", 1, "derived",
    )  # fmt: skip
    assert row["flags"] is None


@pytest.mark.parametrize(
    ("event", "rule", "origin", "flags"),
    [
        (reads("/workspace/x", "allow"), "filesystem.allow[0]", "derived", None),
        (reads("/usr/lib/x", "allow"), "builtin.baseline.read", "derived", None),
        (reads("/tmp/x", "allow") | {"access": "write"}, "builtin.baseline.write", "derived", None),
        (reads("/etc/x", "deny"), "filesystem.default-deny", "derived", None),
        (reads("/workspace/x", "deny"), None, None, None),
        (reads("/a/.ssh/k", "allow"), "filesystem.deny[1]", "derived", "rule-mismatch"),
        (reads("/a/.ssh/k", "allow", flags="would-deny"), "filesystem.deny[1]", "derived",
         "would-deny"),
        (reads("/a/.ssh/k", "allow", flags="asked"), None, None, "asked"),
        (reads("/a/../k", "deny"), None, None, None),
        (reads("/a/.ssh/k", "unknown"), None, None, None),
        (reads("/a/.ssh/k", "deny", policy_rule="filesystem.deny[1]"), "filesystem.deny[1]", None,
         None),
        (reads("/a/.ssh/k", "deny", policy_rule="filesystem.deny.1"), "filesystem.deny.1", None,
         None),
        (reads("/a/.ssh/k", "deny", policy_rule="filesystem.deny[0]", flags="truncated"),
         "filesystem.deny[0]", None, "rule-mismatch,truncated"),
        (reads("/a/.ssh/k", "deny", policy_rule="filesystem.deny[7]"), "filesystem.deny[7]", None,
         "rule-mismatch"),
        (reads("/workspace/k", "deny", policy_rule="filesystem.allow[0]"), "filesystem.allow[0]",
         None, "rule-mismatch"),
        (reads("/a/.ssh/k", "allow", policy_rule="builtin.baseline.read"), "builtin.baseline.read",
         None, "rule-mismatch"),
        (reads("/usr/k", "allow", policy_rule="builtin.baseline.read"), "builtin.baseline.read",
         None, None),
        (reads("/a/.ssh/k", "deny", policy_rule="corp.rule.7"), "corp.rule.7", None, None),
        (reads("/a/.ssh/k", "deny", policy_rule="filesystem.deny[0]", rule_origin="linked"),
         "filesystem.deny[0]", "linked", None),
        ({"resource": "mach", "access": "lookup", "decision": "deny"}, None, None, None),
        ({"resource": "network", "access": "connect", "dst": "192.0.2.1:443", "decision": "deny"},
         "network.egress.deny-all", "derived", None),
        ({"resource": "process", "access": "exec", "path": "/bin/node", "decision": "deny"},
         "process.default-deny", "derived", None),
        ({"resource": "process", "access": "exec", "path": "/bin/git", "decision": "allow"},
         "process.allow[0]", "derived", None),
    ],
)  # fmt: skip
def test_what_is_filled_and_flagged(event: Any, rule: Any, origin: Any, flags: Any) -> None:
    """The second table of docs/policy-semantics.md."""
    [row] = rows(event)
    assert (row["policy_rule"], row["rule_origin"], row["flags"]) == (rule, origin, flags)


def test_no_policy_no_change() -> None:
    """Another sandbox, another kind, a time before the first policy, a digest nobody knows, a
    policy of another name: the row stays as it is."""
    events = [
        reads("/a/.ssh/k", "deny", sandbox="t"),
        reads("/a/.ssh/k", "deny", kind="tool_call"),
        reads("/a/.ssh/k", "deny", ts=START - timedelta(minutes=1)),
        reads("/a/.ssh/k", "deny", policy_digest="sha256:" + "0" * 64),
        reads("/a/.ssh/k", "deny", policy="other"),
    ]
    batch = rows_to_batch(
        [{"sandbox": "s", "ts": START + timedelta(minutes=1)} | e for e in events]
    )
    assert attributor(EXAMPLE).attribute(batch).equals(batch)


EDITED = parse_policy(
    EXAMPLE.text.replace(
        '      - path: "**/Key', '      - path: /new\n      - path: "**/Key'
    ).encode()
)


def test_the_policy_is_the_one_of_its_time_or_of_its_digest() -> None:
    """A rule inserted on top moves the others; an old event keeps the old number."""
    old, new, told = rows(
        reads("/a/.ssh/k", "deny"),
        reads("/a/.ssh/k", "deny", ts=START + timedelta(hours=2)),
        reads("/a/.ssh/k", "deny", ts=START + timedelta(hours=2), policy_digest=EXAMPLE.digest),
        by=attributor(EXAMPLE, EDITED),
    )
    assert [row["policy_rule"] for row in (old, new, told)] == [
        "filesystem.deny[1]", "filesystem.deny[2]", "filesystem.deny[1]",
    ]  # fmt: skip
    assert [row["policy_digest"] for row in (old, new)] == [EXAMPLE.digest, EDITED.digest]


@pytest.mark.parametrize(
    ("after_s", "flags"),
    [(-2.1, None), (-1.9, "policy-ambiguous"), (1.9, "policy-ambiguous"), (2.1, None)],
)
def test_a_change_nearby_is_flagged(after_s: float, flags: str | None) -> None:
    """Within two seconds of a change nobody knows which clock was right; the rule is a guess."""
    when = START + timedelta(hours=1, seconds=after_s)
    [row] = rows(reads("/a/.ssh/k", "deny", ts=when), by=attributor(EXAMPLE, EDITED))
    assert row["flags"] == flags
    [row] = rows(reads("/a/.ssh/k", "deny", ts=when, policy_rule="filesystem.deny[0]"),
                 by=attributor(EXAMPLE, EDITED))  # fmt: skip
    assert ("rule-mismatch" in (row["flags"] or "")) == (flags is None)


PATTERNS = ("/a", "/a/b", "/", "**/.s/**", "**/.s", "**/a/b/**", "/a/*", "/a/**/b", "**", "/t[ab]",
            "**/*.k", "/tmp", "/private/tmp/x", "**/A/**")  # fmt: skip
PARTS = st.sampled_from(["a", "b", ".s", "A", "tmp", "x.k", "private", "ta", "..", ""])
PATH = st.lists(PARTS, max_size=4).map(lambda parts: "/" + "/".join(parts))
RULE = st.tuples(st.sampled_from(PATTERNS), st.sampled_from(["", "read", "write"]))
EVENT = st.fixed_dictionaries(
    {
        "resource": st.sampled_from(["filesystem", "network", "process", "mach"]),
        "access": st.sampled_from(["read", "write", "rename", "exec", "connect", "open", None]),
        "path": st.none() | PATH,
        "path_to": st.none() | st.none() | PATH,
        "dst": st.none() | st.sampled_from(["h.x:1", "h.x:2", "192.0.2.1:1", "*:1"]),
    }
)


def text_of(allow: list, deny: list, rest: str) -> bytes:
    """A policy's text."""
    text = HEAD + "  filesystem:\n"
    for name, rules in (("allow", allow), ("deny", deny)):
        text += f"    {name}:\n"
        for path, access in rules:
            text += f'      - path: "{path}"\n' + (
                f"        access: [{access}]\n" if access else ""
            )
    return (text + rest).encode()


@settings(max_examples=120, deadline=None)
@given(
    st.lists(RULE, min_size=1, max_size=6), st.lists(RULE, min_size=1, max_size=6),
    st.sampled_from(["", "  network: {egress: ['h.x:1', '*:2']}\n", "  process: {allow: [a]}\n"]),
    st.lists(EVENT, min_size=1, max_size=25), st.booleans(),
)  # fmt: skip
def test_a_batch_is_decided_as_one_by_one(
    allow: list, deny: list, rest: str, events: list, macos: bool
) -> None:
    """Every row gets the rule that the plain evaluator names."""
    policy = parse_policy(text_of(allow, deny, rest))
    judge = Judge(policy, macos=macos)
    columns = ("resource", "access", "path", "path_to", "dst")
    verdicts = [judge.decide(operation_of(*(e[c] for c in columns), None, None)) for e in events]
    said = [v.decision if v else "deny" for v in verdicts]
    told = [e | {"decision": d} for e, d in zip(events, said, strict=True)]
    found = rows(*told, by=attributor(policy, macos=macos))
    assert [row["policy_rule"] for row in found] == [v and v.rule for v in verdicts]
