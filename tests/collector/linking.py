"""A generator that knows which records tell of one operation, and a trail that runs in simulated
time over real decoders, the real flow and the real link stage."""

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Event
from typing import Any, Final

import pyarrow as pa

import collector.decoders
from audit_events import plugins
from audit_events.arrow import EVENT_SCHEMA
from collector.commit import Commit
from collector.contracts import Block, StreamPosition
from collector.correlate import Correlator
from collector.flow import Flow
from collector.link import LINK_WINDOW_US, Linker
from collector.link_columns import link_columns
from policies.redact.engine import Redactor

START: Final = datetime(2026, 7, 28, 9, tzinfo=UTC)
PLUGINS: Final = {
    name: plugins.load(collector.decoders, "decoder", name)
    for name in ("native", "seatbelt", "linux-audit")
}
LAYER, SYSTEM, KERNEL, JOURNAL = "openclaw", "unified-log", "kernel", "journal"
FORMATS: Final = {
    LAYER: "native", SYSTEM: "seatbelt", KERNEL: "linux-audit", JOURNAL: "linux-audit",
}  # fmt: skip
HOST: Final = "box"


def layer_line(at: float, pid: int, path: str, run: str = "r1") -> bytes:
    """What the enforcement layer writes; its clock has milliseconds."""
    ts = (START + timedelta(seconds=at)).isoformat(timespec="milliseconds")
    words = {
        "ts": ts, "sandbox": "agent-demo", "syscall": "open", "resource": "filesystem",
        "path": path, "access": "read", "decision": "deny", "pid": pid, "correlation_id": run,
        "policy_rule": "filesystem.deny[1]",
    }  # fmt: skip
    return json.dumps(words).encode() + b"\n"


def system_line(at: float, pid: int, path: str, repeats: int = 0) -> bytes:
    """What the kernel writes to Apple's log."""
    told = f"{repeats} duplicate reports for " if repeats else ""
    words = {
        "eventMessage": f"{told}Sandbox: zsh({pid}) deny(1) file-read-data {path}",
        "eventType": "logEvent", "processID": 0, "processImagePath": "/kernel",
        "senderImagePath": "/System/Library/Extensions/Sandbox.kext/Contents/MacOS/Sandbox",
        "timestamp": f"{START + timedelta(seconds=at):%Y-%m-%d %H:%M:%S.%f+0000}",
    }  # fmt: skip
    return json.dumps(words).encode() + b"\n"


def audit_text(at: float, pid: int, path: str, serial: int) -> tuple[str, str]:
    """(stamp, body) of a refusal by AppArmor; the kernel's clock has milliseconds here."""
    stamp = f"{int(START.timestamp()) + int(at * 1000) / 1000:.3f}"
    body = (
        f'apparmor="DENIED" operation="open" profile="agent" name="{path}" pid={pid} comm="sh"'
        ' requested_mask="r" denied_mask="r" fsuid=0 ouid=0'
    )
    return f"{stamp}:{serial}", body


def audit_line(at: float, pid: int, path: str, serial: int) -> bytes:
    """What the kernel sends to its audit group: the refusal, and the end of the event."""
    stamp, body = audit_text(at, pid, path, serial)
    return f"type=1400 msg=audit({stamp}): {body}\ntype=1320 msg=audit({stamp}): \n".encode()


def journal_line(at: float, pid: int, path: str, serial: int) -> bytes:
    """The same record as the journal has it; nothing there says that it ends."""
    stamp, body = audit_text(at, pid, path, serial)
    micros = round(float(stamp.partition(":")[0]) * 1000) * 1000
    words = {
        "_TRANSPORT": "audit", "_HOSTNAME": HOST, "_AUDIT_TYPE": "1400", "_AUDIT_ID": str(serial),
        "_AUDIT_TYPE_NAME": "AVC", "_SOURCE_REALTIME_TIMESTAMP": str(micros),
        "MESSAGE": f"AVC {body}",
    }  # fmt: skip
    return json.dumps(words).encode() + b"\n"


@dataclass
class Log:
    """A source's lines in the order of arrival, with the operation that each tells of."""

    lines: list[tuple[float, bytes, str]] = field(default_factory=list)

    def add(self, arrives: float, line: bytes, name: str) -> None:
        """One line."""
        self.lines.append((arrives, line, name))

    def finish(self) -> None:
        """Give each line its place."""
        self.lines.sort(key=lambda line: line[0])
        self.starts, at = [], 0
        for _, line, _ in self.lines:
            self.starts.append(at)
            at += len(line)

    def after(self, position: int, now: float) -> tuple[bytes, int]:
        """What has arrived by now and is not read yet, and where it ends."""
        lines = [
            line
            for (arrives, line, _), start in zip(self.lines, self.starts, strict=True)
            if start >= position and arrives <= now
        ]
        data = b"".join(lines)
        return data, position + len(data)

    def name(self, start: int) -> str:
        """The operation that the line at a position tells of."""
        return self.lines[self.starts.index(start)][2]


