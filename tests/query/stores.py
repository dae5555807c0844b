"""Builds a store by the layout's own tables with SQLite and pyarrow, for readers to read."""

import io
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from audit_events.arrow import FILE_SCHEMA, to_storage
from audit_events.layout import SPOOL_DDL, StorePaths
from audit_events.rows import rows_to_batch

DAY_US = 86_400_000_000
T0 = 1_785_229_392_000_000  # 2026-07-28T09:03:12Z
STORE = "7kq2m"


def event(seq: int, **values: Any) -> dict[str, Any]:
    """One event's columns, complete enough to be stored."""
    return {
        "store": STORE,
        "seq": seq,
        "ts": T0 + seq * 1000,
        "observed_at": T0 + seq * 1000 + 500_000,
        "source": "openclaw",
        "format": "native",
        "source_position": seq * 100,
        "host": "mini-tokyo-07",
        "sandbox": "agent-demo",
        "correlation_id": "7f3a91c2",
        "decision": "allow",
        **values,
    }


class StoreWriter:
    """Writes what a collector would, as plainly as possible."""

    def __init__(self, root: Path) -> None:
        self.paths = StorePaths(root)
        self.files = 0
        self.paths.events.mkdir(parents=True)
        self.paths.tmp.mkdir()
        self.paths.notify.write_bytes(b"0")
        self.con = sqlite3.connect(self.paths.spool, isolation_level=None)
        self.con.execute("PRAGMA journal_mode=WAL")
        self.con.executescript(SPOOL_DDL)
        self.meta(store=STORE, last_seq=0, sealed_upto=0, schema_version=1)

    def meta(self, **values: Any) -> None:
        """Set facts of the store."""
        self.con.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))

    def append(self, rows: Sequence[dict[str, Any]]) -> None:
        """One committed batch."""
        self.con.execute("BEGIN IMMEDIATE")
        self.con.execute(
            "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, '{}', ?)",
            (
                rows[0]["seq"], rows[-1]["seq"], len(rows), min(r["ts"] for r in rows),
                max(r["ts"] for r in rows), rows[0]["observed_at"], spool_blob(rows),
            ),
        )  # fmt: skip
        self.meta(last_seq=rows[-1]["seq"])
        self.con.execute("COMMIT")
        fd = os.open(self.paths.notify, os.O_WRONLY)
        os.pwrite(fd, b"1", 0)
        os.close(fd)

    def archive(self, rows: Sequence[dict[str, Any]], version: int = 1) -> Path:
        """One archive file, with its line in the file list; `sealed_upto` is left alone."""
        date = str((rows[0]["ts"]) // DAY_US)
        # No name is given twice, as in a real archive.
        name = f"date={date}/part-{self.files:04}.parquet"
        self.files += 1
        path = self.paths.events / name
        path.parent.mkdir(exist_ok=True)
        table = pa.table(rows_to_batch(rows)).cast(FILE_SCHEMA)
        pq.write_table(table, path, compression="zstd", store_schema=False)
        span = [f(r[c] for r in rows) for c in ("ts", "observed_at", "seq") for f in (min, max)]
        self.con.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (name, date, len(rows), path.stat().st_size, *span, version),
        )
        return path

    def seal(self, rows: Sequence[dict[str, Any]], upto: int) -> None:
        """Switch to the archive in one transaction; the spool's rows stay for a while."""
        self.con.execute("BEGIN IMMEDIATE")
        for day in sorted({row["ts"] // DAY_US for row in rows}):
            self.archive([row for row in rows if row["ts"] // DAY_US == day])
        self.meta(sealed_upto=upto)
        self.con.execute("COMMIT")


def spool_blob(rows: Sequence[dict[str, Any]]) -> bytes:
    """Two record batches with their own dictionaries in one compressed stream."""
    stored = [
        to_storage(rows_to_batch(part))
        for part in (rows[: len(rows) // 2], rows[len(rows) // 2 :])
        if part
    ]
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, stored[0].schema) as writer:
        for batch in stored:
            writer.write_batch(batch)
    return zstandard.compress(sink.getvalue())


def build(
    root: Path, rows: Sequence[dict[str, Any]], sealed: int = 0, batch: int = 7
) -> StoreWriter:
    """A store of these rows: the first `sealed` in the archive by two seals, the rest in the spool.

    `sealed` is rounded up to whole batches, as a seal takes no less.
    """
    writer = StoreWriter(root)
    for start in range(0, len(rows), batch):
        writer.append(rows[start : start + batch])
    upto = min(len(rows), -(-sealed // batch) * batch)
    half = upto // 2 // batch * batch
    for first, last in ((0, half), (half, upto)):
        if first < last:
            writer.seal(rows[first:last], rows[last - 1]["seq"])
    return writer
