"""`audit show` (G8): the last run as a story, an event with its neighbours, data and Markdown."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit import markdown
from audit.main import run
from tests.audit.story import ADMIN, MASKED, NOW, StoryStore, at, event, file_event, story
from tests.audit.terminal import environment, piped, watched

HEAD = """\
run 7f3a91c2 · agent-demo on mini-tokyo-07 · agent-readonly (sha256:9c1e44…)
Tue 2026-07-28 18:03:12.481+09 to 18:03:15.081+09 (2.6 s)
219 allow, 5 deny, 1 secret masked
record complete: no gap in this window

"""
G8 = (
    HEAD
    + """\
18:03:12.481+09  zsh[4021] read /workspace/agent-entry.sh                   4711
18:03:12.512+09  REFUSED git[4023] connect 140.82.113.4:443                 4712
                   network.egress.deny-all
18:03:12.655+09  rg[4025] read 212 files under /workspace           4713 to 4924
18:03:13.020+09  REFUSED python3[4031] read …/agent/.ssh/id_ed25519, 3 times
                   filesystem.deny[1]                                       4925
                   macOS reported it too
18:03:13.301+09  REFUSED zsh[4021] exec /opt/homebrew/bin/node              4929
                   process.default-deny
18:03:14.002+09  zsh[4021] write 6 files under /workspace           4931 to 4936
                   1 name held a secret: [REDACTED:openclaw-token:3fa94c1d22b0]
18:03:15.081+09  last event

what decided it   audit explain 4712
"""
)
NARROW = """\
18:03:12.481+09  zsh[4021] read …/agent-entry.sh        4711
18:03:12.512+09  REFUSED git[4023] connect 140.82.113.4:443
                   network.egress.deny-all              4712
18:03:12.655+09  rg[4025] read 212 files under /workspace
                                                4713 to 4924
18:03:13.020+09  REFUSED python3[4031] read
    /Users/agent/.ssh/id_ed25519, 3 times               4925
                   filesystem.deny[1]
                   macOS reported it too
"""
WIDE = "18:03:13.020+09  REFUSED python3[4031] read /Users/agent/.ssh/id_ed25519, 3 times"
NEIGHBOURS = """\
── agent-demo · run 7f3a91c2
  18:03:13+09 DENY  read    …/agent/.ssh/id_ed25519    filesystem.deny[1]   4927
  18:03:13+09 DENY  exec    /opt/homebrew/bin/node   process.default-deny   4929
── build-2 · run b41c07e9
> 18:03:13+09 DENY  lookup  com.apple.networkd                 (seatbelt)   4930
── agent-demo · run 7f3a91c2
  18:03:14+09 allow write   /workspace/[REDACTED].json                  -   4931
  18:03:14+09 allow write   /workspace/out/1.json                       -   4932
"""


def _rows() -> list[dict[str, Any]]:
    """The story with 212 different files read, and six written."""
    rows = []
    for row in story()[:-1]:
        if 4713 <= row["seq"] <= 4924:
            row |= {"path": f"/workspace/{'src' if row['seq'] % 2 else 'doc'}/{row['seq']}.swift"}
        rows.append(row)
    written = [MASKED, *(f"/workspace/out/{n}.json" for n in range(1, 6))]
    for n, path in enumerate(written):
        clock = "18:03:14.002" if n < 5 else "18:03:15.081"
        row = file_event(4931 + n, clock, "allow", "zsh[4021]", "write", path, "", 33)
        masked = {"redactions": 1, "redaction_kinds": "openclaw-token"} if n == 0 else {}
        rows.append({**row, **masked, "policy_rule": None, "enforcer": None})
    return rows


@pytest.fixture(scope="module")
def run_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The run of G8."""
    root = tmp_path_factory.mktemp("show") / "store"
    store = StoryStore(root, _rows())
    store.collector(pid=1, heartbeat=NOW - 1_000_000)
    yield root
    store.close()


def test_the_last_run_is_told_as_a_story(run_store: Path) -> None:
    """G8 at 80 columns, to the blank; nothing on stderr."""
    seen = watched(["show", "last", "-s", "agent-demo"], environment(run_store))
    assert seen.out == G8
    assert (seen.code, seen.err) == (0, "")
    for words in (["show", "7f"], ["show", "agent-demo"], ["show", "--run", "last", "agent-demo"]):
        assert watched(words, environment(run_store)).out == G8


