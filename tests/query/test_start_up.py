"""What reading a store must not import: start-up time is part of the promise."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.query.stores import event

HEAVY = {"pyarrow", "numpy", "deltalake", "pydantic", "typer", "rich", "pandas"}
ENGINES = {"duckdb", "_duckdb", "arro3", "zstandard", "watchdog"}
# Our own that cost as much as all else: the table of filters, and globs that compile patterns.
FILTERS = {"policies", "policies.glob", "query.filters", "query.predicates", "query.engine"}

VIEWS = """
from query import situation, status, views
situation.situation(store, 0, 0), status.status(store, 0, 0), views.gaps(store)
views.known_sandboxes(store), views.hot_denies(store), views.runs_by_prefix(store, "a")
"""
RUNS = """
from query.contracts import Request
from query.run_list import newest_runs
newest_runs(store, Request(limit=5), 0)
"""
ANSWER = """
from query import engine
from query.contracts import Request
assert len(engine.answer(store, Request(limit=5)).rows) == 5
assert engine.count(store, Request(values={"decision": ("allow",)})).records == 21
assert sum(len(page) for page in engine.row_pages(store, Request(), 0, 10)) == 21
"""
TRAIL = """
import threading
from query.contracts import Request
from query.trail import follow
assert len(next(follow(store, 0, Request(), threading.Event())).rows) == 21
"""


@pytest.mark.parametrize(
    ("code", "banned"),
    [
        (VIEWS, HEAVY | ENGINES | FILTERS),
        (RUNS, HEAVY | ENGINES | FILTERS),
        (ANSWER, HEAVY),
        (TRAIL, HEAVY),
    ],
)
def test_a_reader_imports_only_what_it_needs(make_store: Any, code: str, banned: set[str]) -> None:
    """In a process of its own, after having done its work."""
    store = make_store([event(seq) for seq in range(1, 22)], sealed=7)
    head = (
        "import sys; from pathlib import Path; from audit_events.layout import StorePaths;"
        "store = StorePaths(Path(sys.argv[1]))\n"
    )
    tail = "\nprint(*{name.partition('.')[0] for name in sys.modules} | set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", head + code + tail, str(store.paths.root)],
        capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) & banned == set()
