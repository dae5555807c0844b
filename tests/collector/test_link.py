"""Linking against a generator's truth: pairs found, never a wrong one, the same after any kill."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.redact import default_redactor
from policies.redact.fingerprint import FingerprintKey
from tests.collector.linking import (
    LAYER,
    SYSTEM,
    Log,
    Trail,
    doubles,
    generated,
    layer_line,
    system_line,
    true_pairs,
)

REDACTOR = default_redactor(FingerprintKey(b"k" * 32))
OPERATIONS = 100
RUN_S = 18.0


def two(layer: list[tuple[float, bytes]], system: list[tuple[float, bytes]]) -> dict[str, Log]:
    """Logs of lines by arrival."""
    logs = {LAYER: Log(), SYSTEM: Log()}
    for name, lines in ((LAYER, layer), (SYSTEM, system)):
        for arrives, line in lines:
            logs[name].add(arrives, line, "op")
        logs[name].finish()
    return logs


def ran(logs: dict[str, Log], turns: int = 60, seconds: float = 0.1) -> Trail:
    """The logs collected live."""
    trail = Trail(logs, REDACTOR)
    for _ in range(turns):
        trail.turn(seconds)
    return trail


def check(trail: Trail, logs: dict[str, Log], least: float = 0.99) -> None:
    """No wrong link, nearly every pair, each record once, each end of a pair once."""
    names = trail.named()
    assert sorted(names) == list(range(1, trail.seq + 1))
    lines = [(source, name) for source, log in logs.items() for _, _, name in log.lines]
    assert sorted(names.values()) == sorted(lines)
    truth, reports = true_pairs(logs), trail.pairs("report")
    assert all(one[1] == other[1] for one, other in reports)
    assert {one[1] for one, _ in reports} <= truth
    assert len(reports) >= least * len(truth)
    ends = [row for row in trail.rows() if row["link"] == "report"]
    assert not doubles([s for row in ends for s in (row["seq"], row["linked_seq"])])
    for one, other in trail.pairs("repeat"):
        assert {one[0], other[0]} == {SYSTEM}
        assert f"again {one[1]}" == other[1] or f"again {other[1]}" == one[1]


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 1 << 30), tick=st.sampled_from([0.1, 0.7]))
def test_pairs_are_found_and_none_is_wrong(seed: int, tick: float) -> None:
    """Whatever the jitter, the delays and the order: 99 % of the pairs, no wrong one."""
    logs = generated(random.Random(seed), OPERATIONS)
    trail = ran(logs, int(RUN_S / tick), tick)
    check(trail, logs)
    repeats = sum(name.startswith("again") for _, _, name in logs[SYSTEM].lines)
    assert len(trail.pairs("repeat")) == repeats


@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_kills_change_no_link(seed: int) -> None:
    """Killed anywhere, before or after a commit: each record once, and the same pairs."""
    rng = random.Random(seed)
    logs = generated(rng, OPERATIONS)
    trail = Trail(logs, REDACTOR)
    while trail.now < RUN_S:
        dies = rng.random() < 0.1
        trail.turn(0.1, stored=not dies or rng.random() < 0.5)
        if dies:
            trail.start()
    check(trail, logs)
    assert trail.pairs("report") == ran(logs, int(RUN_S / 0.1), 0.1).pairs("report")


@settings(max_examples=2, deadline=None)
@given(seed=st.integers(0, 1 << 30))
def test_old_files_read_at_once_are_linked_as_well(seed: int) -> None:
    """With --once arrival says nothing of time: what waits is let go at the end."""
    logs = generated(random.Random(seed), OPERATIONS)
    trail = Trail(logs, REDACTOR, once=True)
    trail.turn(1e3)
    trail.turn(5, last=True)
    check(trail, logs)


def test_a_report_inherits_from_the_layer() -> None:
    """Sandbox, run and rule come from the layer's event, and the record says so."""
    logs = two([(0.5, layer_line(0.001, 7, "/k", "r9"))], [(0.1, system_line(0.0, 7, "/k"))])
    event, report = ran(logs).rows()
    assert (report["link"], report["linked_seq"]) == ("report", event["seq"])
    for name in ("sandbox", "correlation_id", "policy_rule", "rule_section", "rule_index"):
        assert report[name] == event[name]
    assert (event["rule_origin"], report["rule_origin"]) == ("reported", "linked")


def test_a_late_partner_links_and_inherits_nothing() -> None:
    """What is stored is never changed: the layer's event points back."""
    logs = two([(3.0, layer_line(0.001, 7, "/k"))], [(0.1, system_line(0.0, 7, "/k"))])
    system, late = ran(logs).rows()
    assert (system["link"], system["sandbox"]) == (None, "-")
    assert (late["link"], late["linked_seq"]) == ("report", system["seq"])


