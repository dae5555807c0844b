"""Opening a store for reading: what is said when it cannot be, and that a snapshot stands still."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from audit_events.errors import Exit, StorageError
from audit_events.layout import StorePaths
from query.contracts import Request
from query.engine import answer, count
from query.snapshot import open_snapshot
from tests.query.stores import event

ROWS = [event(seq) for seq in range(1, 36)]


def refused(paths: StorePaths) -> StorageError:
    """The error that opening this store gives."""
    with pytest.raises(StorageError) as raised, open_snapshot(paths):
        pass
    assert raised.value.code == Exit.STORAGE
    return raised.value


def test_no_store_is_an_error_that_names_the_place(tmp_path: Path) -> None:
    """And reading makes none."""
    assert str(tmp_path) in refused(StorePaths(tmp_path)).message
    assert list(tmp_path.iterdir()) == []


def test_a_newer_schema_is_refused_with_the_way_out(make_store: Any) -> None:
    """Half an answer from columns we do not know would be worse than none."""
    store = make_store(ROWS)
    store.meta(schema_version=2)
    error = refused(store.paths)
    assert error.message.startswith("store 7kq2m has schema 2, this is sandtrail ")
    assert error.message.endswith("(schema 1)")
    assert error.hint == "uv tool upgrade sandtrail"


@pytest.mark.parametrize(
    "content", [b"", b"garbage" * 1000, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_a_damaged_spool_is_an_error_never_an_empty_answer(tmp_path: Path, content: bytes) -> None:
    """Exit 5, with the file's name."""
    paths = StorePaths(tmp_path)
    paths.spool.write_bytes(content)
    assert "spool.db" in refused(paths).message


def test_a_folder_in_place_of_the_spool_is_an_error(tmp_path: Path) -> None:
    """Exit 5 as well."""
    paths = StorePaths(tmp_path)
    paths.spool.mkdir()
    assert "spool.db" in refused(paths).message


def test_a_fact_that_is_no_number_is_an_error(make_store: Any) -> None:
    """A mangled meta table is damage, not our crash."""
    store = make_store(ROWS)
    store.meta(last_seq="x")
    assert "last_seq" in refused(store.paths).message


def test_a_damaged_batch_is_an_error_that_quotes_nothing(make_store: Any) -> None:
    """The words name the batch; bytes of events stay out of them."""
    store = make_store(ROWS)
    store.con.execute("UPDATE batches SET data = ? WHERE first_seq = 8", (b"secret payload",))
    with pytest.raises(StorageError, match=r"^spool\.db batch 8 is damaged$") as raised:
        answer(store.paths, Request())
    assert raised.value.__cause__ is None


def test_a_snapshot_stands_still_while_a_seal_runs(make_store: Any) -> None:
    """Files, batches and their bytes are of one moment, also when the spool is pruned meanwhile."""
    store = make_store(ROWS)
    with open_snapshot(store.paths) as snapshot:
        store.seal(ROWS[:21], 21)
        store.con.execute("DELETE FROM batches WHERE last_seq <= 21")
        batches = [part for part in snapshot.parts if part.path is None]
        assert sum(part.rows for part in snapshot.parts) == len(ROWS)
        assert all(snapshot.blob(part) for part in batches)
    assert count(store.paths, Request()).records == len(ROWS)


def test_sealed_rows_still_in_the_spool_are_read_once(make_store: Any) -> None:
    """What is sealed is said by sealed_upto, not by the later deletion."""
    store = make_store(ROWS, sealed=14)
    kept = store.con.execute("SELECT sum(rows) FROM batches").fetchone()[0]
    assert kept == len(ROWS)
    assert [row["seq"] for row in answer(store.paths, Request()).rows] == list(range(1, 36))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_on_read_only_media_can_be_read(make_store: Any) -> None:
    """Closed cleanly, there is no -wal, and SQLite reads it as immutable."""
    store = make_store(ROWS, sealed=14)
    store.con.close()
    store.paths.root.chmod(0o500)
    try:
        assert count(store.paths, Request()).records == len(ROWS)
    finally:
        store.paths.root.chmod(0o700)
        store.con = sqlite3.connect(store.paths.spool)
