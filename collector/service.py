"""Run a collector: source threads, one flow, one sealer, until told to stop or to the end."""

import contextlib
import json
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow.compute as pc

from audit_events.errors import SourceError, StorageError
from collector import bytewise
from collector.clock import Clocks, ClockWatch, read_clocks
from collector.commit import Commit, Counts
from collector.contracts import Block, DecoderPlugin, Emission, GapClosed, GapOpened, Source
from collector.correlate import DEFAULT_IDLE_US, Correlator
from collector.flow import Flow
from collector.gaps import left_open, news
from collector.hot import forget_old_minutes
from collector.join import join_small
from collector.known_runs import MAX_RUNS
from collector.link import LINK_WINDOW_US
from collector.memory import give_back, stay_level, stay_small
from collector.policy_store import LAST_NOTICE
from collector.policy_watch import PolicyWatch
from collector.recent import linker_of
from collector.recovery import Opened, open_for_writing
from collector.seal import Sealer, SealLimits
from collector.spool import Step, no_step
from collector.sqlite import transaction
from collector.store import Store, reason_of, writer_lock
from policies.redact.engine import Redactor

# Blocks between the sources and the flow; with the largest blocks 16 MiB.
QUEUE_BLOCKS: Final = 8
# One turn takes at most about 20,000 records: a native record is 100 to 250 bytes; the second bound
# is for lines of a few bytes, which cost as much each.
TURN_BYTES: Final = 4 << 20
TURN_LINES: Final = 1 << 15
# A turn costs some milliseconds however few its rows: under a steady trickle turns keep this pace.
PACE_S: Final = 0.012
HEARTBEAT_S: Final = 2.0
RETRY_FIRST_S: Final = 0.1
RETRY_MOST_S: Final = 5.0
SEAL_CHECK_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class _Ended:
    """A source's thread is over; `error` says why if it should not be."""

    source: str
    error: Exception | None


