"""Open a store for writing whatever the last stop left behind.

spool.db missing, damaged or rolled back never stops the collector and never gives an id twice:
`seq` leaps to the next multiple of 2^32, positions are those of the newest seal (or of the older
spool, where it still holds all that the archive lacks), and a notice says so.
"""

import json
import secrets
import sqlite3
import time
from base64 import b64decode, b64encode
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from audit_events.layout import FILE_MODE, SPOOL_DDL, STORE_MODE, StorePaths
from collector.archive import Archive, commit_metadata, log_versions, repair_log
from collector.positions import sealed_streams
from collector.seal import Sealer, SealLimits
from collector.spool import Spool, Step, merge_streams, no_step
from collector.sqlite import open_writable, transaction
from collector.store import LEAP, Store, Watermark, sync_folder


@dataclass(slots=True)
class Opened:
    """A store open for writing; `notices` are sentences for the record."""

    spool: Spool
    sealer: Sealer
    notices: list[str] = field(default_factory=list)
    # True if positions went back, so that sources that cannot re-read lost something.
    positions_lost: bool = False


@dataclass(frozen=True, slots=True)
class _Known:
    """What an intact spool.db says."""

    last_seq: int
    sealed_upto: int
    delta_version: int


def open_for_writing(
    store: Store,
    watermark_path: Path,
    on_step: Step = no_step,
    limits: SealLimits = SealLimits(),  # noqa: B008 - frozen
) -> Opened:
    """Repair the log, open or replace the spool, reconcile. The caller holds the store's lock."""
    notices: list[str] = []
    watermark = Watermark(watermark_path)
    known, problem = _inspect(store)
    repair_log(store.paths.log, known.delta_version if known else -1, notices.append)
    archive = Archive(store.paths, store.id)
    spooled = known.last_seq if known else 0
    given = max(watermark.read(), _told(store), archive.sealed_upto(), spooled)
    # A start that was killed before its first commit may leave an empty file.
    fresh = known is None and given == 0 and problem in (None, "empty")
    lost = not fresh and (known is None or known.last_seq < archive.sealed_upto())
    if lost:
        why = problem or ("older than the archive" if known else "gone")
        _replace(store, archive, why, given, on_step)
    rolled_back = known is not None and not lost and known.last_seq < given
    with ExitStack() as on_failure:
        spool = Spool(store, watermark, on_step)
        on_failure.callback(spool.close)
        if rolled_back:
            _leap(spool, given)
        notices += json.loads(spool.meta("notices") or "[]")
        sealer = Sealer(spool, archive, on_step, limits)
        on_failure.callback(sealer.close)
        _settle(sealer, store.paths, spool, on_step)
        on_failure.pop_all()
    return Opened(spool, sealer, notices, positions_lost=lost or rolled_back)


def _settle(sealer: Sealer, paths: StorePaths, spool: Spool, on_step: Step) -> None:
    """Make cache and log agree, and drop what a kill left behind."""
    sealer.reconcile()
    sealer.check_acknowledged()
    on_step("recovery.after-reconcile")
    sealer.delete_sealed()
    _delete_orphans(paths, spool)


def _told(store: Store) -> int:
    """The last seq as `notify` has it, 0 if nothing was ever committed here."""
    try:
        digits = store.paths.notify.read_bytes()[:20].strip()
    except OSError:
        return 0
    return int(digits) if digits.isdigit() else 0


def _inspect(store: Store) -> tuple[_Known | None, str | None]:
    """What spool.db says, or None and why it cannot be used (None, None: there is none)."""
    path = store.paths.spool
    if not path.exists() and not path.is_symlink():
        stray = path.with_name(path.name + "-wal").exists()
        return None, "gone, its -wal is left" if stray else None
    if not path.is_file():
        return None, "not a file"
    try:
        # Read-only: closing the last writable connection would lay a -wal over the file.
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=30)
        try:
            return _read_known(connection, store.id)
        finally:
            connection.close()
    except (sqlite3.Error, ValueError, TypeError):
        return None, "damaged"


def _read_known(connection: sqlite3.Connection, store_id: str) -> tuple[_Known | None, str | None]:
    if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        return None, "damaged"
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if "meta" not in tables:
        return None, "empty"
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    if not meta:
        return None, "empty"
    if meta.get("store") != store_id:
        return None, "of another store"
    known = _Known(int(meta["last_seq"]), int(meta["sealed_upto"]), int(meta["delta_version"]))
    return (known, None) if _agrees(connection, meta, known) else (None, "mixed from two copies")


