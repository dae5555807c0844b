"""store.toml lost: the store keeps its name, so that nothing is read and stored twice."""

from pathlib import Path

import pytest

from audit_events.errors import StorageError
from collector.store import open_or_create
from tests.collector.storekit import NEVER, House, exact
from tests.collector.trail_check import Writer


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A house with 300 events in the archive and 50 lines more in the log."""
    house = House(tmp_path)
    writer = Writer(tmp_path / "log")
    writer.write(300)
    house.collect()
    writer.write(50)
    return house


def test_the_spool_tells_the_name(house: House) -> None:
    """The usual case: one small file is gone."""
    name, before = house.store.id, house.identities()
    house.store.paths.toml.unlink()
    house.collect(limits=NEVER)
    exact(house, 350)
    assert house.store.id == name
    assert before.items() <= house.identities().items()
    assert house.store.paths.toml.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("spool", ["gone", "damaged"])
def test_the_archive_tells_the_name_when_the_spool_cannot(house: House, spool: str) -> None:
    """Both lost: the log of the archive names the writer of each commit."""
    name = house.store.id
    house.store.paths.toml.unlink()
    house.spool.unlink() if spool == "gone" else house.spool.write_bytes(b"\xff" * 9_000)
    house.collect(limits=NEVER)
    exact(house, 350)
    assert house.store.id == name


def test_a_store_that_nothing_names_is_not_begun_anew(tmp_path: Path) -> None:
    """A new name would read everything once more: better a clear refusal."""
    (tmp_path / "spool.db").write_bytes(b"\xff" * 9_000)
    with pytest.raises(StorageError, match="nothing else tells the store's name"):
        open_or_create(tmp_path)
    assert not (tmp_path / "store.toml").exists()
