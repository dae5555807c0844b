"""`audit runs` (G7): the list on screens and in pipes, its filters, and what it does not import."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from audit.main import run
from tests.audit.story import NOW, StoryStore, at, event
from tests.audit.terminal import ROOT, environment, piped, watched

G7 = """\
RUN      SANDBOX    STARTED          LAST  ALLOW DENY  MOST REFUSED
e07d2290 agent-demo 07-27 23:10+09   2.4s      3    1  network.egress.deny-all
5be01f77 build-1    07-28 17:41+09 12m04s      2    0  -
7f3a91c2 agent-demo 07-28 18:03+09   2.6s      1    5  filesystem.deny[1]
b41c07e9 build-2    07-28 18:03+09   live      1    1  (seatbelt)
"""
NARROW = """\
RUN      SANDBOX    STARTED          LAST  ALLOW DENY
    MOST REFUSED
e07d2290 agent-demo 07-27 23:10+09   2.4s      3    1
    network.egress.deny-all
5be01f77 build-1    07-28 17:41+09 12m04s      2    0  -
7f3a91c2 agent-demo 07-28 18:03+09   2.6s      1    5
    filesystem.deny[1]
b41c07e9 build-2    07-28 18:03+09   live      1    1
    (seatbelt)
"""
HEADER = "newest 20 of the last 24 h · times +09 · mini-tokyo-07 · 7kq2m"


def _rows() -> list[dict[str, Any]]:
    told = [
        ("e07d2290", "agent-demo", at("23:10:00.000", "2026-07-27"), 2_400_000, "aaa", "n"),
        ("5be01f77", "build-1", at("17:41:00.000"), 724_000_000, "aa", ""),
        ("os:1:77:1", "", at("18:03:00.000"), 1_000, "a", "s"),
        ("7f3a91c2", "agent-demo", at("18:03:12.481"), 2_600_000, "a", "nfffp"),
        ("b41c07e9", "build-2", at("18:03:30.000"), 99_000_000, "a", "s"),
    ]
    rules = {"n": "network.egress.deny-all", "f": "filesystem.deny[1]", "p": "process.default-deny"}
    rows: list[dict[str, Any]] = []
    for name, sandbox, start, lasted, allowed, denied in told:
        kinds = [*(("allow", "filesystem.allow[0]") for _ in allowed),
                 *(("deny", rules.get(letter)) for letter in denied)]  # fmt: skip
        for n, (decision, rule) in enumerate(kinds):
            values = {"policy_rule": rule} if rule else {"enforcer": "seatbelt"}
            ts = start + lasted * n // (len(kinds) - 1)
            row = event(len(rows) + 1, "18:00:00", decision, "zsh[1]", **values,
                        sandbox=sandbox, correlation_id=name, path="/x")  # fmt: skip
            rows.append({**row, "ts": ts, "observed_at": ts})
    return rows


@pytest.fixture(scope="module")
def runs_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Four runs in sandboxes and a process outside any."""
    root = tmp_path_factory.mktemp("runs") / "store"
    store = StoryStore(root, _rows())
    store.gap("unified-log", at("18:04:00"), None, "Must be admin")
    yield root
    store.close()


@pytest.mark.parametrize(("columns", "golden"), [(60, NARROW), (80, G7), (120, G7), (200, G7)])
def test_runs_look_as_the_screens_say(runs_store: Path, columns: int, golden: str) -> None:
    """G7 at every width: newest last, the rule never cut, stderr for words."""
    seen = watched(["runs"], environment(runs_store), columns)
    assert seen.out == golden
    assert max(len(line) for line in seen.lines) <= columns
    header, ways = (
        [HEADER],
        ["4 runs; 1 overlaps a gap (build-2). audit show RUN · audit query --run RUN"],
    )
    if columns == 60:
        header = [HEADER.removesuffix(" · 7kq2m"), "  7kq2m"]
        ways = [ways[0].removesuffix(" · audit query --run RUN"), "  audit query --run RUN"]
    assert seen.err.splitlines() == [
        *header,
        *ways,
        "1 process outside any sandbox left out; --all",
    ]
    assert seen.code == 0


def test_a_dumb_terminal_without_utf8_gets_the_same_in_ascii(runs_store: Path) -> None:
    """LC_ALL=C and TERM=dumb change signs only."""
    seen = watched(["runs"], environment(runs_store, LC_ALL="C", LANG="", TERM="dumb"))
    assert seen.out == G7
    assert seen.err.isascii()


