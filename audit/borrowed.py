"""`query --from FILE`: an export read as a store of its own, so that every question works on it."""

import hashlib
import json
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from audit.say import Voice
from audit_events.errors import SourceError
from audit_events.layout import CONTROL_DDL, SPOOL_DDL, StorePaths
from audit_events.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    import pyarrow as pa

_FILE: Final = "date=1970-01-01/export.parquet"
# What a manifest may hold at most; it is a page.
MAX_MANIFEST_BYTES: Final = 16 << 20
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class _Bounds:
    """What the file list says of a file."""

    store: str = "file"
    rows: int = 0
    ts: tuple[int, int] = (1 << 62, -(1 << 62))
    observed: tuple[int, int] = (1 << 62, -(1 << 62))
    seq: tuple[int, int] = (1 << 62, 0)


@contextmanager
def borrowed(path: Path, voice: Voice) -> Iterator[StorePaths]:
    """A private copy of the export as a store, gone afterwards; SourceError for what is none."""
    with tempfile.TemporaryDirectory(prefix="sandtrail-from-") as room:
        paths = StorePaths(Path(room))
        (paths.events / _FILE).parent.mkdir(parents=True)
        paths.tmp.mkdir()
        bounds, runs = _copy(path, paths.events / _FILE)
        manifest = _manifest(path, voice)
        with closing(sqlite3.connect(paths.spool)) as con, con:
            _describe(con, bounds, (paths.events / _FILE).stat().st_size, runs, manifest)
        with closing(sqlite3.connect(paths.control)) as control:
            control.executescript(CONTROL_DDL)
        yield paths


def _copy(path: Path, target: Path) -> tuple[_Bounds, list[tuple[Any, ...]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from audit.borrowed_formats import batches
    from audit_events.arrow import FILE_SCHEMA

    bounds = _Bounds()
    runs: dict[str, list[Any]] = {}
    try:
        with pq.ParquetWriter(target, FILE_SCHEMA, compression="zstd") as writer:
            for batch in batches(path):
                _widen(bounds, batch)
                _count_runs(runs, batch)
                writer.write_batch(batch.cast(FILE_SCHEMA))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or 'cannot be read'}") from None
    except (pa.ArrowException, ValueError) as error:
        # Arrow's own words quote values of the file.
        raise SourceError(f"{path}: no export of ours ({type(error).__name__})") from None
    return bounds, [(name, *rest) for name, rest in runs.items()]


def _widen(bounds: _Bounds, batch: "pa.RecordBatch") -> None:
    import pyarrow.compute as pc

    if not batch.num_rows:
        return
    bounds.store = batch.column("store")[0].as_py() if not bounds.rows else bounds.store
    bounds.rows += batch.num_rows
    for name in ("ts", "observed_at", "seq"):
        ends = pc.min_max(batch.column(name).cast("int64")).as_py()
        field = {"ts": "ts", "observed_at": "observed", "seq": "seq"}[name]
        low, high = getattr(bounds, field)
        setattr(bounds, field, (min(low, ends["min"]), max(high, ends["max"])))


def _count_runs(runs: dict[str, list[Any]], batch: "pa.RecordBatch") -> None:
    """What `--run last` needs to know of each run."""
    columns = ("correlation_id", "host", "sandbox", "ts", "seq", "decision")
    values = [
        (batch.column(n).cast("int64") if n == "ts" else batch.column(n)).to_pylist()
        for n in columns
    ]
    for run, host, sandbox, ts, seq, decision in zip(*values, strict=True):
        if not run:
            continue
        known = runs.setdefault(run, [host, sandbox, ts, ts, seq, seq, 0, 0, 0])
        known[2], known[3] = min(known[2], ts), max(known[3], ts)
        known[4], known[5] = min(known[4], seq), max(known[5], seq)
        known[6 + ("allow", "deny").index(decision) if decision in ("allow", "deny") else 8] += 1


def _describe(
    con: sqlite3.Connection,
    bounds: _Bounds,
    size: int,
    runs: list[tuple[Any, ...]],
    manifest: dict[str, Any],
) -> None:
    con.executescript(SPOOL_DDL)
    facts = {"store": bounds.store, "last_seq": bounds.seq[1], "sealed_upto": bounds.seq[1],
             "schema_version": SCHEMA_VERSION}  # fmt: skip
    con.executemany("INSERT INTO meta VALUES (?, ?)", list(facts.items()))
    if bounds.rows:
        con.execute(
            "INSERT INTO files VALUES (?, '1970-01-01', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (_FILE, bounds.rows, size, *bounds.ts, *bounds.observed, *bounds.seq, SCHEMA_VERSION),
        )
    con.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)", runs)
    con.execute("INSERT INTO sandboxes SELECT sandbox, max(last_ts) FROM runs GROUP BY sandbox")
    for gap in manifest.get("gaps", ()):
        con.execute(
            "INSERT INTO gaps(source, from_ts, to_ts, reason, count) VALUES (?, ?, ?, ?, ?)",
            (str(gap["source"]), micros(gap["since"]),
             micros(gap["until"]) if gap["until"] else None, str(gap["reason"]), gap["count"]),
        )  # fmt: skip


def _manifest(path: Path, voice: Voice) -> dict[str, Any]:
    """The manifest beside the export, if it fits; gaps of the record are in it."""
    beside = path.with_name(path.name + ".manifest.json")
    try:
        data = beside.read_bytes()[:MAX_MANIFEST_BYTES]
        found = json.loads(data)
        with path.open("rb") as file:
            fits = found["sha256"] == hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        voice.note("no manifest beside it: whether the record had gaps is not known")
        return {}
    except (OSError, ValueError, KeyError, TypeError):
        fits = False
    if not fits:
        voice.warning(f"{beside.name} does not fit {path.name}: one of them was changed")
        return {}
    if found.get("limit_reached") or found.get("damaged"):
        voice.warning(f"{path.name} holds less than matched when it was made; see {beside.name}")
    return dict(found)


def micros(text: str) -> int:
    """RFC 3339 as microseconds since 1970 UTC; ValueError for anything else."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("no zone")
    return (moment - _EPOCH) // timedelta(microseconds=1)
