"""What a start reads back for the linker: as far as a collector that never stopped would know."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from audit_events.rows import rows_to_batch
from collector.commit import Commit
from collector.recent import recent_rows
from collector.recovery import Opened
from tests.collector.storekit import House, the_redactor


def append(opened: Opened, rows: int) -> None:
    """One commit of so many masked decisions, the newest first."""
    made = [
        {"ts": 1_785_140_000_000_000 - n, "kind": "decision", "decision": "deny", "host": "h",
         "source": "s", "format": "native", "source_position": n, "path": f"/w/{n}", "pid": n}
        for n in range(rows)
    ]  # fmt: skip
    redactor = the_redactor()
    masked, _ = redactor.redact(rows_to_batch(made), redactor.initial_state())
    opened.spool.append(Commit(batches=[masked]))


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Seqs 1 to 3 and 4 to 6, two commits, in one file; 7 and 8 to 9, two commits, in the spool."""
    opened = House(tmp_path).open()
    with closing(opened.spool), closing(opened.sealer):
        append(opened, 3)
        append(opened, 3)
        assert opened.sealer.seal() == 6
        append(opened, 1)
        append(opened, 2)
        yield opened


def seqs(opened: Opened, rows: int, within_us: int | None = None) -> list[int]:
    """What is read back, in its order."""
    batches = recent_rows(opened, rows, within_us)
    return [seq for batch in batches for seq in batch.column("seq").to_pylist()]


def committed(opened: Opened) -> list[int]:
    """When each row was, in the order of seq (µs)."""
    (path,) = opened.spool.connection.execute("SELECT path FROM files").fetchone()
    file = pq.read_table(opened.spool.paths.events / path, partitioning=None).sort_by("seq")
    times = file["observed_at"].cast("int64").to_pylist()
    spooled = opened.spool.connection.execute("SELECT rows, observed_at FROM batches")
    return times + [at for rows, at in spooled for _ in range(rows)]


def test_the_newest_rows_are_told_in_order_wherever_they_lie(opened: Opened) -> None:
    """A file is sorted by time, the answer by seq."""
    assert seqs(opened, 100) == list(range(1, 10))
    assert seqs(opened, 5) == [5, 6, 7, 8, 9]


@pytest.mark.parametrize("first", [1, 4, 7, 8])
def test_a_start_goes_no_further_back_than_memory_did(opened: Opened, first: int) -> None:
    """Counted from the newest row; a commit is taken whole, though its file holds others."""
    times = committed(opened)
    assert seqs(opened, 100, times[-1] - times[first - 1]) == list(range(first, 10))


def test_the_newest_row_by_seq_is_what_counts(opened: Opened) -> None:
    """A clock that was ahead for a while makes nothing forgotten that came after."""
    times = committed(opened)
    opened.spool.connection.execute("UPDATE files SET max_observed = max_observed + 3600000000")
    assert seqs(opened, 100, times[-1] - times[6]) == [7, 8, 9]
