"""The spool: batches and source positions, kept in one SQLite transaction.

A commit gives every row its `seq` (last + 1, dense), writes the rows as one zstd-compressed Arrow
IPC stream, and moves positions, tallies, gaps, runs and hot counters in the same transaction.
The in-memory counter moves only after COMMIT (docs/decisions/0002).
"""

import contextlib
import io
import json
import os
import sqlite3
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from audit_events.arrow import EVENT_SCHEMA, to_storage
from audit_events.layout import SPOOL_DDL
from audit_events.schema import SCHEMA_VERSION
from collector import hot
from collector.commit import Commit, Counts, SourceUpdate, StreamUpdate
from collector.contracts import StreamPosition
from collector.gaps import put_gaps
from collector.known_runs import PidRow, RunChanges, RunRow
from collector.link_columns import link_columns
from collector.sqlite import open_writable, transaction
from collector.store import Store, Watermark

HOUR_US: Final = 3_600_000_000
DAY_US: Final = 24 * HOUR_US
_COMPRESSION_LEVEL: Final = 1

Step = Callable[[str], None]


def no_step(_name: str) -> None:
    """Production's answer to `on_step`: the kill tests pass one that ends the process."""


@dataclass(frozen=True, slots=True)
class StoredBatch:
    """One row of `batches`, decoded on demand."""

    first_seq: int
    last_seq: int
    streams: str
    data: bytes

    def rows(self) -> pa.RecordBatch:
        """The rows with STORAGE_SCHEMA."""
        return decode_batch(self.data)


