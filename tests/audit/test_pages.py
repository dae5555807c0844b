"""The pages of bare `audit`, `status` and `gaps`, in the screens' own words."""

import json
import re
from datetime import UTC
from pathlib import Path

import pytest

from audit import page_status, reads
from audit.main import run
from audit.paper import Paper
from audit.render_style import UNICODE
from audit.service_place import service_path
from audit_events.version import VERSION
from exporters.cursor import advance
from tests.audit.story import ADMIN, NOW, StoryStore, at
from tests.audit.terminal import environment, watched


@pytest.fixture
def busy(own_store: StoryStore) -> StoryStore:
    """The story with sources, tallies and gaps."""
    own_store.collector(pid=1)
    own_store.source("openclaw", "healthy", location="/x/decisions.jsonl",
                     last_read_at=NOW - 1_200_000)  # fmt: skip
    own_store.source("socket", "healthy", location="/x/collector.sock",
                     last_read_at=NOW - 7_200_000_000)  # fmt: skip
    own_store.source("unified-log", "failed", note=ADMIN, location="log stream")
    own_store.tally("seen", "", 81_225)
    own_store.tally("stored", "", 81_204)
    own_store.tally("rejected", "not-json-or-logfmt", 21)
    own_store.gap("unified-log", at("18:00:04"), None, ADMIN)
    return own_store


def test_the_situation_fits_on_fourteen_lines(busy: StoryStore) -> None:
    """G2: who collects, what is missing, the last hour, the last run and its refusals."""
    seen = watched([], environment(busy.paths.root))
    assert seen.lines == [
        "mini-tokyo-07 · store 7kq2m · Tue 2026-07-28 18:05+09",
        "",
        "collector  healthy       1.2 s behind, 231 events today",
        "record     INCOMPLETE    unified-log down since 18:00:04+09 (audit doctor)",
        "",
        "last hour  224 allow · 7 deny · 1 secret masked",
        "last run   7f3a91c2 agent-demo, 18:03:12+09, 1.5 s, 5 denied:",
        "             3 filesystem.deny[1]        read …/agent/.ssh/id_ed25519",
        "             1 network.egress.deny-all   connect 140.82.113.4:443",
        "             1 process.default-deny      exec /opt/homebrew/bin/node",
        "",
        "  audit show last · audit explain 4712 · audit tail -f --deny",
    ]
    assert (seen.code, seen.err) == (0, "")


def test_many_exports_do_not_push_the_run_off_the_situation(busy: StoryStore) -> None:
    """G2 ends at 14 lines: only the export that is furthest behind has one."""
    for number, name in enumerate(("lake", "nightly", "siem", "mail"), 1):
        advance(busy.paths.control, name, after=0, upto=4_900 + number, now=NOW - 60_000_000)
    lines = watched([], environment(busy.paths.root)).lines
    exports = [line for line in lines if line.startswith("export")]
    assert exports == [
        "export     healthy       lake is last: all up to 18:04+09, 30 newer; 3 more"
    ]
    assert len(lines) <= 14


def test_status_names_a_collector_of_another_version(busy: StoryStore) -> None:
    """After an upgrade the old one goes on until somebody restarts it."""
    busy.collector(version="0.0.9", pid=1)
    seen = watched(["status"], environment(busy.paths.root))
    lines = seen.lines
    at_collector = next(n for n, line in enumerate(lines) if line.startswith("collector"))
    assert lines[at_collector].endswith(f", is 0.0.9, not {VERSION}: sandtrail service")
    assert lines[at_collector + 1] == " " * 28 + "restart"


def test_status_tells_each_part_and_ends_with_a_verdict(busy: StoryStore) -> None:
    """G12: states in one column, the balance, the gap, and the sentence one reads it for."""
    seen = watched(["status"], environment(busy.paths.root))
    shown = re.sub(r"disk .* free", "disk 168 GB free", seen.out)
    shown = re.sub(r"pid 1, up \S+", "pid 1, up 1h", shown)
    shown = re.sub(r"sandtrail \S+", "sandtrail 1.0.0", shown)
    assert shown.splitlines() == [
        "mini-tokyo-07 · store 7kq2m · sandtrail 1.0.0 · Tue 2026-07-28 18:05:10+09",
        "",
        "collector      healthy      pid 1, up 1h",
        "source         DEGRADED     2 of 3 healthy",
        "  openclaw     healthy      1.2 s behind       81,204 today   decisions.jsonl",
        "  socket       healthy      idle 2h                 0 today   collector.sock",
        "  unified-log  UNAVAILABLE  since 18:00:04+09",
        f"                            {ADMIN}",
        "store          healthy      231 events waiting, oldest 1 m 56 s",
        "archive        empty        nothing was sealed yet",
        "                            disk 168 GB free",
        "",
        "completeness of the last 24 h",
        "  81,225 lines read = 81,204 stored + 21 rejected + 0 filtered       balances",
        "  rejected          21 not-json-or-logfmt",
        "  1 gap             unified-log 18:00:04+09 to now, 5m06s            audit gaps",
        "  clocks            0 events with an impossible time",
        "so: what openclaw, socket reported is complete; what unified-log reported is not",
    ]


