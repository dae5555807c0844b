"""spool.db lost, damaged or rolled back: every event once, no id twice, one clear notice."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from collector.store import LEAP
from tests.collector.storekit import NEVER, House, exact
from tests.collector.trail_check import Victim, Writer, private, wait_for

SEALED, COPIED, WRITTEN, LATER = 1_500, 2_500, 3_300, 3_500


def _side(spool: Path, suffix: str) -> Path:
    return spool.with_name(spool.name + suffix)


def _without_side_files(spool: Path) -> None:
    for suffix in ("-wal", "-shm"):
        _side(spool, suffix).unlink(missing_ok=True)


def emptied(house: House, _old: Path) -> None:
    """0 bytes, as after an out-of-memory kill of a careless writer."""
    _without_side_files(house.spool)
    house.spool.write_bytes(b"")


def emptied_beside_its_wal(house: House, _old: Path) -> None:
    """0 bytes, and the -wal of before."""
    house.spool.write_bytes(b"")


def garbage(house: House, _old: Path) -> None:
    """Random bytes."""
    house.spool.write_bytes(random.Random(7).randbytes(300_000))


def garbage_inside(house: House, _old: Path) -> None:
    """A sound header over damaged pages."""
    _without_side_files(house.spool)
    data = house.spool.read_bytes()
    house.spool.write_bytes(data[:4096] + bytes(len(data) - 4096))


def folder(house: House, _old: Path) -> None:
    """A directory stands there, with something inside."""
    house.spool.unlink()
    house.spool.mkdir(mode=0o755)
    (house.spool / "file").write_bytes(b"x")
    (house.spool / "file").chmod(0o600)


def dangling_link(house: House, _old: Path) -> None:
    """A symbolic link to nowhere."""
    _without_side_files(house.spool)
    house.spool.unlink()
    house.spool.symlink_to("nowhere")


def deleted(house: House, _old: Path) -> None:
    """Gone without a trace."""
    _without_side_files(house.spool)
    house.spool.unlink()


def deleted_but_wal(house: House, _old: Path) -> None:
    """Gone, its -wal left behind."""
    house.spool.unlink()


def yesterdays(house: House, old: Path) -> None:
    """A copy from before the last seal."""
    _without_side_files(house.spool)
    shutil.copy(old / "before-seal" / "spool.db", house.spool)


def todays(house: House, old: Path) -> None:
    """A copy from after the last seal, with rows that are not sealed yet."""
    _without_side_files(house.spool)
    for path in (old / "after-seal").iterdir():
        shutil.copy(path, house.root / path.name)


def yesterdays_beside_todays_wal(house: House, old: Path) -> None:
    """An old database under a newer -wal: SQLite would replay the one over the other."""
    shutil.copy(old / "before-seal" / "spool.db", house.spool)


LOST: list[Callable[[House, Path], None]] = [
    emptied, emptied_beside_its_wal, garbage, garbage_inside, folder, dangling_link, deleted,
    deleted_but_wal, yesterdays, todays, yesterdays_beside_todays_wal,
]  # fmt: skip


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A house with SEALED events in the archive, WRITTEN spooled, and copies made on the way."""
    house = House(tmp_path_factory.mktemp("house"))
    writer = Writer(house.folder / "log")
    writer.write(SEALED - 500)
    house.collect()
    shutil.copytree(house.root, house.folder / "before-seal")
    writer.write(500)
    house.collect()
    _spool_until(house, writer, COPIED)
    (house.folder / "after-seal").mkdir()
    for path in house.root.glob("spool.db*"):
        shutil.copy(path, house.folder / "after-seal" / path.name)
    _spool_until(house, writer, WRITTEN)
    writer.write(LATER - WRITTEN)
    return house.folder


def _spool_until(house: House, writer: Writer, total: int) -> None:
    """Events up to `total` are spooled, not sealed, and the collector is killed."""
    victim = Victim(house.folder, rows=1 << 40, age_s=1e9)
    writer.write(total - writer.written)
    wait_for(house.folder, writer)
    victim.kill()


