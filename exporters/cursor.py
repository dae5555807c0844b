"""How far a repeated export has come: a named seq in control.db, moved once the file is there."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from audit_events.errors import StorageError
from audit_events.layout import CONTROL_DDL, FILE_MODE

BUSY_TIMEOUT_S: Final = 10.0


def position(control: Path, name: str) -> int:
    """The seq up to which `name` has everything; 0 for a new cursor."""
    if not control.exists():
        return 0
    with _open(control) as con:
        found = con.execute("SELECT seq FROM cursors WHERE name = ?", (name,)).fetchone()
    return int(found[0]) if found else 0


def advance(control: Path, name: str, *, after: int, upto: int, now: int) -> None:
    """Move a cursor from `after` to `upto`; StorageError if another export moved it meanwhile."""
    with _open(control) as con:
        con.execute("BEGIN IMMEDIATE")
        found = con.execute("SELECT seq FROM cursors WHERE name = ?", (name,)).fetchone()
        if (int(found[0]) if found else 0) != after:
            con.execute("ROLLBACK")
            raise StorageError(
                f"cursor {name} was moved by another export meanwhile; it stays where that put it",
                hint="one export at a time for each cursor",
            )
        con.execute("INSERT OR REPLACE INTO cursors VALUES (?, ?, ?)", (name, upto, now))
        con.execute("COMMIT")


@contextmanager
def _open(control: Path) -> Iterator[sqlite3.Connection]:
    try:
        control.touch(mode=FILE_MODE, exist_ok=True)
        with closing(sqlite3.connect(control, timeout=BUSY_TIMEOUT_S, isolation_level=None)) as con:
            con.executescript(CONTROL_DDL)
            yield con
    except (sqlite3.Error, OSError) as error:
        raise StorageError(f"{control} cannot be used ({error})") from error
