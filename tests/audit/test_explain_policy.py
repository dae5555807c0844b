"""G9: an event leads to its rule, the rule's lines as they were, why, and what would change it."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from audit_events.layout import CONTROL_DDL
from collector.policy_store import Application, put_in_force
from collector.sqlite import open_writable
from policies.load import parse_policy
from tests.audit.story import DIGEST, NOW, StoryStore, at, event, file_event, story
from tests.audit.terminal import environment, piped, watched

ROOT = Path(__file__).parents[2]
EXAMPLE = parse_policy((ROOT / "examples" / "agent-readonly.yaml").read_bytes())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The story under the shipped policy, and a few events that it does not tell."""
    home = tmp_path_factory.mktemp("home")
    more = [
        file_event(4932, "18:03:15", "deny", "zsh[1]", "read", "/etc/passwd",
                   "filesystem.default-deny", 9),
        file_event(4933, "18:03:15", "deny", "zsh[1]", "read", "/Users/agent/.ssh/k",
                   "filesystem.deny[0]", 9) | {"flags": "rule-mismatch"},
        file_event(4934, "18:03:15", "allow", "zsh[1]", "read", "/workspace/x",
                   "filesystem.allow[0]", 9),
        event(4935, "18:03:16", "deny", "zsh[1]", resource="filesystem", access="read",
              path="/workspace/y"),
        event(4936, "18:03:16", "deny", "zsh[1]", resource="mach", access="lookup", target="x"),
    ]  # fmt: skip
    rows = [
        row | {"policy_digest": row["policy_digest"] and EXAMPLE.digest}
        for row in [*story(), *more]
    ]
    store = StoryStore(home / "store", rows)
    store.collector(pid=1, heartbeat=NOW - 1_000_000)
    put(store, home, EXAMPLE, at("10:02:00", "2026-07-27"))
    yield store
    store.close()


def put(store: StoryStore, home: Path, policy: Any, when: int) -> None:
    """A policy in force from a time on."""
    path = str(home / "policies" / "agent-readonly.yaml")
    with closing(open_writable(store.paths.control, CONTROL_DDL)) as con:
        put_in_force(con, Application("agent-demo", policy, path, "oncall", when))


def explain(store: StoryStore, *words: str, columns: int = 80) -> list[str]:
    """The page, as a person sees it."""
    seen = watched(["explain", *words], environment(store.paths.root), columns)
    assert (seen.code, seen.err) == (0, "")
    return seen.lines


def test_a_refused_connection(made: StoryStore) -> None:
    """G9 whole: rule, lines, why, the edit that flips it, today."""
    assert explain(made, "4712") == [
        "DENY  connect 140.82.113.4:443                                        7kq2m-4712",
        "      by git[4023] in agent-demo, run 7f3a91c2",
        "      Tue 2026-07-28 18:03:12.512+09 (09:03:12.512Z), in 19 µs, by openclaw",
        "",
        "rule  network.egress.deny-all (reported by openclaw, confirmed by replay)",
        f"      agent-readonly, sha256:{EXAMPLE.digest[:6]}…, in force since 2026-07-27T10:02+09",
        "",
        "      15      allow: [git, rg, python3, zsh, bash]",
        "      16    network:                              ~/policies/agent-readonly.yaml",
        "    > 17      egress: deny-all",
        "",
        "why   deny-all refuses every destination; no other network rule exists",
        "flip  replace line 17 by",
        '            egress: ["140.82.113.4:443"]',
        "      the record has no host name; if you know it, prefer  HOST:443",
        "today still denied (policy unchanged since)",
        "",
        "next  audit show 4712 -C 10 · audit query --seq 4702:4722",
    ]


def test_a_refusal_by_a_line(made: StoryStore) -> None:
    """No allow can change it, and what the line protects is said."""
    page = explain(made, "4925")
    start = page.index("rule  filesystem.deny[1] (reported by openclaw, confirmed by replay; macOS")
    assert page[start + 2 :][:1] != []
    assert [line[:44].rstrip() for line in page if line[4:8] in ("  11", "> 12", "  13")] == [
        '      11        - path: "**/Keychains/**"',
        '    > 12        - path: "**/.ssh/**"',
        '      13        - path: "**/Library/Cookies/',
    ]
    assert page[-6:] == [
        "why   a deny beats every allow; no allow matches /Users/agent/.ssh anyway",
        "flip  no allow rule can change this; only removing or narrowing line 12 would.",
        "      Not advised: **/.ssh holds private keys",
        "today still denied (policy unchanged since)",
        "",
        "next  audit show 4925 -C 10 · audit query --seq 4915:4935",
    ]  # fmt: skip


