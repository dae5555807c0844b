"""What people write first: decode a line, put a row into SQLite. The rate bench's yardstick."""

import json
import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

COLUMNS = (
    "ts", "sandbox", "correlation_id", "syscall", "resource", "path", "dst", "access", "decision",
    "policy_rule", "latency_us", "process", "pid",
)  # fmt: skip
COMMIT_ROWS = 1_000
PAIR = re.compile(r'(\w+)=(?:"([^"]*)"|(\S*))')
INSERT = f"INSERT INTO events VALUES ({','.join('?' * len(COLUMNS))})"


def rows(log: Path) -> Iterator[tuple[object, ...]]:
    """A tuple a line."""
    as_json = log.suffix == ".json"
    with log.open() as lines:
        for line in lines:
            record = json.loads(line) if as_json else {k: a or b for k, a, b in PAIR.findall(line)}
            yield tuple(record.get(name) for name in COLUMNS)


def row_by_row(db: sqlite3.Connection, log: Path) -> None:
    """One INSERT a row, a commit every COMMIT_ROWS."""
    for n, row in enumerate(rows(log), 1):
        db.execute(INSERT, row)
        if n % COMMIT_ROWS == 0:
            db.commit()
    db.commit()


def executemany(db: sqlite3.Connection, log: Path) -> None:
    """The rows handed over in one call, one transaction."""
    db.executemany(INSERT, rows(log))
    db.commit()


def main(way: str, log: str, store: str) -> None:
    """Read the log into a fresh database with the durability that the spool has."""
    db = sqlite3.connect(store)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("PRAGMA synchronous=FULL")
    db.execute(f"CREATE TABLE events ({','.join(COLUMNS)})")
    {"row-by-row": row_by_row, "executemany": executemany}[way](db, Path(log))


if __name__ == "__main__":
    main(*sys.argv[1:])
