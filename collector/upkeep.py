"""Keep the archive quick and bounded: compaction, retention, retired files, the log's checkpoint.

Every change is a Delta commit of the lock's holder that ends in the sealer's `reconcile`; files
that were replaced are unlinked only after a grace that any reader of an old snapshot survives.
"""

import hashlib
import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from deltalake.exceptions import DeltaError

from audit_events.errors import StorageError
from audit_events.layout import CONTROL_DDL, RETIRED_GRACE_S
from collector.archive import ArchiveFile
from collector.seal import Sealer
from collector.sqlite import control_connection, transaction
from collector.store import reason_of

# A day with more small files than this is rewritten; each file costs a query about 1 ms.
COMPACT_ABOVE_FILES: Final = 16
SMALL_ROWS: Final = 500_000
MOST_ROWS: Final = 1_000_000
CHECKPOINT_EVERY_COMMITS: Final = 100
UPKEEP_EVERY_S: Final = 60.0
WORKER_TIMEOUT_S: Final = 600
# How late a running compaction may notice that the collector shall stop.
WORKER_LOOK_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Compaction:
    """Small files of one day, to be replaced by one."""

    date: str
    files: tuple[ArchiveFile, ...]


@dataclass(frozen=True, slots=True)
class Removal:
    """A day past its time; `kept_for` names the export that has not got it, then it stays."""

    date: str
    files: tuple[ArchiveFile, ...]
    kept_for: str | None = None

    @property
    def rows(self) -> int:
        """Events of the day."""
        return sum(file.rows for file in self.files)


@dataclass(slots=True)
class Done:
    """What an upkeep did."""

    compacted: list[Compaction] = field(default_factory=list)
    removed: list[Removal] = field(default_factory=list)
    unlinked: int = 0


def compactions(files: Sequence[ArchiveFile], above: int = COMPACT_ABOVE_FILES) -> list[Compaction]:
    """Which small files to join, day by day; never more than MOST_ROWS rows in one."""
    found = []
    for date in sorted({file.date for file in files}):
        small = sorted(
            (f for f in files if f.date == date and f.rows < SMALL_ROWS), key=lambda f: f.min_seq
        )
        if len(small) <= above:
            continue
        chosen, rows = [], 0
        for file in small:
            if rows + file.rows > MOST_ROWS:
                break
            chosen.append(file)
            rows += file.rows
        if len(chosen) > 1:
            found.append(Compaction(date, tuple(chosen)))
    return found


def removals(
    files: Sequence[ArchiveFile], cursors: dict[str, int], now: datetime, keep: timedelta
) -> list[Removal]:
    """Whole days older than `keep`; a day that an export has not got yet is kept for it."""
    oldest = (now.astimezone(UTC) - keep).strftime("%Y-%m-%d")
    behind = min(cursors.items(), key=lambda item: item[1], default=None)
    found = []
    for date in sorted({file.date for file in files if file.date < oldest}):
        mine = tuple(file for file in files if file.date == date)
        waits = behind is not None and max(f.max_seq for f in mine) > behind[1]
        found.append(Removal(date, mine, behind[0] if behind and waits else None))
    return found