def test_a_pipe_gets_the_list_and_nothing_else(runs_store: Path) -> None:
    """No words on stderr; whole values."""
    seen = piped(["runs"], environment(runs_store))
    assert (seen.out, seen.err) == (G7, "")


def test_filters_choose_runs(runs_store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Sandbox, decision and id by the counters; any other filter by the events."""
    assert _ids(runs_store, capfd, "--deny", "agent-demo") == ["e07d2290", "7f3a91c2"]
    assert _ids(runs_store, capfd, "--not-decision", "deny") == ["5be01f77"]
    assert _ids(runs_store, capfd, "--run", "7f3") == ["7f3a91c2"]
    assert _ids(runs_store, capfd, "--run", "last~1") == ["7f3a91c2"]
    assert _ids(runs_store, capfd, "-s", "build-*", "--host", "mini*") == ["5be01f77", "b41c07e9"]
    assert _ids(runs_store, capfd, "--rule", "process.default-deny") == ["7f3a91c2"]
    assert _ids(runs_store, capfd, "--since", "17:00", "-n", "1") == ["b41c07e9"]
    assert _ids(runs_store, capfd, "--until", "2026-07-28") == ["e07d2290"]
    assert _ids(runs_store, capfd, "--clock", "arrival", "--since", "18:03:14") == [
        "7f3a91c2", "b41c07e9",
    ]  # fmt: skip
    assert "os:1:77:1" in _ids(runs_store, capfd, "--all")


def _ids(store: Path, capfd: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert run(["audit", "--store", str(store), "runs", *words, "--tz", "Asia/Tokyo", "--json"],
               now=lambda: NOW) == 0  # fmt: skip
    return [item["correlation_id"] for item in json.loads(capfd.readouterr().out)]


def test_no_run_over_a_gap_is_no_answer(
    runs_store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit 8 and the gap instead of "nothing"."""
    words = ["audit", "--store", str(runs_store), "runs", "--since", "10s"]
    assert run(words, now=lambda: NOW + 3_600_000_000) == 8
    assert "no run found, but the record is incomplete" in capfd.readouterr().err


def test_a_store_from_before_the_counter_says_that_it_does_not_know(
    own_store: StoryStore, capfd: pytest.CaptureFixture[str]
) -> None:
    """Without the table of rules the column shows `?` where something was refused."""
    own_store.con.execute("DROP TABLE run_rules")
    assert run(["audit", "--store", str(own_store.paths.root), "runs"], now=lambda: NOW) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["-", "?", "?"]


def test_ids_that_begin_alike_are_told_apart(
    own_store: StoryStore, capfd: pytest.CaptureFixture[str]
) -> None:
    """The shown beginning of an id means one run only."""
    rows = [
        event(5000 + n, f"18:04:0{n}", "allow", "x[1]", correlation_id=f"20260728-job-{n}")
        for n in range(2)
    ]
    own_store.append(rows)
    assert run(["audit", "--store", str(own_store.paths.root), "runs", "-n", "2"],
               now=lambda: NOW) == 0  # fmt: skip
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["20260728-job-0", "20260728-job-1"]


@pytest.mark.parametrize("name", ["json", "ndjson", "csv", "markdown"])
def test_data_formats_hold_whole_values(
    runs_store: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Times in UTC, ids whole, in every format."""
    words = ["audit", "--store", str(runs_store), "runs", "--format", name]
    assert run(words, now=lambda: NOW) == 0
    out = capfd.readouterr().out
    assert "2026-07-28T09:03:12.481000Z" in out
    assert "filesystem.deny[1]" in out


def test_the_list_needs_sqlite_only(runs_store: Path) -> None:
    """No engine, no Arrow, no validator is imported for it."""
    code = (
        "import sys; from audit.main import run; "
        f"run(['audit', '--store', {str(runs_store)!r}, 'runs', '--deny'], now=lambda: {NOW}); "
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    *lines, loaded = done.stdout.splitlines()
    assert len(lines) == 4
    banned = {"duckdb", "pyarrow", "arro3", "numpy", "pydantic", "rich", "zstandard", "deltalake"}
    assert set(loaded.split()) & banned == set()
