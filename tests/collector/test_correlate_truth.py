"""Late and shuffled events, restarts in between: runs neither split nor merge."""

import json
import random
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import collector.decoders
from audit.keys import load_or_create
from audit_events import plugins
from audit_events.rows import rows_to_batch
from collector import known_runs
from collector.correlate import Correlator
from collector.known_runs import MAX_PIDS, MAX_RUNS, PidRow, RunRow
from collector.service import Collector, Plan
from collector.sources.file import FileSource
from collector.store import open_or_create
from policies.redact import default_redactor

START = datetime(2026, 7, 28, 9, tzinfo=UTC)
IDLE_S = 300


@dataclass(frozen=True)
class Event:
    """One event and the run that it truly belongs to."""

    at: float
    truth: str
    sandbox: str = "a"
    named: bool = False
    pid: int | None = None

    def row(self) -> dict[str, Any]:
        """As a decoder gives it."""
        return {
            "ts": START + timedelta(seconds=self.at), "host": "h", "sandbox": self.sandbox,
            "correlation_id": self.truth if self.named else None, "pid": self.pid,
        }  # fmt: skip


@dataclass
class Memory:
    """What the spool keeps for the next start."""

    runs: dict[str, RunRow] = field(default_factory=dict)
    pids: dict[tuple[str, int], PidRow] = field(default_factory=dict)

    def store(self, result: pa.RecordBatch, correlator: Correlator) -> None:
        """One commit."""
        changes = correlator.changes()
        for row in result.to_pylist():
            at, run = round(row["ts"].timestamp() * 1e6), row["correlation_id"]
            old = self.runs.get(run, RunRow(row["host"], row["sandbox"], run, at, at))
            guessed = old.ambiguous or run in changes.guessed
            low, high = min(old.first, at), max(old.last, at)
            self.runs[run] = RunRow(old.host, old.sandbox, run, low, high, guessed)
        for key in changes.forgotten:
            self.pids.pop(key, None)
        self.pids |= {(pid.id, pid.pid): pid for pid in changes.pids}

    def start(self) -> Correlator:
        """The next start."""
        correlator = Correlator(IDLE_S * 1_000_000)
        correlator.remember(self.runs.values(), self.pids.values())
        return correlator


def given_runs(batches: list[list[Event]], rng: random.Random) -> list[tuple[Event, str, str]]:
    """(event, run given, flags), with a restart now and then."""
    memory = Memory()
    correlator, out = memory.start(), []
    for events in batches:
        result = correlator.correlate(rows_to_batch([event.row() for event in events]))
        memory.store(result, correlator)
        runs, flags = result["correlation_id"].to_pylist(), result["flags"].to_pylist()
        out += list(zip(events, runs, flags, strict=True))
        if rng.random() < 0.3:
            correlator = memory.start()
    return out


def cut(events: list[Event], rng: random.Random) -> list[list[Event]]:
    """Batches of any size."""
    batches = []
    while events:
        size = rng.randint(1, 12)
        batches.append(events[:size])
        events = events[size:]
    return batches


def neither_split_nor_merged(given_to: list[tuple[Event, str, str]]) -> bool:
    """One id for each true run, and the other way round."""
    ids, truths = defaultdict(set), defaultdict(set)
    for event, run, _ in given_to:
        ids[event.truth].add(run)
        truths[run].add(event.truth)
    return all(len(s) == 1 for s in (*ids.values(), *truths.values()))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_overlapping_runs_are_told_apart_by_pid_in_any_order(seed: int) -> None:
    """Once an event has named the run of a pid, all others of the pid may come in any order, with
    or without the sandbox, also when the pid is used again by a later run."""
    rng = random.Random(seed)
    teaching, rest = [], []
    for generation in range(rng.randint(1, 3)):
        begin = generation * (2 * IDLE_S + 1)
        pids = rng.sample(range(100, 110), rng.randint(2, 6))
        names = [f"run-{generation}-{number}" for number in range(rng.randint(1, 2))]
        for number, pid in enumerate(pids):
            name = names[number % len(names)]
            at = begin + rng.uniform(0, IDLE_S)
            teaching.append(Event(at, name, named=True, pid=pid))
            for _ in range(rng.randint(0, 6)):
                sandbox = rng.choice(["a", "a", "-"])
                at = begin + rng.uniform(0, IDLE_S)
                rest.append(Event(at, name, sandbox, pid=pid))
    rng.shuffle(teaching)
    rng.shuffle(rest)
    given_to = given_runs([*cut(teaching, rng), *cut(rest, rng)], rng)
    assert all((run, flags) == (event.truth, None) for event, run, flags in given_to)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_runs_without_a_name_are_told_apart_by_silence_however_late_events_are(seed: int) -> None:
    """Several sandboxes, no ids, every event up to a third of the idle gap late."""
    rng = random.Random(seed)
    events = []
    for sandbox in "abc"[: rng.randint(1, 3)]:
        at = rng.uniform(0, 1000)
        for number in range(rng.randint(1, 4)):
            for _ in range(rng.randint(1, 12)):
                pid = rng.choice([None, 7, 8])
                events.append(Event(at, f"{sandbox}{number}", sandbox, pid=pid))
                at += rng.uniform(0, IDLE_S / 3)
            at += rng.choice([IDLE_S + 1, 3 * IDLE_S])
    arrival = sorted(events, key=lambda event: event.at + rng.uniform(0, IDLE_S / 3))
    given_to = given_runs(cut(arrival, rng), rng)
    assert neither_split_nor_merged(given_to)
    assert {flags for _, _, flags in given_to} == {None}


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_a_run_never_takes_an_event_that_two_runs_could_own(seed: int) -> None:
    """Flagged, under one id of its own, whatever the order; and never changed afterwards."""
    rng = random.Random(seed)
    named = [Event(rng.uniform(0, 200), f"run-{n % 2}", named=True, pid=n % 2) for n in range(6)]
    unknown = [Event(rng.uniform(0, 200), "?", pid=rng.choice([None, 50])) for _ in range(6)]
    given_to = given_runs([named, *cut(unknown, rng)], rng)
    guessed = {(run, flags) for event, run, flags in given_to if event.truth == "?"}
    assert len(guessed) == 1
    ((run, flags),) = guessed
    assert run not in ("run-0", "run-1")
    assert flags == "ambiguous"