class Upkeep:
    """Does it, in the sealer's thread; `keep` None keeps every day."""

    def __init__(
        self,
        keep: timedelta | None,
        say: Callable[[str], None],
        *,
        every_s: float = UPKEEP_EVERY_S,
        above: int = COMPACT_ABOVE_FILES,
    ) -> None:
        self._keep = keep
        self._say = say
        self._every_s = every_s
        self._above = above
        self._last_run = 0.0
        self._last_checkpoint = 0
        # Damaged files, found out by a compaction: they stay as they are, for `verify` to name.
        self._unreadable: set[str] = set()

    def __call__(self, sealer: Sealer) -> None:
        """Run when its time has come; called twice a second."""
        if time.monotonic() - self._last_run < self._every_s:
            return
        self._last_run = time.monotonic()
        try:
            self.run(sealer, datetime.now(UTC))
        except StorageError as error:
            self._say(f"{error.message}; trying again later")

    def run(self, sealer: Sealer, now: datetime) -> Done:
        """One whole upkeep. Raises StorageError; whatever was committed stays reconciled."""
        done = Done()
        try:
            sealer.reconcile()
            done.unlinked = self.sweep(sealer, now)
            done.compacted = self._compact_days(sealer)
            done.removed = self._remove(sealer, now)
            self._checkpoint(sealer, now)
        except (DeltaError, OSError, sqlite3.Error, subprocess.SubprocessError) as error:
            raise StorageError(f"upkeep failed: {reason_of(error)}") from error
        return done

    def sweep(self, sealer: Sealer, now: datetime, grace_s: float = RETIRED_GRACE_S) -> int:
        """Unlink retired files whose grace is over; how many."""
        before = int((now.timestamp() - grace_s) * 1e6)
        rows = sealer.connection.execute("SELECT path FROM retired WHERE at <= ?", (before,))
        paths = [path for (path,) in rows]
        for path in paths:
            (sealer.archive.root / path).unlink(missing_ok=True)
        with sealer.writing():
            sealer.connection.executemany(
                "DELETE FROM retired WHERE path = ?", [(path,) for path in paths]
            )
        return len(paths)

    def _compact_days(self, sealer: Sealer) -> list[Compaction]:
        live = [file for file in sealer.archive.live() if file.path not in self._unreadable]
        return [
            compaction
            for compaction in compactions(live, self._above)
            if self._compact(sealer, compaction)
        ]

    def _compact(self, sealer: Sealer, compaction: Compaction) -> bool:
        """False if one of the files is damaged: the day waits for the next turn, without it."""
        order = {
            "root": str(sealer.archive.root),
            "date": compaction.date,
            "paths": [file.path for file in compaction.files],
        }
        sealer.step("compact.before-file")
        ran = _worked(order, sealer.stopping)
        if ran.returncode:
            why = ran.stderr.strip().splitlines()[-1:] or ["killed"]
            raise StorageError(f"compaction of {compaction.date} failed: {why[0][:80]}")
        said = json.loads(ran.stdout)
        if "unreadable" in said:
            self._unreadable.add(said["unreadable"])
            self._say(
                f"events/{said['unreadable']} is damaged and stays as it is: {said['reason']}"
            )
            return False
        written = ArchiveFile(**said)
        with sealer.discarding([written]):
            if written.rows != sum(file.rows for file in compaction.files):
                raise StorageError(f"compaction of {compaction.date} changed the number of rows")
            sealer.step("compact.before-delta-commit")
            sealer.archive.commit(
                [written], compaction.files, metadata=sealer.carried(), data_change=False
            )
        sealer.step("compact.after-delta-commit")
        sealer.reconcile()
        return True

    def _remove(self, sealer: Sealer, now: datetime) -> list[Removal]:
        if self._keep is None:
            return []
        cursors = lowest_cursors(sealer)
        taken = []
        for removal in removals(sealer.archive.live(), cursors, now, self._keep):
            if removal.kept_for is not None:
                self._say(f"{removal.date} is kept: {removal.kept_for} has not got it yet")
                continue
            words = {**sealer.carried(), "removals": [removal_record(sealer, removal)]}
            sealer.archive.commit([], removal.files, metadata=words)
            sealer.step("retention.after-delta-commit")
            sealer.reconcile()
            taken.append(removal)
        return taken

    def _checkpoint(self, sealer: Sealer, now: datetime) -> None:
        version = sealer.archive.version()
        if version - self._last_checkpoint >= CHECKPOINT_EVERY_COMMITS:
            sealer.archive.checkpoint()
            sealer.archive.clean_log(now)
            self._last_checkpoint = version


def _worked(order: dict[str, Any], stopping: threading.Event) -> subprocess.CompletedProcess[str]:
    """The worker's answer; it is ended when the collector shall stop, and nothing is lost by it.

    Raises subprocess.TimeoutExpired and StorageError (stopped).
    """
    with subprocess.Popen(
        [sys.executable, "-I", "-m", "collector.compact_worker"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as child:  # fmt: skip
        words: str | None = json.dumps(order)
        deadline = time.monotonic() + WORKER_TIMEOUT_S
        try:
            while True:
                try:
                    out, err = child.communicate(words, timeout=WORKER_LOOK_S)
                    return subprocess.CompletedProcess(child.args, child.returncode, out, err)
                except subprocess.TimeoutExpired:
                    words = None
                    if stopping.is_set():
                        raise StorageError("compaction was stopped with the collector") from None
                    if time.monotonic() > deadline:
                        raise
        finally:
            child.kill()


def removal_record(sealer: Sealer, removal: Removal) -> dict[str, Any]:
    """What retention leaves behind: which rows went, why, and the digest of their segments."""
    digests = sealer.connection.execute(
        "SELECT sha256 FROM segments WHERE date = ? ORDER BY first_seq", (removal.date,)
    )
    together = hashlib.sha256("\n".join(digest for (digest,) in digests).encode()).hexdigest()
    return {
        "date": removal.date,
        "rows": removal.rows,
        "min_seq": min(file.min_seq for file in removal.files),
        "max_seq": max(file.max_seq for file in removal.files),
        "reason": "retention",
        "sha256": together,
    }


def lowest_cursors(sealer: Sealer) -> dict[str, int]:
    """How far each named export has got."""
    connection = control_connection(sealer.control, CONTROL_DDL)
    try:
        with transaction(connection):
            return dict(connection.execute("SELECT name, seq FROM cursors").fetchall())
    finally:
        connection.close()