@pytest.mark.parametrize(
    ("collector", "told"),
    [
        ({"seal_after_s": 180.0}, ", next seal in 1 m 3 s"),
        ({"seal_after_s": 60.0}, ", next seal now"),
        ({}, ""),
        ({"seal_after_s": 180.0, "stopped": NOW - 1}, ""),
        ({"seal_after_s": 180.0, "heartbeat": NOW - 3_600_000_000}, ""),
    ],
)
def test_status_says_when_the_buffer_is_sealed(
    busy: StoryStore, collector: dict[str, object], told: str
) -> None:
    """As the collector's own settings have it, while it is at work."""
    busy.collector(**collector)
    lines = status_of(busy, 1 << 40)
    assert f"store          healthy      231 events waiting, oldest 1 m 56 s{told}" in lines


DAYS = [("2026-07-10", 9e9), ("2026-07-21", 14e6), ("2026-07-27", 7e6), ("2026-07-28", 8e9)]


def archived(store: StoryStore, days: list[tuple[str, float]]) -> None:
    """A file of so many bytes in each of these partitions."""
    for seq, (day, size) in enumerate(days, 1):
        row = (f"date={day}/x", day, 1, int(size), 0, 0, 0, 0, seq, seq, 1)
        store.con.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def status_of(store: StoryStore, disk_free: float) -> list[str]:
    """The page where there is room."""
    found = reads.status(store.paths, NOW, at("00:00"))
    paper = Paper("audit", NOW, UTC, UNICODE, 120)
    return page_status.status_lines(found, int(disk_free), "title", paper)


@pytest.mark.parametrize(
    ("days", "disk_free", "told"),
    [
        (DAYS, 168e9, "grows 3.0 MB a day; disk 168 GB free"),
        (DAYS, 365 * 3e6, "grows 3.0 MB a day; disk 1.1 GB free"),
        (DAYS, 365 * 3e6 - 1, "grows 3.0 MB a day; disk 1.1 GB free, 364 days left"),
        (DAYS, 4e6, "grows 3.0 MB a day; disk 4.0 MB free, 1 day left"),
        # The first day may have begun at noon, and today is not over.
        (DAYS[2:], 2e9, "disk 2.0 GB free"),
        (
            [("2026-07-25", 1e9), *DAYS[2:]], 70e6,
            "grows 3.5 MB a day; disk 70 MB free, 20 days left",
        ),
        ([DAYS[0], DAYS[3]], 2e9, "disk 2.0 GB free"),
        ([], 2e9, "disk 2.0 GB free"),
    ],
)  # fmt: skip
def test_status_says_how_the_archive_grows(
    busy: StoryStore, days: list[tuple[str, float]], disk_free: float, told: str
) -> None:
    """By the last seven whole days, of which those without an event count too."""
    archived(busy, days)
    assert f"{'':28}{told}" in status_of(busy, disk_free)


def test_an_archive_that_drops_old_days_fills_no_disk(busy: StoryStore) -> None:
    """Retention at work: what it grows by is told, an end is not; long ago says nothing."""
    archived(busy, DAYS)
    removal = "INSERT INTO removals VALUES ('2026-07-01', ?, 1, 1, 1, '30 d', '')"
    busy.con.execute(removal, (NOW - 8 * 86_400_000_000,))
    assert f"{'':28}grows 3.0 MB a day; disk 30 MB free, 10 days left" in status_of(busy, 30e6)
    busy.con.execute(removal, (NOW - 6 * 86_400_000_000,))
    assert f"{'':28}grows 3.0 MB a day; disk 30 MB free" in status_of(busy, 30e6)