@dataclass(slots=True)
class Summary:
    """What a run did, for its closing line."""

    counts: Counts = field(default_factory=Counts)
    masked: int = 0
    seconds: float = 0.0
    first_reject: tuple[str, int] | None = None
    unfinished: list[tuple[str, int]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a collector is made of; everything it needs is handed in."""

    store: Store
    watermark: Path
    sources: Sequence[tuple[Source, DecoderPlugin]]
    redactor: Redactor
    host: str
    version: str
    idle_us: int = DEFAULT_IDLE_US
    link_window_us: int = LINK_WINDOW_US
    say: Callable[[str], None] = lambda _text: None
    on_step: Step = no_step
    limits: SealLimits = field(default_factory=SealLimits)
    upkeep: Callable[[Sealer], None] | None = None
    # Asked between turns: a redactor to use from then on, None while nothing changed.
    renew: Callable[[], Redactor | None] = lambda: None
    # Policy files to watch, by sandbox.
    policies: Mapping[str, Path] = field(default_factory=dict)
    # Each runs beside the flow in a thread of its own, until its event is set; it never raises.
    services: Sequence[Callable[[threading.Event], None]] = ()
    # Looked at between turns: a clock that is set, and sleep, are told.
    clocks: Callable[[], Clocks] = read_clocks
    # Told after every commit: bytes and records taken so far in this run.
    watch: Callable[[int, int], None] = lambda _bytes, _records: None


class Collector:
    """One run over one store."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._queue: queue.Queue[Emission | _Ended] = queue.Queue(QUEUE_BLOCKS)
        self._stop_sources = threading.Event()
        self._stop_sealer = threading.Event()
        self.summary = Summary()
        self._clock = ClockWatch(plan.clocks)
        self._last_turn = 0.0
        self._last_beat = 0.0
        self._taken_bytes = 0
        self._started_us = time.time_ns() // 1000

    def run(self, stop: threading.Event, *, once: bool) -> Summary:
        """Collect until `stop`, or until the sources' end with `once`; seals before it returns.

        Raises StorageError (store held, damaged, full at shutdown) and SourceError (a source that
        cannot be read at all, with `once`).
        """
        started = time.monotonic()
        stay_small() if once else stay_level()
        with writer_lock(self._plan.store.paths, self._plan.version):
            opened = self._opened()
            self.flow = self._flow(opened, once=once)
            self._policies = PolicyWatch(
                self._plan.store.paths.control, self._plan.policies, self._plan.say
            )
            self.flow.attribute_with(self._policies.attribute)
            try:
                self._collect(opened, stop, once=once)
            finally:
                self._close(opened)
        self.summary.seconds = time.monotonic() - started
        return self.summary

    def _opened(self) -> Opened:
        store = self._plan.store
        try:
            opened = open_for_writing(
                store, self._plan.watermark, self._plan.on_step, self._plan.limits
            )
        except (sqlite3.Error, OSError) as error:
            raise StorageError(f"{store.paths.root}: {reason_of(error)}") from error
        self.summary.notices = list(opened.notices)
        return opened

    def _flow(self, opened: Opened, *, once: bool) -> Flow:
        spool, correlator = opened.spool, Correlator(self._plan.idle_us)
        correlator.remember(spool.newest_runs(MAX_RUNS), spool.run_pids())
        window = self._plan.link_window_us
        linker = linker_of(opened, self._plan.sources, patient=once, window_us=window)
        return Flow(self._plan.host, correlator, self._plan.redactor, spool, linker=linker)

    def _collect(self, opened: Opened, stop: threading.Event, *, once: bool) -> None:
        self._append(opened, self.flow.notices(opened.notices), stop)
        opened.spool.forget_notices()
        threads = [
            self._start(opened, source, plugin, once) for source, plugin in self._plan.sources
        ]
        sealing = threading.Thread(target=self._seal_while, args=(opened, once), name="sealer")
        serving = [
            threading.Thread(target=service, args=(self._stop_sources,))
            for service in self._plan.services
        ]
        for thread in (sealing, *serving):
            thread.start()
        try:
            self._turns(opened, stop, running=len(threads), once=once)
        finally:
            self._stop_sources.set()
            self._drain([*threads, *serving])
            self._stop_sealer.set()
            opened.sealer.stopping.set()
            sealing.join()

    def _start(
        self, opened: Opened, source: Source, plugin: DecoderPlugin, once: bool
    ) -> threading.Thread:
        positions = opened.spool.positions(source.name)
        state = opened.spool.redactor_state(source.name)
        self.flow.add(source, plugin, state, positions)
        now = datetime.now(UTC)
        broken: list[Emission] = []
        if opened.spool.open_gap(source.name) is not None:
            broken.append(GapClosed(source.name, now))
        broken += left_open(source, positions, min(opened.spool.alive_until(), now), now)
        self._append(opened, self.flow.commit_of(broken), None)
        thread = threading.Thread(
            target=self._run_source, args=(source, positions, once), name=f"source {source.name}"
        )
        thread.start()
        return thread

    def _run_source(self, source: Source, positions: Any, once: bool) -> None:
        error: Exception | None = None
        try:
            source.run(positions, self._emit, self._stop_sources, once=once)
        except Exception as raised:  # noqa: BLE001 - the thread's boundary: the flow reports it
            error = raised
        while not self._stop_sources.is_set() or error is None:
            try:
                self._queue.put(_Ended(source.name, error), timeout=0.2)
                return
            except queue.Full:
                if self._stop_sources.is_set():
                    return

    def _emit(self, emission: Emission) -> None:
        """Put what a source says; waits while the flow is busy, gives up when stopping."""
        while not self._stop_sources.is_set():
            try:
                self._queue.put(emission, timeout=0.2)
                return
            except queue.Full:
                continue

    def _turns(self, opened: Opened, stop: threading.Event, *, running: int, once: bool) -> None:
        while running or not self._queue.empty():
            if stop.is_set():
                return
            if (redactor := self._plan.renew()) is not None:
                self.flow.redact_with(redactor)
            self._look(opened, stop)
            emissions, ended = self._take()
            for text in news(emissions, self.flow.sources):
                self._plan.say(text)
            running -= len(ended)
            for end in ended:
                emissions += self._report_end(end, once=once)
            last = once and not running and self._queue.empty()
            self._commit(opened, emissions, stop, flush_all=last)
            self._beat(opened)
        while not once and not stop.wait(HEARTBEAT_S):
            self._look(opened, stop)
            self._commit(opened, [], stop, flush_all=False)
            self._beat(opened)

    def _look(self, opened: Opened, stop: threading.Event) -> None:
        """Take new policies, see what the clocks did; a notice of each goes into the trail."""
        if jumps := self._clock.look():
            self._plan.say("; ".join(jumps))
            self._append(opened, self.flow.notices(jumps), stop)
        last = int(opened.spool.meta(LAST_NOTICE) or 0)
        if told := self._policies.look(time.time_ns() // 1000, last):
            self._append(opened, self.flow.policy_notices(told), stop)
            self._policies.written(told[-1].id)

    def _take(self) -> tuple[list[Emission], list[_Ended]]:
        """What the sources said: at once when idle, at a steady pace under load."""
        emissions: list[Emission] = []
        ended: list[_Ended] = []
        size = lines = 0
        deadline = time.monotonic() + 0.25
        while size < TURN_BYTES and lines < TURN_LINES:
            try:
                wait = max(
                    0.0, (self._last_turn + PACE_S if emissions else deadline) - time.monotonic()
                )
                said = self._queue.get(timeout=wait) if wait else self._queue.get_nowait()
            except queue.Empty:
                break
            if isinstance(said, _Ended):
                ended.append(said)
            else:
                emissions.append(said)
                data = said.data if isinstance(said, Block) else b""
                size, lines = size + len(data), lines + bytewise.count(data, 0x0A)
        self._last_turn = time.monotonic()
        return emissions, ended

    def _report_end(self, end: _Ended, *, once: bool) -> list[Emission]:
        if end.error is None:
            return []
        if isinstance(end.error, SourceError) and once:
            raise end.error
        reason = end.error.message if isinstance(end.error, SourceError) else reason_of(end.error)
        self._plan.say(f"source {end.source} stopped: {reason}")
        return [GapOpened(end.source, datetime.now(UTC), reason)]

    def _commit(
        self, opened: Opened, emissions: list[Emission], stop: threading.Event, *, flush_all: bool
    ) -> None:
        commit = self.flow.commit_of(emissions, flush_all=flush_all)
        self._append(opened, commit, stop)
        self._taken_bytes += sum(len(said.data) for said in emissions if isinstance(said, Block))
        self._plan.watch(self._taken_bytes, self.summary.counts.seen)
        told = {(u.source, u.stream): (u.resume, u.read_to) for u in commit.read if not u.closed}
        for said in emissions:
            if isinstance(said, Block) and said.tail:
                resume, _ = told.get((said.source, said.stream), (said.start, 0))
                told[said.source, said.stream] = (resume, said.end)
        for (name, stream), (resume, read_to) in told.items():
            self.flow.sources[name].source.consumed(stream, resume, read_to)

    def _append(self, opened: Opened, commit: Commit, stop: threading.Event | None) -> None:
        """Commit, trying again while the disk is full; the position does not move meanwhile."""
        if commit.empty:
            return
        delay = RETRY_FIRST_S
        while True:
            try:
                seqs = opened.spool.append(commit)
                break
            except (sqlite3.Error, OSError) as error:
                if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):
                    raise
                reason = reason_of(error)
                if stop is not None and stop.is_set():
                    raise StorageError(
                        f"stopped while the store cannot be written: {reason}"
                    ) from error
                self._plan.say(
                    f"the store cannot be written ({reason}); trying again in {delay:.1f} s"
                )
                time.sleep(delay) if stop is None else stop.wait(delay)
                delay = min(delay * 2, RETRY_MOST_S)
        self.flow.stored(seqs.start)
        self._count(commit)

    def _count(self, commit: Commit) -> None:
        for counts in commit.counts.values():
            self.summary.counts.add(counts.stored, counts.rejected, counts.filtered)
        for batch in commit.batches:
            self.summary.masked += pc.sum(batch.column("redactions")).as_py() or 0

    def _beat(self, opened: Opened, *, stopped: bool = False) -> None:
        """Say that we live, and where the sources stand; readers judge by it."""
        now = time.monotonic()
        if not stopped and now - self._last_beat < HEARTBEAT_S:
            return
        self._last_beat = now
        micros = time.time_ns() // 1000
        words = {
            "pid": os.getpid(), "version": self._plan.version, "host": self._plan.host,
            "started": self._started_us, "heartbeat": micros,
            "stopped": micros if stopped else None, "seal_after_s": self._plan.limits.age_s,
        }  # fmt: skip
        updates = [self.flow.source_update(state) for state in self.flow.sources.values()]
        try:
            with opened.spool.lock, transaction(opened.spool.connection):
                opened.spool.set_meta("collector", json.dumps(words))
                opened.spool.put_sources(updates)
                forget_old_minutes(opened.spool.connection, micros)
        except sqlite3.Error as error:
            self._plan.say(f"the store cannot be written ({reason_of(error)})")

    def _drain(self, threads: list[threading.Thread]) -> None:
        """Let source threads end: what they still say is read again after the next start."""
        for thread in threads:
            while thread.is_alive():
                with contextlib.suppress(queue.Empty):
                    self._queue.get(timeout=0.05)
                thread.join(timeout=0.01)

    def _seal_while(self, opened: Opened, once: bool) -> None:
        """The sealer's thread: seal when due, keep the archive tidy, back off after a failure."""
        delay = SEAL_CHECK_S
        while not self._stop_sealer.wait(delay):
            delay = SEAL_CHECK_S
            try:
                while opened.sealer.due(time.time()) and not self._stop_sealer.is_set():
                    opened.sealer.seal()
                    if not once:
                        give_back()
                join_small(opened.sealer)
                if self._plan.upkeep is not None:
                    self._plan.upkeep(opened.sealer)
            except StorageError as error:
                self._plan.say(f"{error.message}; trying again")
                delay = RETRY_MOST_S
            except BaseException as error:  # noqa: BLE001 - delta-rs panics; the sealer lives
                self._plan.say(f"sealing failed: {type(error).__name__}; trying again")
                delay = RETRY_MOST_S

    def _close(self, opened: Opened) -> None:
        """Seal what is left and close; a last seal that fails loses nothing: rows are spooled."""
        try:
            while opened.sealer.seal():
                pass
        except StorageError as error:
            self._plan.say(f"{error.message}; the rows stay in the buffer")
        self._beat(opened, stopped=True)
        self.summary.first_reject = self.flow.first_reject
        self.summary.unfinished = [
            (self.flow.sources[source].source.location, at)
            for (source, _), at in self.flow.unfinished.items()
        ]
        self._policies.close()
        opened.sealer.close()
        opened.spool.close()
