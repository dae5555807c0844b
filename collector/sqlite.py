"""One way to open the store's SQLite files: durable, private, patient."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from audit_events.errors import StorageError
from audit_events.layout import FILE_MODE

BUSY_TIMEOUT_S: Final = 30.0
# The -wal file is cut back to this after a checkpoint; one batch of blobs is a few MB.
WAL_LIMIT_BYTES: Final = 16 << 20


def open_writable(path: Path, ddl: str) -> sqlite3.Connection:
    """A WAL connection with synchronous=FULL; autocommit, transactions are begun by hand.

    FULL costs about 1 ms a commit and is what keeps the last commits over a power cut; `fullfsync`
    is the same for macOS. Raises sqlite3.Error as it comes: the caller knows what to do about it.
    """
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FILE_MODE))
    path.chmod(FILE_MODE)
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "fullfsync=1",
        "checkpoint_fullfsync=1",
        f"journal_size_limit={WAL_LIMIT_BYTES}",
        "trusted_schema=0",
    ):
        connection.execute(f"PRAGMA {pragma}")
    connection.executescript(ddl)
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """BEGIN IMMEDIATE … COMMIT, or ROLLBACK and the error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def control_connection(path: Path, ddl: str) -> sqlite3.Connection:
    """control.db for a short transaction; StorageError if it cannot be opened."""
    try:
        return open_writable(path, ddl)
    except sqlite3.Error as error:
        raise StorageError(f"{path}: {error}") from error
