"""The archive: a Delta table of Parquet files, whose log is the truth about what is sealed.

Rules learnt by breaking it (docs/decisions/0005): the handle does not advance by itself, so it is
refreshed before every check; commits never retry by themselves; hooks are off, since one that
fails raises after the commit is in; delta-rs syncs nothing, so we sync the log ourselves.
"""

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import (
    CommitProperties,
    DeltaTable,
    PostCommitHookProperties,
    Schema,
    Transaction,
)
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction, RemoveAction

from audit_events.arrow import FILE_SCHEMA
from audit_events.errors import StorageError
from audit_events.layout import FILE_MODE, STORE_MODE, StorePaths
from audit_events.schema import COLUMN_NAMES, SCHEMA_VERSION
from collector.store import reason_of, sync_file, sync_folder

_NO_HOOK: Final = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
ROW_GROUP_ROWS: Final = 1 << 20
_DICTIONARY_PAGE_BYTES: Final = 8 << 20
# Integers that grow from row to row: deltas of neighbours are tiny, a dictionary would be the data.
_DELTA_ENCODED: Final = ("seq", "ts", "observed_at", "source_position", "linked_seq", "until")
_NO_DICTIONARY: Final = {*_DELTA_ENCODED, "message", "extra"}
_COMMIT_NAME: Final = re.compile(r"(\d{20})\.json")
_VERSION_IN_PATH: Final = re.compile(r"-v(\d+)-[0-9a-f]+\.parquet\Z")
_METADATA_KEY: Final = "sandtrail"
# What any commit says of itself; whatever else one says (a removal) must be found for ever.
_ROUTINE: Final = {"last_seq", "streams", "moved", "segments", "actions"}
LOG_KEPT_S: Final = 7 * 86_400
LAST_CHECKPOINT: Final = "_last_checkpoint"


@dataclass(frozen=True, slots=True)
class ArchiveFile:
    """One live file, as the log tells it; times in µs since 1970."""

    path: str
    date: str
    rows: int
    bytes: int
    min_ts: int
    max_ts: int
    min_observed: int
    max_observed: int
    min_seq: int
    max_seq: int

    @property
    def schema_version(self) -> int:
        """Version of the event schema that wrote the file; it is part of the name."""
        found = _VERSION_IN_PATH.search(self.path)
        return int(found[1]) if found else 1

    def stats(self) -> str:
        """Delta statistics; kept verbatim by the log, so the cache is rebuilt from it alone."""
        low = (self.min_seq, self.min_ts, self.min_observed)
        high = (self.max_seq, self.max_ts, self.max_observed)
        return json.dumps(
            {
                "numRecords": self.rows,
                "minValues": _stat_values(*low),
                "maxValues": _stat_values(*high),
                "nullCount": {"seq": 0, "ts": 0, "observed_at": 0},
            }
        )


def _stat_values(seq: int, ts: int, observed: int) -> dict[str, Any]:
    return {"seq": seq, "ts": _iso(ts), "observed_at": _iso(observed)}


def _iso(micros: int) -> str:
    text: str = pa.scalar(micros, pa.timestamp("us")).cast(pa.string()).as_py()
    return text.replace(" ", "T") + "Z"


