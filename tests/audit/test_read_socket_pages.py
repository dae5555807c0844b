"""Runs, stories, explanations, counts and exports through a read socket: the owner's pages."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from audit import reading_wire, reading_worker, reads
from audit.main import run
from audit.read_socket import ReadSocket
from audit.reading_wire import Ask, encoded
from audit_events.errors import QueryError, UsageError
from audit_events.layout import CONTROL_DDL, StorePaths
from collector.policy_store import Application, put_in_force
from collector.sqlite import open_writable
from policies.load import parse_policy
from query.axes import axes
from query.contracts import Request, Window
from query.stats import Counting, Measure
from tests.audit.readkit import served
from tests.audit.story import NOW, StoryStore, at, story

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent-readonly.yaml"
DAY_US = 86_400_000_000


@dataclass(frozen=True)
class Both:
    """A store, and the socket that stands for it."""

    near: StorePaths
    far: ReadSocket


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """The story under the shipped policy, served."""
    policy = parse_policy(EXAMPLE.read_bytes())
    rows = [row | {"policy_digest": row["policy_digest"] and policy.digest} for row in story()]
    store = StoryStore(tmp_path_factory.mktemp("served") / "store", rows)
    store.collector(pid=1, heartbeat=NOW - 1_000_000)
    store.gap("unified-log", at("18:03:13"), at("18:03:14"), "Must be admin")
    with closing(open_writable(store.paths.control, CONTROL_DDL)) as con:
        when = at("10:02:00", "2026-07-27")
        put_in_force(con, Application("agent-demo", policy, "/p/agent.yaml", "oncall", when))
    with served(store.paths.root) as (path, _):
        far = ReadSocket(path)
        yield Both(store.paths, far)
        far.close()
    store.close()


def page(store: object, capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code and what a pipe gets."""
    code = run(["audit", "--store", str(store), *words], now=lambda: NOW)
    return code, *capfd.readouterr()


PAGES = (
    "runs", "runs --deny --format json", "runs --path **/.ssh --all", "runs nonsense",
    "show", "show last --format json", "show 7f3a91c2 --format markdown", "show last --deny",
    "show agent-demo", "show 4712 -C 3", "show 4925 --format json", "show 99999", "show zzz",
    "explain last", "explain 4712", "explain 4925", "explain 7kq2m-4929 --format markdown",
    "explain 99999", "explain 4930",
    "stats", "stats --by day,sandbox --since 7d --tz Asia/Kathmandu", "stats --by hour --utc",
    "stats --bucket 15m --tz +09:00 --format json", "stats --by flag,decision --format csv",
    "stats --latency", "stats --tools", "stats --redactions", "stats --by polcy",
    "stats --path /nowhere", "stats --by process --no-merge -n 2",
    "export --format ndjson", "export --format csv -n 3", "export --path /nowhere",
    "query --deny", "gaps", "status --json",
)  # fmt: skip