def encode_batch(batch: pa.RecordBatch) -> bytes:
    """zstd over the whole IPC stream: with 48 columns the headers weigh more than small buffers."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return zstandard.ZstdCompressor(level=_COMPRESSION_LEVEL).compress(sink.getbuffer())


def decode_batch(data: bytes) -> pa.RecordBatch:
    """The inverse of `encode_batch`."""
    raw = zstandard.ZstdDecompressor().decompress(data)
    batch: pa.RecordBatch = pa.ipc.open_stream(raw).read_next_batch()
    return batch


class Spool:
    """The one writer of spool.db; only the holder of the store's lock makes one."""

    def __init__(self, store: Store, watermark: Watermark, on_step: Step = no_step) -> None:
        self._store = store
        self.paths = store.paths
        # Held around every transaction: SQLite's own waiting is neither fair nor quick.
        self.lock = threading.Lock()
        # The sealer rings too, and must not write an older seq over a newer one.
        self._bell = threading.Lock()
        self._watermark = watermark
        self._notify = os.open(store.paths.notify, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._step = on_step
        self.connection = open_writable(store.paths.spool, SPOOL_DDL)
        self._prepare()
        self.last_seq = int(self.meta("last_seq") or 0)

    def _prepare(self) -> None:
        with transaction(self.connection):
            for key, value in (
                ("store", self._store.id),
                ("created", time.time_ns() // 1000),
                ("last_seq", 0),
                ("sealed_upto", 0),
                ("delta_version", -1),
                ("schema_version", SCHEMA_VERSION),
                ("archived_rows", 0),
                ("leaps", "[]"),
                ("sealed_streams", "{}"),
            ):
                self.connection.execute("INSERT OR IGNORE INTO meta VALUES(?, ?)", (key, value))

    def meta(self, key: str) -> Any:
        """One value of `meta`, None where it is missing."""
        row = self.connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return row[0] if row else None

    def set_meta(self, key: str, value: object) -> None:
        """Write one value of `meta` in its own or the current transaction."""
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))

    def forget_notices(self) -> None:
        """What a recovery had to say is in the record now; a kill before this says it again."""
        with self.lock:
            self.connection.execute("DELETE FROM meta WHERE key = 'notices'")

    def positions(self, source: str) -> dict[str, StreamPosition]:
        """Where the streams of a source stand, as committed."""
        rows = self.connection.execute(
            "SELECT stream, resume, done, read_to, mark FROM streams WHERE source = ?", (source,)
        )
        return {
            stream: StreamPosition(stream, resume, tuple(json.loads(done)), read_to, mark)
            for stream, resume, done, read_to, mark in rows
        }

    def open_gap(self, source: str) -> tuple[int, int, str] | None:
        """(id, since in µs, reason) of the source's open gap, None if its record is whole."""
        row = self.connection.execute(
            "SELECT id, from_ts, reason FROM gaps WHERE source = ? AND to_ts IS NULL", (source,)
        ).fetchone()
        return (int(row[0]), int(row[1]), str(row[2])) if row else None

    def alive_until(self) -> datetime:
        """When a collector of this store last said that it lived, or stored something."""
        words = json.loads(self.meta("collector") or "{}")
        micros = words.get("stopped") or words.get("heartbeat")
        if micros is None:
            (micros,) = self.connection.execute(
                "SELECT coalesce(max(max_observed), ?) FROM files", (time.time_ns() // 1000,)
            ).fetchone()
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)

    def newest_runs(self, limit: int) -> list[RunRow]:
        """Runs that may still take events, those whose events came last at the end."""
        rows = self.connection.execute(
            "SELECT host, sandbox, correlation_id, first_ts, last_ts, guessed > 0 FROM runs"
            " WHERE substr(correlation_id, 1, 3) <> 'os:' ORDER BY last_seq DESC LIMIT ?",
            (limit,),
        ).fetchall()
        return [RunRow(*row) for row in reversed(rows)]

    def run_pids(self) -> list[PidRow]:
        """The processes of runs."""
        rows = self.connection.execute(
            "SELECT correlation_id, pid, first_ts, last_ts, named FROM run_pids ORDER BY last_ts"
        )
        return [PidRow(*row) for row in rows]

    def redactor_state(self, source: str) -> str:
        """The redactor's flags for a source as JSON; "{}" for a new one."""
        row = self.connection.execute(
            "SELECT redactor_state FROM sources WHERE source = ?", (source,)
        ).fetchone()
        return str(row[0]) if row else "{}"

    def append(self, commit: Commit) -> range:
        """Commit everything at once; the seqs given. Raises sqlite3.Error with nothing changed.

        After an error the commit may be tried again: an exception of COMMIT itself does not say
        whether it happened, so what the file says decides.
        """
        first = self.last_seq + 1
        batch = self._number(commit, first)
        rows = batch.num_rows if batch else 0
        try:
            with self.lock, transaction(self.connection):
                self._write(commit, batch, first + rows)
                self._step("spool.before-commit")
        except sqlite3.Error:
            if rows == 0 or int(self.meta("last_seq") or 0) != self.last_seq + rows:
                raise
        self._step("spool.after-commit")
        self.last_seq += rows
        # The commit is in: an error from here on would make the caller store it a second time.
        with contextlib.suppress(OSError):
            self._watermark.write(self.last_seq)
        with contextlib.suppress(OSError):
            self.touch()
        return range(first, self.last_seq + 1)

    def put_sources(self, updates: list[SourceUpdate]) -> None:
        """Write what `status` shows of sources, in the current transaction."""
        for update in updates:
            _put_source(self.connection, update)

    def touch(self) -> None:
        """Wake the readers: they watch `notify`, since the WAL is written before it is visible.

        What is written is the last seq: a second watermark, for the day the one beside the keys
        and spool.db are both gone. In place, so that a full disk has room for it.
        """
        with self._bell:
            os.pwrite(self._notify, b"%020d" % self.last_seq, 0)

    def _number(self, commit: Commit, first: int) -> pa.RecordBatch | None:
        if not commit.batches:
            return None
        batch = _combine(list(commit.batches))
        rows = batch.num_rows
        now = np.full(rows, time.time_ns() // 1000, np.int64)
        name = pa.array(np.zeros(rows, np.int32))
        stamped = {
            "store": pa.DictionaryArray.from_arrays(name, pa.array([self._store.id])),
            "seq": pa.array(np.arange(first, first + rows, dtype=np.int64)),
            "observed_at": pa.array(now).cast(EVENT_SCHEMA.field("observed_at").type),
        }
        return to_storage(batch, stamped | link_columns(commit.links, rows, first))

    def _write(self, commit: Commit, batch: pa.RecordBatch | None, after_last: int) -> None:
        if batch:
            self._insert(batch, _streams_json(commit.streams))
            hot.count(self.connection, batch)
        elif commit.streams:
            self._attach(commit.streams)
        _put_run_changes(self.connection, commit.runs)
        self._step("spool.after-rows")
        for stream in commit.streams:
            _put_stream(self.connection, stream)
        for source in commit.sources:
            _put_source(self.connection, source)
        for name, counts in commit.counts.items():
            _put_counts(self.connection, name, counts)
        put_gaps(self.connection, commit.gaps, batch)
        for key, value in commit.meta.items():
            self.set_meta(key, value)
        self.set_meta("last_seq", after_last - 1)

    def _insert(self, piece: pa.RecordBatch, streams: str) -> None:
        seq, ts = piece.column("seq"), piece.column("ts").cast(pa.int64())
        low, high = pc.min_max(ts).as_py().values()
        self.connection.execute(
            "INSERT INTO batches VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (seq[0].as_py(), seq[-1].as_py(), piece.num_rows, low, high,
             piece.column("observed_at").cast(pa.int64())[0].as_py(), streams,
             encode_batch(piece)),
        )  # fmt: skip

    def _attach(self, updates: list[StreamUpdate]) -> None:
        """Positions that moved without rows belong to whatever was stored just before them."""
        last = self.connection.execute(
            # A row that is sealed already may be deleted at any moment, its positions with it.
            "SELECT first_seq, streams FROM batches WHERE first_seq >"
            " (SELECT value FROM meta WHERE key = 'sealed_upto') ORDER BY first_seq DESC LIMIT 1"
        ).fetchone()
        added = json.loads(_streams_json(updates))
        if last is None:
            self.set_meta("sealed_streams", merge_streams(self.meta("sealed_streams"), added))
            return
        merged = merge_streams_list(json.loads(last[1]), added)
        self.connection.execute(
            "UPDATE batches SET streams = ? WHERE first_seq = ?", (merged, last[0])
        )

    def close(self) -> None:
        """Close the connection and make the watermark durable."""
        self.connection.close()
        os.close(self._notify)
        self._watermark.close()


