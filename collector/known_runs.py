"""The runs that may still take events, and the processes that each of them owns.

A run is an interval of event times of a sandbox on a host. A process belongs to the run whose event
first named its pid, from the first to the last event of that pid, and an idle gap on both sides:
pids are used again, so an older owner and a newer one may both be right near their edges.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

# A run takes late events until a day after its last one came in.
KEEP_US: Final = 24 * 3600 * 1_000_000
# Beyond these bounds the runs that were quiet longest are forgotten; a late event of theirs then
# opens a new run.
MAX_RUNS: Final = 10_000
MAX_RUNS_OF_SANDBOX: Final = 512
# A shell loop starts thousands of processes; the newest tell the run as well as all of them.
MAX_PIDS_OF_RUN: Final = 1_024
MAX_PIDS: Final = 65_536
# Runs that may have had one pid; a pid comes back after tens of thousands of processes.
MAX_OWNERS_OF_PID: Final = 16
# How much is forgotten at once, so that forgetting is rare.
_SHARE_FORGOTTEN: Final = 8
# Host and sandbox.
Owner = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run as the spool stores it; times in µs."""

    host: str
    sandbox: str
    id: str
    first: int
    last: int
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class PidRow:
    """A process of a run as the spool stores it; `named`: its event told the run itself."""

    id: str
    pid: int
    first: int
    last: int
    named: bool


@dataclass(slots=True)
class RunChanges:
    """What a commit must store beside its rows; `guessed`: rows of ambiguous runs."""

    pids: list[PidRow] = field(default_factory=list)
    forgotten: list[tuple[str, int]] = field(default_factory=list)
    guessed: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Run:
    """One run: its id and the interval of event times seen so far, in µs."""

    owner: Owner
    id: str
    first: int
    last: int
    ambiguous: bool = False
    touched: int = 0
    pids: "dict[int, Held]" = field(default_factory=dict)

    def take(self, low: int, high: int, now: int) -> None:
        """Events from `low` to `high` are of this run."""
        self.first, self.last, self.touched = min(self.first, low), max(self.last, high), now


@dataclass(slots=True, eq=False)
class Held:
    """A process that a run owns, and how far the spool knows it."""

    run: Run
    first: int
    last: int
    named: bool
    stored: int = 0