@pytest.mark.parametrize("words", PAGES)
def test_a_page_is_the_owner_s_page(
    both: Both, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The same text, words about nothing found and exit code."""
    near = page(both.near.root, capfd, *words.split())
    assert page(both.far, capfd, *words.split()) == near
    assert near[1] or near[2]


def test_an_export_is_the_owner_s_file(
    both: Both, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Bytes and manifest; the host is the one that exports, for settings stay in the store."""
    files = [tmp_path / side / "audit.parquet" for side in ("near", "far")]
    for file, store in zip(files, (both.near.root, both.far), strict=True):
        file.parent.mkdir()
        assert page(store, capfd, "export", "-o", str(file), "--deny")[0] == 0
    near, far = (json.loads(file.with_name(f"{file.name}.manifest.json").read_text())
                 for file in files)  # fmt: skip
    assert {**far, "host": ""} == {**near, "host": ""}
    assert files[0].read_bytes() == files[1].read_bytes()
    shutil.rmtree(tmp_path)


def test_what_would_change_the_store_is_refused(
    both: Both, capfd: pytest.CaptureFixture[str]
) -> None:
    """A cursor moves; a statement is not bounded like a question."""
    code, out, err = page(both.far, capfd, "export", "--cursor", "nightly")
    assert (code, out) == (2, "")
    assert "--cursor is kept in the store" in err
    code, out, err = page(both.far, capfd, "sql", "SELECT 1")
    assert (code, out) == (2, "")
    assert "a read socket answers some questions only" in err
    assert "runs, show, explain, stats" in err


def test_every_run_is_the_same_story(both: Both) -> None:
    """Steps with their sets, gaps in their places, totals."""
    for listed in reads.newest_runs(both.near, Request(limit=None), NOW, outside=True).runs:
        word = listed.run.correlation_id
        near = reads.story(both.near, word, Request())
        assert reads.story(both.far, word, Request()) == near
        assert near.steps


@pytest.mark.parametrize("zone", [UTC, ZoneInfo("Asia/Tokyo"), timezone(timedelta(hours=-3.5))])
@pytest.mark.parametrize("measure", ["decisions", "tools", "latency", "redactions"])
def test_counts_are_the_same(both: Both, measure: Measure, zone: object) -> None:
    """Every measure, by columns, lists and times."""
    for names, bucket in (((), None), (("day", "rule"), None), (("flags",), 7_000_000)):
        counting = Counting(axes(names, bucket), measure, zone)  # type: ignore[arg-type]
        near = reads.stats(both.near, Request(), counting)
        far = reads.stats(both.far, Request(), counting)
        assert sorted(map(repr, far.groups)) == sorted(map(repr, near.groups))
        assert (far.total, far.times, far.gaps) == (near.total, near.times, near.gaps)


def test_neighbours_are_bounded(both: Both) -> None:
    """The same, and a context beyond any screen is no larger question."""
    request = Request(window=Window(at("00:00:00")))
    for context in (2, 1 << 40):
        near = reads.neighbours(both.near, 4712, request, context)
        assert reads.neighbours(both.far, 4712, request, context) == near


@pytest.mark.parametrize(
    "words",
    [
        [{}, ["path); DROP TABLE meta --"], None, "decisions", "UTC", True],
        [{}, ["seq"], None, "decisions", "UTC", True],
        [{}, ["bucket"], 0, "decisions", "UTC", True],
        [{}, ["bucket"], -5, "decisions", "UTC", True],
        [{}, ["bucket"], 1 << 62, "decisions", "UTC", True],
        [{}, ["day"] * 99 + ["pid"] * 99, None, "decisions", "../../etc/passwd", True],
        [{}, [], None, "count(*)", "UTC", True],
        [{}, [[]], None, "decisions", "UTC", True],
    ],
    ids=str,
)
def test_a_hostile_count_is_a_usage_error(both: Both, words: list[object]) -> None:
    """Names become columns and sizes become arithmetic only if we know them."""
    [line] = _answered(both, Ask("stats", words))
    assert list(line) == ["error"]
    assert line["error"]["code"] == 2


def test_an_answer_larger_than_a_line_is_refused_in_words(
    both: Both, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Instead of one that the other end cuts off."""
    monkeypatch.setattr(reading_wire, "MAX_LINE_BYTES", 500)
    *_, last = _answered(both, Ask("story", ["7f3a91c2", {}]))
    assert "larger than 500 bytes" in last["error"]["message"]
    with pytest.raises(QueryError):
        raise reading_wire.raised(reading_wire.Trouble(**last["error"]))


def test_a_zone_without_a_name_is_asked_for(both: Both) -> None:
    """Its days could not be cut at the other end."""
    with Path("/usr/share/zoneinfo/Asia/Tokyo").open("rb") as data:
        nameless = ZoneInfo.from_file(data)
    with pytest.raises(UsageError, match="has no name"):
        reads.stats(both.far, Request(), Counting(axes(("day",), None), zone=nameless))


def _answered(both: Both, ask: Ask) -> list[dict[str, dict[str, object]]]:
    """What a reader's process says to one line."""
    pieces = reading_worker._answer(encoded(ask).rstrip(b"\n"), both.near)
    return [json.loads(piece) for piece in pieces]