def test_no_rule_known(made: StoryStore) -> None:
    """What to do so that the next one has its rule."""
    page = explain(made, "4930")
    assert page[-5:] == [
        "rule  none known: macOS (seatbelt) reports no rule, and no policy was recorded",
        "      for sandbox build-2 at that time",
        "",
        "next  audit policy apply -f POLICY.yaml --sandbox build-2     from now on",
        "      audit show 4930 -C 10",
    ]


@pytest.mark.parametrize(
    ("seq", "said"),
    [
        (4929, ["why   process.allow does not name node", "flip  replace line 15 by",
                "            allow: [git, rg, python3, zsh, bash, node]"]),
        (4932, ["why   no allow covers /etc/passwd; the nearest allow is /workspace",
                "      (filesystem.allow[0])", "flip  add below line 9",
                "              - path: /etc/passwd", "                access: [read]"]),
        (4933, ["why   the policy itself says DENY by filesystem.deny[1]:",
                "flag  rule-mismatch: the rule it names is not what the policy says"]),
        (4934, ["why   filesystem.allow[0] covers it, and no deny does", "flip  add below line 13",
                "today still allowed (policy unchanged since)"]),
        (4935, ["why   the policy says allow by filesystem.allow[0]; somebody else decided"]),
        (4936, ["why   the policy does not speak of this; somebody else decided"]),
        (4931, ["why   part of it is masked, so the policy is not asked again",
                "today the same policy is in force"]),
    ],
)  # fmt: skip
def test_other_events(made: StoryStore, seq: int, said: list[str]) -> None:
    """Programs, paths, a record that disagrees, an allow, somebody else's refusal, a mask."""
    page = explain(made, str(seq))
    assert [line for line in page if line in said] == said


def test_an_event_of_a_pipe(made: StoryStore) -> None:
    """`-` takes a record, or the line of a screen."""
    for line in (b'{"event_id": "7kq2m-4712", "path": "x"}\n', b"18:03 DENY connect  rule 4712\n"):
        seen = piped(["explain", "-"], environment(made.paths.root), line)
        assert (seen.code, seen.lines[0].split()[-1]) == (0, "7kq2m-4712")
    for line in (b"", b'{"x": 1}\n', b"[" * 4000 + b"\n", b"\xff\n"):
        seen = piped(["explain", "-"], environment(made.paths.root), line)
        assert (seen.code, seen.out) == (2, "")


def test_today_another_policy_holds(tmp_path: Path) -> None:
    """The old text explains the event; what holds now is said beside it."""
    rows = [row | {"policy_digest": EXAMPLE.digest} for row in story() if row["seq"] == 4712]
    store = StoryStore(tmp_path / "store", rows)
    put(store, tmp_path, EXAMPLE, at("10:02:00", "2026-07-27"))
    newer = parse_policy(EXAMPLE.text.replace("deny-all", '["140.82.113.4:443"]').encode())
    put(store, tmp_path, newer, at("18:04:00"))
    page = explain(store, "4712")
    assert "    > 17      egress: deny-all" in page
    start = next(n for n, line in enumerate(page) if line.startswith("today"))
    assert " ".join(page[start].split() + page[start + 1].split()) == (
        f"today allowed by network.egress[0] (agent-readonly sha256:{newer.digest[:6]}…,"
        " since 2026-07-28T18:04+09)"
    )
    store.close()


def test_a_forged_text_explains_nothing(tmp_path: Path) -> None:
    """The text must have the digest of the event."""
    rows = [row | {"policy_digest": EXAMPLE.digest} for row in story() if row["seq"] == 4712]
    store = StoryStore(tmp_path / "store", rows)
    put(store, tmp_path, EXAMPLE, 1)
    with closing(sqlite3.connect(store.paths.control)) as con:
        con.execute("UPDATE policies SET text = replace(text, 'deny-all', 'allow-all')")
        con.commit()
    page = explain(store, "4712")
    assert (
        f"      agent-readonly, sha256:{EXAMPLE.digest[:6]}…; its text is not recorded here" in page
    )
    assert DIGEST.removeprefix("sha256:") != EXAMPLE.digest
    store.close()
