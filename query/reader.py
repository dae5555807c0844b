"""Archive files and spool batches as one relation in DuckDB, and what to do with a damaged one."""

import io
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from audit_events.errors import QueryError, StorageError
from audit_events.schema import COLUMN_NAMES, COLUMNS
from query.contracts import Damaged, Row
from query.kept import kept
from query.predicates import Clause
from query.snapshot import Part, Snapshot
from query.watch import current

# A query is a guest on the machine that runs the agents; what does not fit goes to <store>/tmp.
MEMORY_LIMIT: Final = "1GB"
THREADS: Final = 2

_SQL_TYPES: Final = {
    "string": "VARCHAR", "int32": "INTEGER", "int64": "BIGINT",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
}  # fmt: skip
# Rows leave as plain numbers: a TIMESTAMPTZ costs a datetime object a value.
ROW_COLUMNS: Final = ", ".join(
    f"epoch_us({c.name}) AS {c.name}" if c.type == "timestamp" else c.name for c in COLUMNS
)
ARROW_COLUMNS: Final = ", ".join(COLUMN_NAMES)
_ALL, _NOTHING = Clause("true"), Clause("")
_STORE, _SEQ = COLUMN_NAMES.index("store"), COLUMN_NAMES.index("seq")


class MissingFileError(Exception):
    """A file of the snapshot is gone: a compaction replaced it, or somebody removed it."""


@dataclass(frozen=True, slots=True)
class Query:
    """What to ask of the parts: columns, condition, and how to order and limit."""

    columns: str
    where: Clause = _ALL
    tail: Clause = _NOTHING


