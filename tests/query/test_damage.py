"""A damaged archive file never kills a query: it is named, and the rest is answered."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit_events.errors import UsageError
from query.contracts import Damaged, Request
from query.engine import answer, count, pages
from query.plan import FIRST_LOOK_ROWS
from query.reader import MissingFileError, Query, Reader
from query.snapshot import open_snapshot
from tests.query.stores import StoreWriter, build, event

ROWS = [event(seq, path=f"/workspace/{seq}") for seq in range(1, 61)]


def truncate(path: Path) -> None:
    """The last 8 bytes are gone: no footer."""
    path.write_bytes(path.read_bytes()[:-8])


def empty(path: Path) -> None:
    """Nothing is left."""
    path.write_bytes(b"")


def flip(path: Path) -> None:
    """Bytes inside the data pages changed; size and footer are whole."""
    data = bytearray(path.read_bytes())
    for at in range(8, len(data) // 2):
        data[at] ^= 0xFF
    path.write_bytes(bytes(data))


def garble_footer(path: Path) -> None:
    """The footer says nonsense."""
    data = bytearray(path.read_bytes())
    for at in range(len(data) - 200, len(data) - 8):
        data[at] ^= 0x5A
    path.write_bytes(bytes(data))


def remove(path: Path) -> None:
    """The file is gone, and the list still names it."""
    path.unlink()


def replace_by_folder(path: Path) -> None:
    """Something else stands there."""
    path.unlink()
    path.mkdir()


DAMAGES: list[Callable[[Path], None]] = [
    truncate, empty, flip, garble_footer, remove, replace_by_folder,
]  # fmt: skip


@pytest.fixture
def store(make_store: Any) -> StoreWriter:
    """Two archive files of 20 rows and a spool of 20."""
    return make_store(ROWS, sealed=40, batch=10)  # type: ignore[no-any-return]


def first_file(store: StoreWriter) -> tuple[Path, Damaged]:
    """The archive's first file, and how it must be reported."""
    name = store.con.execute("SELECT path FROM files ORDER BY min_seq").fetchone()[0]
    return store.paths.events / name, Damaged(f"events/{name}", 20)


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_rest_is_answered_and_the_file_named(
    store: StoreWriter, damage: Callable[[Path], None]
) -> None:
    """In a full answer, the newest N, a count and pages alike."""
    path, report = first_file(store)
    damage(path)
    found = answer(store.paths, Request())
    assert ([row["seq"] for row in found.rows], found.damaged) == (list(range(21, 61)), (report,))
    newest = answer(store.paths, Request(limit=50))
    assert ([row["seq"] for row in newest.rows], newest.damaged) == (list(range(21, 61)), (report,))
    counted = count(store.paths, Request(values={"sandbox": ("agent-*",)}))
    assert (counted.records, counted.damaged) == (40, (report,))
    read = list(pages(store.paths, Request(), page_rows=15))
    assert sum(page.rows for page in read) == 40
    assert {bad for page in read for bad in page.damaged} == {report}


def test_two_damaged_files_are_both_named(store: StoreWriter) -> None:
    """Finding the first does not hide the second."""
    for (name,) in store.con.execute("SELECT path FROM files").fetchall():
        truncate(store.paths.events / name)
    found = answer(store.paths, Request())
    assert [row["seq"] for row in found.rows] == list(range(41, 61))
    assert [bad.rows for bad in found.damaged] == [20, 20]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(store: StoreWriter) -> None:
    """Wrong rights are damage to a reader."""
    path, report = first_file(store)
    path.chmod(0)
    assert answer(store.paths, Request()).damaged == (report,)


def test_a_file_that_holds_other_rows_than_listed_is_named(store: StoreWriter) -> None:
    """A readable file with fewer rows would be a silent loss."""
    path, report = first_file(store)
    other = store.archive(ROWS[:5])
    store.con.execute("DELETE FROM files WHERE rows = 5")
    other.replace(path)
    assert answer(store.paths, Request()).damaged == (report,)


def test_the_newest_rows_do_not_ask_for_a_damaged_old_file(store: StoreWriter) -> None:
    """The walk from new to old stops before it, so nothing is partial."""
    truncate(first_file(store)[0])
    last = 60 + FIRST_LOOK_ROWS
    store.append([event(seq) for seq in range(61, last + 1)])
    found = answer(store.paths, Request(limit=5))
    assert [row["seq"] for row in found.rows] == list(range(last - 4, last + 1))
    assert (found.damaged, found.searched) == ((), FIRST_LOOK_ROWS)


def test_files_that_nobody_listed_are_not_read(store: StoreWriter) -> None:
    """No globbing: an orphan or a half-written file beside them changes nothing."""
    path, _ = first_file(store)
    path.with_name("foo.parquet").write_bytes(path.read_bytes())
    path.with_name("foo.parquet.tmp").write_bytes(b"half")
    found = answer(store.paths, Request())
    assert (len(found.rows), found.damaged) == (60, ())


def test_a_missing_file_asks_for_a_new_snapshot_first(store: StoreWriter) -> None:
    """A compaction may have replaced it between looking and reading."""
    first_file(store)[0].unlink()
    with (
        open_snapshot(store.paths) as snapshot,
        Reader(snapshot, snapshot.parts, final=False) as reader,
        pytest.raises(MissingFileError),
    ):
        reader.rows(snapshot.parts, Query("count(*)"))


def test_odd_names_of_the_store_are_just_names(tmp_path: Path) -> None:
    """Brackets, stars, quotes and blanks in the store's path are neither patterns nor SQL."""
    store = build(tmp_path / "a[b]c*?'x\" {y}", ROWS[:20], sealed=10, batch=10)
    assert len(answer(store.paths, Request()).rows) == 20
    store.con.close()


def test_a_wrong_filter_is_no_damage(store: StoreWriter) -> None:
    """It is found before any file is read."""
    with pytest.raises(UsageError):
        answer(store.paths, Request(values={"pid": ("x",)}))
