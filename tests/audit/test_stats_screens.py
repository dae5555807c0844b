"""`audit stats` (G14, G15): tables to the blank, days across, what gives way, data formats."""

import csv
import io
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from audit.main import run
from audit.page_stats import percent
from audit.quoting import quoted
from tests.audit.story import NOW, StoryStore, at, event
from tests.audit.terminal import environment, piped, watched

G14 = """\
RULE                     DENY  22  23  24   25  26  27  28           LAST
network.egress.deny-all   212  20  18  31  104   9  22   8  ▂▂▃█▁▂▁  18:03+09
filesystem.deny[1]         19   0   0   4    0   6   0   9   ░▄░▆ █  18:03+09
process.default-deny        7   1   1   1    1   1   1   1  ███████  18:03+09
(seatbelt)                  5   0   1   2    0   0   1   1   ▄█░ ▄▄  18:03+09
"""
G14_NARROW = """\
RULE                     DENY  22…28    LAST
network.egress.deny-all   212  ▂▂▃█▁▂▁  18:03+09
filesystem.deny[1]         19   ░▄░▆ █  18:03+09
process.default-deny        7  ███████  18:03+09
(seatbelt)                  5   ▄█░ ▄▄  18:03+09
"""
G14_ASCII = """\
RULE                     DENY  22  23  24   25  26  27  28           LAST
network.egress.deny-all   212  20  18  31  104   9  22   8  2239121  18:03+09
filesystem.deny[1]         19   0   0   4    0   6   0   9  0.4.609  18:03+09
process.default-deny        7   1   1   1    1   1   1   1  9999999  18:03+09
(seatbelt)                  5   0   1   2    0   0   1   1  059.055  18:03+09
"""
G15 = """\
SANDBOX     PROCESS   ALLOW  DENY  RUNS  FIRST           LAST
agent-demo  python3       0    16     4  07-24 02:10+09  07-28 18:03+09
build-1     ssh           2     0     1  07-26 11:20+09  07-26 11:20+09
agent-demo  git           0     3     1  07-26 09:00+09  07-26 09:00+09
"""
DENIED = {
    "network.egress.deny-all": (20, 18, 31, 104, 9, 22, 8),
    "filesystem.deny[1]": (0, 0, 4, 0, 6, 0, 9),
    "process.default-deny": (1, 1, 1, 1, 1, 1, 1),
    None: (0, 1, 2, 0, 0, 1, 1),
}


def _week() -> list[dict[str, Any]]:
    """Refusals of a week by rule, and 48 reports of the system on some of them."""
    seq, rows = count(1), []
    for place in range(7):
        for rule, numbers in DENIED.items():
            for _ in range(numbers[place]):
                ts = at("18:03:13.000", f"2026-07-{22 + place}")
                values = {"policy_rule": rule} if rule else {"enforcer": "seatbelt"}
                row = event(next(seq), "18:00:00", "deny", "x[1]", path="/x", **values)
                rows.append({**row, "ts": ts, "observed_at": ts})
    for row in rows[:48]:
        told = event(next(seq), "18:00:00", "deny", "x[1]", path="/x", enforcer="seatbelt",
                     link="report", linked_seq=row["seq"])  # fmt: skip
        rows.append({**told, "ts": row["ts"], "observed_at": row["ts"]})
    return rows


def _ssh() -> list[dict[str, Any]]:
    """Who touched .ssh."""
    python = [("07-24", "02:10", "r1"), *[("07-25", "10:00", "r2")] * 7, ("07-27", "09:00", "r3"),
              *[("07-28", "18:03", "r4")] * 7]  # fmt: skip
    told = [("agent-demo", "python3", "deny", *when) for when in python]
    told += [("build-1", "ssh", "allow", "07-26", "11:20", "b1")] * 2
    told += [("agent-demo", "git", "deny", "07-26", "09:00", "r2")] * 3
    rows = []
    for seq, (sandbox, process, decision, day, clock, name) in enumerate(told, 1):
        ts = at(f"{clock}:00", f"2026-{day}")
        row = event(seq, "18:00:00", decision, f"{process}[9]", sandbox=sandbox,
                    correlation_id=name, path="/Users/agent/.ssh/id_ed25519")  # fmt: skip
        rows.append({**row, "ts": ts, "observed_at": ts})
    return rows


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """G14's store, with gaps on the 23rd and the 25th."""
    root = tmp_path_factory.mktemp("week") / "store"
    store = StoryStore(root, _week())
    for day in ("2026-07-23", "2026-07-25"):
        store.gap("unified-log", at("04:11:02", day), at("04:11:09", day), "messages dropped")
    yield root
    store.close()


@pytest.fixture(scope="module")
def ssh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """G15's store."""
    root = tmp_path_factory.mktemp("ssh") / "store"
    store = StoryStore(root, _ssh())
    yield root
    store.close()


