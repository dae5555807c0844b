"""G8 with the policy at hand: each refusal with its line, at every width and as data."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from audit.main import run
from tests.audit.screen_store import POLICY, put_policy, stopped_since, whole_run
from tests.audit.story import NOW, StoryStore, at
from tests.audit.terminal import environment, piped, watched

G8 = f"""\
run 7f3a91c2 · agent-demo on mini-tokyo-07 · agent-readonly (sha256:{POLICY.digest[:6]}…)
Tue 2026-07-28 18:03:12.481+09 to 18:03:15.081+09 (2.6 s)
219 allow, 5 deny, 1 secret masked
record complete: no gap in this window

18:03:12.481+09  zsh[4021] read /workspace/agent-entry.sh                   4711
18:03:12.512+09  REFUSED git[4023] connect 140.82.113.4:443                 4712
                   network.egress.deny-all, line 17   egress: deny-all
18:03:12.655+09  rg[4025] read 212 files under /workspace           4713 to 4924
18:03:13.020+09  REFUSED python3[4031] read …/agent/.ssh/id_ed25519, 3 times
                   filesystem.deny[1], line 12   - path: "**/.ssh/**"       4925
                   macOS reported it too
18:03:13.301+09  REFUSED zsh[4021] exec /opt/homebrew/bin/node              4929
                   process.default-deny: node is not in process.allow, line 15
18:03:14.002+09  zsh[4021] write 6 files under /workspace           4931 to 4936
                   1 name held a secret: [REDACTED:openclaw-token:3fa94c1d22b0]
18:03:15.081+09  last event
"""
NARROW = """\
18:03:12.512+09  REFUSED git[4023] connect 140.82.113.4:443
                   network.egress.deny-all, line 17     4712
                   egress: deny-all
"""
ABSENT = "record complete up to 18:03:40+09, when collecting ended"


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoryStore]:
    """The run of G8, its policy recorded; nobody collects since the next morning."""
    store = StoryStore(tmp_path_factory.mktemp("shown") / "store", whole_run())
    put_policy(store)
    stopped_since(store, NOW)
    yield store
    store.close()


def test_every_refusal_has_the_line_of_its_rule(shown: StoryStore) -> None:
    """G8 to the blank."""
    seen = watched(["show", "last", "-s", "agent-demo"], environment(shown.paths.root))
    assert seen.out.partition("\n\nwhat ")[0] + "\n" == G8
    assert (seen.code, seen.err) == (0, "")


@pytest.mark.parametrize("columns", [60, 120, 200])
def test_the_lines_fit_every_width(shown: StoryStore, columns: int) -> None:
    """What has no room beside its rule stands below it; wide screens show it beside."""
    seen = watched(["show", "7f"], environment(shown.paths.root), columns)
    assert max(map(len, seen.lines)) <= columns
    if columns == 60:
        assert NARROW in seen.out
    else:
        assert '                   filesystem.deny[1], line 12   - path: "**/.ssh/**"\n' in seen.out


def test_a_pipe_and_data_have_the_lines_too(
    shown: StoryStore, capfd: pytest.CaptureFixture[str]
) -> None:
    """In text, JSON and Markdown."""
    seen = piped(["show", "7f"], environment(shown.paths.root))
    assert "network.egress.deny-all, line 17   egress: deny-all" in seen.out
    words = ["audit", "--store", str(shown.paths.root), "show", "7f"]
    assert run([*words, "--json"], now=lambda: NOW) == 0
    steps = [s for s in json.loads(capfd.readouterr().out)["steps"] if s["decision"] == "deny"]
    assert [(s["rule_line"], s["rule_text"]) for s in steps] == [
        (17, "egress: deny-all"),
        (12, '- path: "**/.ssh/**"'),
        (15, "allow: [git, rg, python3, zsh, bash]"),
    ]
    assert run([*words, "--format", "markdown"], now=lambda: NOW) == 0
    told = '| `filesystem.deny[1]` line 12: `- path: "**/.ssh/**"` | 4925 |'
    assert told in capfd.readouterr().out


def test_a_text_that_is_not_what_its_digest_says_is_not_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Somebody changed control.db: the rule stays, the line goes."""
    store = StoryStore(tmp_path / "store", whole_run())
    put_policy(store)
    with closing(sqlite3.connect(store.paths.control)) as con, con:
        con.execute("UPDATE policies SET text = replace(text, 'deny-all', 'allow-all')")
    assert run(["audit", "--store", str(store.paths.root), "show", "7f"], now=lambda: NOW) == 0
    store.close()
    out = capfd.readouterr().out
    assert "network.egress.deny-all\n" in out
    assert "line 17" not in out


def test_a_hostile_policy_text_is_only_text(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A comment in the policy reaches the story, and none of it bites; a long one is cut."""
    from policies.load import parse_policy

    line = "egress: deny-all"
    evil = parse_policy(POLICY.text.replace(line, f"{line}   # \u202e{'日本語' * 60}").encode())
    rows = [row | {"policy_digest": row["policy_digest"] and evil.digest} for row in whole_run()]
    store = StoryStore(tmp_path / "store", rows)
    with closing(sqlite3.connect(store.paths.control)) as con, con:
        con.execute("INSERT INTO policies VALUES (?, ?, ?)", (evil.digest, evil.name, evil.text))
    from audit.render_width import width

    for columns in (60, 80, 120):
        seen = watched(["show", "7f"], environment(store.paths.root), columns)
        assert "\\u202e" in seen.out
        assert "\u202e" not in seen.out
        assert max(map(width, seen.lines)) <= columns
    store.close()


def test_an_old_run_is_complete_although_nobody_collects_now(shown: StoryStore) -> None:
    """Over before collecting ended: no gap in this window; in the midst of it: up to then."""
    env = environment(shown.paths.root)
    assert "record complete: no gap in this window\n" in piped(["show", "7f"], env).out
    stopped_since(shown, at("18:03:40"))
    assert f"{ABSENT}\n" in piped(["show", "7f"], env).out
    stopped_since(shown, NOW)
