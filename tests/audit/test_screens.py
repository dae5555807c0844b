"""The golden screens: the real command on a real terminal against the README's story."""

import re
from pathlib import Path

import pytest

from tests.audit.story import ADMIN, StoryStore, at, file_event
from tests.audit.terminal import Terminal, environment, piped, watched

G4 = """\
── agent-demo · run 7f3a91c2
18:03:12+09 allow read    /workspace/agent-entry.sh   filesystem.allow[0]   4711
18:03:12+09 DENY  connect 140.82.113.4:443        network.egress.deny-all   4712
18:03:12+09 allow read    …iewController.swift  ×212  filesystem.allow[0]   4713
18:03:13+09 DENY  read    …/agent/.ssh/id_ed25519  ×3  filesystem.deny[1]   4925
18:03:13+09 DENY  exec    /opt/homebrew/bin/node     process.default-deny   4929
── build-2 · run b41c07e9
18:03:13+09 DENY  lookup  com.apple.networkd                   (seatbelt)   4930
── agent-demo · run 7f3a91c2
18:03:14+09 allow write   /workspace/[REDACTED].json  filesystem.allow[0]   4931
"""
G5 = """\
18:03:12.481+09 allow agent-demo zsh[4021]     read    /workspace/agent-entry.sh              filesystem.allow[0]   4711
18:03:12.512+09 DENY  agent-demo git[4023]     connect 140.82.113.4:443                   network.egress.deny-all   4712
18:03:12.655+09 allow agent-demo rg[4025]      read    …/SettingsViewController.swift   ×212  filesystem.allow[0]   4713
18:03:13.020+09 DENY  agent-demo python3[4031] read    /Users/agent/.ssh/id_ed25519   ×3  +os  filesystem.deny[1]   4925
18:03:13.301+09 DENY  agent-demo zsh[4021]     exec    /opt/homebrew/bin/node                process.default-deny   4929
18:03:13.377+09 DENY  build-2    Python[4044]  lookup  com.apple.networkd                              (seatbelt)   4930
18:03:14.002+09 allow agent-demo zsh[4021]     write   /workspace/[REDACTED].json             filesystem.allow[0]   4931
"""  # noqa: E501
G6 = """\
2026-07-28 18:03:12.481+09 allow agent-demo   7f3a91c2 zsh[4021]        read    /workspace/agent-entry.sh                                                           34µs      filesystem.allow[0]   4711
2026-07-28 18:03:12.512+09 DENY  agent-demo   7f3a91c2 git[4023]        connect 140.82.113.4:443                                                                    19µs  network.egress.deny-all   4712
2026-07-28 18:03:12.655+09 allow agent-demo   7f3a91c2 rg[4025]         read    /workspace/Sources/App/Feature/Settings/SettingsViewController.swift        ×212    31µs      filesystem.allow[0]   4713
2026-07-28 18:03:13.020+09 DENY  agent-demo   7f3a91c2 python3[4031]    read    /Users/agent/.ssh/id_ed25519                                             ×3  +os    22µs       filesystem.deny[1]   4925
2026-07-28 18:03:13.301+09 DENY  agent-demo   7f3a91c2 zsh[4021]        exec    /opt/homebrew/bin/node                                                              27µs     process.default-deny   4929
2026-07-28 18:03:13.377+09 DENY  build-2      b41c07e9 Python[4044]     lookup  com.apple.networkd                                                                                     (seatbelt)   4930
2026-07-28 18:03:14.002+09 allow agent-demo   7f3a91c2 zsh[4021]        write   /workspace/[REDACTED:openclaw-token:3fa94c1d22b0].json                              33µs      filesystem.allow[0]   4931
"""  # noqa: E501
G24 = """\
── agent-demo · run 7f3a91c2
18:03:12+09 allow read    /workspace/agent-entry.sh   filesystem.allow[0]   4711
18:03:12+09 allow read    …iewController.swift  ×212  filesystem.allow[0]   4713
18:03:14+09 allow write   /workspace/[REDACTED].json  filesystem.allow[0]   4931
"""
NARROW = """\
── agent-demo · run 7f3a91c2
18:03:13+09 DENY  exec
    /opt/homebrew/bin/node
                       process.default-deny   4929
── build-2 · run b41c07e9
18:03:13+09 DENY  lookup         (seatbelt)   4930
    com.apple.networkd
"""
PLAIN = """\
-- agent-demo | run 7f3a91c2
18:03:12+09 allow read    ...wController.swift  x212  filesystem.allow[0]   4713
18:03:13+09 DENY  read    .../.ssh/id_ed25519      x3  filesystem.deny[1]   4925
"""