class Reader:
    """Asks parts of one snapshot; remembers which files could not be read.

    `final` says that a missing file is damage; otherwise it raises MissingFileError, for the caller
    to try a new snapshot. Only files among `parts` can be read at all. After `patience_s` seconds
    the engine is interrupted, which is a QueryError.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        parts: Sequence[Part],
        *,
        final: bool,
        patience_s: float | None = None,
    ) -> None:
        self._snapshot = snapshot
        self._final = final
        self._files = [part for part in parts if part.path is not None]
        self._bad: dict[str, Damaged] = {}
        self._checked: set[str] = set()
        self._con: Any = None
        self._registered: set[str] = set()
        self._patience_s = patience_s
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close(as_new=error is None)

    @property
    def place(self) -> str:
        """The store that is read."""
        return str(self._snapshot.paths.root)

    @property
    def damaged(self) -> tuple[Damaged, ...]:
        """The files that were left out, by path."""
        return tuple(self._bad[path] for path in sorted(self._bad))

    def rows(self, parts: Sequence[Part], query: Query) -> list[tuple[Any, ...]]:
        """The result over every part that can be read, as tuples; QueryError if there is none."""
        found: list[tuple[Any, ...]] = self._over_readable(parts, query, self._rows)
        return found

    def table(self, parts: Sequence[Part], query: Query) -> Any:
        """The same as an Arrow table that needs no pyarrow."""
        return self._over_readable(parts, query, self._table)

    def view(self, parts: Sequence[Part]) -> Any:
        """The engine, with `events` in it: every row of the parts that can be read."""
        source = self._source([part for part in parts if self._usable(part)])
        columns = "store || '-' || seq AS event_id, *"
        rows = _with_literals(source)
        try:
            self._engine().execute(f"CREATE VIEW events AS SELECT {columns} FROM ({rows})")  # noqa: S608
        except _engine_errors() as error:
            if not self.check(parts):
                raise _refused(error) from None
            return self.view(parts)
        return self._engine()

    def check(self, parts: Sequence[Part]) -> bool:
        """Read every value of every file once; True if files are damaged, which are then marked."""
        return self._blame(parts, Query(f"bit_xor(hash({ARROW_COLUMNS}))"))

    def _over_readable(
        self, parts: Sequence[Part], query: Query, take: Callable[[str, Sequence[Any]], Any]
    ) -> Any:
        good = [part for part in parts if self._usable(part)]
        try:
            return self._run(good, query, take)
        except _engine_errors() as error:
            if _own_fault(error) or not self._blame(good, query):
                raise _refused(error) from None
        return self._over_readable(parts, query, take)

    def _run(
        self, parts: Sequence[Part], query: Query, take: Callable[[str, Sequence[Any]], Any]
    ) -> Any:
        source = self._source(parts)
        sql = (
            f"SELECT {query.columns} FROM ({source.sql}) AS events"  # noqa: S608
            f" WHERE {query.where.sql} {query.tail.sql}"
        )
        return take(sql, [*source.params, *query.where.params, *query.tail.params])

    def _rows(self, sql: str, params: Sequence[Any]) -> Any:
        # Of DuckDB's ways to run a statement with values this one heeds Ctrl-C.
        try:
            return self._engine().execute(sql, params).fetchall()
        except RuntimeError:
            raise KeyboardInterrupt from None

    def _table(self, sql: str, params: Sequence[Any]) -> Any:
        from arro3.core import Table

        return Table.from_arrow(self._engine().sql(sql, params=params))

    def _usable(self, part: Part) -> bool:
        """False for a file known to be bad; its size is looked at first, as that is cheap."""
        if part.path is None or part.path in self._checked:
            return part.path not in self._bad
        self._checked.add(part.path)
        try:
            size = self._file(part).stat().st_size
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not self._final:
                raise MissingFileError(part.shown_path) from None
            self._mark(part)
            return False
        if size != part.bytes and not self._whole(part):
            self._mark(part)
        return part.path not in self._bad

    def _whole(self, part: Part) -> bool:
        sql = "SELECT coalesce(sum(num_rows), -1) FROM parquet_file_metadata(?)"
        try:
            found = self._engine().execute(sql, [[str(self._file(part))]]).fetchall()
        except _engine_errors():
            self._close()
            return False
        return bool(found[0][0] == part.rows)

    def _blame(self, parts: Sequence[Part], query: Query) -> bool:
        """Ask every file on its own; True if the fault lies in files, which are then marked."""
        before = len(self._bad)
        if not self._answers([part for part in parts if part.path is None], query):
            return False
        for part in parts:
            self._checked.discard(part.path or "")
            if part.path is not None and self._usable(part) and not self._answers([part], query):
                self._mark(part)
        return len(self._bad) > before

    def _answers(self, parts: Sequence[Part], query: Query) -> bool:
        # An internal error leaves an engine unusable, so each try gets a new one.
        self._close()
        try:
            self._run(parts, query, self._rows)
        except _engine_errors() as error:
            self._close()
            if _own_fault(error):
                raise _refused(error) from None
            return False
        return True

    def _mark(self, part: Part) -> None:
        path = part.path or ""
        self._bad[path] = Damaged(part.shown_path, part.rows)

    def _source(self, parts: Sequence[Part]) -> Clause:
        selects = [f"SELECT {select_list(())} WHERE false"]
        params: list[Any] = []
        versions = sorted({part.schema_version for part in parts if part.path is not None})
        for version in versions:
            files = [p for p in parts if p.path is not None and p.schema_version == version]
            names = [column.name for column in COLUMNS if column.since <= version]
            selects.append(
                f"SELECT {select_list(names)} FROM read_parquet(?, hive_partitioning=false)"  # noqa: S608
            )
            params.append([str(self._file(part)) for part in files])
        batches = [part for part in parts if part.path is None]
        for number, table in enumerate(_tables(self._snapshot, batches)):
            self._engine().register(f"spool_{number}", table)
            self._registered.add(f"spool_{number}")
            selects.append(
                f"SELECT {select_list(table.schema.names)} FROM spool_{number} WHERE seq > ?"  # noqa: S608
            )
            params.append(self._snapshot.sealed_upto)
        return Clause(" UNION ALL ".join(selects), tuple(params))

    def _file(self, part: Part) -> Path:
        return Path(self._snapshot.paths.events.absolute(), part.path or "")

    def _engine(self) -> Any:
        if self._con is None:
            self._con = self._opened()
            if self._patience_s is not None:
                self._timer = threading.Timer(self._patience_s, self._con.interrupt)
                self._timer.start()
        return self._con

    def _opened(self) -> Any:
        paths, held, watch = self._snapshot.paths, kept(), current()
        if held is None:
            return open_engine([str(self._file(part)) for part in self._files], paths.tmp)
        folder = paths.events.absolute()
        known = held.engines.take(folder)
        if known is None:
            return open_engine([], paths.tmp, folder=folder)
        if watch is not None:
            watch.take(known)
        return known

    def _close(self, *, as_new: bool = False) -> None:
        """Let go of the engine; one that has failed or was interrupted is not kept."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None
        if self._con is not None:
            held, watch, con, self._con = kept(), current(), self._con, None
            if watch is not None:
                watch.let_go(con)
            if held is None or not as_new or (watch is not None and watch.stopped):
                con.close()
            else:
                for name in self._registered:
                    con.unregister(name)
                held.engines.give(self._snapshot.paths.events.absolute(), con)
            self._registered.clear()


