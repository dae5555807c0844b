"""The policies a running collector knows: control.db and the configured files, looked at often."""

import sqlite3
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from audit_events.errors import AuditError
from audit_events.layout import CONTROL_DDL
from collector import policy_store
from collector.policy_store import Application, Waiting
from collector.sqlite import open_writable, transaction
from collector.store import reason_of
from policies.attribute import Attributor
from policies.history import History
from policies.load import parse_policy
from policies.model import Policy
from policies.yaml_text import YamlError

LOOK_US: Final = 1_000_000
BY_WATCH: Final = "the collector"
# Device, inode, size, time of change: what tells that a file may hold another text.
Mark = tuple[int, int, int, int]


@dataclass(slots=True)
class _File:
    """A watched file: what it looked like when it was read, and when it was looked at last."""

    path: Path
    read: Mark | None = None
    seen: Mark | None = None
    missed: bool = False


class PolicyWatch:
    """Attributes batches by the policies known now; `look` keeps them up to date."""

    def __init__(
        self, control: Path, files: Mapping[str, Path], say: Callable[[str], None],
        *, macos: bool = sys.platform == "darwin",
    ) -> None:  # fmt: skip
        self._control = control
        self._files = {sandbox: _File(path) for sandbox, path in files.items()}
        self._say = say
        self._macos = macos
        self._connection: sqlite3.Connection | None = None
        self._version = -1
        self._looked = 0
        self._failed = ""
        # What we write ourselves does not change `data_version` for us.
        self._own_change = False
        self._policies: dict[str, Policy] = {}
        self._attributor = Attributor({}, History())

    def attribute(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with what the policies say."""
        return self._attributor.attribute(batch)

    def look(self, now_us: int, last_notice: int) -> list[Waiting]:
        """Take what has changed, at most once a second; the notices that wait for the trail.

        A database that cannot be read leaves the policies as they were and is said once.
        """
        if 0 <= now_us - self._looked < LOOK_US:
            return []
        first = self._looked == 0
        self._looked = now_us
        try:
            connection = self._open()
            for sandbox, file in self._files.items():
                self._check(connection, sandbox, file, now_us, first=first)
            (version,) = connection.execute("PRAGMA data_version").fetchone()
            if first or version != self._version or self._own_change:
                self._reload(connection)
                self._version, self._own_change = version, False
                return policy_store.waiting(connection, last_notice)
        except (sqlite3.Error, OSError) as error:
            self._trouble(reason_of(error))
        return []

    def written(self, upto: int) -> None:
        """Notices up to this id are in the trail."""
        if self._connection is not None:
            try:
                policy_store.forget_notices(self._connection, upto)
            except sqlite3.Error as error:
                self._trouble(reason_of(error))
        # There may be more than one turn takes.
        self._own_change, self._looked = True, 1

    def close(self) -> None:
        """Let go of the database."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = open_writable(self._control, CONTROL_DDL)
        return self._connection

    def _reload(self, connection: sqlite3.Connection) -> None:
        self._policies = policy_store.texts(connection, self._policies)
        entries = History(policy_store.history(connection))
        self._attributor = Attributor(self._policies, entries, macos=self._macos)

    def _check(
        self, connection: sqlite3.Connection, sandbox: str, file: _File, now_us: int, *, first: bool
    ) -> None:
        """Read a file that changed, once it has rested from one look to the next."""
        try:
            found = file.path.stat()
        except OSError as error:
            if not file.missed:
                file.missed = True
                self._say(
                    f"policy {file.path} of {sandbox}: {reason_of(error)}; the last one stays"
                )
            return
        file.missed = False
        mark = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
        rested = first or mark == file.seen
        file.seen = mark
        if mark == file.read or not rested:
            return
        file.read = mark
        self._take(connection, sandbox, file.path, min(found.st_mtime_ns // 1000, now_us), now_us)

    def _take(
        self, connection: sqlite3.Connection, sandbox: str, path: Path, from_ts: int, now_us: int
    ) -> None:
        """Put the text of a file in force, or say in the trail why that cannot be."""
        try:
            policy = parse_policy(policy_store.read_policy_file(path))
        except YamlError as error:
            self._refused(connection, sandbox, error.problems[0].shown(str(path)), now_us)
        except AuditError as error:
            self._refused(connection, sandbox, error.message, now_us)
        else:
            new = Application(sandbox, policy, str(path), BY_WATCH, from_ts)
            self._own_change |= policy_store.put_in_force(connection, new)

    def _refused(self, connection: sqlite3.Connection, sandbox: str, why: str, now_us: int) -> None:
        text = f"policy of {sandbox} not taken, the last one stays: {why}"
        self._say(text)
        with transaction(connection):
            policy_store.put_notice(connection, now_us, sandbox, text, None)
        self._own_change = True

    def _trouble(self, reason: str) -> None:
        if reason != self._failed:
            self._failed = reason
            self._say(f"{self._control.name} cannot be read ({reason}); policies stay as they are")
        self.close()
