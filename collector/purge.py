"""Apply today's redaction rules to what is stored already, and leave nothing of the old bytes.

The buffer's rows are changed in place; each archive file with a changed row is written anew with
the same `seq`s, all in one Delta commit whose words say what was rewritten. Killed anywhere, the
next start is consistent, and another purge finishes what this one began.
"""

import contextlib
import json
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from audit_events.arrow import EVENT_SCHEMA, to_storage
from audit_events.canonical import segment_digest
from audit_events.errors import StorageError
from audit_events.rows import rows_to_batch
from collector.archive import ArchiveFile
from collector.commit import Commit
from collector.correlate import NO_SANDBOX
from collector.hot import MINUTE_US
from collector.recovery import Opened, open_for_writing
from collector.seal import Sealer
from collector.spool import Step, decode_batch, encode_batch, no_step
from collector.store import Store, reason_of, writer_lock
from policies.redact.engine import Redactor
from policies.redact.state import State

REASON: Final = "purge"
# Text of SQLite tables beside the rows themselves: (table, key column, text columns).
_NAMED: Final = (
    ("runs", "correlation_id", ("host", "sandbox")),
    ("sandboxes", "name", ()),
    ("gaps", "id", ("reason",)),
    ("sources", "source", ("location", "note")),
)
_CHECKPOINT_TRIES: Final = 20


@dataclass(slots=True)
class Purged:
    """What was rewritten: events looked at and changed, by date; kinds; copies removed."""

    looked: int = 0
    changed: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    first_seq: int | None = None
    removed: list[str] = field(default_factory=list)
    # Masks in all events looked at, by (minute, kind, decision): what the hot counters are to say.
    masks: Counter[tuple[int, str, str]] = field(default_factory=Counter)

    @property
    def events(self) -> int:
        """Events in which something was masked."""
        return self.changed.total()

    def count(self, date: str, rows: pa.RecordBatch, before: pa.RecordBatch, changed: Any) -> None:
        """Rows of a date that were looked at."""
        self.looked += rows.num_rows
        self.masks.update(_masks_by_minute(rows))
        if not changed.any():
            return
        mask = pa.array(changed)
        self.changed[date] += int(changed.sum())
        self.kinds += added_kinds(rows.filter(mask), before.filter(mask))
        first = pc.min(rows.column("seq").filter(mask)).as_py()
        self.first_seq = first if self.first_seq is None else min(self.first_seq, first)


def _masks_by_minute(rows: pa.RecordBatch) -> dict[tuple[int, str, str], int]:
    columns = {
        "minute": pc.divide(rows.column("ts").cast(pa.int64()), pa.scalar(MINUTE_US, pa.int64())),
        "kind": rows.column("kind").cast(pa.string()),
        "decision": rows.column("decision").cast(pa.string()).fill_null(""),
        "masks": rows.column("redactions").cast(pa.int64()),
    }
    sums = pa.table(columns).group_by(["minute", "kind", "decision"]).aggregate([("masks", "sum")])
    names = ("minute", "kind", "decision", "masks_sum")
    found = zip(*(sums.column(name).to_pylist() for name in names), strict=True)
    return {(minute, kind, decision): masks or 0 for minute, kind, decision, masks in found}


def added_kinds(after: pa.RecordBatch, before: pa.RecordBatch) -> Counter[str]:
    """Rows by the kind that was masked in them anew."""
    found: Counter[str] = Counter()
    new, old = (rows.column("redaction_kinds").to_pylist() for rows in (after, before))
    for now, then in zip(new, old, strict=True):
        kinds = set((now or "").split(","))
        found.update(kinds - set((then or "").split(",")) or kinds)
    return found


@dataclass(frozen=True, slots=True)
class Order:
    """What to purge and with what; `since_us` is event time, None means everything."""

    redactor: Redactor
    since_us: int | None
    host: str
    version: str
    on_step: Step = no_step


def purge(store: Store, watermark: Path, order: Order) -> Purged:
    """Purge the store. Raises StorageError if it is being written, or cannot be."""
    with writer_lock(store.paths, order.version):
        try:
            opened = open_for_writing(store, watermark, order.on_step)
            try:
                return _purge(opened, order)
            finally:
                opened.sealer.close()
                opened.spool.close()
        except (DeltaError, OSError, sqlite3.Error, pa.ArrowException) as error:
            raise StorageError(
                f"purging failed: {reason_of(error)}", hint="run it again; nothing is half done"
            ) from error


def _purge(opened: Opened, order: Order) -> Purged:
    done = Purged()
    sealer = opened.sealer
    sealer.connection.execute("PRAGMA secure_delete=ON")
    opened.spool.connection.execute("PRAGMA secure_delete=ON")
    state = _archive(sealer, order, done)
    _spool(sealer, order, done, state)
    _names(sealer, order.redactor)
    _recount(sealer, order.since_us, done.masks)
    order.on_step("purge.after-spool")
    if done.events:
        opened.spool.append(Commit(batches=[_notice(order, done)]))
    _forget(opened, done)
    order.on_step("purge.after-forget")
    return done


