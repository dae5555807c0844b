"""Join the tiny batches of a slow live stream, so that a reader decodes few of them.

A source that writes a few lines at a time makes fifty batches a second, and each costs a reader
about a millisecond whatever it holds. The sealer's thread joins runs of them between two seals.
"""

import itertools
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from audit_events.errors import StorageError
from collector.seal import Sealer
from collector.spool import DAY_US, decode_batch, encode_batch, merge_streams_list
from collector.store import reason_of

# A batch of fewer rows is tiny; a longer run of tiny ones than this is joined.
TINY_ROWS: Final = 1_024
RUN_BATCHES: Final = 48
# What one join makes at most: it is decoded and encoded outside the lock, in some milliseconds.
JOINED_ROWS: Final = 8_192


@dataclass(frozen=True, slots=True)
class _Row:
    """One row of `batches` without its blob; times in µs."""

    first_seq: int
    last_seq: int
    rows: int
    min_ts: int
    max_ts: int
    observed_at: int


def join_small(sealer: Sealer, run_batches: int = RUN_BATCHES) -> int:
    """Join every long run of tiny batches into one each; how many batches fewer there are.

    Seqs, rows and positions stay as they are. Raises StorageError with nothing changed.
    """
    try:
        runs = _long_runs(_tiny(sealer, 0), run_batches)
        if not runs:
            return 0
        # A joined batch must not reach over what the log already holds, acknowledged or not.
        sealer.reconcile()
        runs = _long_runs(_tiny(sealer, sealer.archive.sealed_upto()), run_batches)
        for run in runs:
            _join(sealer, run)
    except (OSError, sqlite3.Error, pa.ArrowException) as error:
        raise StorageError(f"joining small batches failed: {reason_of(error)}") from error
    return sum(len(run) - 1 for run in runs)


def _tiny(sealer: Sealer, after: int) -> list[_Row]:
    found = sealer.connection.execute(
        "SELECT first_seq, last_seq, rows, min_ts, max_ts, observed_at FROM batches"
        " WHERE first_seq > max(?, (SELECT value FROM meta WHERE key = 'sealed_upto'))"
        " AND rows < ? ORDER BY first_seq",
        (after, TINY_ROWS),
    )
    return [_Row(*row) for row in found]


def _long_runs(tiny: list[_Row], run_batches: int) -> list[list[_Row]]:
    return [run for run in _runs(tiny) if len(run) > run_batches]


def _runs(tiny: list[_Row]) -> Iterator[list[_Row]]:
    """Neighbours without a hole (a leap, a large batch) and of about the same days, since a batch
    is sealed as a whole and makes a file a day."""
    run: list[_Row] = []
    for row in tiny:
        if run and not _fits(run, row):
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _fits(run: list[_Row], row: _Row) -> bool:
    days = _days(run[0])
    return (
        row.first_seq == run[-1].last_seq + 1
        and row.last_seq - run[0].first_seq < JOINED_ROWS
        and days[0] - 1 <= _days(row)[0]
        and _days(row)[1] <= days[1] + 1
    )


def _days(row: _Row) -> tuple[int, int]:
    return row.min_ts // DAY_US, row.max_ts // DAY_US


def _join(sealer: Sealer, run: list[_Row]) -> None:
    first, last = run[0].first_seq, run[-1].last_seq
    blobs = sealer.connection.execute(
        "SELECT data FROM batches WHERE first_seq BETWEEN ? AND ? ORDER BY first_seq",
        (first, last),
    )
    table = pa.Table.from_batches([decode_batch(data) for (data,) in blobs])
    (joined,) = table.unify_dictionaries().combine_chunks().to_batches()
    data = encode_batch(joined)
    with sealer.writing():
        # Read in the transaction: the flow may lay a newer position over the newest batch.
        rows = sealer.connection.execute(
            "SELECT streams FROM batches WHERE first_seq BETWEEN ? AND ? ORDER BY first_seq",
            (first, last),
        ).fetchall()
        updates = itertools.chain.from_iterable(json.loads(streams) for (streams,) in rows)
        sealer.connection.execute(
            "DELETE FROM batches WHERE first_seq BETWEEN ? AND ?", (first, last)
        )
        sealer.connection.execute(
            "INSERT INTO batches VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (first, last, joined.num_rows, min(r.min_ts for r in run), max(r.max_ts for r in run),
             run[0].observed_at, merge_streams_list([], list(updates)), data),
        )  # fmt: skip
        sealer.step("join.before-commit")
    sealer.step("join.after-commit")
