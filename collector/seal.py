"""Move rows from the spool into partitions of the archive, and make the cache agree with the log.

One function, `reconcile`, ends a seal, a compaction, a retention and a start after a crash: there
is no other recovery. A seal takes only rows after the log's app-transaction version, so a commit
that raised after it was in is never repeated (docs/decisions/0005).
"""

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
from deltalake.exceptions import DeltaError

from audit_events.canonical import segment_digest
from audit_events.errors import StorageError
from audit_events.layout import SPOOL_DDL
from collector.archive import Archive, ArchiveFile, commit_metadata, sync_log
from collector.positions import words_of_positions
from collector.spool import Spool, Step, StoredBatch, days_of, merge_streams, no_step
from collector.sqlite import open_writable, transaction
from collector.store import reason_of

# Rows of one file at most: it decodes and sorts in about 0.1 s and holds about 40 MB.
SEAL_ROWS: Final = 128 * 1024
MAX_DAYS_A_SEAL: Final = 64
# Blobs may compress a thousandfold; 128k rows of real events take about 40 MB decoded.
MAX_SEAL_BYTES: Final = 256 << 20
# Sealed rows go a few at a time: one big delete would hold the write lock for 50 ms.
DELETE_BATCHES: Final = 8
_DAY0: Final = np.datetime64("1970-01-01")


@dataclass(frozen=True, slots=True)
class SealLimits:
    """The spool is sealed when the first of these is reached."""

    rows: int = SEAL_ROWS
    bytes: int = 64 << 20
    age_s: float = 60.0