def open_engine(
    files: Iterable[str], scratch: Path, *, threads: int = THREADS, folder: Path | None = None
) -> Any:
    """A DuckDB that can read these files and nothing else of the machine, and no network.

    With a `folder` also what lies in it: for an engine that outlives the files of today.
    """
    import duckdb

    watch = current()
    con = duckdb.connect(
        config={
            "threads": threads,
            "memory_limit": (watch and watch.memory) or MEMORY_LIMIT,
            "temp_directory": str(scratch.absolute()),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
        }
    )
    listed = ", ".join(_literal(path) for path in files)
    if watch:
        watch.take(con)
    con.execute("SET TimeZone = 'UTC'")
    con.execute(f"SET allowed_paths = [{listed}]")
    if folder is not None:
        con.execute(f"SET allowed_directories = [{_literal(str(folder))}]")
    # With external access off DuckDB also takes a path as it stands: `[` in it is no pattern.
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    return con


def _with_literals(source: Clause) -> str:
    """A view takes no parameters; ours are numbers and lists of file names."""
    texts = source.sql.split("?")
    values = [_literal(value) for value in source.params]
    return texts[0] + "".join(v + t for v, t in zip(values, texts[1:], strict=True))


def _literal(value: int | str | list[str]) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def to_row(values: Sequence[Any]) -> Row:
    """A tuple of ROW_COLUMNS as a Row: nulls left out, event_id first."""
    row: Row = {"event_id": f"{values[_STORE]}-{values[_SEQ]}"}
    row.update(
        (name, value) for name, value in zip(COLUMN_NAMES, values, strict=True) if value is not None
    )
    return row


def seq_of(values: Sequence[Any]) -> int:
    """The seq in a tuple of ROW_COLUMNS."""
    return int(values[_SEQ])


def decode_batch(blob: bytes, name: str) -> Any:
    """The Arrow table in a spool blob; StorageError if it is damaged."""
    import zstandard
    from arro3.io import read_ipc_stream

    try:
        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(blob)) as stream:
            return read_ipc_stream(io.BytesIO(stream.read())).read_all()
    # arro3 raises bare Exception for a stream that it cannot read; its text may quote bytes of it.
    except Exception:  # noqa: BLE001
        raise StorageError(f"{name} is damaged", hint="audit doctor") from None


def select_list(names: Iterable[str]) -> str:
    """All columns of today's schema, from a relation that has only these."""
    held = set(names)
    return ", ".join(
        c.name if c.name in held else f"CAST(NULL AS {_SQL_TYPES[c.type]}) AS {c.name}"
        for c in COLUMNS
    )


def _tables(snapshot: Snapshot, batches: Sequence[Part]) -> list[Any]:
    """The batches' rows, one table for each set of columns among them."""
    if not batches:
        return []
    if (held := kept()) is not None:
        return held.spool.tables(snapshot, batches)
    from arro3.core import Table

    groups: dict[tuple[str, ...], list[Any]] = {}
    for part in batches:
        table = decode_batch(snapshot.blob(part), part.shown_path)
        groups.setdefault(tuple(table.schema.names), []).append(table)
    return [
        Table.from_batches([b for t in tables for b in t.to_batches()], schema=tables[0].schema)
        for tables in groups.values()
    ]


def _engine_errors() -> tuple[type[Exception], ...]:
    import duckdb

    return (duckdb.Error,)


def _own_fault(error: Exception) -> bool:
    """True for an error that says nothing about the files."""
    import duckdb

    return isinstance(error, duckdb.OutOfMemoryException | duckdb.InterruptException)


def _refused(error: Exception) -> QueryError:
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException):
        limit = ((watch := current()) and watch.memory) or MEMORY_LIMIT
        return QueryError(f"the query needs more than {limit}", hint="narrow it: --since 1d")
    if isinstance(error, duckdb.InterruptException):
        return QueryError("the query took longer than it may")
    # The engine's text may quote values of events.
    return QueryError(f"the query engine failed ({type(error).__name__})")
