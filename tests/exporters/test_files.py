"""Files that are whole or not there, and cursors that never skip."""

import hashlib
import sqlite3
import stat
from pathlib import Path

import pytest

from audit_events.errors import StorageError
from exporters import cursor
from exporters.files import AtomicFile


def test_a_file_shows_up_whole_private_and_with_its_digest(tmp_path: Path) -> None:
    """Until the block ends nothing is there; then all of it, 0600."""
    path = tmp_path / "out.json"
    with AtomicFile(path) as file:
        file.write(b"one ")
        file.write(b"two")
        assert not path.exists()
    assert path.read_bytes() == b"one two"
    assert file.sha256 == hashlib.sha256(b"one two").hexdigest()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    """Last night's export survives tonight's failure, and no half file stays."""
    path = tmp_path / "out.json"
    path.write_bytes(b"yesterday")
    file = AtomicFile(path).__enter__()
    file.write(b"half")
    file.__exit__(RuntimeError, RuntimeError(), None)
    assert path.read_bytes() == b"yesterday"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_is_a_storage_error(tmp_path: Path) -> None:
    """The message names the file."""
    with pytest.raises(StorageError, match="cannot write"):
        AtomicFile(tmp_path / "nowhere" / "out").__enter__()


def test_a_cursor_moves_only_from_where_it_was(tmp_path: Path) -> None:
    """Two exports at once cannot make it skip what one of them did not write."""
    control = tmp_path / "control.db"
    assert cursor.position(control, "nightly") == 0
    cursor.advance(control, "nightly", after=0, upto=10, now=1)
    assert cursor.position(control, "nightly") == 10
    with pytest.raises(StorageError, match="another export"):
        cursor.advance(control, "nightly", after=0, upto=20, now=2)
    assert cursor.position(control, "nightly") == 10
    assert cursor.position(control, "other") == 0


def test_a_damaged_control_file_is_a_storage_error(tmp_path: Path) -> None:
    """Never a guess from the start: that would send everything again."""
    control = tmp_path / "control.db"
    control.write_bytes(b"x" * 4096)
    with pytest.raises(StorageError):
        cursor.position(control, "nightly")


def test_control_is_private(tmp_path: Path) -> None:
    """Made by us, readable by nobody else."""
    control = tmp_path / "control.db"
    cursor.advance(control, "nightly", after=0, upto=1, now=1)
    assert stat.S_IMODE(control.stat().st_mode) == 0o600
    with sqlite3.connect(control) as con:
        assert con.execute("SELECT * FROM cursors").fetchall() == [("nightly", 1, 1)]
    con.close()