BY_DAY = ["stats", "--deny", "--by", "rule,day", "--since", "7d"]


HEAD = "deny · 2026-07-22 to 2026-07-28, days in +09 · merged with macOS reports"
FOOT = "243 operations, 291 reports · scale per row · ░ none, but a gap that day"
# Too long for 60 columns: what does not fit stands on a line of its own.
NARROW_HEAD = ["deny · 2026-07-22 to 2026-07-28, days in +09", "  merged with macOS reports"]
NARROW_FOOT = ["243 operations, 291 reports · scale per row", "  ░ none, but a gap that day"]


@pytest.mark.parametrize(
    ("columns", "golden", "remarks"),
    [
        (60, G14_NARROW, [*NARROW_HEAD, *NARROW_FOOT]),
        (80, G14, [HEAD, FOOT]),
        (120, G14, [HEAD, FOOT]),
        (200, G14, [HEAD, FOOT]),
    ],
)
def test_days_stand_side_by_side(week: Path, columns: int, golden: str, remarks: list[str]) -> None:
    """G14: seven whole days of the display zone; too narrow, the bars stay and the numbers go."""
    seen = watched(BY_DAY, environment(week), columns)
    assert seen.out == golden
    assert max(len(line) for line in seen.lines) <= columns
    assert seen.err.splitlines() == remarks


def test_bars_are_digits_without_utf8(week: Path) -> None:
    """LC_ALL=C and TERM=dumb: 0 to 9, a dot for a gap."""
    seen = watched(BY_DAY, environment(week, LC_ALL="C", LANG="", TERM="dumb"))
    assert seen.out == G14_ASCII
    assert seen.err.isascii()


def test_a_pipe_gets_the_table_alone(week: Path) -> None:
    """No words, no cut."""
    seen = piped(BY_DAY, environment(week))
    assert (seen.out, seen.err) == (G14, "")


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_who_touched_it_is_told_newest_first(ssh: Path, columns: int) -> None:
    """G15: allow beside deny, runs, first and last; that something was ALLOWED, and how to see."""
    words = ["stats", "--path", "**/.ssh", "--since", "1w", "--by", "sandbox,process"]
    seen = watched(words, environment(ssh), columns)
    assert seen.out == G15
    assert seen.err.splitlines() == [
        "path **/.ssh · 2026-07-21T18:05+09 to now · deny and allow",
        '2 events were ALLOWED: audit query --allow --path "**/.ssh" --since 1w',
    ]


def test_on_a_narrow_terminal_columns_give_way(ssh: Path) -> None:
    """FIRST goes before anything that is counted."""
    words = ["stats", "--path", "**/.ssh", "--since", "1w", "--by", "sandbox,process"]
    seen = watched(words, environment(ssh), 60)
    assert seen.lines[0] == "SANDBOX     PROCESS   ALLOW  DENY  RUNS  LAST"
    assert max(len(line) for line in seen.lines) <= 60


def test_the_largest_come_first_and_the_rest_is_announced(ssh: Path) -> None:
    """-n lines, and how many there are."""
    seen = watched(["stats", "--by", "process", "--since", "1w", "-n", "1"], environment(ssh))
    assert seen.lines[1].startswith("python3")
    assert len(seen.lines) == 2
    assert "top 1 of 3; -n 0 for all · 21 operations" in seen.err


def test_days_alone_are_lines_with_the_empty_and_the_broken_ones(week: Path) -> None:
    """Every day of the window, and how long the record was broken in it."""
    seen = watched(["stats", "--by", "day", "--since", "2026-07-21", "--tools"], environment(week))
    assert seen.code == 8
    seen = watched(["stats", "--by", "day", "--since", "2026-07-21"], environment(week))
    assert seen.lines[:4] == [
        "DAY              ALLOW  DENY  RUNS   GAP",
        "2026-07-21 Tue       0     0     0",
        "2026-07-22 Wed       0    21     1",
        "2026-07-23 Thu       0    20     1    7s",
    ]
    assert len(seen.lines) == 9


def test_the_last_day_is_the_default_and_printed(ssh: Path) -> None:
    """An unbounded count is never what one wants."""
    seen = watched(["stats"], environment(ssh))
    assert seen.err.splitlines()[0] == "2026-07-27T18:05+09 to now · deny and allow"
    assert seen.lines[1].split() == ["(openclaw)", "0", "7", "1", "18:03+09", "18:03+09"]


def _tool_rows() -> list[dict[str, Any]]:
    took = [(1_000_000 + n * 1000, "timeout" if n < 3 else "ok") for n in range(100)]
    return [
        {**event(n, "18:00:00", None, "x[1]", tool="bash", outcome=outcome, duration_us=micros),
         "kind": "tool_call"}
        for n, (micros, outcome) in enumerate(took, 1)
    ]  # fmt: skip


