"""Give every event its run.

A run is an interval of a sandbox on a host. An event that names its run keeps it; else it joins
the only run of its sandbox open at its time (an idle gap on both sides); several candidates give a
new id and the flag `ambiguous`. Events of the system outside any sandbox are told apart by pid.
Assigned ids never change: what a run is must not depend on what is learnt later.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import EVENT_SCHEMA

DEFAULT_IDLE_US: Final = 30 * 60 * 1_000_000
# A run takes late events until a day after its end.
KEEP_US: Final = 24 * 3600 * 1_000_000
# Runs held at once; the oldest are forgotten first, late events of theirs open a new run.
MAX_RUNS: Final = 10_000
NO_SANDBOX: Final = "-"
_OUTSIDE: Final = pa.scalar(NO_SANDBOX, pa.string())
# Host and sandbox.
Owner = tuple[str, str]


@dataclass(slots=True)
class Run:
    """One run: its id and the interval of event times seen so far, in µs."""

    id: str
    first: int
    last: int


class Correlator:
    """Holds the runs that may still take events; state is rebuilt from the spool at start."""

    def __init__(self, idle_us: int = DEFAULT_IDLE_US) -> None:
        self._idle = idle_us
        self._runs: dict[Owner, list[Run]] = {}
        self._newest = 0

    def remember(self, known: Iterable[tuple[str, str, str, int, int]]) -> None:
        """Runs of an earlier start: (host, sandbox, id, first, last)."""
        for host, sandbox, run_id, first, last in known:
            self._runs.setdefault((host, sandbox), []).append(Run(run_id, first, last))
            self._newest = max(self._newest, last)

    def correlate(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with `correlation_id` set on every row; host and sandbox are set already."""
        ids = batch.column("correlation_id")
        ts = batch.column("ts").cast(pa.int64()).to_numpy()
        named = pc.is_valid(ids).to_numpy(zero_copy_only=False)
        values = np.array(ids.to_pylist(), dtype=object) if named.any() else _empty(len(ts))
        ambiguous = np.zeros(len(ts), bool)
        named |= _name_system_events(batch, named, values)
        system = named & pc.is_null(ids).to_numpy(zero_copy_only=False)
        for owner, rows in _group(batch):
            rows = rows[~system[rows]]
            self._learn(owner, rows[named[rows]], values, ts)
            self._assign(owner, rows[~named[rows]], values, ambiguous, ts)
        self._forget(int(ts.max()) if len(ts) else 0)
        batch = _with(batch, "correlation_id", pa.array(values, pa.string()))
        return _flagged(batch, ambiguous) if ambiguous.any() else batch

    def _learn(self, owner: Owner, rows: Any, values: Any, ts: Any) -> None:
        """Runs that the events name themselves."""
        if not len(rows):
            return
        runs = self._runs.setdefault(owner, [])
        known = {run.id: run for run in runs}
        names, inverse = np.unique(values[rows].astype(str), return_inverse=True)
        for index, name in enumerate(names):
            times = ts[rows[inverse == index]]
            low, high = int(times.min()), int(times.max())
            if (run := known.get(str(name))) is None:
                runs.append(Run(str(name), low, high))
            else:
                run.first, run.last = min(run.first, low), max(run.last, high)

    def _assign(self, owner: Owner, rows: Any, values: Any, odd: Any, ts: Any) -> None:
        if not len(rows):
            return
        for part in self._stretches(rows, ts):
            low, high = int(ts[part].min()), int(ts[part].max())
            open_runs = [
                run
                for run in self._runs.get(owner, ())
                if run.first - self._idle <= high and low <= run.last + self._idle
            ]
            if len(open_runs) == 1:
                run = open_runs[0]
                run.first, run.last = min(run.first, low), max(run.last, high)
            else:
                run = Run(secrets.token_hex(8), low, high)
                self._runs.setdefault(owner, []).append(run)
                odd[part] = bool(open_runs)
            values[part] = run.id

    def _stretches(self, rows: Any, ts: Any) -> list[Any]:
        """Rows cut where the sandbox was idle for longer than a run may be."""
        ordered = rows[np.argsort(ts[rows], kind="stable")]
        cuts = np.flatnonzero(np.diff(ts[ordered]) > self._idle) + 1
        return np.split(ordered, cuts)

    def _forget(self, newest: int) -> None:
        self._newest = max(self._newest, newest)
        horizon = self._newest - KEEP_US - self._idle
        for owner, runs in list(self._runs.items()):
            kept = [run for run in runs if run.last >= horizon][-MAX_RUNS:]
            if kept:
                self._runs[owner] = kept
            else:
                del self._runs[owner]
        while len(self._runs) > MAX_RUNS:
            del self._runs[next(iter(self._runs))]


def _empty(rows: int) -> Any:
    return np.full(rows, None, dtype=object)


def _name_system_events(batch: pa.RecordBatch, named: Any, values: Any) -> Any:
    """Events outside any sandbox that have a pid: `os:<boot>:<pid>:<start>`, `-` where unknown."""
    outside = pc.and_(pc.equal(batch.column("sandbox"), _OUTSIDE), pc.is_valid(batch["pid"]))
    rows = outside.to_numpy(zero_copy_only=False) & ~named
    pids = batch.column("pid").to_pylist() if rows.any() else []
    for index in np.flatnonzero(rows):
        values[index] = f"os:-:{pids[index]}:-"
    return rows


def _group(batch: pa.RecordBatch) -> list[tuple[Owner, Any]]:
    """Row numbers by host and sandbox."""
    host = batch.column("host").dictionary_encode()
    sandbox = batch.column("sandbox").dictionary_encode()
    hosts, names = host.dictionary.to_pylist(), sandbox.dictionary.to_pylist()
    codes = host.indices.to_numpy().astype(np.int64) * len(names) + sandbox.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    cuts = np.flatnonzero(np.diff(codes[order])) + 1
    return [
        ((hosts[codes[part[0]] // len(names)], names[codes[part[0]] % len(names)]), part)
        for part in np.split(order, cuts)
        if len(part)
    ]


def _with(batch: pa.RecordBatch, name: str, array: pa.Array) -> pa.RecordBatch:
    return batch.set_column(EVENT_SCHEMA.get_field_index(name), EVENT_SCHEMA.field(name), array)


def _flagged(batch: pa.RecordBatch, rows: Any) -> pa.RecordBatch:
    flags = batch.column("flags").to_pylist()
    for index in np.flatnonzero(rows):
        have = set((flags[index] or "").split(",")) - {""}
        flags[index] = ",".join(sorted(have | {"ambiguous"}))
    return _with(batch, "flags", pa.array(flags, pa.string()))