@pytest.mark.parametrize("columns", [50, 60, 120, 200])
def test_a_story_fits_every_width(run_store: Path, columns: int) -> None:
    """Rules stay whole, targets give way, seqs are flush right."""
    seen = watched(["show", "7f3a91c2"], environment(run_store), columns)
    assert max(len(line) for line in seen.lines) <= columns
    assert "network.egress.deny-all" in seen.out
    if columns == 60:
        assert seen.out.partition("\n\n")[2].startswith(NARROW)
    if columns >= 120:
        (line,) = [line for line in seen.lines if line.startswith(WIDE)]
        assert line == WIDE + " " * (columns - len(WIDE) - 4) + "4925"


def test_a_story_without_utf8_is_ascii(run_store: Path) -> None:
    """LC_ALL=C, TERM=dumb: the signs have twins."""
    env = environment(run_store, LC_ALL="C", LANG="", TERM="dumb")
    seen = watched(["show", "last", "-s", "agent-demo"], env)
    assert seen.out.isascii()
    assert "REFUSED python3[4031] read .../agent/.ssh/id_ed25519, 3 times\n" in seen.out


def test_a_pipe_gets_whole_names(run_store: Path) -> None:
    """Nothing is cut where no terminal is."""
    seen = piped(["show", "last", "-s", "agent-demo"], environment(run_store))
    assert WIDE + "  4925" in seen.lines
    assert seen.err == ""


def test_gaps_stand_in_the_story_and_above_it(
    own_store: StoryStore, capfd: pytest.CaptureFixture[str]
) -> None:
    """The head says INCOMPLETE, the gap has its own line, --strict makes it an exit code."""
    own_store.gap("unified-log", at("18:03:13.100"), at("18:03:13.250"), ADMIN)
    own_store.gap("socket", at("18:03:13.900"), None, "closed")
    words = ["audit", "--store", str(own_store.paths.root), "show", "7f", "--tz", "Asia/Tokyo"]
    assert run(words, now=lambda: NOW) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[3] == "record INCOMPLETE: 2 gaps in this window (socket, unified-log)"
    gaps = [line for line in lines if "GAP" in line]
    assert gaps == [
        f"18:03:13.100+09  GAP unified-log, 0.1 s: {ADMIN}",
        "18:03:13.900+09  GAP socket, not over yet: closed",
    ]
    assert lines.index(gaps[0]) < next(n for n, line in enumerate(lines) if "exec" in line)
    assert run([*words, "--strict"], now=lambda: NOW) == 8
    assert "unified-log unavailable" in capfd.readouterr().err


def test_a_run_that_goes_on_and_a_collector_that_does_not_are_told(
    own_store: StoryStore, capfd: pytest.CaptureFixture[str]
) -> None:
    """No record is called complete beyond the moment when collecting ended."""
    own_store.meta(collector=json.dumps({"pid": 1, "stopped": at("18:04:00")}))
    words = ["audit", "--store", str(own_store.paths.root), "show", "7f", "--tz", "Asia/Tokyo"]
    assert run(words, now=lambda: at("18:04:10")) == 0
    out = capfd.readouterr().out
    assert "record complete up to 18:04:00+09, when collecting ended\n" in out
    assert "18:03:14.002+09  newest event; it goes on\n" in out


def test_events_that_retention_removed_are_missed(
    own_store: StoryStore, capfd: pytest.CaptureFixture[str]
) -> None:
    """The counters remember more than is stored."""
    own_store.con.execute("UPDATE runs SET allow = allow + 1000")
    words = ["audit", "--store", str(own_store.paths.root), "show", "7f"]
    assert run(words, now=lambda: NOW) == 0
    assert "INCOMPLETE: 1,000 of its events are no longer stored" in capfd.readouterr().out