def _archive(sealer: Sealer, order: Order, done: Purged) -> State:
    """Rewrite the files that need it in one commit; what is open at the end of the archive."""
    state = order.redactor.initial_state()
    files = sorted(sealer.archive.live(), key=lambda file: file.min_seq)
    since = order.since_us
    chosen = [file for file in files if since is None or file.max_ts >= since]
    written: list[ArchiveFile] = []
    replaced: list[ArchiveFile] = []
    records: list[dict[str, Any]] = []
    with sealer.discarding(written):
        for file in chosen:
            rows = _in_seq_order(sealer.archive.rows_of(file.path))
            masked, state, changed = order.redactor.mask_again(rows, state)
            done.count(file.date, masked, rows, changed)
            if not changed.any():
                continue
            written.append(_write(sealer, file, masked))
            replaced.append(file)
            records.append(_record(sealer, file, rows, masked, changed, order))
            order.on_step("purge.after-file")
        if written:
            words = {**sealer.carried(), "rewrites": records}
            order.on_step("purge.before-delta-commit")
            sealer.archive.commit(written, replaced, metadata=words)
            order.on_step("purge.after-delta-commit")
    sealer.reconcile()
    return state


def _in_seq_order(table: pa.Table) -> pa.RecordBatch:
    ordered = table.sort_by([("seq", "ascending")]).combine_chunks()
    batch: pa.RecordBatch = pa.RecordBatch.from_arrays(
        [_one(column) for column in ordered.columns], schema=EVENT_SCHEMA
    )
    return batch


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _write(sealer: Sealer, file: ArchiveFile, rows: pa.RecordBatch) -> ArchiveFile:
    by_time = pa.Table.from_batches([rows]).sort_by([("ts", "ascending")])
    new = sealer.archive.write(by_time, file.date, "purge")
    same = replace(new, path=file.path, bytes=file.bytes)
    if same != file:
        (sealer.archive.root / new.path).unlink()
        raise StorageError("a rewritten file differs from what it replaces in more than its text")
    return new


def _record(
    sealer: Sealer, file: ArchiveFile, old: pa.RecordBatch, new: pa.RecordBatch, changed: Any,
    order: Order,
) -> dict[str, Any]:  # fmt: skip
    """What was rewritten, why, and the digests before and after of each segment concerned."""
    seqs = new.column("seq").to_numpy()
    segments = []
    for first, last, rows, sha256 in sealer.connection.execute(
        "SELECT first_seq, last_seq, rows, sha256 FROM segments WHERE date = ?"
        " AND first_seq >= ? AND last_seq <= ? ORDER BY first_seq",
        (file.date, file.min_seq, file.max_seq),
    ).fetchall():
        low, high = np.searchsorted(seqs, first), np.searchsorted(seqs, last, side="right")
        # A compacted file may leap over a segment that lies in another one.
        if high - low != rows or not changed[low:high].any():
            continue
        after = segment_digest(new.slice(low, high - low))
        segments.append({"first_seq": first, "date": file.date, "old": sha256, "new": after})
    return {
        "date": file.date, "path": file.path, "rows": file.rows, "changed": int(changed.sum()),
        "min_seq": file.min_seq, "max_seq": file.max_seq, "reason": REASON,
        "rules": order.redactor.digest,
        "old": segment_digest(old), "new": segment_digest(new), "segments": segments,
    }  # fmt: skip


def _spool(sealer: Sealer, order: Order, done: Purged, state: State) -> None:
    """Change the buffer's batches in place: positions, seqs and times stay."""
    firsts = sealer.connection.execute(
        "SELECT first_seq FROM batches WHERE last_seq > ? AND (? IS NULL OR max_ts >= ?)"
        " ORDER BY first_seq",
        (sealer.archive.sealed_upto(), order.since_us, order.since_us),
    ).fetchall()
    for (first,) in firsts:
        (data,) = sealer.connection.execute(
            "SELECT data FROM batches WHERE first_seq = ?", (first,)
        ).fetchone()
        rows = _plain(decode_batch(data))
        masked, state, changed = order.redactor.mask_again(rows, state)
        done.count("buffer", masked, rows, changed)
        if not changed.any():
            continue
        with sealer.writing():
            sealer.connection.execute(
                "UPDATE batches SET data = ? WHERE first_seq = ?",
                (encode_batch(to_storage(masked)), first),
            )
            # Readers that keep batches decoded look at this.
            sealer.connection.execute(
                "INSERT INTO meta VALUES('spool_changes', 1)"
                " ON CONFLICT DO UPDATE SET value = value + 1"
            )
            order.on_step("purge.in-spool")


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    known = set(batch.schema.names)
    return pa.RecordBatch.from_arrays(
        [
            batch.column(f.name).cast(f.type) if f.name in known else pa.nulls(len(batch), f.type)
            for f in EVENT_SCHEMA
        ],
        schema=EVENT_SCHEMA,
    )