def _agrees(connection: sqlite3.Connection, meta: dict[str, Any], known: _Known) -> bool:
    """Whether rows and positions belong together.

    An older spool.db beside a newer -wal is whole pages of both, and passes SQLite's own check.
    """
    expected = known.sealed_upto + 1
    streams: str = meta["sealed_streams"]
    leaps = set(json.loads(meta.get("leaps") or "[]"))
    for first, last, updates in connection.execute(
        "SELECT first_seq, last_seq, streams FROM batches WHERE first_seq > ? ORDER BY first_seq",
        (known.sealed_upto,),
    ):
        if first != expected and first not in leaps:
            return False
        expected = last + 1
        streams = merge_streams(streams, json.loads(updates))
    if known.last_seq + 1 not in (expected, *leaps):
        return False
    stored: dict[str, dict[str, Any]] = {}
    for source, stream, resume, done, read_to, mark in connection.execute(
        "SELECT source, stream, resume, done, read_to, mark FROM streams"
    ):
        state = [resume, json.loads(done), read_to, b64encode(mark).decode()]
        stored.setdefault(source, {})[stream] = state
    return stored == {source: held for source, held in json.loads(streams).items() if held}


def _replace(store: Store, archive: Archive, problem: str, given: int, on_step: Step) -> None:
    """Move spool.db aside and start a new one from the newest seal's positions."""
    aside = store.paths.root / "lost" / f"{time.strftime('%Y%m%dT%H%M%SZ')}-{secrets.token_hex(4)}"
    aside.mkdir(mode=STORE_MODE, parents=True)
    aside.parent.chmod(STORE_MODE)
    # The database goes last: without its -wal it is only older, a -wal without it could be replayed
    # into the next one.
    for suffix in ("-shm", "-wal", ""):
        path = store.paths.spool.with_name(store.paths.spool.name + suffix)
        if path.exists() or path.is_symlink():
            if not path.is_symlink():
                path.chmod(STORE_MODE if path.is_dir() else FILE_MODE)
            path.rename(aside / path.name)
            on_step("recovery.after-aside")
    sync_folder(store.paths.root)
    notice = (
        f"spool.db was lost ({problem}); a new one starts from the newest seal,"
        f" seq goes on after {_leap_base(given)}"
    )
    _write_new(store, archive, given, notice, on_step)


def _write_new(store: Store, archive: Archive, given: int, notice: str, on_step: Step) -> None:
    """A spool.db built beside and renamed into place, so that a kill here changes nothing."""
    building = store.paths.root / "spool.db.new"
    for suffix in ("", "-wal", "-shm"):
        building.with_name(building.name + suffix).unlink(missing_ok=True)
    connection = open_writable(building, SPOOL_DDL)
    streams = sealed_streams(archive.log)
    base = _leap_base(given)
    now = time.time_ns() // 1000
    with transaction(connection):
        values = {
            "store": store.id,
            "created": now,
            "last_seq": base,
            "sealed_upto": archive.sealed_upto(),
            "delta_version": -1,
            "leaps": json.dumps([base + 1]),
            "archived_rows": sum(file.rows for file in archive.live()) + _removed(archive),
            "sealed_streams": json.dumps(streams),
            "notices": json.dumps([notice]),
        }
        connection.executemany("INSERT OR REPLACE INTO meta VALUES(?, ?)", list(values.items()))
        connection.executemany(
            "INSERT INTO streams VALUES(?, ?, ?, ?, ?, ?, ?)",
            [
                (source, stream, resume, json.dumps(done), read_to, b64decode(mark), now)
                for source, of_source in streams.items()
                for stream, (resume, done, read_to, mark) in of_source.items()
            ],
        )
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    on_step("recovery.before-new")
    building.rename(store.paths.spool)
    on_step("recovery.after-new")
    for suffix in ("-wal", "-shm"):
        building.with_name(building.name + suffix).unlink(missing_ok=True)
    sync_folder(store.paths.root)


def _removed(archive: Archive) -> int:
    """Rows that retention took, by the same commits that reconcile is about to read again."""
    words = [commit_metadata(archive.log, v) or {} for v in log_versions(archive.log)]
    return sum(removal["rows"] for w in words for removal in w.get("removals", ()))


def _leap_base(given: int) -> int:
    return (given // LEAP + 1) * LEAP


def _leap(spool: Spool, given: int) -> None:
    base = _leap_base(given)
    notice = f"spool.db is an older copy; what it lacks is read again, seq goes on after {base}"
    with spool.lock, transaction(spool.connection):
        leaps = [*json.loads(spool.meta("leaps") or "[]"), base + 1]
        spool.set_meta("leaps", json.dumps(leaps))
        spool.set_meta("last_seq", base)
        spool.set_meta("notices", json.dumps([*json.loads(spool.meta("notices") or "[]"), notice]))
    spool.last_seq = base


def _delete_orphans(paths: StorePaths, spool: Spool) -> None:
    """Files that no commit names: left by a kill between writing and committing.

    Only after reconcile, else files that are committed but not yet cached would go.
    """
    known = {path for (path,) in spool.connection.execute("SELECT path FROM files")}
    known |= {path for (path,) in spool.connection.execute("SELECT path FROM retired")}
    for path in paths.events.glob("date=*/*.parquet"):
        if path.relative_to(paths.events).as_posix() not in known:
            path.unlink(missing_ok=True)
