"""The child process that rewrites a day's small files as one; reads its order from stdin.

A process of its own, started afresh (delta-rs does not survive a fork) and at the lowest priority:
sorting a million rows must not delay the collector. It writes one new file and commits nothing.
"""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from audit_events.arrow import FILE_SCHEMA
from audit_events.canonical import segment_digest
from audit_events.schema import BY_NAME, COLUMN_NAMES
from collector.archive import write_file
from collector.store import reason_of

NICENESS = 15
_DENIES_FIRST = [("decision", "descending"), ("ts", "ascending")]


def compact(root: Path, date: str, paths: list[str]) -> dict[str, object]:
    """Write the rows of `paths` to one new file; the new file's description.

    The rows read back, in seq order, must have the same canonical digest as the rows read: a
    footer can be whole over a damaged page.
    """
    # Texts that repeat are held once, and columns are put in order one after another, so that there
    # is never a second copy of them all: a million rows take 0.8 GB this way, 1.9 GB plainly.
    rows = _in_order([_read(root, path) for path in paths])
    before = segment_digest(rows)
    by = {"decision": rows["decision"].cast(pa.string()), "ts": rows["ts"]}
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    del rows
    rows = _taken(columns, pc.sort_indices(pa.table(by), sort_keys=_DENIES_FIRST))
    written = write_file(root, rows, date, "day")
    del rows
    after = segment_digest(_in_order([_encoded(root, written.path)]))
    if before != after:
        (root / written.path).unlink()
        raise ValueError("the rewritten file differs from what it replaces")
    return asdict(written)


def _in_order(tables: list[pa.Table]) -> pa.Table:
    """All rows by seq; the list is emptied."""
    rows = pa.concat_tables(tables).unify_dictionaries()
    tables.clear()
    columns = dict(zip(rows.column_names, rows.columns, strict=True))
    del rows
    return _taken(columns, pc.sort_indices(columns["seq"]))


def _taken(columns: dict[str, Any], rows: pa.Array) -> pa.Table:
    """These rows of the columns, in this order; each column is let go once it is done."""
    for name, column in columns.items():
        columns[name] = column.take(rows)
    return pa.table(columns)


def _encoded(root: Path, path: str) -> pa.Table:
    """Rows of a file with texts that repeat held once. Raises OSError or pa.ArrowException."""
    repeating = [name for name in COLUMN_NAMES if BY_NAME[name].dictionary]
    with pq.ParquetFile(
        root / path, page_checksum_verification=True, read_dictionary=repeating
    ) as file:
        table = file.read()
    columns = {
        field.name: table[field.name] if field.name in table.column_names
        else pa.nulls(table.num_rows, field.type)
        for field in FILE_SCHEMA
    }  # fmt: skip
    for field in FILE_SCHEMA:
        if not BY_NAME[field.name].dictionary:
            columns[field.name] = columns[field.name].cast(field.type)
        elif not pa.types.is_dictionary(columns[field.name].type):
            columns[field.name] = columns[field.name].dictionary_encode()
    return pa.table(columns)


class UnreadableError(Exception):
    """A file that is to be replaced cannot be read: (its path, why)."""


def _read(root: Path, path: str) -> pa.Table:
    try:
        return _encoded(root, path)
    except UnreadableError as error:
        print(json.dumps({"unreadable": error.args[0], "reason": error.args[1]}))  # noqa: T201
    except (OSError, pa.ArrowException) as error:
        raise UnreadableError(path, reason_of(error)) from error


def main() -> int:
    """Read {root, date, paths} from stdin, print the new file's description, or which of the files
    is unreadable."""
    os.nice(NICENESS)
    order = json.load(sys.stdin)
    try:
        print(json.dumps(compact(Path(order["root"]), order["date"], order["paths"])))  # noqa: T201
    except UnreadableError as error:
        print(json.dumps({"unreadable": error.args[0], "reason": error.args[1]}))  # noqa: T201
    except (OSError, pa.ArrowException, ValueError) as error:
        print(reason_of(error), file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
