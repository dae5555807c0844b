"""A power cut leaves the Delta log half-written: what was not acknowledged is done again."""

import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from audit_events.errors import StorageError
from query.contracts import Request
from query.engine import count
from tests.collector.storekit import ALWAYS, House, commits, exact, upkeep
from tests.collector.trail_check import Writer


class PowerCut(BaseException):
    """Ends the work at a step, as SIGKILL does: nothing after it runs."""


def cut_at(step: str, nth: int = 1) -> Callable[[str], None]:
    """`on_step` that cuts at the n-th time of `step`."""
    left = nth

    def on_step(name: str) -> None:
        nonlocal left
        left -= name == step
        if name == step and left == 0:
            raise PowerCut

    return on_step


def empty(path: Path) -> None:
    """The name came through, no byte did."""
    path.write_bytes(b"")


def half(path: Path) -> None:
    """Cut in the middle of a line."""
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def whole_lines_only(path: Path) -> None:
    """Cut between two lines: what is left parses."""
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))


def nul_filled(path: Path) -> None:
    """The size came through, the bytes did not."""
    path.write_bytes(bytes(path.stat().st_size))


def gone(path: Path) -> None:
    """Not even the name."""
    path.unlink()


def untouched(_path: Path) -> None:
    """The cut came late."""


DAMAGES = [empty, half, whole_lines_only, nul_filled, gone, untouched]
by_name = pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two seals of two dates, 900 events: where it stood, and a copy."""
    folder = tmp_path_factory.mktemp("built")
    house = House(folder / "house")
    writer = Writer(house.folder / "log")
    for _ in range(2):
        writer.write(450)
        house.collect()
    shutil.copytree(house.folder, folder / "backup")
    return folder


@pytest.fixture
def house(backup: Path) -> House:
    """A house to damage."""
    return House(backup / "house").restore(backup / "backup")


def cut_while_sealing(house: House, step: str) -> None:
    """A power cut at a step of the seal that moves 300 new events."""
    Writer(house.folder / "log", written=900).write(300)
    with pytest.raises(PowerCut):
        house.collect(on_step=cut_at(step))


@by_name
def test_the_newest_commit_of_a_seal_may_be_anything(
    house: House, damage: Callable[[Path], None]
) -> None:
    """Rows are still in the spool until the commit is durable and acknowledged."""
    cut_while_sealing(house, "reconcile.before-commit")
    damage(commits(house)[-1])
    house.collect()
    exact(house, 1_200)


@by_name
def test_the_newest_commit_of_a_compaction_may_be_anything(
    house: House, damage: Callable[[Path], None]
) -> None:
    """The files that it would have replaced are still there."""
    opened = house.open(on_step=cut_at("reconcile.before-commit"))
    with pytest.raises(PowerCut):
        upkeep().run(opened.sealer, datetime.now(UTC))
    damage(commits(house)[-1])
    house.collect()
    exact(house, 900)


@pytest.mark.parametrize("damage", [empty, half, nul_filled, gone], ids=lambda d: d.__name__)
@pytest.mark.parametrize("which", ["checkpoint", "hint"])
def test_a_damaged_checkpoint_is_dropped(
    house: House, damage: Callable[[Path], None], which: str
) -> None:
    """The log's own files say it all; a checkpoint only says it faster."""
    opened = house.open()
    opened.sealer.archive.checkpoint()
    (path,) = house.log.glob("*.checkpoint.parquet")
    damage(path if which == "checkpoint" else house.log / "_last_checkpoint")
    Writer(house.folder / "log", written=900).write(100)
    house.collect()
    exact(house, 1_000)


@pytest.mark.parametrize(
    "damage", [empty, half, whole_lines_only, nul_filled, gone], ids=lambda d: d.__name__
)
def test_damage_at_an_acknowledged_version_is_told_and_readers_go_on(
    house: House, damage: Callable[[Path], None]
) -> None:
    """No power cut does that: the collector refuses, questions are answered from the cache."""
    damage(commits(house)[-1])
    with pytest.raises(StorageError) as caught:
        house.collect()
    assert "log" in caught.value.message
    assert caught.value.hint
    assert "events" in caught.value.hint
    assert count(house.store.paths, Request(values={"kind": ("decision",)})).records == 900


def test_a_commit_says_how_many_actions_it_holds(house: House) -> None:
    """So that one cut between two lines is told from a whole one."""
    for path in commits(house)[1:]:
        lines = path.read_bytes().splitlines()
        words = json.loads(json.loads(lines[0])["commitInfo"]["sandtrail"])
        assert words["actions"] == len(lines) - 1


def test_files_are_synced_before_they_are_named(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parquet and its folder, then the log, then SQLite."""
    from collector import archive, store

    synced: list[str] = []
    real = store.sync_file

    def sync_file(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        real(descriptor)

    monkeypatch.setattr(archive, "sync_file", sync_file)
    monkeypatch.setattr(store, "sync_file", sync_file)
    Writer(house.folder / "log", written=900).write(10)
    house.collect(on_step=synced.append, limits=ALWAYS)
    committed = synced.index("seal.before-delta-commit")
    assert [name.split("-")[0] for name in synced[:committed] if name.endswith(".parquet")]
    before_ack = synced[committed : synced.index("reconcile.before-commit")]
    assert any(name.endswith(".json") for name in before_ack)
    assert "_delta_log" in before_ack
