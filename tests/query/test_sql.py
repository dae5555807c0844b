"""SQL over the events: one SELECT, read-only, nothing else of the machine, damaged files named."""

from typing import Any

import pytest

from audit_events.errors import QueryError
from audit_events.schema import COLUMN_NAMES
from query.sql import CHUNK_ROWS, select
from tests.query.stores import event
from tests.query.test_damage import DAMAGES, first_file

ROWS = [event(seq, path=f"/workspace/{seq}") for seq in range(1, 61)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Two archive files and a spool, changed by no test."""
    from tests.query.stores import build

    return build(tmp_path_factory.mktemp("sql"), ROWS, sealed=40, batch=10).paths


def answer(store: Any, statement: str) -> list[tuple[Any, ...]]:
    """All rows of a statement."""
    with select(store, statement) as found:
        return [row for chunk in found.chunks for row in chunk]


def test_events_holds_archive_and_buffer_once(store: Any) -> None:
    """Every event, with the schema's columns and its id."""
    assert answer(store, "SELECT count(*), count(DISTINCT seq) FROM events") == [(60, 60)]
    with select(store, "FROM events LIMIT 1") as found:
        assert found.columns == ("event_id", *COLUMN_NAMES)
        assert next(found.chunks)[0][0] == "7kq2m-1"


def test_a_large_result_comes_in_chunks(store: Any) -> None:
    """Nothing is cut, and no more than a chunk is held."""
    with select(store, "SELECT a.seq FROM events a, events b LIMIT 3500") as found:
        sizes = [len(chunk) for chunk in found.chunks]
    assert sizes == [CHUNK_ROWS, 1500]


@pytest.mark.parametrize(
    "statement",
    [
        "", "-- nothing", "SELECT 1; SELECT 2", "DROP VIEW events", "CREATE TABLE t (a INT)",
        "COPY (SELECT 1) TO '/tmp/x'", "ATTACH '/tmp/x.db'", "PRAGMA version", "SET threads = 1",
        "INSTALL httpfs", "LOAD httpfs", "CALL pragma_version()", "EXPORT DATABASE '/tmp/x'",
        "SELEC 1", "INSERT INTO events SELECT * FROM events", "BEGIN", "x" * 100_001,
    ],
)  # fmt: skip
def test_only_one_select_is_run(store: Any, statement: str) -> None:
    """Everything else is a refused query (exit 6)."""
    with pytest.raises(QueryError):
        answer(store, statement)


@pytest.mark.parametrize(
    "statement",
    [
        "FROM read_csv('/etc/passwd')", "FROM '/etc/passwd'", "FROM read_text('/etc/hostname')",
        "FROM glob('/*')", "FROM read_blob('{root}/spool.db')", "SELECT getenv('HOME')",
        "FROM read_parquet('https://localhost/x.parquet')", "FROM query('DROP VIEW events')",
        "FROM sqlite_scan('{root}/control.db', 'tokens')", "FROM duckdb_secrets()",
        "FROM parquet_metadata('/tmp/x')", "SELECT nope FROM events",
    ],
)  # fmt: skip
def test_nothing_but_the_events_can_be_read(store: Any, statement: str) -> None:
    """No file, no network, no environment, and the engine's lock cannot be opened again."""
    with pytest.raises(QueryError):
        answer(store, statement.format(root=store.root))


def test_an_error_never_quotes_a_value(store: Any) -> None:
    """The engine's own words would hold the path."""
    with pytest.raises(QueryError) as raised:
        answer(store, "SELECT path::INT FROM events")
    assert "workspace" not in f"{raised.value} {raised.value.hint}"
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_left_out_and_named(make_store: Any, damage: Any) -> None:
    """The answer is partial, and says so."""
    store = make_store(ROWS, sealed=40, batch=10)
    path, report = first_file(store)
    damage(path)
    with select(store.paths, "SELECT count(*), max(hash(path)) FROM events") as found:
        rows = next(found.chunks)
        assert rows[0][0] == 40
        assert found.damaged == (report,)


def test_columns_of_one_name_are_told_apart(store: Any) -> None:
    """As keys of a JSON object they would hide each other."""
    with select(store, "SELECT 1 AS a, 2 AS a, 3 AS a") as found:
        assert found.columns == ("a", "a_1", "a_2")