class Archive:
    """The Delta table of one store; used by one thread, written under the store's lock only."""

    def __init__(self, paths: StorePaths, store_id: str) -> None:
        self.root = paths.events
        self.log = paths.log
        self.app_id = f"spool:{store_id}"
        self._table = self._open_or_create()

    def _open_or_create(self) -> DeltaTable:
        self.root.mkdir(mode=STORE_MODE, exist_ok=True)
        self.root.chmod(STORE_MODE)
        try:
            if self.log.is_dir() and any(self.log.iterdir()):
                return DeltaTable(str(self.root))
            schema = FILE_SCHEMA.append(pa.field("date", pa.date32()))
            table = DeltaTable.create(
                str(self.root), schema=Schema.from_arrow(schema), partition_by=["date"]
            )
        except (DeltaError, OSError, ValueError) as error:
            raise StorageError(
                f"{self.log}: the archive's log cannot be read or written: {reason_of(error)}",
                hint="questions are still answered; restore the store's events folder from a copy",
            ) from error
        sync_log(self.log, -1, 0)
        sync_folder(self.root.parent)
        return table

    def refresh(self) -> None:
        """See what is committed; call after any error too: an exception does not mean 'not in'."""
        self._table.update_incremental()

    def version(self) -> int:
        """Newest version of the log that `refresh` saw."""
        return int(self._table.version())

    def sealed_upto(self) -> int:
        """The last seq that a seal committed."""
        return int(self._table.transaction_version(self.app_id) or 0)

    def live(self) -> list[ArchiveFile]:
        """Every live file, from the log alone."""
        actions = pa.table(self._table.get_add_actions(flatten=True))
        if actions.num_rows == 0:
            return []
        micros = pa.int64()
        columns = {
            "path": actions["path"].cast(pa.string()),
            "date": pc.strftime(actions["partition.date"], format="%Y-%m-%d"),
            "rows": actions["num_records"],
            "bytes": actions["size_bytes"],
            "min_ts": actions["min.ts"].cast(micros),
            "max_ts": actions["max.ts"].cast(micros),
            "min_observed": actions["min.observed_at"].cast(micros),
            "max_observed": actions["max.observed_at"].cast(micros),
            "min_seq": actions["min.seq"],
            "max_seq": actions["max.seq"],
        }
        return [
            ArchiveFile(*row)
            for row in zip(*(column.to_pylist() for column in columns.values()), strict=True)
        ]

    def write(self, rows: pa.Table, date: str, kind: str) -> ArchiveFile:
        """A new Parquet file, synced with its folder, not yet committed."""
        folder = self.root / f"date={date}"
        if not folder.is_dir():
            folder.mkdir(mode=STORE_MODE)
            sync_folder(self.root)
        return write_file(self.root, rows, date, kind)

    def commit(
        self,
        add: Sequence[ArchiveFile],
        remove: Sequence[ArchiveFile] = (),
        *,
        sealed_upto: int | None = None,
        metadata: Mapping[str, Any],
        data_change: bool = True,
    ) -> None:
        """One Delta commit. Raises DeltaError or OSError; then `refresh` and look what is in."""
        now_ms = int(time.time() * 1000)
        actions: list[Any] = [
            AddAction(f.path, f.bytes, {"date": f.date}, now_ms, data_change, f.stats())
            for f in add
        ]
        actions += [
            RemoveAction(f.path, data_change, now_ms, f.bytes, {"date": f.date}) for f in remove
        ]
        seal = [Transaction(app_id=self.app_id, version=sealed_upto)] if sealed_upto else []
        words = {**metadata, "actions": len(actions) + len(seal)}
        self._table.create_write_transaction(
            actions,
            mode="append",
            schema=self._table.schema(),
            partition_by=["date"],
            commit_properties=CommitProperties(
                custom_metadata={_METADATA_KEY: json.dumps(words)},
                app_transactions=seal,
                max_commit_retries=0,
            ),
            post_commithook_properties=_NO_HOOK,
        )

    def checkpoint(self) -> None:
        """Write a checkpoint of the log and make it durable."""
        self._table.create_checkpoint()
        for path in (*self.log.glob("*.checkpoint.parquet"), self.log / LAST_CHECKPOINT):
            _sync_private(path)
        sync_folder(self.log)

    def clean_log(self, now: datetime) -> int:
        """Drop log files that no reader needs any more; how many.

        The newest checkpoint may be damaged by a power cut, so everything since the one before it
        stays; so does a week for readers of old versions, and for ever what tells of more than a
        seal.
        """
        checkpoints = sorted(self.log.glob("*.checkpoint.parquet"))
        if len(checkpoints) < 2:
            return 0
        oldest_kept = int(checkpoints[-2].name[:20])
        before = now.timestamp() - LOG_KEPT_S
        old = [log_file(self.log, v) for v in log_versions(self.log) if v < oldest_kept]
        doomed = [
            path
            for path in (*old, *checkpoints[:-2])
            if path.stat().st_mtime < before and not (path.suffix == ".json" and _tells_more(path))
        ]
        for path in doomed:
            path.unlink()
        return len(doomed)

    def discard(self, files: Sequence[ArchiveFile]) -> None:
        """Unlink files of a commit that failed, unless it is in after all."""
        self.refresh()
        live = {file.path for file in self.live()}
        for file in files:
            if file.path not in live:
                (self.root / file.path).unlink(missing_ok=True)

    def rows_of(self, path: str) -> pa.Table:
        """All rows of a file, plain types; missing later columns are null."""
        return read_file(self.root, path)


