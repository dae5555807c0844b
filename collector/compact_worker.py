"""The child process that rewrites a day's small files as one; reads its order from stdin.

A process of its own, started afresh (delta-rs does not survive a fork) and at the lowest priority:
sorting a million rows must not delay the collector. It writes one new file and commits nothing.
"""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from audit_events.canonical import segment_digest
from collector.archive import read_file, write_file
from collector.store import reason_of

NICENESS = 15


def compact(root: Path, date: str, paths: list[str]) -> dict[str, object]:
    """Write the rows of `paths` to one new file; the new file's description.

    The rows read back, in seq order, must have the same canonical digest as the rows read: a
    footer can be whole over a damaged page.
    """
    rows = pa.concat_tables([_read(root, path) for path in paths])
    rows = rows.sort_by([("seq", "ascending")])
    before = segment_digest(rows)
    denies_first = rows.sort_by([("decision", "descending"), ("ts", "ascending")])
    written = write_file(root, denies_first, date, "day")
    after = segment_digest(read_file(root, written.path).sort_by([("seq", "ascending")]))
    if before != after:
        (root / written.path).unlink()
        raise ValueError("the rewritten file differs from what it replaces")
    return asdict(written)


class UnreadableError(Exception):
    """A file that is to be replaced cannot be read: (its path, why)."""


def _read(root: Path, path: str) -> pa.Table:
    try:
        return read_file(root, path)
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