def test_an_os_event_joins_the_run_of_its_pid_and_its_sandbox() -> None:
    """What the system reports of a process is part of the run that started it."""
    events = [
        Event(0, "run-1", named=True, pid=7),
        Event(3, "run-1", "-", pid=7),
        Event(3, "os:-:8:-", "-", pid=8),
    ]
    result = Correlator(IDLE_S * 1_000_000).correlate(rows_to_batch([e.row() for e in events]))
    assert result["correlation_id"].to_pylist() == ["run-1", "run-1", "os:-:8:-"]
    assert result["sandbox"].to_pylist() == ["a", "a", "-"]


def test_a_time_that_cannot_be_right_stretches_no_run() -> None:
    """Else one skewed event would keep a run open for years."""
    c = Correlator(IDLE_S * 1_000_000)
    wrong = {**Event(9e6, "run-1", named=True).row(), "flags": "skewed"}
    first = c.correlate(rows_to_batch([Event(0, "run-1", named=True).row(), wrong]))
    assert first["correlation_id"].to_pylist() == ["run-1", "run-1"]
    late = c.correlate(rows_to_batch([Event(5000, "?").row()]))
    assert late["correlation_id"].to_pylist() != ["run-1"]


def test_what_runs_and_pids_cost_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log with a run a line, then a shell that starts processes all day; an eighth of the real
    bounds, which are no more than numbers."""
    most_runs, most_pids = MAX_RUNS // 8, MAX_PIDS // 8
    monkeypatch.setattr(known_runs, "MAX_RUNS", most_runs)
    monkeypatch.setattr(known_runs, "MAX_PIDS", most_pids)
    c = Correlator(IDLE_S * 1_000_000)
    for turn in range(3):
        rows = [
            Event(n, f"run-{turn}-{n}", f"box-{n % 40}", named=True, pid=n).row()
            for n in range(625)
        ]
        c.correlate(rows_to_batch(rows))
    for turn in range(10):
        box = f"box-{turn}"
        rows = [Event(n, "one", box, named=True, pid=turn * 1000 + n).row() for n in range(1_000)]
        c.correlate(rows_to_batch(rows))
    runs = c._runs
    assert most_runs // 2 < runs._count <= most_runs
    assert most_pids // 2 < runs._pid_count <= most_pids
    assert sum(len(held) for held in runs._pids.values()) == runs._pid_count
    assert len(c.changes().forgotten) > 1_250


def collect(folder: Path, lines: list[dict[str, Any]]) -> None:
    """One `--once` over a log that has grown."""
    with (folder / "log.jsonl").open("a") as log:
        log.writelines(json.dumps(line) + "\n" for line in lines)
    store = open_or_create(folder / "store")
    key = load_or_create(folder / "keys", store.id)
    decoder = plugins.load(collector.decoders, "decoder", "native")
    source = FileSource("log", [str(folder / "log.jsonl")], key=key.secret)
    plan = Plan(
        store=store,
        watermark=folder / "keys" / "keys" / f"{store.id}.seq",
        sources=[(source, decoder)],
        redactor=default_redactor(key),
        host="h",
        version="0",
    )
    Collector(plan).run(threading.Event(), once=True)


def test_runs_and_their_processes_survive_a_restart(tmp_path: Path) -> None:
    """Two runs at once in one sandbox; the next start still knows whose pid is whose."""
    import pyarrow.parquet as pq

    def line(at: int, pid: int, run: str | None = None) -> dict[str, Any]:
        ts = (START + timedelta(seconds=at)).isoformat()
        named = {"run_id": run} if run else {}
        return {"ts": ts, "sandbox": "a", "decision": "deny", "path": "/x", "pid": pid, **named}

    collect(tmp_path, [line(0, 1, "one"), line(1, 2, "two")])
    collect(tmp_path, [line(5, 2), line(6, 1), line(7, 3)])
    collect(tmp_path, [line(8, 3)])
    files = sorted((tmp_path / "store" / "events").rglob("*.parquet"))
    columns = ["seq", "correlation_id", "flags"]
    parts = [pq.ParquetFile(file).read(columns).to_pylist() for file in files]
    rows = sorted((row for part in parts for row in part), key=lambda row: row["seq"])
    runs = [row["correlation_id"] for row in rows]
    assert runs[:4] == ["one", "two", "two", "one"]
    assert runs[4] == runs[5]
    assert [row["flags"] for row in rows] == [None] * 4 + ["ambiguous"] * 2