@pytest.mark.parametrize(("columns", "golden"), [(80, G4), (120, G5), (200, G6)])
def test_the_seven_records_look_as_the_screens_say(
    story_store: Path, columns: int, golden: str
) -> None:
    """G4, G5, G6: the same lines at 80, 120 and 200 columns, to the blank."""
    seen = watched(["tail", "-n", "7"], environment(story_store), columns)
    assert seen.out == golden
    assert max(len(line) for line in seen.lines) <= columns


def test_a_query_counts_lines_and_says_that_more_match(story_store: Path) -> None:
    """G24: three lines stand for 214 events, and the header says what was asked."""
    words = [
        "query",
        "--resource",
        "filesystem",
        "--path",
        "/workspace",
        "--since",
        "1h",
        "-n",
        "3",
    ]
    seen = watched(words, environment(story_store))
    assert seen.out == G24
    assert seen.err.splitlines() == [
        "filesystem · path /workspace · 17:05+09 to now · mini-tokyo-07 · 7kq2m",
        "newest 3 lines (214 events), more match; --count for the number, -n 0 for all",
    ]
    assert seen.code == 0


def test_a_very_narrow_terminal_gives_the_target_a_line_of_its_own(story_store: Path) -> None:
    """Below 60 columns the rule and seq stay whole and the target moves down."""
    seen = watched(["tail", "-n", "2", "--deny"], environment(story_store), 50)
    assert seen.out == NARROW


def test_a_terminal_without_utf8_gets_ascii_only(story_store: Path) -> None:
    """LC_ALL=C: the signs have ASCII twins and the columns still hold."""
    words = ["query", "-s", "agent-demo", "--seq", "4713:4927"]
    seen = watched(words, environment(story_store, LC_ALL="C", LANG=""))
    assert seen.out.isascii()
    assert seen.err.isascii()
    assert seen.out == PLAIN


def test_a_pipe_gets_whole_lines_in_utc(story_store: Path) -> None:
    """No fold, no cut, no heading: grep, wc -l and awk work."""
    seen = piped(["query", "--seq", "4711:4931"], environment(story_store))
    assert len(seen.lines) == 100
    seen = piped(["query", "--deny", "-n", "7"], environment(story_store))
    assert seen.lines[0] == (
        "2026-07-28T09:03:12.512000Z  DENY  agent-demo  7f3a91c2  git[4023]  connect  "
        "140.82.113.4:443  network.egress.deny-all  4712"
    )
    assert {line.split()[1] for line in seen.lines} == {"DENY"}
    assert {len(re.split(r" {2,}", line)) for line in seen.lines} == {9}
    assert seen.err == ""


def test_live_denials_fold_and_gaps_show_whatever_the_filters(own_store: StoryStore) -> None:
    """G3: newest first shown, then live; repeats become one line; Ctrl-C says what was seen."""
    own_store.collector()
    env = environment(own_store.paths.root)
    words = ["tail", "-f", "--deny", "-s", "agent-demo"]
    live = Terminal(words, env)
    _wait(live, "4929")
    passwd = ("read", "/etc/master.passwd", "filesystem.default-deny", 20)
    own_store.append([file_event(5120, "18:07:40.000", "deny", "cat[4099]", *passwd)])
    rest = [file_event(5121 + n, f"18:07:4{n // 100}.{n % 100:02}", "deny", "cat[4099]", *passwd)
            for n in range(411)]  # fmt: skip
    own_store.append(rest)
    _wait(live, "5531")
    own_store.gap("unified-log", at("18:09:02"), None, ADMIN)
    _wait(live, "…now")
    live.interrupt()
    seen = live.finish()
    assert seen.lines == [
        "── agent-demo · run 7f3a91c2",
        "18:03:12+09 DENY  connect 140.82.113.4:443        network.egress.deny-all   4712",
        "18:03:13+09 DENY  read    …/agent/.ssh/id_ed25519  ×3  filesystem.deny[1]   4925",
        "18:03:13+09 DENY  exec    /opt/homebrew/bin/node     process.default-deny   4929",
        "18:07:40+09 DENY  read    /etc/master.passwd      filesystem.default-deny   5120",
        "18:07:40+09 DENY  … ×411 more in 4.1 s            filesystem.default-deny   5531",
        "18:09:02+09 gap   unified-log: Must be admin to run 'stream' command  …now",
    ]
    assert seen.err.splitlines() == [
        "deny · agent-demo · newest 20, then live · times +09 · mini-tokyo-07 · 7kq2m",
        "stopped: 417 events in 5 lines, 1 gap, 0 missed",
    ]
    assert seen.code == 130


def _wait(live: Terminal, text: str) -> None:
    """Until a text is on the screen; fails the test after a while."""
    import time

    for _ in range(400):
        if text.encode() in live.out:
            return
        time.sleep(0.05)
    live.process.kill()
    raise AssertionError(f"never saw {text!r} in {live.out.decode()!r} {live.err.decode()!r}")
