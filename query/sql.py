"""Read-only SQL over `events`: one SELECT, in an engine that can reach this store and no more."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from audit_events.errors import QueryError
from audit_events.layout import StorePaths
from query.contracts import Damaged, Gap
from query.reader import MissingFileError, Reader
from query.snapshot import open_snapshot

CHUNK_ROWS: Final = 2_000
MAX_SQL_CHARS: Final = 100_000
# The engine's words about the statement are shown; about values of events they never are.
_ABOUT_THE_STATEMENT: Final = (
    "BinderException", "CatalogException", "ParserException", "PermissionException",
    "SyntaxException", "NotImplementedException",
)  # fmt: skip
_EXAMPLE: Final = "SELECT policy_rule, count(*) FROM events WHERE decision = 'deny' GROUP BY 1"


@dataclass(frozen=True, slots=True)
class Selected:
    """A statement's result: names, rows in chunks to be read once, and what it may lack."""

    columns: tuple[str, ...]
    chunks: Iterator[list[tuple[Any, ...]]]
    gaps: tuple[Gap, ...]
    damaged: tuple[Damaged, ...]


@contextmanager
def select(store: StorePaths, statement: str) -> Iterator[Selected]:
    """Run the one SELECT over the view `events`: the schema's columns and `event_id`.

    QueryError for anything but one SELECT and for what the engine refuses; files that are damaged
    are left out and named.
    """
    text = one_select(statement)
    opened = _open(store, ())
    try:
        found = _run(opened, text)
        if found is None:
            opened.reader.__exit__(None, None, None)
            opened = _open(store, _damaged_now(store))
            found = _run(opened, text, again=True)
        columns, first = found or ((), [])
        yield Selected(
            columns, _chunks(opened.con, first), opened.gaps,
            tuple({d.path: d for d in (*opened.known, *opened.reader.damaged)}.values()),
        )  # fmt: skip
    finally:
        opened.reader.__exit__(None, None, None)


def one_select(statement: str) -> str:
    """The statement if it is exactly one SELECT; QueryError for everything else."""
    import duckdb

    if len(statement) > MAX_SQL_CHARS:
        raise QueryError(f"the statement is longer than {MAX_SQL_CHARS:,} characters")
    try:
        found = duckdb.extract_statements(statement)
    except duckdb.Error as error:
        raise QueryError(_first_line(error), hint="audit help sql") from None
    if len(found) != 1:
        number = "no statement" if not found else f"{len(found)} statements"
        raise QueryError(f"{number}; one SELECT is wanted", hint=_EXAMPLE)
    if found[0].type != duckdb.StatementType.SELECT:
        kind = str(found[0].type).rpartition(".")[2]
        raise QueryError(f"{kind} is no SELECT; the record is read-only", hint=_EXAMPLE)
    return str(found[0].query)


@dataclass(frozen=True, slots=True)
class _Opened:
    reader: Reader
    con: Any
    gaps: tuple[Gap, ...]
    known: tuple[Damaged, ...]


def _open(store: StorePaths, known: Sequence[Damaged], *, final: bool = False) -> _Opened:
    """An engine with the view; the snapshot is over by then, so that nobody waits for a pager."""
    bad = {file.path for file in known}
    try:
        with open_snapshot(store) as snapshot:
            parts = [part for part in snapshot.parts if part.shown_path not in bad]
            reader = Reader(snapshot, parts, final=final)
            return _Opened(reader, reader.view(parts), snapshot.gaps(), tuple(known))
    except MissingFileError:
        # A compaction replaced it between looking and reading.
        return _open(store, known, final=True)


def _damaged_now(store: StorePaths) -> tuple[Damaged, ...]:
    with open_snapshot(store) as snapshot, Reader(snapshot, snapshot.parts, final=True) as reader:
        reader.check(snapshot.parts)
        return reader.damaged


def _run(
    opened: _Opened, text: str, *, again: bool = False
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]] | None:
    """Column names and the first rows; None if files may be at fault and it is worth a look."""
    import duckdb

    try:
        cursor = opened.con.execute(text)
        names = _unique([column[0] for column in cursor.description or ()])
        return names, opened.con.fetchmany(CHUNK_ROWS)
    except duckdb.Error as error:
        if type(error).__name__ not in _ABOUT_THE_STATEMENT and not again:
            return None
        raise refused(error) from None
    except RuntimeError:
        raise KeyboardInterrupt from None


def refused(error: Exception) -> QueryError:
    """The engine's error; its own words only where they cannot quote a value."""
    kind = type(error).__name__
    if kind in _ABOUT_THE_STATEMENT:
        return QueryError(_first_line(error), hint="audit help sql")
    if kind == "OutOfMemoryException":
        return QueryError("the query needs more memory than it may have", hint="narrow it by ts")
    return QueryError(f"the query engine failed ({kind})", hint="try_cast, not cast?")


def _chunks(con: Any, first: list[tuple[Any, ...]]) -> Iterator[list[tuple[Any, ...]]]:
    import duckdb

    rows = first
    while rows:
        yield rows
        try:
            rows = con.fetchmany(CHUNK_ROWS)
        except duckdb.Error as error:
            raise refused(error) from None


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """Two columns may have one name; as keys of a row they may not."""
    out: list[str] = []
    for name in names:
        number, unique = 1, name
        while unique in out:
            unique, number = f"{name}_{number}", number + 1
        out.append(unique)
    return tuple(out)


def _first_line(error: Exception) -> str:
    text = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    _, _, rest = text.partition(" Error: ")
    words = rest or text
    return words[:1].lower() + words[1:].rstrip("!.")