class KnownRuns:
    """Runs by sandbox and processes by pid, both bounded."""

    def __init__(self, idle_us: int) -> None:
        self._idle = idle_us
        self._runs: dict[Owner, dict[str, Run]] = {}
        self._pids: dict[tuple[str, int], list[Held]] = {}
        self._count = self._pid_count = 0
        self._changed: dict[tuple[str, int], Held] = {}
        self._forgotten: set[tuple[str, int]] = set()
        self._guessed: dict[str, int] = {}
        self._look_at = 0

    def remember(self, runs: Iterable[RunRow], pids: Iterable[PidRow], now: int) -> None:
        """What an earlier start stored, longest quiet first."""
        by_id: dict[str, Run] = {}
        for row in runs:
            run = self.add((row.host, row.sandbox), row.id, row.first, row.last, now)
            run.ambiguous = row.ambiguous
            by_id[row.id] = run
        for pid in pids:
            if (owner := by_id.get(pid.id)) is not None:
                self._new_held(
                    owner, pid.pid, Held(owner, pid.first, pid.last, pid.named, pid.last)
                )

    def of(self, owner: Owner) -> Iterable[Run]:
        """The runs of a sandbox."""
        return self._runs.get(owner, {}).values()

    def get(self, owner: Owner, run_id: str) -> Run | None:
        """A run by its id."""
        return self._runs.get(owner, {}).get(run_id)

    def add(self, owner: Owner, run_id: str, low: int, high: int, now: int) -> Run:
        """A run that was not known."""
        run = Run(owner, run_id, low, high, touched=now)
        of_owner = self._runs.setdefault(owner, {})
        of_owner[run_id] = run
        self._count += 1
        if len(of_owner) > MAX_RUNS_OF_SANDBOX:
            self._forget_longest_quiet(list(of_owner.values()), MAX_RUNS_OF_SANDBOX, spare=run)
        return run

    def guess(self, run: Run, rows: int) -> None:
        """Rows whose run could have been another."""
        run.ambiguous = True
        self._guessed[run.id] = self._guessed.get(run.id, 0) + rows

    def hold(self, run: Run, pid: int, low: int, high: int, *, named: bool) -> None:
        """Events of `pid` from `low` to `high` are of the run."""
        held = run.pids.pop(pid, None)
        if held is None:
            held = Held(run, low, high, named)
            self._new_held(run, pid, held)
            self._changed[run.id, pid] = held
        else:
            run.pids[pid] = held
            earlier = low < held.first or (named and not held.named)
            held.first, held.last = min(held.first, low), max(held.last, high)
            held.named |= named
            # The idle gap forgives an end that is a little old.
            if earlier or held.last > held.stored + self._idle // 8:
                self._changed[run.id, pid] = held

    def _new_held(self, run: Run, pid: int, held: Held) -> None:
        if len(run.pids) >= MAX_PIDS_OF_RUN:
            self._release(run, next(iter(run.pids)))
        run.pids[pid] = held
        owners = self._pids.setdefault((run.owner[0], pid), [])
        if len(owners) >= MAX_OWNERS_OF_PID:
            self._release(owners[0].run, pid)
        owners.append(held)
        self._pid_count += 1
        self._forgotten.discard((run.id, pid))

    @property
    def holds_pids(self) -> bool:
        """Whether any process is known at all."""
        return self._pid_count > 0

    def knows(self, host: str, pid: int) -> bool:
        """Whether any run owns, or owned, this pid."""
        return (host, pid) in self._pids

    def edges(self, host: str, pid: int) -> list[int]:
        """The times between which `owners` of a pid cannot change; none for a single owner."""
        held = self._pids.get((host, pid), ())
        if len(held) < 2:
            return []
        idle = self._idle
        return [
            edge for h in held for edge in (h.first - idle, h.first, h.last + 1, h.last + idle + 1)
        ]

    def owners(self, host: str, pid: int, low: int, high: int, sandbox: str | None) -> list[Run]:
        """The runs that may own `pid` from `low` to `high`; of any sandbox with None.

        A run whose own events span all of it is the only one; so is one whose event named the run
        among others that were told by their sandbox alone.
        """
        near = [
            held
            for held in self._pids.get((host, pid), ())
            if held.first - self._idle <= high
            and low <= held.last + self._idle
            and (sandbox is None or held.run.owner[1] == sandbox)
        ]
        if len(near) > 1:
            near = [held for held in near if held.first <= low and high <= held.last] or near
            near = [held for held in near if held.named] or near
            near = [held for held in near if not held.run.ambiguous] or near
        return list({held.run.id: held.run for held in near}.values())

    def changes(self) -> RunChanges:
        """What changed since this was last asked."""
        changes = RunChanges(
            [PidRow(run, pid, h.first, h.last, h.named) for (run, pid), h in self._changed.items()],
            sorted(self._forgotten),
            self._guessed,
        )
        for held in self._changed.values():
            held.stored = held.last
        self._changed, self._forgotten, self._guessed = {}, set(), {}
        return changes

    def forget(self, now: int) -> None:
        """Keep the bounds; runs that were quiet for `KEEP_US` go."""
        if now >= self._look_at:
            self._look_at = now + self._idle
            for run in [run for run in self._all() if run.touched < now - KEEP_US - self._idle]:
                self._drop(run)
        if self._count > MAX_RUNS:
            self._forget_longest_quiet(list(self._all()), MAX_RUNS)
        if self._pid_count > MAX_PIDS:
            self._release_longest_quiet()

    def _all(self) -> Iterator[Run]:
        for runs in self._runs.values():
            yield from runs.values()

    def _forget_longest_quiet(self, runs: list[Run], most: int, spare: Run | None = None) -> None:
        runs.sort(key=lambda run: run.touched)
        for run in runs[: len(runs) - most + most // _SHARE_FORGOTTEN]:
            if run is not spare:
                self._drop(run)

    def _release_longest_quiet(self) -> None:
        for run in sorted(self._all(), key=lambda run: run.touched):
            for pid in list(run.pids):
                self._release(run, pid)
            if self._pid_count <= MAX_PIDS - MAX_PIDS // _SHARE_FORGOTTEN:
                return

    def _drop(self, run: Run) -> None:
        for pid in list(run.pids):
            self._release(run, pid)
        of_owner = self._runs[run.owner]
        del of_owner[run.id]
        self._count -= 1
        if not of_owner:
            del self._runs[run.owner]

    def _release(self, run: Run, pid: int) -> None:
        held = run.pids.pop(pid)
        key = (run.owner[0], pid)
        self._pids[key].remove(held)
        if not self._pids[key]:
            del self._pids[key]
        self._pid_count -= 1
        self._changed.pop((run.id, pid), None)
        self._forgotten.add((run.id, pid))