def test_tools_have_a_rate_of_timeouts_and_quantiles(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """--by tool and --tools are the same question; data has the rate as a number."""
    store = StoryStore(tmp_path / "store", _tool_rows())
    env = environment(store.paths.root)
    for words in (["--tools"], ["--by", "tool"]):
        seen = watched(["stats", *words], env)
        assert seen.lines == [
            "TOOL   CALLS    OK  TIMEOUT  RATE  RETRY  VIOLATION  ERROR   P50   P95   P99",
            "bash     100    97        3  3.0%      0          0      0  1.0s  1.1s  1.1s",
        ]
    words = ["audit", "--store", str(store.paths.root), "stats", "--tools", "--json"]
    assert run(words, now=lambda: NOW) == 0
    (row,) = json.loads(capfd.readouterr().out)
    assert (row["timeout_rate"], row["p95_us"], row["max_us"]) == (0.03, 1_094_000, 1_099_000)
    store.close()


def test_redactions_and_latency_have_tables_of_their_own(story_store: Path) -> None:
    """How much was masked by kind, and how long decisions took by who took them."""
    seen = watched(["stats", "--redactions"], environment(story_store))
    assert seen.lines[1].split()[:2] == ["openclaw-token", "1"]
    assert seen.err.splitlines()[1] == "1 secret in 1 events"
    seen = watched(["stats", "--latency"], environment(story_store))
    assert seen.lines[1].split()[:3] == ["openclaw", "229", "31µs"]
    seen = piped(["stats", "--latency", "--tools"], environment(story_store))
    assert seen.code == 2


def test_an_unknown_column_is_named_with_a_guess(
    story_store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """T13, and the list that its hint names."""
    words = ["audit", "--store", str(story_store), "stats", "--by"]
    assert run([*words, "polcy"], now=lambda: NOW) == 2
    assert capfd.readouterr().err.splitlines() == [
        "audit: error: --by polcy: no such column (did you mean policy?)",
        "  hint: audit stats --by help",
    ]
    assert run([*words, "help"], now=lambda: NOW) == 0
    assert "policy_rule     rule that decided\n" in capfd.readouterr().out


@pytest.mark.parametrize("name", ["json", "ndjson", "csv", "markdown"])
def test_data_formats_are_long_and_whole(
    week: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A row a group and day, numbers bare; the sums are those of the table."""
    words = ["audit", "--store", str(week), *BY_DAY, "--tz", "Asia/Tokyo", "--format", name]
    assert run(words, now=lambda: NOW) == 0
    out = capfd.readouterr().out
    if name == "csv":
        numbers = [int(row["deny"]) for row in csv.DictReader(io.StringIO(out))]
    elif name == "markdown":
        numbers = [int(line.split("|")[4]) for line in out.splitlines()[2:]]
    else:
        lines = json.loads(out) if name == "json" else [json.loads(x) for x in out.splitlines()]
        numbers = [row["deny"] for row in lines]
        assert {row["day"] for row in lines} == {f"2026-07-{day}" for day in range(22, 29)}
    assert sum(numbers) == 243
    assert max(numbers) == 104


def test_nothing_to_count_says_why(story_store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As `query`: no event matches, or no such sandbox; exit codes for scripts."""
    words = ["audit", "--store", str(story_store), "stats"]
    assert run([*words, "--process", "nobody"], now=lambda: NOW) == 0
    assert "no event matches (searched " in capfd.readouterr().err
    assert run([*words, "-s", "agent-dmeo"], now=lambda: NOW) == 0
    assert "did you mean agent-demo?" in capfd.readouterr().err
    assert run([*words, "--process", "nobody", "--fail-if-none"], now=lambda: NOW) == 10
    assert run([*words, "--deny", "--fail-if-any"], now=lambda: NOW) == 10


@pytest.mark.parametrize(
    ("part", "whole", "shown"),
    [(0, 0, "-"), (0, 9, "0%"), (1, 10_000, "<0.1%"), (1, 40, "2.5%"), (37, 100, "37%"),
     (9_999, 10_000, ">99%"), (5, 5, "100%")],
)  # fmt: skip
def test_a_share_is_never_rounded_to_none_or_all(part: int, whole: int, shown: str) -> None:
    """No decimals above 10."""
    assert percent(part, whole) == shown


@pytest.mark.parametrize("word", ["a b", "$HOME", "it's", "!x", "**/.ssh", "x;y", "", "`id`", '"'])
def test_a_printed_word_means_itself_to_a_shell(word: str) -> None:
    """Pasted back, it is what was typed."""
    import shlex

    assert shlex.split(quoted(word)) == [word]
