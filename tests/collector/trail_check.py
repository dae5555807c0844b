"""What the crash tests share: a writer with rotations, an independent reader, the truth."""

import io
import json
import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from tests.forked import start


def line(number: int) -> bytes:
    """Event `number`: its pid is its name."""
    return (
        b'{"ts":"2026-07-28T%02d:%02d:%02d.%03dZ","sandbox":"agent-demo","syscall":"open",'
        b'"resource":"filesystem","path":"/workspace/f%d","access":"read","decision":"allow",'
        b'"policy_rule":"filesystem.allow[0]","latency_us":34,"pid":%d}\n'
        % (9 + number // 3_600_000, number // 60_000 % 60, number // 1000 % 60, number % 1000,
           number % 50, number)
    )  # fmt: skip


@dataclass
class Writer:
    """Appends events at a steady rate, rotates by rename, now and then writes junk and blanks."""

    folder: Path
    rate: int = 2_000
    rotate_every: int = 3_000
    rng: random.Random = field(default_factory=lambda: random.Random(1))
    written: int = 0
    junk: int = 0
    blank: int = 0
    _rotations: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def path(self) -> Path:
        """The live file."""
        return self.folder / "decisions.jsonl"

    def start(self) -> None:
        """Write in a thread until `finish`."""
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def finish(self) -> None:
        """Stop writing."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            self.write(self.rate // 50)
            time.sleep(0.02)

    def write(self, count: int) -> None:
        """Append `count` events, in pieces that do not end with lines."""
        out = bytearray()
        for _ in range(count):
            self.written += 1
            out += line(self.written)
            if self.written % 97 == 0:
                out += b"what is this\n"
                self.junk += 1
            if self.written % 101 == 0:
                out += b"\n"
                self.blank += 1
        cut = self.rng.randrange(len(out) + 1) if out else 0
        with self.path.open("ab", buffering=0) as file:
            file.write(out[:cut])
            file.write(out[cut:])
        if self.written // self.rotate_every > self._rotations:
            self._rotations += 1
            self.path.rename(self.folder / f"decisions.jsonl.{self._rotations}")


@dataclass(frozen=True)
class Seen:
    """What a snapshot holds: seq and pid of decisions, all seqs, the counters of the moment."""

    pids: list[int]
    seqs: list[int]
    last_seq: int
    tallies: dict[str, int]
    # The pid of each seq, and the text of each notice.
    named: list[int | None]
    notices: list[str]


def snapshot(store: Path) -> Seen:
    """An independent reading of one snapshot: SQLite, then files and batches, nothing of ours."""
    for _ in range(5):
        try:
            return _snapshot(store)
        except FileNotFoundError:
            continue
    raise AssertionError("a listed file was missing five times")


def _snapshot(store: Path) -> Seen:
    uri = f"{(store / 'spool.db').as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=30, isolation_level=None)) as db:
        db.execute("BEGIN")
        meta = dict(db.execute("SELECT key, value FROM meta"))
        files = [path for (path,) in db.execute("SELECT path FROM files")]
        blobs = db.execute(
            "SELECT data FROM batches WHERE first_seq > ?", (meta["sealed_upto"],)
        ).fetchall()
        tallies = dict(db.execute("SELECT outcome, sum(n) FROM tallies GROUP BY outcome"))
        db.execute("COMMIT")
    columns = ["seq", "pid", "kind", "message"]
    parts = [pq.ParquetFile(store / "events" / path).read(columns) for path in files]
    for (data,) in blobs:
        raw = zstandard.decompress(data)
        parts.append(pa.ipc.open_stream(io.BytesIO(raw)).read_all().select(columns))
    rows = [row for part in parts for row in part.to_pylist()]
    return Seen(
        [row["pid"] for row in rows if row["kind"] == "decision"],
        [row["seq"] for row in rows],
        int(meta["last_seq"]),
        tallies,
        [row["pid"] for row in rows],
        [row["message"] for row in rows if row["kind"] == "notice"],
    )


def check(seen: Seen, *, leapt: bool = False) -> None:
    """Whatever the moment: a prefix of what was written, each once, dense seqs, balanced sums."""
    assert sorted(seen.pids) == list(range(1, len(seen.pids) + 1))
    assert len(set(seen.seqs)) == len(seen.seqs)
    if not leapt:
        assert sorted(seen.seqs) == list(range(1, seen.last_seq + 1))
    t = seen.tallies
    assert t.get("seen", 0) == sum(t.get(k, 0) for k in ("stored", "rejected", "filtered"))
    if not leapt:
        assert t.get("stored", 0) == len(seen.pids)


def outside_reader(store: Path) -> list[int]:
    """Seqs as any Delta reader sees them."""
    from deltalake import DeltaTable

    table = DeltaTable(str(store / "events"))
    return sorted(table.to_pyarrow_dataset().to_table(["seq"])["seq"].to_pylist())


class Victim:
    """A collector process; none outlives the test run."""

    def __init__(self, folder: Path, **options: object) -> None:
        self._lock = folder / "store" / "lock"
        words = [folder / "store", folder / "keys", folder / "log" / "decisions.jsonl*"]
        with (folder / "stderr").open("ab") as errors:
            self.process = start(
                "tests.collector.victim", *map(str, words), json.dumps(options), stderr=errors
            )

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait()

    def dies(self, timeout: float) -> bool:
        """Whether it killed itself within the time."""
        try:
            return self.process.wait(timeout) == -signal.SIGKILL
        except subprocess.TimeoutExpired:
            return False

    def wait_until_up(self, timeout: float = 60) -> None:
        """Until it holds the store's lock."""
        deadline = time.monotonic() + timeout
        mine = f'"pid": {self.process.pid},'
        while time.monotonic() < deadline:
            if self._lock.exists() and mine in self._lock.read_text():
                return
            time.sleep(0.02)
        raise AssertionError("the collector did not come up")

    def terminate(self) -> int:
        """SIGTERM, once it is up; the exit code."""
        self.wait_until_up()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def wait_for(folder: Path, writer: Writer, timeout: float = 60) -> None:
    """Until the store holds all that was written."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if (folder / "store" / "spool.db").exists():
            try:
                if len(snapshot(folder / "store").pids) >= writer.written:
                    return
            except (sqlite3.Error, KeyError):
                pass  # the store is being made
        time.sleep(0.1)
    raise AssertionError(f"not all of {writer.written} events arrived in {timeout} s")


def private(folder: Path) -> list[str]:
    """Files and folders under a store that somebody else could read."""
    return [
        str(path)
        for path in [folder, *folder.rglob("*")]
        if not path.is_symlink() and os.lstat(path).st_mode & 0o077
    ]
