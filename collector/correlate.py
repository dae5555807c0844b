"""Give every event its run.

An event that names its run keeps it; else it joins the run that owns its pid at its time; else the
only run of its sandbox open at its time (an idle gap on both sides). Several candidates give a new
id and the flag `ambiguous`. Events outside any sandbox join by pid alone, and are told apart by it
where no run owns it. Assigned ids never change: what a run is must not depend on what is learnt
later.
"""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import EVENT_SCHEMA
from collector.known_runs import KnownRuns, Owner, PidRow, Run, RunChanges, RunRow

DEFAULT_IDLE_US: Final = 30 * 60 * 1_000_000
NO_SANDBOX: Final = "-"
# Processes learnt of one batch; more than a run may own is more than it needs.
MAX_PIDS_OF_BATCH: Final = 1_024
_NO_PID: Final = -1


def _clock() -> int:
    return time.time_ns() // 1000


class _Batch:
    """The columns of a batch that tell runs, as numbers; `names[codes]` will be the run ids."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self.rows = batch.num_rows
        self.ts = batch.column("ts").cast(pa.int64()).to_numpy()
        ids = batch.column("correlation_id")
        self.named = pc.is_valid(ids).to_numpy(zero_copy_only=False)
        self.names: list[str] = []
        self.codes = np.full(self.rows, -1, np.int64)
        if ids.null_count < self.rows:
            encoded = ids.dictionary_encode()
            self.names = encoded.dictionary.to_pylist()
            self.codes = encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
        pids = batch.column("pid")
        some = pids.null_count < self.rows
        self.pids: Any = pids.fill_null(_NO_PID).to_numpy() if some else None
        self.groups = _groups(batch)
        self.ambiguous = np.zeros(self.rows, bool)
        # Rows of no sandbox that joined a run, with the sandbox of that run.
        self.moved: list[tuple[Any, str]] = []

    def assign(self, rows: Any, name: str) -> None:
        """Give rows their run."""
        self.codes[rows] = len(self.names)
        self.names.append(name)


class Correlator:
    """Holds the runs that may still take events; the spool tells them to the next start."""

    def __init__(self, idle_us: int = DEFAULT_IDLE_US, now: Callable[[], int] = _clock) -> None:
        self._idle = idle_us
        self._runs = KnownRuns(idle_us)
        self._now = now

    def remember(self, runs: Iterable[RunRow], pids: Iterable[PidRow] = ()) -> None:
        """Runs and processes of an earlier start, longest quiet first."""
        self._runs.remember(runs, pids, self._now())

    def changes(self) -> RunChanges:
        """What the rows since the last call changed; to be stored in their transaction."""
        return self._runs.changes()

    def correlate(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch with `correlation_id` set on every row; host and sandbox are set already."""
        if not batch.num_rows:
            return batch
        now, work = self._now(), _Batch(batch)
        believed = work.named & ~_skewed(batch)
        every, none = bool(believed.all()), not work.named.any()
        for owner, rows in work.groups:
            if not none:
                self._learn(owner, work, rows if every else rows[believed[rows]], now)
            if not every:
                self._assign_owner(owner, work, rows if none else rows[~work.named[rows]], now)
        self._runs.forget(now)
        return _result(batch, work)

    def _learn(self, owner: Owner, work: _Batch, rows: Any, now: int) -> None:
        """Runs, and their processes, that the events name themselves."""
        for code, low, high in zip(*_spans(work.codes[rows], work.ts[rows]), strict=True):
            run = self._runs.get(owner, work.names[code])
            if run is None:
                self._runs.add(owner, work.names[code], low, high, now)
            else:
                run.take(low, high, now)
        self._learn_pids(owner, work, rows, named=True)

    def _learn_pids(self, owner: Owner, work: _Batch, rows: Any, *, named: bool) -> None:
        if work.pids is None or not len(rows):
            return
        rows = rows[work.pids[rows] != _NO_PID]
        for code, pid, low, high in _pid_spans(work.codes[rows], work.pids[rows], work.ts[rows]):
            run = self._runs.get(owner, work.names[code])
            if run is not None:
                self._runs.hold(run, pid, low, high, named=named)

    def _assign_owner(self, owner: Owner, work: _Batch, rows: Any, now: int) -> None:
        if owner[1] == NO_SANDBOX and work.pids is not None and len(rows):
            outside = work.pids[rows] != _NO_PID
            self._assign_system(owner[0], work, rows[outside], now)
            rows = rows[~outside]
        if not len(rows):
            return
        ordered = rows[np.argsort(work.ts[rows], kind="stable")]
        learnt = 0
        waiting = sorted(self._runs.of(owner), key=lambda run: run.first, reverse=True)
        active: list[Run] = []
        done: list[Any] = []
        for piece in self._pieces(ordered, work.ts[ordered], waiting):
            low, high = int(work.ts[piece[0]]), int(work.ts[piece[-1]])
            while waiting and waiting[-1].first - self._idle <= high:
                active.append(waiting.pop())
            active = [run for run in active if run.last + self._idle >= low]
            clear = [run for run in active if not run.ambiguous]
            if len(clear) > 1:
                for part in done[learnt:]:
                    self._learn_pids(owner, work, part, named=False)
                learnt = len(done)
                piece = self._assign_by_pid(owner, work, piece, now)
            if len(piece):
                self._assign_piece(owner, work, piece, active, now)
            done.append(piece)
        if learnt < len(done):
            self._learn_pids(owner, work, np.concatenate(done[learnt:]), named=False)

    def _assign_piece(
        self, owner: Owner, work: _Batch, piece: Any, active: list[Run], now: int
    ) -> None:
        """Rows between whose times no run begins or ends: all of them have the same candidates."""
        low, high = int(work.ts[piece[0]]), int(work.ts[piece[-1]])
        clear = [run for run in active if not run.ambiguous]
        unclear = [run for run in active if run.ambiguous]
        guessed = len(clear) > 1 or (not clear and bool(unclear))
        found = unclear if guessed else clear
        if found:
            run = found[0]
            run.take(low, high, now)
        else:
            run = self._runs.add(owner, secrets.token_hex(8), low, high, now)
            active.append(run)
        if guessed:
            self._runs.guess(run, len(piece))
            work.ambiguous[piece] = True
        work.assign(piece, run.id)

    def _pieces(self, rows: Any, ts: Any, runs: list[Run]) -> list[Any]:
        """Rows in the order of time, cut where the sandbox was idle and where runs begin or end."""
        idle = self._idle
        cuts = np.flatnonzero(np.diff(ts) > idle) + 1
        low, high = int(ts[0]), int(ts[-1])
        near = [run for run in runs if run.first - idle <= high and low <= run.last + idle]
        if near:
            edges = [run.first - idle for run in near] + [run.last + idle + 1 for run in near]
            cuts = np.union1d(cuts, np.searchsorted(ts, np.array(edges, np.int64)))
            cuts = cuts[(cuts > 0) & (cuts < len(ts))]
        return np.split(rows, cuts) if len(cuts) else [rows]

    def _assign_by_pid(self, owner: Owner, work: _Batch, rows: Any, now: int) -> Any:
        """Give rows to the runs that own their pids; the rows that are left."""
        if work.pids is None:
            return rows
        left = np.ones(len(rows), bool)
        host, sandbox = owner
        for pid, at, low, high in self._known_pids(host, work, rows):
            found = self._runs.owners(host, pid, low, high, sandbox)
            if len(found) == 1 and not found[0].ambiguous:
                self._join(found[0], pid, low, high, now)
                work.assign(rows[at], found[0].id)
                left[at] = False
        return rows[left]

    def _assign_system(self, host: str, work: _Batch, rows: Any, now: int) -> None:
        """Events outside any sandbox: the run that owns the pid, else `os:<boot>:<pid>:<start>`."""
        if not len(rows):
            return
        pids, numbers = np.unique(work.pids[rows], return_inverse=True)
        work.codes[rows] = len(work.names) + numbers
        work.names += [f"os:-:{pid}:-" for pid in pids.tolist()]
        for pid, at, low, high in self._known_pids(host, work, rows):
            found = self._runs.owners(host, pid, low, high, None)
            if len(found) == 1:
                run = found[0]
                self._join(run, pid, low, high, now)
                work.assign(rows[at], run.id)
                work.moved.append((rows[at], run.owner[1]))
                if run.ambiguous:
                    self._runs.guess(run, len(at))
            work.ambiguous[rows[at]] = len(found) > 1 or (bool(found) and found[0].ambiguous)

    def _join(self, run: Run, pid: int, low: int, high: int, now: int) -> None:
        run.take(low, high, now)
        self._runs.hold(run, pid, low, high, named=False)

    def _known_pids(
        self, host: str, work: _Batch, rows: Any
    ) -> Iterator[tuple[int, Any, int, int]]:
        """(pid, positions within `rows`, earliest, latest) of pids that some run owns; a pid comes
        once for each stretch of time in which its owner is the same."""
        if not self._runs.holds_pids:
            return
        pids, ts = work.pids[rows], work.ts[rows]
        for pid in np.unique(pids).tolist():
            if self._runs.knows(host, pid):
                at = np.flatnonzero(pids == pid)
                at = at[np.argsort(ts[at], kind="stable")]
                for part in _cut(at, ts[at], self._runs.edges(host, pid)):
                    yield pid, part, int(ts[part[0]]), int(ts[part[-1]])