def merge_streams(known: str, updates: list[list[Any]]) -> str:
    """Positions as of a seq: `known` (JSON object) with the updates of later batches laid over."""
    streams: dict[str, Any] = json.loads(known)
    for source, stream, *state in updates:
        if state == [None]:
            streams.get(source, {}).pop(stream, None)
        else:
            streams.setdefault(source, {})[stream] = state
    # A source without streams is as good as none; one form, whichever way it came about.
    return json.dumps({source: mine for source, mine in streams.items() if mine})


def merge_streams_list(known: list[list[Any]], added: list[list[Any]]) -> str:
    """A batch's updates with later ones of the same streams in their place, so it cannot grow."""
    latest = {(source, stream): [source, stream, *rest] for source, stream, *rest in known}
    latest |= {(source, stream): [source, stream, *rest] for source, stream, *rest in added}
    return json.dumps(list(latest.values()))


def _streams_json(updates: list[StreamUpdate]) -> str:
    return json.dumps(
        [
            [u.source, u.stream, None]
            if u.closed
            else [u.source, u.stream, u.resume, list(u.done), u.read_to, b64encode(u.mark).decode()]
            for u in updates
        ]
    )


def _put_run_changes(connection: sqlite3.Connection, changes: RunChanges) -> None:
    connection.executemany(
        "DELETE FROM run_pids WHERE correlation_id = ? AND pid = ?", changes.forgotten
    )
    connection.executemany(
        "INSERT OR REPLACE INTO run_pids VALUES(?, ?, ?, ?, ?)",
        [(row.id, row.pid, row.first, row.last, row.named) for row in changes.pids],
    )
    connection.executemany(
        "UPDATE runs SET guessed = guessed + ? WHERE correlation_id = ?",
        [(rows, run_id) for run_id, rows in changes.guessed.items()],
    )


def _put_stream(connection: sqlite3.Connection, u: StreamUpdate) -> None:
    if u.closed:
        connection.execute(
            "DELETE FROM streams WHERE source = ? AND stream = ?", (u.source, u.stream)
        )
        return
    connection.execute(
        "INSERT OR REPLACE INTO streams VALUES(?, ?, ?, ?, ?, ?, ?)",
        (u.source, u.stream, u.resume, json.dumps(u.done), u.read_to, u.mark,
         time.time_ns() // 1000),
    )  # fmt: skip


def _put_source(connection: sqlite3.Connection, u: SourceUpdate) -> None:
    connection.execute(
        "INSERT INTO sources VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(source) DO UPDATE SET"
        " kind = excluded.kind, format = excluded.format, location = excluded.location,"
        " state = excluded.state, note = excluded.note,"
        " last_read_at = coalesce(excluded.last_read_at, last_read_at),"
        " last_event_ts = coalesce(excluded.last_event_ts, last_event_ts),"
        " behind_bytes = excluded.behind_bytes, redactor_state = excluded.redactor_state",
        (u.source, u.kind, u.format, u.location, u.state, u.note, u.last_read_at,
         u.last_event_ts, u.behind_bytes, u.redactor_state),
    )  # fmt: skip


def _put_counts(connection: sqlite3.Connection, source: str, counts: Counts) -> None:
    hour = time.time_ns() // 1000 // HOUR_US
    rows = [("seen", "", counts.seen), ("stored", "", counts.stored)]
    rows += [("rejected", str(reason), n) for reason, n in counts.rejected.items()]
    rows += [("filtered", str(why), n) for why, n in counts.filtered.items()]
    connection.executemany(
        "INSERT INTO tallies VALUES(?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
        [(source, hour, outcome, reason, n) for outcome, reason, n in rows if n],
    )


def _combine(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches, EVENT_SCHEMA).combine_chunks()
    batch: pa.RecordBatch = table.to_batches()[0]
    return batch


Days = np.ndarray[Any, np.dtype[np.int64]]


def days_of(batch: pa.RecordBatch) -> Days:
    """The partition of each row as days since 1970: of `ts`, or of `observed_at` where skewed."""
    days: Days = batch.column("ts").cast(pa.int64()).to_numpy() // DAY_US
    flags = batch.column("flags")
    if flags.null_count == len(flags):
        return days
    skewed = pc.match_substring(_plain(flags), "skewed").fill_null(False)
    if not pc.any(skewed).as_py():
        return days
    observed = batch.column("observed_at").cast(pa.int64()).to_numpy() // DAY_US
    mixed: Days = np.where(skewed.to_numpy(zero_copy_only=False), observed, days)
    return mixed


def _plain(array: pa.Array) -> pa.Array:
    return array.cast(pa.string()) if pa.types.is_dictionary(array.type) else array