def test_what_waits_is_not_stored_and_neither_is_its_position() -> None:
    """For a second a system's event waits for the layer's; a stop then reads it again."""
    trail = Trail(two([], [(0.1, system_line(0.0, 7, "/k"))]), REDACTOR)
    trail.turn(0.2)
    assert (trail.seq, trail.positions) == (0, {})
    trail.turn(0.5)
    assert trail.seq == 0
    trail.turn(0.6)
    assert trail.seq == 1
    assert SYSTEM in trail.positions


def test_without_a_layer_nothing_waits() -> None:
    """A system's log alone is stored as it comes."""
    logs = two([], [(0.1, system_line(0.0, 7, "/k"))])
    del logs[LAYER]
    trail = Trail(logs, REDACTOR)
    trail.turn(0.2)
    assert trail.seq == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(system_line(0.0, 8, "/k"), id="pid"),
        pytest.param(system_line(0.0, 7, "/k2"), id="path"),
        pytest.param(system_line(1.5, 7, "/k"), id="time"),
        pytest.param(system_line(0.0, 7, "/k").replace(b"deny(1)", b"allow"), id="decision"),
        pytest.param(
            system_line(0.0, 7, "/k").replace(b"read-data", b"write-data"), id="access"
        ),
        pytest.param(
            system_line(0.0, 7, "/k").replace(b'"processID": 0', b'"processID": 66'), id="forged"
        ),
    ],
)  # fmt: skip
def test_another_operation_is_not_linked(other: bytes) -> None:
    """One difference is enough; a line that a process wrote itself proves nothing."""
    logs = two([(0.0, layer_line(0.0, 7, "/k"))], [(0.1, other)])
    assert ran(logs).pairs("report") == set()


def test_two_equally_near_are_left_alone() -> None:
    """Of two candidates at the same distance neither is taken."""
    layer = [(0.0, layer_line(0.0, 7, "/k")), (0.0, layer_line(0.2, 7, "/k"))]
    assert ran(two(layer, [(0.2, system_line(0.1, 7, "/k"))])).pairs("report") == set()


def test_the_nearest_is_taken_and_the_other_stays_free() -> None:
    """One report joins one event; a second report takes the one that is left."""
    layer = [(0.0, layer_line(0.0, 7, "/k")), (0.0, layer_line(0.2, 7, "/k"))]
    system = [(0.1, system_line(0.01, 7, "/k")), (0.3, system_line(0.21, 7, "/k"))]
    rows = ran(two(layer, system)).rows()
    assert [row["linked_seq"] for row in rows] == [None, None, 1, 2]


def test_both_names_of_a_macos_folder_are_one() -> None:
    """The layer says /tmp, the kernel /private/tmp."""
    layer = [(0.0, layer_line(0.0, 7, "/tmp/x"))]
    assert ran(two(layer, [(0.1, system_line(0.0, 7, "/private/tmp/x"))])).pairs("report")


def test_a_masked_path_links_before_and_after_a_restart() -> None:
    """Only masked text is compared, so that what is stored answers like what is remembered."""
    path = "/work/ghp_" + "a1B2" * 9
    layer, system = [(0.0, layer_line(0.0, 7, path))], [(0.3, system_line(0.0, 7, path))]
    trail = Trail(two(layer, system), REDACTOR)
    trail.turn(0.1)
    assert "[REDACTED:" in trail.rows()[0]["path"]
    trail.start()
    for _ in range(20):
        trail.turn(0.1)
    assert len(trail.pairs("report")) == 1


def test_a_repeat_is_credited_to_the_event_that_it_repeats() -> None:
    """Across a restart too; it inherits what that event knows, and keeps its own count."""
    layer = [(0.0, layer_line(0.0, 7, "/k", "r9"))]
    system = [(0.1, system_line(0.0, 7, "/k")), (5.0, system_line(4.8, 7, "/k", repeats=3))]
    trail = Trail(two(layer, system), REDACTOR)
    for _ in range(30):
        trail.turn(0.1)
    trail.start()
    for _ in range(60):
        trail.turn(0.1)
    event, first, again = trail.rows()
    assert (first["link"], first["linked_seq"]) == ("report", event["seq"])
    assert (again["link"], again["linked_seq"], again["count"]) == ("repeat", first["seq"], 3)
    assert (again["correlation_id"], again["rule_origin"]) == ("r9", "linked")


def test_no_number_of_waiting_rows_fills_the_memory() -> None:
    """Beyond the bound the oldest go on alone, with their positions."""
    from collector.flow import MAX_HELD_ROWS

    lines = [(0.0, system_line(0.0, 7, f"/k{n % 9}")) for n in range(MAX_HELD_ROWS + 1)]
    trail = Trail(two([], lines), REDACTOR)
    trail.turn(0.2)
    assert trail.seq == len(lines)
