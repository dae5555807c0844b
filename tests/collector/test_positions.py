"""Positions in the archive's log: few are said each time, many only when they move."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from collector import positions, seal
from collector.positions import ALL_EVERY_VERSIONS, sealed_streams, words_of_positions
from collector.spool import merge_streams
from tests.collector.storekit import House, commits, words_of
from tests.collector.test_join import commit
from tests.collector.trail_check import line

STREAMS = [f"stream{n}" for n in range(4_000)]


def test_thousands_of_streams_do_not_swell_every_commit(tmp_path: Path) -> None:
    """One that moved is one line of a commit, and the log still knows all of them."""
    house = House(tmp_path)
    opened = house.open()
    opened.spool.append(commit(1, [(name, 7) for name in STREAMS]))
    opened.sealer.seal()
    for at in range(3):
        opened.spool.append(commit(1, [("stream5", 100 + at)]))
        opened.sealer.seal()
    assert all(path.stat().st_size < 5_000 for path in commits(house)[2:])
    told = sealed_streams(house.log)["openclaw"]
    assert len(told) == len(STREAMS)
    assert told["stream5"][0] == 102
    opened.sealer.close()
    opened.spool.close()
    for path in house.root.glob("spool.db*"):
        path.unlink()
    again = house.open()
    assert {s: p.resume for s, p in again.spool.positions("openclaw").items()} == {
        **dict.fromkeys(STREAMS, 7), "stream5": 102,
    }  # fmt: skip


updates = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.none() | st.integers(0, 9)),
    max_size=4,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(updates, max_size=8), st.integers(0, 3))
@example([[], [("a", "x", 0), ("a", "x", None)]], 0)
def test_what_moved_adds_up(tmp_path: Path, history: list, first: int) -> None:
    """Whatever moved, closed and came back: the log gives what stood after the newest commit."""
    for path in tmp_path.glob("*.json"):
        path.unlink()
    streams = "{}"
    for version, moves in enumerate(history, start=ALL_EVERY_VERSIONS - first):
        said = [
            [source, stream, None] if at is None else [source, stream, at, [], at, ""]
            for source, stream, at in moves
        ]
        streams = merge_streams(streams, said)
        few = 1 << 20 if version == ALL_EVERY_VERSIONS - first else 0
        words = words_of_positions(streams, said, version, few_bytes=few)
        info = {"commitInfo": {"sandtrail": json.dumps(words)}}
        (tmp_path / f"{version:020d}.json").write_text(json.dumps(info))
    assert sealed_streams(tmp_path) == json.loads(streams)


def test_a_lost_spool_goes_on_from_moved_positions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End to end, with every commit but one saying only what moved."""

    def few(streams: str, moved: list, version: int) -> dict:
        return positions.words_of_positions(streams, moved, version, few_bytes=60)

    monkeypatch.setattr(seal, "words_of_positions", few)
    house = House(tmp_path)
    for turn in range(3):
        for name in "ab":
            with (tmp_path / "log" / f"decisions.jsonl.{name}").open("ab") as file:
                first = 1 + turn * 20 + (name == "b") * 10
                file.writelines(map(line, range(first, first + 10)))
        house.collect()
    assert "moved" in words_of(commits(house)[-1])
    for path in house.root.glob("spool.db*"):
        path.unlink()
    house.collect()
    assert sorted(house.seen().pids) == list(range(1, 61))
