"""One consistent look at a store: the archive's file list and the spool rows above it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from audit_events.errors import StorageError
from audit_events.layout import StorePaths
from audit_events.schema import SCHEMA_VERSION
from audit_events.version import VERSION
from query.contracts import Gap, Window
from query.watch import SQLITE_STEPS, current

# The writer holds the database for a commit (about 1 ms) or a recovery; then something is wrong.
BUSY_TIMEOUT_S: Final = 10.0
_LATER: Final = (1 << 63) - 1
_NOT_OPENED: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)

_FILES: Final = (
    "SELECT path, rows, bytes, min_ts, max_ts, min_observed, max_observed,"
    " min_seq, max_seq, schema_version FROM files"
)
# `sealed_upto` decides what is archive and what is spool, not the (later) deletion of spool rows.
_BATCHES: Final = (
    "SELECT first_seq, last_seq, rows, min_ts, max_ts, observed_at FROM batches"
    " WHERE last_seq > ? ORDER BY first_seq"
)
_GAPS: Final = (
    "SELECT id, source, from_ts, to_ts, reason, count, seq FROM gaps"
    " WHERE (:until IS NULL OR from_ts < :until)"
    " AND (:since IS NULL OR to_ts IS NULL OR to_ts > :since) ORDER BY from_ts, id"
)


@dataclass(frozen=True, slots=True)
class Part:
    """Rows read together: an archive file, or a spool batch when `path` is None.

    `path` is relative to the store's events folder; times in µs; all bounds inclusive.
    """

    path: str | None
    rows: int
    bytes: int
    min_ts: int
    max_ts: int
    min_observed: int
    max_observed: int
    min_seq: int
    max_seq: int
    schema_version: int

    @property
    def shown_path(self) -> str:
        """How messages name it, relative to the store."""
        return f"events/{self.path}" if self.path else f"spool.db batch {self.min_seq}"


@dataclass(frozen=True, slots=True)
class SourceState:
    """What the collector last said about a source; times in µs."""

    source: str
    kind: str
    format: str
    location: str
    state: str
    note: str
    last_read_at: int | None
    last_event_ts: int | None
    behind_bytes: int | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Every stored event exactly once, as long as the `with` block that opened it lasts."""

    paths: StorePaths
    store: str
    last_seq: int
    sealed_upto: int
    schema_version: int
    parts: tuple[Part, ...]
    con: sqlite3.Connection

    def blob(self, batch: Part) -> bytes:
        """The compressed rows of a spool batch, read in this snapshot's transaction."""
        row = self.con.execute(
            "SELECT data FROM batches WHERE first_seq = ?", (batch.min_seq,)
        ).fetchone()
        return bytes(row[0])

    def spool_changes(self) -> Any:
        """Differs once stored rows of the spool were changed: secrets are purged from them."""
        row = self.con.execute("SELECT value FROM meta WHERE key = 'spool_changes'").fetchone()
        return row and row[0]

    def gaps(self, window: Window | None = None) -> tuple[Gap, ...]:
        """The gaps that overlap the window, oldest first; all without one."""
        return read_gaps(self.con, window)

    def sources(self) -> tuple[SourceState, ...]:
        """Every source the collector knows, by name."""
        return read_sources(self.con)


@contextmanager
def reading(paths: StorePaths) -> Iterator[sqlite3.Connection]:
    """A read transaction on spool.db; StorageError if there is no store or it cannot be read."""
    con = connect(paths)
    try:
        con.execute("BEGIN")
        yield con
    except sqlite3.Error as error:
        raise damaged(paths, error) from error
    finally:
        con.close()


@contextmanager
def open_snapshot(paths: StorePaths) -> Iterator[Snapshot]:
    """A Snapshot in one read transaction; StorageError as `reading`, and for a newer schema."""
    with reading(paths) as con:
        meta = read_meta(con)
        sealed_upto = number(meta, "sealed_upto")
        yield Snapshot(
            paths=paths,
            store=str(meta["store"]),
            last_seq=number(meta, "last_seq"),
            sealed_upto=sealed_upto,
            schema_version=number(meta, "schema_version", SCHEMA_VERSION),
            parts=(*_files(con), *_batches(con, sealed_upto)),
            con=con,
        )