class Sealer:
    """Seals one store's spool; lives in one thread, with its own connection to spool.db."""

    def __init__(
        self,
        spool: Spool,
        archive: Archive,
        on_step: Step = no_step,
        limits: SealLimits = SealLimits(),
    ) -> None:
        self._spool = spool
        self._limits = limits
        self.archive = archive
        self.step = on_step
        # Set when the collector shall stop: long work in this thread gives up.
        self.stopping = threading.Event()
        self.control = spool.paths.control
        self.connection = open_writable(spool.paths.spool, SPOOL_DDL)

    def _meta(self, key: str) -> Any:
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that takes its turn with the flow's."""
        with self._spool.lock, transaction(self.connection):
            yield

    def carried(self) -> dict[str, Any]:
        """What a commit without new rows says, so that a lost spool finds its positions."""
        return {
            "last_seq": self._meta("sealed_upto"),
            **words_of_positions(self._meta("sealed_streams"), [], self.archive.version() + 1),
        }

    def due(self, now_s: float) -> bool:
        """True when rows, bytes or age ask for a seal; rows of the future are old enough."""
        rows, size, oldest = waiting(self.connection)
        if not rows:
            return False
        age_s = now_s - (oldest or 0) / 1e6
        limits = self._limits
        return rows >= limits.rows or size >= limits.bytes or not 0 <= age_s < limits.age_s

    def seal(self) -> int:
        """Seal one portion of the spool; the rows moved, 0 when there is nothing to seal.

        Raises StorageError after any failure; the next call reconciles first, so nothing is
        sealed twice and nothing is lost.
        """
        try:
            self.reconcile()
            batches = self._portion()
            if not batches:
                return 0
            self._write_and_commit(batches)
            self.reconcile()
            self.delete_sealed()
        except (DeltaError, OSError, sqlite3.Error, pa.ArrowException) as error:
            raise StorageError(f"sealing failed: {reason_of(error)}") from error
        return sum(batch.last_seq - batch.first_seq + 1 for batch in batches)

    def _portion(self) -> list[StoredBatch]:
        sealed = self.archive.sealed_upto()
        batches = pending(self.connection, sealed, SEAL_ROWS)
        expected = sealed + 1
        leaps = set(json.loads(self._meta("leaps") or "[]"))
        for batch in batches:
            if batch.first_seq != expected and batch.first_seq not in leaps:
                raise StorageError(f"the spool lacks seq {expected} to {batch.first_seq - 1}")
            expected = batch.last_seq + 1
        return batches

    def _write_and_commit(self, batches: list[StoredBatch]) -> None:
        rows, days = _within_bounds(batches)
        del batches[len(rows) :]
        table = pa.Table.from_batches(rows).unify_dictionaries().combine_chunks()
        files: list[ArchiveFile] = []
        segments = []
        with self.discarding(files):
            for date, part in _by_date(table, days):
                segments.append(_segment(date, part))
                self.step("seal.before-file")
                files.append(self.archive.write(_sorted_by_ts(part), date, "seal"))
                self.step("seal.after-file")
            last = batches[-1].last_seq
            metadata = {
                "last_seq": last,
                **self._positions_words(last),
                "segments": segments,
            }
            self.step("seal.before-delta-commit")
            self.archive.commit(files, sealed_upto=last, metadata=metadata)
        self.step("seal.after-delta-commit")

    @contextmanager
    def discarding(self, files: list[ArchiveFile]) -> Iterator[None]:
        """Unlink `files` when the block fails to commit them: on a full disk every try would leave
        some, and take the room that we wait for."""
        try:
            yield
        except (DeltaError, OSError, StorageError):
            self.archive.discard(files)
            raise

    def _positions_words(self, last: int) -> dict[str, Any]:
        updates = self._updates_upto(last)
        streams = merge_streams(self._meta("sealed_streams"), updates)
        return words_of_positions(streams, updates, self.archive.version() + 1)

    def _streams_upto(self, seq: int) -> str:
        return merge_streams(self._meta("sealed_streams"), self._updates_upto(seq))

    def _updates_upto(self, seq: int) -> list[list[Any]]:
        rows = self.connection.execute(
            "SELECT streams FROM batches WHERE first_seq > ? AND last_seq <= ? ORDER BY first_seq",
            (self._meta("sealed_upto"), seq),
        )
        return [update for (streams,) in rows for update in json.loads(streams)]

    def reconcile(self) -> None:
        """Make `files`, `sealed_upto` and the rest of the cache agree with the Delta log.

        The log is made durable first; rows must add up, else StorageError and the old cache stays.
        """
        self.archive.refresh()
        known = int(self._meta("delta_version"))
        version, sealed = self.archive.version(), self.archive.sealed_upto()
        if version < known:
            raise StorageError(
                f"the archive's log ends at version {version}, {known} was acknowledged",
                hint="restore the store's events folder and spool.db from the same copy",
            )
        if version == known:
            return
        sync_log(self.archive.log, known, version)
        self.step("reconcile.after-sync")
        live = self.archive.live()
        said = [commit_metadata(self.archive.log, v) or {} for v in range(known + 1, version + 1)]
        total = self._check_rows(live, sealed, said)
        with self.writing():
            # In the transaction: the flow may lay positions over a row that is being sealed.
            streams = self._streams_upto(sealed)
            self._replace_files(live)
            for words in said:
                self._record(words)
            for key, value in (
                ("sealed_upto", sealed),
                ("delta_version", version),
                ("archived_rows", total),
                ("sealed_streams", streams),
            ):
                self.connection.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))
            self.step("reconcile.before-commit")
        self.step("reconcile.after-commit")
        self._spool.touch()

    def check_acknowledged(self) -> None:
        """What the log says must be what was acknowledged; StorageError if it was damaged since.

        An emptied commit file passes as a commit without actions, so opening the log is no check.
        """
        held = (self.archive.sealed_upto(), sum(file.rows for file in self.archive.live()))
        known = (int(self._meta("sealed_upto")), int(self._meta("archived_rows") or 0))
        if held != known:
            raise StorageError(
                f"the archive's log is damaged: it holds {held[1]} rows up to seq {held[0]},"
                f" {known[1]} up to seq {known[0]} were acknowledged",
                hint="questions are still answered; restore the store's events folder from a copy",
            )

    def _check_rows(self, live: list[ArchiveFile], sealed: int, said: list[dict[str, Any]]) -> int:
        moved = self.connection.execute(
            "SELECT coalesce(sum(rows), 0) FROM batches WHERE first_seq > ? AND last_seq <= ?",
            (self._meta("sealed_upto"), sealed),
        ).fetchone()[0]
        removed = sum(r["rows"] for words in said for r in words.get("removals", ()))
        expected = int(self._meta("archived_rows") or 0) + moved - removed
        total = sum(file.rows for file in live)
        if total != expected:
            raise StorageError(
                f"the archive holds {total} rows, {expected} were sealed",
                hint="another program wrote to the archive; only the collector may",
            )
        return total

    def _replace_files(self, live: list[ArchiveFile]) -> None:
        now = time.time_ns() // 1000
        cached = {path for (path,) in self.connection.execute("SELECT path FROM files")}
        paths = {file.path for file in live}
        for path in cached - paths:
            self.connection.execute("DELETE FROM files WHERE path = ?", (path,))
            self.connection.execute("INSERT OR IGNORE INTO retired VALUES(?, ?)", (path, now))
        self.connection.executemany(
            "INSERT INTO files VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (f.path, f.date, f.rows, f.bytes, f.min_ts, f.max_ts, f.min_observed,
                 f.max_observed, f.min_seq, f.max_seq, f.schema_version)
                for f in live
                if f.path not in cached
            ],
        )  # fmt: skip

    def _record(self, words: dict[str, Any]) -> None:
        now = time.time_ns() // 1000
        self.connection.executemany(
            "INSERT OR IGNORE INTO segments VALUES(?, ?, ?, ?, ?, ?)",
            [
                (s["first_seq"], s["last_seq"], s["date"], s["rows"], s["sha256"], now)
                for s in words.get("segments", ())
            ],
        )
        self.connection.executemany(
            "INSERT INTO removals VALUES(?, ?, ?, ?, ?, ?, ?)",
            [
                (r["date"], now, r["rows"], r["min_seq"], r["max_seq"], r["reason"], r["sha256"])
                for r in words.get("removals", ())
            ],
        )
        self._record_rewrites(words.get("rewrites", []))

    def _record_rewrites(self, rewrites: list[dict[str, Any]]) -> None:
        """A purge changed rows: segments get their new digests, the old files no grace."""
        now = time.time_ns() // 1000
        for r in rewrites:
            self.connection.execute(
                "INSERT INTO rewrites VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (r["date"], now, r["rows"], r["changed"], r["min_seq"], r["max_seq"],
                 r["reason"], r["rules"], r["old"], r["new"]),
            )  # fmt: skip
            self.connection.executemany(
                "UPDATE segments SET sha256 = ? WHERE first_seq = ? AND date = ?",
                [(s["new"], s["first_seq"], s["date"]) for s in r["segments"]],
            )
            self.connection.execute("UPDATE retired SET at = 0 WHERE path = ?", (r["path"],))

    def delete_sealed(self) -> None:
        """Delete rows that readers no longer take from the spool, a few a transaction."""
        while True:
            with self.writing():
                deleted = self.connection.execute(
                    "DELETE FROM batches WHERE first_seq IN (SELECT first_seq FROM batches"
                    " WHERE last_seq <= (SELECT value FROM meta WHERE key = 'sealed_upto')"
                    " ORDER BY first_seq LIMIT ?)",
                    (DELETE_BATCHES,),
                ).rowcount
            self.step("seal.after-delete")
            if deleted < DELETE_BATCHES:
                break
        self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def waiting(connection: sqlite3.Connection) -> tuple[int, int, int | None]:
    """Rows and bytes not sealed yet, and when the oldest was committed (µs)."""
    rows, size, oldest = connection.execute(
        "SELECT coalesce(sum(rows), 0), coalesce(sum(length(data)), 0), min(observed_at)"
        " FROM batches WHERE first_seq > (SELECT value FROM meta WHERE key = 'sealed_upto')"
    ).fetchone()
    return int(rows), int(size), oldest