def _names(sealer: Sealer, redactor: Redactor) -> None:
    """The texts that SQLite keeps beside the rows: hot denies, runs, sandboxes, gaps, sources."""
    connection = sealer.connection
    with sealer.writing():
        for seq, event in connection.execute("SELECT seq, event FROM denies").fetchall():
            columns = json.loads(event)
            masked = {
                name: redactor.redact_text(value, name)[0] if isinstance(value, str) else value
                for name, value in columns.items()
            }
            if masked != columns:
                connection.execute(
                    "UPDATE denies SET event = ? WHERE seq = ?", (json.dumps(masked), seq)
                )
        for table, key, columns in _NAMED:
            _mask_table(connection, redactor, table, (key, *columns))


def _recount(sealer: Sealer, since_us: int | None, masks: Counter[tuple[int, str, str]]) -> None:
    """The hot counters of masks, set to what the rows say; a second purge sets them again.

    Of the hour in which `since_us` lies not all rows may have been looked at, so it stays.
    """
    for table, unit, minutes in (("minutes", "minute", 1), ("hours", "hour", 60)):
        first = 0 if since_us is None else since_us // (MINUTE_US * minutes) + 1
        sums: Counter[tuple[int, str, str]] = Counter()
        for (minute, kind, decision), number in masks.items():
            sums[minute // minutes, kind, decision] += number
        with sealer.writing():
            sealer.connection.executemany(
                f"UPDATE {table} SET masked = ? WHERE {unit} = ? AND kind = ? AND decision = ?",  # noqa: S608
                [(number, *key) for key, number in sums.items() if key[0] >= first],
            )


def _mask_table(
    connection: sqlite3.Connection, redactor: Redactor, table: str, columns: Sequence[str]
) -> None:
    key = columns[0]
    for row in connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall():  # noqa: S608
        masked = [redactor.redact_text(v)[0] if isinstance(v, str) else v for v in row]
        for name, old, new in zip(columns, row, masked, strict=True):
            if new != old:
                # Two names may become one: the later row is the one that stays.
                connection.execute(
                    f"UPDATE OR REPLACE {table} SET {name} = ? WHERE {key} = ?",  # noqa: S608
                    (new, masked[0] if name != key else row[0]),
                )


def _notice(order: Order, done: Purged) -> Any:
    dates = ", ".join(f"{date} {n}" for date, n in sorted(done.changed.items()))
    text = (
        f"purge: {done.events} stored events were masked anew by rules {order.redactor.digest}"
        f" ({dates}): {', '.join(f'{kind} {n}' for kind, n in done.kinds.most_common())}"
    )
    row = {
        "ts": datetime.now(UTC), "kind": "notice", "source": "sandtrail", "format": "sandtrail",
        "source_position": 0, "host": order.host, "sandbox": NO_SANDBOX, "correlation_id": "-",
        "resource": "other", "message": text,
    }  # fmt: skip
    redacted, _ = order.redactor.redact(rows_to_batch([row]), order.redactor.initial_state())
    return redacted


def _forget(opened: Opened, done: Purged) -> None:
    """Nothing of the old bytes stays: files, free pages, the -wal, copies set aside, scratch."""
    sealer, paths = opened.sealer, opened.spool.paths
    retired = [path for (path,) in sealer.connection.execute("SELECT path FROM retired")]
    for path in retired:
        (sealer.archive.root / path).unlink(missing_ok=True)
    with sealer.writing():
        sealer.connection.execute("DELETE FROM retired")
    lost = paths.root / "lost"
    for entry in sorted(lost.iterdir()) if lost.is_dir() else ():
        shutil.rmtree(entry)
        done.removed.append(f"lost/{entry.name}")
    for entry in paths.tmp.iterdir() if paths.tmp.is_dir() else ():
        with contextlib.suppress(OSError):
            entry.unlink()
    with opened.spool.lock:
        sealer.connection.execute("VACUUM")
        _truncate_wal(sealer.connection)


def _truncate_wal(connection: sqlite3.Connection) -> None:
    """The -wal holds pages as they were; a reader in the middle of a query holds it back."""
    for _ in _tries():
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not busy:
            return
    raise StorageError(
        "a reader still holds the old pages of spool.db", hint="end it and run the purge again"
    )


def _tries() -> Iterator[int]:
    for number in range(_CHECKPOINT_TRIES):
        yield number
        time.sleep(0.1)
