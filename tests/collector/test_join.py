"""Tiny batches of a slow stream are joined: nothing a reader or a recovery sees changes."""

import json
import random
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit_events.rows import rows_to_batch
from collector.commit import Commit, StreamUpdate
from collector.join import RUN_BATCHES, join_small
from collector.recovery import Opened
from collector.spool import merge_streams
from tests.collector.storekit import House, exact, the_redactor
from tests.collector.test_power_cut import PowerCut, cut_at
from tests.collector.trail_check import Victim, Writer, check

DAY_S = 86_400
T0 = int(datetime(2026, 7, 28, 9, tzinfo=UTC).timestamp())


def commit(rows: int, moved: list[tuple[str, int | None]], day: int = 0) -> Commit:
    """`rows` events and streams that moved to a position, or were closed (None)."""
    redactor = the_redactor()
    events = [
        {
            "ts": datetime.fromtimestamp(T0 + day * DAY_S, UTC), "kind": "decision",
            "source": "openclaw", "format": "native", "source_position": n, "host": "h",
            "sandbox": f"agent-{n % 3}", "correlation_id": "r", "resource": "filesystem",
            "decision": "allow", "path": f"/workspace/{n}", "count": 1, "pid": n,
        }
        for n in range(rows)
    ]  # fmt: skip
    batches = []
    if rows:
        batches = [redactor.redact(rows_to_batch(events), redactor.initial_state())[0]]
    updates = [
        StreamUpdate("openclaw", name, at or 0, (), at or 0, b"m", closed=at is None)
        for name, at in moved
    ]
    return Commit(batches=batches, streams=updates)


def positions(opened: Opened) -> dict:
    """Where a lost spool would go on, were everything sealed now."""
    ask = opened.spool.connection.execute
    known = opened.spool.meta("sealed_streams")
    rows = ask("SELECT streams FROM batches WHERE first_seq > ? ORDER BY first_seq",
               (opened.spool.meta("sealed_upto"),))  # fmt: skip
    for (updates,) in rows.fetchall():
        known = merge_streams(known, json.loads(updates))
    return json.loads(known)


@pytest.fixture
def house(tmp_path: Path) -> House:
    """An empty house."""
    return House(tmp_path)


moves = st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(1, 99)), max_size=2)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), st.sampled_from([0, 1, 2, 3, 40, 1_100]), moves,
                  st.integers(0, 2)),
        st.tuples(st.just("join"), st.integers(1, 4)),
        st.tuples(st.just("seal")),
    ),
    max_size=25,
)  # fmt: skip


@settings(max_examples=12, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(steps)
def test_joining_changes_nothing_but_the_number_of_batches(tmp_path: Path, steps: list) -> None:
    """Whatever comes between commits and seals: rows, seqs and positions stay."""
    house = House(tmp_path / str(random.random()))
    opened = house.open()
    for step in steps:
        if step[0] == "commit":
            opened.spool.append(commit(*step[1:]))
        elif step[0] == "seal":
            opened.sealer.seal()
        else:
            before = (sorted(house.identities().items()), positions(opened))
            fewer = house.ask("SELECT count(*) FROM batches")[0][0]
            fewer -= join_small(opened.sealer, step[1])
            assert (sorted(house.identities().items()), positions(opened)) == before
            assert house.ask("SELECT count(*) FROM batches") == [(fewer,)]
    seen = house.seen()
    assert sorted(seen.seqs) == list(range(1, opened.spool.last_seq + 1))
    assert positions(opened) == {
        "openclaw": {s: [p.resume, [], p.read_to, "bQ=="]
                     for s, p in opened.spool.positions("openclaw").items()}
    } or not opened.spool.positions("openclaw")  # fmt: skip
    while opened.sealer.seal():
        pass
    assert sorted(house.seen().seqs) == sorted(seen.seqs)
    opened.sealer.close()
    opened.spool.close()


def test_only_a_long_run_is_joined(house: House) -> None:
    """A few tiny batches are left in peace: each join is a write."""
    opened = house.open()
    for _ in range(RUN_BATCHES):
        opened.spool.append(commit(2, [("a", 5)]))
    assert join_small(opened.sealer) == 0
    opened.spool.append(commit(2, [("a", 6)]))
    assert join_small(opened.sealer) == RUN_BATCHES
    assert house.ask("SELECT first_seq, last_seq, rows FROM batches") == [(1, 98, 98)]


def test_the_oldest_row_decides_when_a_joined_batch_is_sealed(house: House) -> None:
    """A stream that never stops must not put off its own seal."""
    opened = house.open()
    for _ in range(4):
        opened.spool.append(commit(1, []))
    (oldest,) = house.ask("SELECT min(observed_at) FROM batches")[0]
    join_small(opened.sealer, 1)
    assert house.ask("SELECT observed_at FROM batches") == [(oldest,)]


def test_a_commit_that_the_log_holds_but_sqlite_not_is_not_reached_over(house: House) -> None:
    """Else the next seal would take rows twice, or skip some."""
    opened = house.open(on_step=cut_at("reconcile.before-commit", 2))
    for _ in range(6):
        opened.spool.append(commit(2, [("a", 5)]))
    with pytest.raises(PowerCut):
        opened.sealer.seal()
    for _ in range(6):
        opened.spool.append(commit(2, [("a", 6)]))
    join_small(opened.sealer, 2)
    opened.sealer.seal()
    assert sorted(house.seen().seqs) == list(range(1, 25))
    assert house.ask("SELECT sum(rows) FROM files") == [(24,)]


@pytest.mark.parametrize(
    "step",
    ["join.before-commit", pytest.param("join.after-commit", marks=pytest.mark.torture)],
)
def test_killed_while_joining(house: House, step: str) -> None:
    """A real collector, a slow stream, a real kill."""
    writer = Writer(house.folder / "log", rate=150)
    victim = Victim(house.folder, step=step, rows=1 << 40, age_s=1e9)
    writer.start()
    try:
        assert victim.dies(60)
    finally:
        writer.finish()
    check(house.seen())
    house.collect()
    exact(house, writer.written)


def test_a_slow_stream_leaves_few_batches(house: House) -> None:
    """Fifty commits a second, looked at twice a second: readers decode some dozens."""
    opened = house.open()
    started = time.monotonic()
    for n in range(250):
        opened.spool.append(commit(3, [("a", n + 1)]))
        if n % 25 == 24:
            join_small(opened.sealer)
    assert house.ask("SELECT count(*) FROM batches")[0][0] <= RUN_BATCHES + 25
    assert sorted(house.seen().seqs) == list(range(1, 751))
    assert time.monotonic() - started < 60