def pending(connection: sqlite3.Connection, after: int, limit_rows: int) -> list[StoredBatch]:
    """Batches after `after` in order, up to `limit_rows` rows, at least one if there is one."""
    taken: list[StoredBatch] = []
    rows = 0
    cursor = connection.execute(
        "SELECT first_seq, last_seq, streams, data, rows FROM batches"
        " WHERE first_seq > ? ORDER BY first_seq",
        (after,),
    )
    for first, last, streams, data, count in cursor:
        if taken and rows + count > limit_rows:
            break
        taken.append(StoredBatch(first, last, streams, data))
        rows += count
    cursor.close()
    return taken


def _within_bounds(batches: list[StoredBatch]) -> tuple[list[pa.RecordBatch], Any]:
    """The leading batches that stay within MAX_DAYS_A_SEAL days and MAX_SEAL_BYTES in memory, at
    least one, and the day of each row. A commit is never split: a position belongs to all of it.
    """
    rows: list[pa.RecordBatch] = []
    days: list[Any] = []
    seen: set[int] = set()
    size = 0
    for batch in batches:
        decoded = batch.rows()
        mine = days_of(decoded)
        seen.update(np.unique(mine).tolist())
        size += decoded.nbytes
        if rows and (len(seen) > MAX_DAYS_A_SEAL or size > MAX_SEAL_BYTES):
            break
        rows.append(decoded)
        days.append(mine)
    return rows, np.concatenate(days)


def _by_date(table: pa.Table, days: Any) -> Iterator[tuple[str, pa.Table]]:
    for day in np.unique(days):
        date = str(_DAY0 + int(day))
        mine = days == day
        yield date, table if mine.all() else table.filter(pa.array(mine))


def _sorted_by_ts(table: pa.Table) -> pa.Table:
    ts = table["ts"].cast(pa.int64()).to_numpy()
    if len(ts) < 2 or (ts[1:] >= ts[:-1]).all():
        return table
    return table.take(pa.array(np.argsort(ts, kind="stable")))


def _segment(date: str, rows: pa.Table) -> dict[str, Any]:
    return {
        "date": date,
        "first_seq": rows["seq"][0].as_py(),
        "last_seq": rows["seq"][-1].as_py(),
        "rows": rows.num_rows,
        "sha256": segment_digest(rows),
    }