def _cut(rows: Any, ts: Any, edges: list[int]) -> list[Any]:
    """Rows, in the order of time, parted at some moments."""
    if not edges:
        return [rows]
    cuts = np.unique(np.searchsorted(ts, np.array(edges, np.int64)))
    return np.split(rows, cuts[(cuts > 0) & (cuts < len(ts))])


def _spans(codes: Any, ts: Any) -> tuple[list[int], list[int], list[int]]:
    """Distinct codes with their earliest and latest time."""
    if not len(codes):
        return [], [], []
    if codes.min() == codes.max():
        return [int(codes[0])], [int(ts.min())], [int(ts.max())]
    order = np.argsort(codes, kind="stable")
    starts = np.r_[0, np.flatnonzero(np.diff(codes[order])) + 1]
    lows = np.minimum.reduceat(ts[order], starts)
    highs = np.maximum.reduceat(ts[order], starts)
    return codes[order][starts].tolist(), lows.tolist(), highs.tolist()


def _pid_spans(codes: Any, pids: Any, ts: Any) -> list[tuple[int, int, int, int]]:
    """(run, pid, earliest, latest); the newest ones if there are too many."""
    if not len(codes):
        return []
    order = np.lexsort((pids, codes))
    codes, pids, ts = codes[order], pids[order], ts[order]
    starts = np.r_[0, np.flatnonzero(np.diff(codes).astype(bool) | np.diff(pids).astype(bool)) + 1]
    lows, highs = np.minimum.reduceat(ts, starts), np.maximum.reduceat(ts, starts)
    codes, pids = codes[starts], pids[starts]
    if len(starts) > MAX_PIDS_OF_BATCH:
        newest = np.argpartition(highs, -MAX_PIDS_OF_BATCH)[-MAX_PIDS_OF_BATCH:]
        codes, pids, lows, highs = codes[newest], pids[newest], lows[newest], highs[newest]
    return list(zip(codes.tolist(), pids.tolist(), lows.tolist(), highs.tolist(), strict=True))