def generated(rng: random.Random, operations: int) -> dict[str, Log]:
    """Two logs: jitter, delays, shuffles, missing partners, the same by other pids, bursts."""
    layer, system = Log(), Log()
    at = 0.0
    for number in range(operations):
        at += rng.choice((0.004, 0.03, 0.2))
        path = f"/Users/agent/.ssh/key{number % 3}" if number % 2 else f"/work/{number}"
        # A key comes again after 64 operations only, or in a burst whose order can be told.
        pids = [1000 + number % 64] + ([5000 + number] if rng.random() < 0.3 else [])
        burst = rng.random() < 0.1
        for pid in pids:
            for again in range(3 if burst else 1):
                name = f"{pid}/{number}/{again}"
                moment = at + again * 0.06
                path_here = f"{path}.{number}" if number % 2 else path
                missing = None if burst else rng.choice((None, None, None, None, LAYER, SYSTEM))
                late = not burst and rng.random() < 0.03
                if missing != LAYER:
                    wait = rng.uniform(2, 4) if late else rng.uniform(0, 0.2)
                    layer.add(moment + wait, layer_line(moment, pid, path_here), name)
                if missing != SYSTEM:
                    seen = moment + rng.uniform(-0.02, 0.02)
                    arrives = seen + 0.05 + rng.uniform(0, 0.25)
                    system.add(arrives, system_line(seen, pid, path_here), name)
                    if not burst and rng.random() < 0.1:
                        told = seen + rng.uniform(1, 5)
                        line = system_line(told, pid, path_here, rng.randint(1, 9))
                        system.add(told + 0.4, line, f"again {name}")
    logs = {LAYER: layer, SYSTEM: system}
    for log in logs.values():
        log.finish()
    return logs


class NoGaps:
    """A spool without an open gap."""

    def open_gap(self, source: str) -> None:
        """None is open."""


class Reader:
    """A source that never speaks by itself."""

    kind, location, rereadable = "file", "log", True

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, positions: Any, emit: Any, stop: Event, *, once: bool) -> None:
        """Nothing."""

    def consumed(self, stream: str, resume: int, read_to: int) -> None:
        """Nothing."""


class Trail:
    """A store in memory, a collector over it that may be killed, and a clock."""

    def __init__(
        self,
        logs: dict[str, Log],
        redactor: Redactor,
        *,
        once: bool = False,
        window_us: int = LINK_WINDOW_US,
    ) -> None:
        self._logs = logs
        self._window_us = window_us
        self._redactor = redactor
        self._once = once
        self.now = 0.0
        self.batches: list[pa.RecordBatch] = []
        self.seq = 0
        self.positions: dict[str, StreamPosition] = {}
        self.start()

    def start(self) -> None:
        """A new process: it knows what is stored."""
        linker = Linker(patient=self._once, clock=lambda: self.now, window_us=self._window_us)
        for name, format_ in FORMATS.items():
            if name in self._logs:
                linker.knows(name, format_)
        linker.remember(self.batches)
        self.flow = Flow(
            HOST, Correlator(), self._redactor, NoGaps(), linker=linker,
            now=lambda: START + timedelta(seconds=self.now),
        )  # fmt: skip
        self._read: dict[str, int] = {}
        for name in self._logs:
            at = self.positions.get(name)
            known = {"x": at} if at else {}
            self.flow.add(Reader(name), PLUGINS[FORMATS[name]], "{}", known)
            self._read[name] = at.resume if at else 0

    def turn(self, seconds: float, *, last: bool = False, stored: bool = True) -> None:
        """Time goes on; the commit may be lost, as by a kill before it."""
        self.now += seconds
        blocks = []
        for name, log in self._logs.items():
            data, end = log.after(self._read[name], self.now)
            if data:
                blocks.append(Block(name, "x", data, self._read[name], end, b"m"))
                self._read[name] = end
        commit = self.flow.commit_of(blocks, flush_all=last)
        if stored:
            self._store(commit)

    def _store(self, commit: Commit) -> None:
        first = self.seq + 1
        table = pa.Table.from_batches(commit.batches, EVENT_SCHEMA).combine_chunks()
        for batch in table.to_batches():
            rows = batch.num_rows
            columns = link_columns(commit.links, rows, first)
            columns["seq"] = pa.array(range(first, first + rows), pa.int64())
            for name, values in columns.items():
                at = EVENT_SCHEMA.get_field_index(name)
                values = values.cast(EVENT_SCHEMA.field(name).type)
                batch = batch.set_column(at, EVENT_SCHEMA.field(name), values)
            self.batches.append(batch)
            self.seq += rows
        for update in commit.streams:
            self.positions[update.source] = StreamPosition(
                update.stream, update.resume, update.done, update.read_to, update.mark
            )
        if not commit.empty:
            self.flow.stored(first)

    def rows(self) -> list[dict[str, Any]]:
        """Everything stored."""
        return [row for batch in self.batches for row in batch.to_pylist()]

    def named(self) -> dict[int, tuple[str, str]]:
        """(source, operation) by seq."""
        return {
            row["seq"]: (row["source"], self._logs[row["source"]].name(row["source_position"]))
            for row in self.rows()
        }

    def pairs(self, kind: str) -> set[tuple[str, str]]:
        """Operations that were linked: what links, and what it links to."""
        names = self.named()
        linked = [row for row in self.rows() if row["link"] == kind]
        return {tuple(sorted((names[row["seq"]], names[row["linked_seq"]]))) for row in linked}  # type: ignore[misc]


def true_pairs(logs: dict[str, Log]) -> set[str]:
    """Operations that both sources tell of."""
    return {name for name, sources in tellers(logs).items() if len(sources) > 1}


def tellers(logs: dict[str, Log]) -> dict[str, set[str]]:
    """The sources that tell of each operation."""
    told: dict[str, set[str]] = {}
    for source, log in logs.items():
        for _, _, name in log.lines:
            told.setdefault(name, set()).add(source)
    return told


def doubles(values: Iterable[Any]) -> bool:
    """Whether anything comes twice."""
    seen = list(values)
    return len(seen) != len(set(seen))
