"""Drives a file source in its thread, and commits what it emits the way the flow does."""

import gzip
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock, Thread

from collector.contracts import Block, Closed, Emission, Idle, Reason, StreamPosition, Warned
from collector.sources.file import FileSource
from collector.sources.file_round import FileOptions

KEY = b"k" * 32


def event(number: int, pad: int = 60) -> bytes:
    """One record with its number, as long as real ones are."""
    record = {"ts": f"2026-07-28T09:{number // 60 % 60:02}:{number % 60:02}.{number:06}Z",
              "id": number, "decision": "deny", "path": "/workspace/" + "x" * pad}  # fmt: skip
    return json.dumps(record).encode() + b"\n"


def events(first: int, last: int) -> bytes:
    """Records first..last."""
    return b"".join(event(number) for number in range(first, last + 1))


def append(path: Path, data: bytes) -> None:
    """What a writer does."""
    with path.open("ab") as out:
        out.write(data)


class Ledger:
    """What a spool would hold: lines and positions, committed together, over many runs."""

    def __init__(self, *patterns: str | Path, name: str = "src", **options: object) -> None:
        self.name, self.patterns = name, [str(p) for p in patterns]
        self.options = FileOptions(**{"poll_interval_s": 0.05, **options})  # type: ignore[arg-type]
        self.positions: dict[str, StreamPosition] = {}
        self.lines: list[bytes] = []
        self.blocks: list[Block] = []
        self.others: list[Emission] = []
        self.arrived: list[float] = []
        self.closed: list[str] = []
        self.tails: list[bytes] = []
        self._limit: int | None = None
        self._lock = Lock()
        self._source: FileSource | None = None
        self._stop = Event()
        self._thread: Thread | None = None
        self.failed: BaseException | None = None

    def commit(self, emission: Emission) -> None:
        """Take one emission, unless the process was "killed" before."""
        with self._lock:
            if self._limit is not None and len(self.blocks) >= self._limit:
                return
            match emission:
                case Block():
                    self._commit_block(emission)
                case Closed():
                    self.closed.append(emission.stream)
                    self.positions.pop(emission.stream, None)
                case _:
                    self.others.append(emission)

    def _commit_block(self, block: Block) -> None:
        self.blocks.append(block)
        assert block.end - block.start == len(block.data) or block.rejects
        resume = block.end
        if block.tail:
            self.tails.append(block.data)
        if block.tail and not block.data.endswith(b"}"):
            resume = block.start
        else:
            assert block.tail or block.final or not block.data or block.data.endswith(b"\n")
            new = block.data.splitlines()
            self.lines += new
            self.arrived += [time.monotonic()] * len(new)
        self.positions[block.stream] = StreamPosition(
            block.stream, resume, (), block.end, block.mark
        )
        self.answer(block.stream, resume, block.end)

    def answer(self, stream: str, resume: int, read_to: int) -> None:
        """Tell the source what was committed."""
        assert self._source is not None
        self._source.consumed(stream, resume, read_to)

    @property
    def ids(self) -> list[int]:
        """Numbers of the committed records, in order of commit."""
        with self._lock:
            return [json.loads(line)["id"] for line in self.lines]

    @property
    def warnings(self) -> list[str]:
        """What an operator was told."""
        with self._lock:
            return [e.text for e in self.others if isinstance(e, Warned)]

    @property
    def rejects(self) -> list[tuple[int, Reason]]:
        """Rejects of all blocks."""
        with self._lock:
            return [(r.origin, r.reason) for b in self.blocks for r in b.rejects]

    def told(self, kind: type[Emission]) -> list[Emission]:  # type: ignore[valid-type]
        """Emissions of one kind."""
        with self._lock:
            return [e for e in self.others if isinstance(e, kind)]

    def once(self, *, kill_after: int | None = None) -> "Ledger":
        """A run to the present end; with `kill_after` only so many more blocks are committed."""
        self._limit = None if kill_after is None else len(self.blocks) + kill_after
        self._source = self._new()
        self._source.run(dict(self.positions), self.commit, Event(), once=True)
        self._limit = None
        return self

    def _new(self) -> FileSource:
        return FileSource(self.name, self.patterns, key=KEY, options=self.options)

    def __enter__(self) -> "Ledger":
        self._source, self._stop = self._new(), Event()
        before = len(self.told(Idle))
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()
        self.until(lambda: len(self.told(Idle)) > before)
        return self

    def _run(self) -> None:
        assert self._source is not None
        try:
            self._source.run(dict(self.positions), self.commit, self._stop, once=False)
        except BaseException as error:  # noqa: BLE001 - shown by the test's own thread
            self.failed = error

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join(10)
        assert not self._thread.is_alive()
        assert self.failed is None, self.failed

    def until(self, holds: Callable[[], bool], seconds: float = 10) -> None:
        """Wait for something to become true."""
        end = time.monotonic() + seconds
        while not holds():
            assert self.failed is None, self.failed
            assert time.monotonic() < end, (self.warnings, len(self.lines))
            time.sleep(0.002)

    def settle(self) -> None:
        """Wait for two more looks at the files."""
        before = len(self.told(Idle))
        self.until(lambda: len(self.told(Idle)) >= before + 3)


def pack(path: Path, *, keep: bool = False, damage: slice | None = None) -> Path:
    """What gzip does to a file; `damage` keeps only a part of the result."""
    target = path.with_name(path.name + ".gz")
    data = gzip.compress(path.read_bytes())
    target.write_bytes(data[damage] if damage else data)
    info = path.stat()
    os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))
    if not keep:
        path.unlink()
    return target