def write_file(root: Path, rows: pa.Table, date: str, kind: str) -> ArchiveFile:
    """Write and sync one Parquet file under `root`; the folder of the date exists.

    pyarrow, not DuckDB's V2 writer, whose pages break predicates in arrow-rs readers.
    """
    seq = pc.min_max(rows["seq"]).as_py()
    name = f"{kind}-{seq['min']:012d}-{seq['max']:012d}-v{SCHEMA_VERSION}-{secrets.token_hex(4)}"
    relative = f"date={date}/{name}.parquet"
    path = root / relative
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            pq.write_table(
                rows,
                file,
                compression="zstd",
                compression_level=3,
                store_schema=False,
                use_dictionary=[name for name in COLUMN_NAMES if name not in _NO_DICTIONARY],
                column_encoding=dict.fromkeys(_DELTA_ENCODED, "DELTA_BINARY_PACKED"),
                row_group_size=ROW_GROUP_ROWS,
                data_page_version="2.0",
                # One flipped bit in a page may decode to a wrong value; the checksum tells.
                write_page_checksum=True,
                dictionary_pagesize_limit=_DICTIONARY_PAGE_BYTES,
                write_statistics=["seq", "ts", "observed_at", "decision", "rule_index"],
            )
            file.flush()
            sync_file(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    ts = pc.min_max(rows["ts"].cast(pa.int64())).as_py()
    seen = pc.min_max(rows["observed_at"].cast(pa.int64())).as_py()
    return ArchiveFile(
        relative, date, rows.num_rows, path.stat().st_size,
        ts["min"], ts["max"], seen["min"], seen["max"], seq["min"], seq["max"],
    )  # fmt: skip


def read_file(root: Path, path: str) -> pa.Table:
    """Rows of an archive file with FILE_SCHEMA. Raises OSError or pa.ArrowException if damaged."""
    table = pq.ParquetFile(root / path, page_checksum_verification=True).read()
    columns = [
        table[field.name].cast(field.type)
        if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in FILE_SCHEMA
    ]
    return pa.table(columns, schema=FILE_SCHEMA)


def log_versions(log: Path) -> list[int]:
    """Versions that have a JSON file in the log, ascending."""
    return sorted(
        int(found[1]) for entry in log.iterdir() if (found := _COMMIT_NAME.fullmatch(entry.name))
    )


def log_file(log: Path, version: int) -> Path:
    """The JSON file of a version."""
    return log / f"{version:020d}.json"


def sync_log(log: Path, after: int, upto: int) -> None:
    """Make the log's versions `after` < v <= `upto` durable, and private."""
    for version in range(after + 1, upto + 1):
        # Before the second newest checkpoint there may be holes.
        with contextlib.suppress(FileNotFoundError):
            _sync_private(log_file(log, version))
    log.chmod(STORE_MODE)
    sync_folder(log)


def _sync_private(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fchmod(descriptor, FILE_MODE)
        sync_file(descriptor)
    finally:
        os.close(descriptor)


def _tells_more(path: Path) -> bool:
    words = commit_metadata(path.parent, int(path.stem))
    return words is None or bool(words.keys() - _ROUTINE)


def commit_metadata(log: Path, version: int) -> dict[str, Any] | None:
    """What one of our commits said of itself, None for a foreign or unreadable one."""
    try:
        lines = log_file(log, version).read_bytes().splitlines()
        infos = [
            action["commitInfo"] for line in lines if "commitInfo" in (action := json.loads(line))
        ]
        return json.loads(infos[0][_METADATA_KEY]) if infos else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def repair_log(log: Path, acknowledged: int, warn: Callable[[str], None]) -> None:
    """Undo what a power cut left half-written in the log.

    The newest versions after `acknowledged` (the cache's) that are empty or do not parse were
    never acknowledged: their rows are still in the spool, so they go. Nothing at or before it, and
    nothing with a whole version after it, is touched: damage there is a damaged archive.
    """
    if not log.is_dir():
        return
    for version in reversed(log_versions(log)):
        path = log_file(log, version)
        if version <= acknowledged or _is_whole(path):
            break
        warn(f"log version {version} was cut by a crash and is dropped; its rows are safe")
        path.unlink()
    _repair_checkpoints(log, warn)
    sync_folder(log)


def _is_whole(path: Path) -> bool:
    """Every line parses, and there are as many actions as the first line, our words, promised:
    a file cut between two lines parses too."""
    try:
        actions = [json.loads(line) for line in path.read_bytes().splitlines()]
        if not actions or not all(isinstance(action, dict) for action in actions):
            return False
        words = json.loads(actions[0].get("commitInfo", {}).get(_METADATA_KEY, "{}"))
    except (OSError, ValueError, AttributeError):
        return False
    return bool(words.get("actions", len(actions) - 1) == len(actions) - 1)


def _repair_checkpoints(log: Path, warn: Callable[[str], None]) -> None:
    hint = log / LAST_CHECKPOINT
    for path in log.glob("*.checkpoint.parquet"):
        try:
            pq.ParquetFile(path).read()
        except (OSError, pa.ArrowException):
            warn("an unreadable checkpoint of the log is dropped")
            path.unlink()
    try:
        version = json.loads(hint.read_bytes())["version"]
        whole = (log / f"{version:020d}.checkpoint.parquet").is_file()
    except FileNotFoundError:
        return
    except (OSError, ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        hint.unlink()