def connect(paths: StorePaths) -> sqlite3.Connection:
    """spool.db opened read-only, in autocommit; StorageError if there is none."""
    if not paths.spool.exists():
        raise StorageError(
            f"no store at {paths.root}", hint="audit collect FILE, or name another with --store"
        )
    try:
        return _connect(paths)
    except sqlite3.Error as error:
        raise damaged(paths, error) from error


def _connect(paths: StorePaths) -> sqlite3.Connection:
    uri = paths.spool.resolve().as_uri() + "?mode=ro"
    try:
        return _opened(uri)
    except sqlite3.OperationalError as error:
        # A store on read-only media, closed cleanly, opens only as immutable. With a -wal beside
        # it that would hide the newest rows.
        wal = paths.spool.with_name(paths.spool.name + "-wal")
        if wal.exists() or error.sqlite_errorcode & 0xFF not in _NOT_OPENED:
            raise
        return _opened(uri + "&immutable=1")


def _opened(uri: str) -> sqlite3.Connection:
    con = sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)
    if watch := current():
        con.set_progress_handler(lambda: watch.stopped, SQLITE_STEPS)
    try:
        con.execute("SELECT count(*) FROM meta").fetchone()
    except sqlite3.Error:
        con.close()
        raise
    return con


def damaged(paths: StorePaths, error: sqlite3.Error) -> StorageError:
    """The sentence for an SQLite failure; SQLite's own words hold no row."""
    return StorageError(
        f"{paths.spool} cannot be read ({error})",
        hint="if a collector runs, look at its log; else: audit doctor",
    )


def read_meta(con: sqlite3.Connection) -> dict[str, Any]:
    """The store's own facts; StorageError for a store of a newer schema."""
    meta = dict(con.execute("SELECT key, value FROM meta").fetchall())
    store, version = meta.get("store"), number(meta, "schema_version", SCHEMA_VERSION)
    if not store:
        raise StorageError("spool.db names no store", hint="audit doctor")
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"store {store} has schema {version}, this is sandtrail {VERSION}"
            f" (schema {SCHEMA_VERSION})",
            hint="uv tool upgrade sandtrail",
        )
    return meta


def number(meta: dict[str, Any], key: str, default: int = 0) -> int:
    """A number among the store's facts; StorageError if something else stands there."""
    try:
        return int(meta.get(key) or default)
    except (TypeError, ValueError):
        raise StorageError(f"spool.db holds no number for {key}", hint="audit doctor") from None


def read_gaps(con: sqlite3.Connection, window: Window | None = None) -> tuple[Gap, ...]:
    """The gaps that overlap the window, oldest first; all without one."""
    window = window or Window()
    bounds = {"since": window.since, "until": window.until}
    return tuple(Gap(*row) for row in con.execute(_GAPS, bounds))


def read_sources(con: sqlite3.Connection) -> tuple[SourceState, ...]:
    """Every source the collector knows, by name."""
    rows = con.execute(
        "SELECT source, kind, format, location, state, note, last_read_at, last_event_ts,"
        " behind_bytes FROM sources ORDER BY source"
    )
    return tuple(SourceState(*row) for row in rows)


def _files(con: sqlite3.Connection) -> Iterator[Part]:
    return (Part(*row) for row in con.execute(_FILES))


def _batches(con: sqlite3.Connection, sealed_upto: int) -> Iterator[Part]:
    for first, last, rows, min_ts, max_ts, at in con.execute(_BATCHES, (sealed_upto,)):
        # `at` is when the oldest of the rows came in: batches may be joined later.
        yield Part(None, rows, 0, min_ts, max_ts, at, _LATER, first, last, SCHEMA_VERSION)