def test_status_names_the_log_of_an_installed_service(busy: StoryStore, tmp_path: Path) -> None:
    """Only where there is one."""
    env = environment(busy.paths.root, HOME=str(tmp_path))
    assert not any("log:" in line for line in watched(["status"], env).lines)
    path = service_path(tmp_path, system=False)
    path.parent.mkdir(parents=True)
    path.touch()
    (line,) = [line for line in watched(["status"], env).lines if line.startswith("collector")]
    assert line.endswith(", log: audit service logs")


def test_status_check_is_for_monitors(busy: StoryStore, capfd: pytest.CaptureFixture[str]) -> None:
    """One line, exit 10 while something is wrong."""
    words = ["audit", "--store", str(busy.paths.root), "status"]
    assert run([*words, "--check"], now=lambda: NOW) == 10
    assert len(capfd.readouterr().out.splitlines()) == 1
    assert run([*words, "--json"], now=lambda: NOW) == 0
    assert json.loads(capfd.readouterr().out)["last_seq"] == 4931


def test_a_full_disk_turns_status_red(own_store: StoryStore) -> None:
    """The collector goes on trying and cannot write that it does: the disk itself tells."""
    own_store.collector()
    own_store.source("openclaw", "healthy", location="/x/decisions.jsonl", last_read_at=NOW)
    found = reads.status(own_store.paths, NOW, at("00:00"))
    assert page_status.healthy(found, 1 << 30)
    assert not page_status.healthy(found, 4096)
    paper = Paper("audit", NOW, UTC, UNICODE)
    lines = page_status.status_lines(found, 4096, "title", paper)
    assert any(line.startswith("store          FULL ") for line in lines)
    assert lines[-2].endswith(";")
    assert lines[-1] == "    the disk is full, nothing new is stored"


def test_gaps_are_a_table_with_a_sum(own_store: StoryStore) -> None:
    """G13: to the blank."""
    own_store.gap("unified-log", at("04:11:02", "2026-07-23"), at("04:11:09", "2026-07-23"),
                  "messages dropped")  # fmt: skip
    own_store.con.execute("UPDATE gaps SET count = 34")
    own_store.gap("all", at("13:58:40", "2026-07-25"), at("14:01:12", "2026-07-25"),
                  "collector stopped")  # fmt: skip
    own_store.gap("unified-log", at("18:00:04"), None, "Must be admin")
    seen = watched(["gaps", "--since", "7d"], environment(own_store.paths.root))
    assert seen.lines == [
        "FROM              TO                LASTED  SOURCE      LOST  WHY",
        "07-23 04:11:02+09 07-23 04:11:09+09     7s  unified-log   34  messages dropped",
        "07-25 13:58:40+09 07-25 14:01:12+09  2m32s  all            ?  collector stopped",
        "07-28 18:00:04+09 now                5m06s  unified-log    ?  Must be admin",
    ]
    assert seen.err.splitlines() == [
        "2026-07-21T18:05+09 to now · times +09 · mini-tokyo-07 · 7kq2m",
        "3 gaps, 7m45s of 7 d; 34 events known lost, 2 gaps without a count",
    ]


def test_no_gap_is_an_empty_table(story_store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing on stdout, `[]` as JSON."""
    words = ["audit", "--store", str(story_store), "gaps"]
    assert run(words) == 0
    assert capfd.readouterr().out == ""
    assert run([*words, "--json"]) == 0
    assert json.loads(capfd.readouterr().out) == []


def test_explain_tells_what_is_known(story_store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """G9, as far as it can be told without the policy's text."""
    words = ["audit", "--store", str(story_store), "explain", "--tz", "Asia/Tokyo"]
    assert run([*words, "4712"]) == 0
    assert capfd.readouterr().out.splitlines() == [
        "DENY  connect 140.82.113.4:443                                        7kq2m-4712",
        "      by git[4023] in agent-demo, run 7f3a91c2",
        "      Tue 2026-07-28 18:03:12.512+09 (09:03:12.512Z), in 19 µs, by openclaw",
        "",
        "rule  network.egress.deny-all (reported by openclaw)",
        "      agent-readonly, sha256:9c1e44…; its text is not recorded here",
        "",
        "next  audit show 4712 -C 10 · audit query --seq 4702:4722",
    ]
    assert run([*words, "7kq2m-4925"]) == 0
    out = capfd.readouterr().out
    assert "rule  filesystem.deny[1] (reported by openclaw; macOS reported it too)\n" in out
    assert run([*words, "4930"]) == 0
    assert (
        "rule  none known: macOS (seatbelt) reports no rule, and no policy was recorded\n"
        "      for sandbox build-2 at that time\n"
    ) in capfd.readouterr().out
    assert run([*words, "zzzzz-1"]) == 2
