"""Runs: reported ids win, the idle gap parts, several candidates are flagged."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from audit_events.rows import rows_to_batch
from collector.correlate import Correlator
from collector.known_runs import RunRow

START = datetime(2026, 7, 28, 9, tzinfo=UTC)
IDLE_S = 300


def batch(*events: tuple[float, str, str | None], **more: Any) -> pa.RecordBatch:
    """(seconds, sandbox, reported id) as event rows."""
    return rows_to_batch(
        [
            {"ts": START + timedelta(seconds=at), "sandbox": sandbox, "host": "h",
             "correlation_id": run, **more}
            for at, sandbox, run in events
        ]
    )  # fmt: skip


def ids(result: pa.RecordBatch) -> list[str]:
    """The runs given."""
    values: list[str] = result.column("correlation_id").to_pylist()
    return values


def correlator() -> Correlator:
    """With the idle gap of these tests."""
    return Correlator(IDLE_S * 1_000_000)


def test_an_event_that_names_its_run_keeps_it() -> None:
    """A reported id is never changed, and others of the sandbox join it."""
    got = ids(correlator().correlate(batch((0, "a", "run-1"), (5, "a", None), (2, "b", None))))
    assert got[:2] == ["run-1", "run-1"]
    assert got[2] not in (None, "run-1")


def test_an_idle_sandbox_starts_a_new_run() -> None:
    """Two stretches further apart than the gap are two runs, also within one batch."""
    got = ids(correlator().correlate(batch((0, "a", None), (10, "a", None), (900, "a", None))))
    assert got[0] == got[1] != got[2]


def test_batches_and_restarts_do_not_part_a_run() -> None:
    """What one start knew the next one is told."""
    first = correlator()
    before = ids(first.correlate(batch((0, "a", None))))
    after_restart = correlator()
    at = int(START.timestamp() * 1e6)
    after_restart.remember([RunRow("h", "a", before[0], at, at)])
    assert ids(after_restart.correlate(batch((60, "a", None)))) == before


def test_a_late_event_joins_the_run_of_its_time() -> None:
    """Event time counts, not arrival."""
    c = correlator()
    old, new = ids(c.correlate(batch((0, "a", None), (3600, "a", None))))
    assert ids(c.correlate(batch((20, "a", None), (3610, "a", None)))) == [old, new]


def test_several_candidates_are_flagged_and_not_guessed() -> None:
    """Two runs open at once: a new id, and the flag says so."""
    c = correlator()
    c.correlate(batch((0, "a", "one"), (0, "a", "two")))
    result = c.correlate(batch((5, "a", None)))
    assert ids(result)[0] not in ("one", "two")
    assert result.column("flags").to_pylist() == ["ambiguous"]


def test_system_events_are_told_apart_by_pid() -> None:
    """Without a sandbox there is no run to join: the process is the unit."""
    got = ids(correlator().correlate(batch((0, "-", None), pid=77)))
    assert got == ["os:-:77:-"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc")), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
    st.integers(1, 10),
)
def test_every_row_gets_a_run_of_its_own_sandbox(events: Any, random: Any, size: int) -> None:
    """No row is left without, no run spans two sandboxes, and no gap is bridged."""
    rows = [(stretch * 3600 + random.randint(0, 200), box, None) for stretch, box in events]
    c = correlator()
    seen: dict[str, set[tuple[str, int]]] = {}
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        for run, (at, box, _) in zip(ids(c.correlate(batch(*part))), part, strict=True):
            seen.setdefault(run, set()).add((box, int(at) // 3600))
    assert all(len(members) == 1 for members in seen.values())
    assert len(seen) == len({(box, int(at) // 3600) for at, box, _ in rows})