@pytest.fixture
def house(old: Path, tmp_path: Path) -> House:
    """A copy to damage; ids given so far are in `before`."""
    return House(old).copy_to(tmp_path / "house")


def recovers(house: House, before: dict[int, int | None]) -> None:
    """The promise of this file."""
    summary = house.collect(limits=NEVER)
    exact(house, LATER)
    after = house.identities()
    assert all(after[seq] == pid for seq, pid in before.items() if seq in after)
    fresh = [seq for seq in after if seq not in before]
    assert min(fresh) == LEAP + 1
    assert summary.notices == [text for text in house.notices() if "spool.db" in text]
    assert len(summary.notices) == 1
    assert str(LEAP) in summary.notices[0]
    assert private(house.root) == []


@pytest.mark.parametrize("damage", LOST, ids=lambda damage: damage.__name__)
def test_every_event_once_and_no_id_twice(
    house: House, old: Path, damage: Callable[[House, Path], None]
) -> None:
    """Whatever became of it: the rest is read again, seq leaps, one notice says so."""
    before = house.identities()
    damage(house, old)
    recovers(house, before)


@pytest.mark.parametrize("damage", [deleted, yesterdays])
def test_the_watermark_may_be_gone_too(
    house: House, old: Path, damage: Callable[[House, Path], None]
) -> None:
    """`notify` in the store holds the last seq a second time."""
    before = house.identities()
    damage(house, old)
    house.watermark.unlink()
    recovers(house, before)


def test_nothing_sealed_yet_and_all_of_spool_and_watermark_gone(tmp_path: Path) -> None:
    """The youngest store: no archive to learn from, ids still are not given twice."""
    house = House(tmp_path)
    writer = Writer(tmp_path / "log")
    _spool_until(house, writer, 300)
    before = set(house.seen().seqs)
    deleted(house, tmp_path)
    house.watermark.unlink()
    house.collect()
    exact(house, 300)
    assert before
    assert min(house.seen().seqs) > LEAP


def test_a_second_loss_leaps_again(house: House, old: Path) -> None:
    """Ids after the first leap are not given again either, sealed or not."""
    deleted(house, old)
    house.collect()
    first = house.identities()
    deleted(house, old)
    house.collect()
    exact(house, LATER)
    second = house.identities()
    assert all(second[seq] == pid for seq, pid in first.items())
    assert min(set(second) - set(first)) == 2 * LEAP + 1


def test_what_was_there_is_kept_aside(house: House, old: Path) -> None:
    """Nothing is destroyed: the operator may look at it."""
    garbage(house, old)
    data = house.spool.read_bytes()
    house.collect()
    (kept,) = (house.root / "lost").glob("*/spool.db")
    assert kept.read_bytes() == data


def test_a_sound_spool_is_left_alone(house: House) -> None:
    """No leap, no notice after a plain kill."""
    assert house.collect().notices == []
    exact(house, LATER)
    assert max(house.seen().seqs) < LEAP


@pytest.mark.parametrize(
    "step",
    [
        "recovery.after-new",
        pytest.param("recovery.before-new", marks=pytest.mark.torture),
        pytest.param("recovery.after-aside", marks=pytest.mark.torture),
        pytest.param("recovery.after-reconcile", marks=pytest.mark.torture),
    ],
)
def test_killed_in_the_middle_of_replacing(house: House, old: Path, step: str) -> None:
    """A kill at each step of the replacement changes nothing about its end."""
    before = house.identities()
    emptied_beside_its_wal(house, old)
    assert Victim(house.folder, step=step, once=True).dies(60)
    recovers(house, before)


def test_an_empty_file_of_a_first_start_is_no_loss(tmp_path: Path) -> None:
    """A start killed before its first commit leaves nothing to be told about."""
    house = House(tmp_path)
    Writer(tmp_path / "log").write(50)
    os.close(os.open(house.store.paths.spool, os.O_CREAT, 0o600))
    assert house.collect().notices == []
    exact(house, 50)
    assert max(house.seen().seqs) < LEAP
