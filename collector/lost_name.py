"""The name of a store whose store.toml is gone: its own records still carry it."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from audit_events.errors import StorageError
from audit_events.layout import StorePaths

_APP_ID: Final = re.compile(rb'"appId":"spool:([0-9a-z]+)"')
# A commit of ours is far smaller; one that is not names the store in its first part or not at all.
MAX_COMMIT_BYTES: Final = 16 << 20


def find_lost_name(paths: StorePaths) -> str | None:
    """The id that spool.db or the archive's log carry; None if nothing was ever kept here.

    StorageError if something was kept and nothing tells whose it is: under a new name all that was
    read would be read, and stored, once more.
    """
    commits = sorted(paths.events.glob("_delta_log/*.json"), reverse=True)
    if not commits and not paths.spool.exists():
        return None
    for name in (*_of_spool(paths), *_of_commits(commits)):
        return name
    raise StorageError(
        f"{paths.toml} is gone, and nothing else tells the store's name",
        hint="restore it from a copy",
    )


def _of_spool(paths: StorePaths) -> Iterator[str]:
    try:
        # Read-only, as in recovery: a writable connection's end would lay a -wal over the file.
        connection = sqlite3.connect(f"{paths.spool.absolute().as_uri()}?mode=ro", uri=True)
    except sqlite3.Error:
        return
    try:
        for (name,) in connection.execute("SELECT value FROM meta WHERE key = 'store'"):
            yield str(name)
    except sqlite3.Error:
        return
    finally:
        connection.close()


def _of_commits(commits: list[Path]) -> Iterator[str]:
    for path in commits:
        with path.open("rb") as file:
            if found := _APP_ID.search(file.read(MAX_COMMIT_BYTES)):
                yield found[1].decode()