def _groups(batch: pa.RecordBatch) -> list[tuple[Owner, Any]]:
    """Row numbers by host and sandbox."""
    host = batch.column("host").dictionary_encode()
    sandbox = batch.column("sandbox").dictionary_encode()
    hosts, names = host.dictionary.to_pylist(), sandbox.dictionary.to_pylist()
    if len(hosts) == len(names) == 1:
        return [((hosts[0], names[0]), np.arange(batch.num_rows))]
    codes = host.indices.to_numpy().astype(np.int64) * len(names) + sandbox.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    first = [divmod(int(codes[part[0]]), len(names)) for part in parts]
    return [((hosts[h], names[n]), part) for (h, n), part in zip(first, parts, strict=True)]


def _skewed(batch: pa.RecordBatch) -> Any:
    """Rows whose time cannot be right: no run may reach there."""
    flags = batch.column("flags")
    if flags.null_count == len(flags):
        return np.zeros(len(flags), bool)
    found = pc.match_substring(flags, "skewed").fill_null(False)
    return found.to_numpy(zero_copy_only=False)


def _result(batch: pa.RecordBatch, work: _Batch) -> pa.RecordBatch:
    if not work.named.all():
        names = pa.array(work.names, pa.string())
        batch = _with(batch, "correlation_id", names.take(pa.array(work.codes)))
    if work.moved:
        sandboxes = np.array(batch.column("sandbox").to_pylist(), dtype=object)
        for rows, sandbox in work.moved:
            sandboxes[rows] = sandbox
        batch = _with(batch, "sandbox", pa.array(sandboxes, pa.string()))
    return _flagged(batch, work.ambiguous) if work.ambiguous.any() else batch


def _with(batch: pa.RecordBatch, name: str, array: pa.Array) -> pa.RecordBatch:
    return batch.set_column(EVENT_SCHEMA.get_field_index(name), EVENT_SCHEMA.field(name), array)


def _flagged(batch: pa.RecordBatch, rows: Any) -> pa.RecordBatch:
    flags = batch.column("flags").to_pylist()
    for index in np.flatnonzero(rows):
        have = set((flags[index] or "").split(",")) - {""}
        flags[index] = ",".join(sorted(have | {"ambiguous"}))
    return _with(batch, "flags", pa.array(flags, pa.string()))