def test_a_run_without_a_refusal_asks_nothing(
    story_store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """`what …` is only for who was refused; filters say that they filter."""
    words = ["audit", "--store", str(story_store), "show"]
    assert run([*words, "5be0"], now=lambda: NOW) == 0
    assert "what" not in capfd.readouterr().out
    assert run([*words, "7f", "--deny", "--access", "write"], now=lambda: NOW) == 0
    assert "nothing of it matches" in capfd.readouterr().out


def test_an_event_stands_among_its_neighbours(run_store: Path) -> None:
    """-C N on each side; the event itself is marked."""
    words = ["show", "4930", "-C", "2", "--not-enforcer", "seatbelt"]
    seen = watched(words, environment(run_store))
    assert seen.out == NEIGHBOURS
    assert seen.err.splitlines() == [
        "event 4930 and its neighbours · enforcer not seatbelt · times +09",
        "  mini-tokyo-07 · 7kq2m",
        "2 before, 2 after; audit explain 4930",
    ]


def test_an_event_in_a_pipe_is_plain_lines(run_store: Path) -> None:
    """The same lines as `query`, no mark."""
    seen = piped(["show", "7kq2m-4930", "-C", "1"], environment(run_store))
    assert [line.split("  ")[-1] for line in seen.lines] == ["4929", "4930", "4931"]


def test_words_that_mean_nothing_are_answered(
    story_store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """No run, no event, -C with a run: exit 2 and what there is."""
    words = ["audit", "--store", str(story_store), "show"]
    assert run([*words, "zzz"], now=lambda: NOW) == 2
    assert "7f3a91c2 (agent-demo)" in capfd.readouterr().err
    assert run([*words, "99999"], now=lambda: NOW) == 2
    assert "no event 99999; newest is 4,931" in capfd.readouterr().err
    assert run([*words, "last", "-C", "3"], now=lambda: NOW) == 2
    assert "-C goes with an event" in capfd.readouterr().err


def test_a_number_may_be_the_beginning_of_a_run(
    own_store: StoryStore, capfd: pytest.CaptureFixture[str]
) -> None:
    """An event where there is one; `run:` and `event:` say which is meant."""
    own_store.append(
        [
            event(seq, "18:04:00", "allow", "x[1]", correlation_id=name)
            for seq, name in ((4932, "9910aa02"), (4933, "4711bb"))
        ]
    )
    words = ["audit", "--store", str(own_store.paths.root), "show"]
    assert run([*words, "9910"], now=lambda: NOW) == 0
    assert capfd.readouterr().out.startswith("run 9910aa02")
    assert run([*words, "4711", "-C", "0"], now=lambda: NOW) == 0
    assert "agent-entry.sh" in capfd.readouterr().out
    assert run([*words, "run:4711"], now=lambda: NOW) == 0
    assert capfd.readouterr().out.startswith("run 4711bb")


def test_json_tells_the_same_steps(run_store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing cut, times in UTC, sums as in the text."""
    words = ["audit", "--store", str(run_store), "show", "7f", "--json"]
    assert run(words, now=lambda: NOW) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["allow"], told["deny"], told["secrets"], told["complete"]) == (219, 5, 1, True)
    assert told["run"]["last"] == "2026-07-28T09:03:15.081000Z"
    assert [step["times"] for step in told["steps"]] == [1, 1, 212, 3, 1, 6]
    assert told["steps"][2]["folder"] == "/workspace"
    assert told["steps"][3]["reported_by"] == ["seatbelt"]
    assert run([*words[:-2], "4930", "-C", "1", "--json"], now=lambda: NOW) == 0
    assert [row["seq"] for row in json.loads(capfd.readouterr().out)] == [4929, 4930, 4931]


def test_markdown_is_for_a_ticket(run_store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Refusals as a table, the rest as a list, both for a run and for an event."""
    words = ["audit", "--store", str(run_store), "show", "--tz", "Asia/Tokyo", "--format"]
    assert run([*words, "markdown", "7f"], now=lambda: NOW) == 0
    out = capfd.readouterr().out
    assert "## Run `7f3a91c2` in `agent-demo`\n" in out
    row = (
        "| 18:03:13.020+09 | `python3[4031]` | `read /Users/agent/.ssh/id_ed25519` | 3 |"
        " `filesystem.deny[1]` | 4925 |\n"
    )
    assert row in out
    assert run([*words, "markdown", "4930", "-C", "1"], now=lambda: NOW) == 0
    assert "**4930**" in capfd.readouterr().out
    assert run([*words, "parquet", "7f"], now=lambda: NOW) == 2


@pytest.mark.parametrize("name", ["`", "``a`", "a|b", "", " ", "\\", "@team", "\x1b[2J", "a\nb"])
def test_a_name_in_markdown_is_only_a_name(name: str) -> None:
    """It stays within its code span and its cell, on its line."""
    shown = markdown.code(name)
    fence = re.match(r"`+", shown)
    assert fence
    inner = shown[len(fence[0]) : -len(fence[0])]
    assert shown.endswith(fence[0])
    assert fence[0] not in inner
    assert not re.search(r"(?<!\\)\||[\n\x1b]", shown)
