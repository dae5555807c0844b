"""Whatever happens to a log between and under runs, each line is read exactly once."""

import gzip
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collector.filekit import Ledger, append, event

# A look at the files is where a collector could be; without one between two truncations the
# window that copytruncate itself leaves open would be tested, not the source.
STEPS = ("append", "half", "rename", "copytruncate", "pack", "look", "kill", "drop-oldest")


@dataclass
class Log:
    """A writer and a rotator on one log, and what was written."""

    directory: Path
    ledger: Ledger
    written: int = 0
    rest: bytes = b""
    clock: int = 1_700_000_000
    fresh: bool = field(default=False)

    @property
    def path(self) -> Path:
        """The live log."""
        return self.directory / "in.jsonl"

    def append(self, lines: int) -> None:
        """Write whole lines, finishing a half one first."""
        data, self.rest = self.rest, b""
        for _ in range(lines):
            self.written += 1
            data += event(self.written)
        append(self.path, data)
        self._tick(self.path)

    def half(self, cut: int) -> None:
        """Write a line's first bytes."""
        if not self.rest:
            self.written += 1
            line = event(self.written)
            append(self.path, line[:cut])
            self.rest = line[cut:]
            self._tick(self.path)

    def _tick(self, path: Path) -> None:
        self.clock += 1
        os.utime(path, (self.clock, self.clock))

    def _shift(self) -> Path:
        """Make room for the next rotated file, as a rotator does."""
        self.append(0)
        old = sorted(self.directory.glob("in.jsonl.*"), key=self._age, reverse=True)
        for path in old:
            packed = ".gz" if path.suffix == ".gz" else ""
            path.rename(self.directory / f"in.jsonl.{self._age(path) + 1}{packed}")
        return self.directory / "in.jsonl.1"

    @staticmethod
    def _age(path: Path) -> int:
        return int(path.name.split(".")[2])

    def rename(self, _: int) -> None:
        """Rotate by renaming."""
        self.path.rename(self._shift())
        self.path.touch()

    def copytruncate(self, _: int) -> None:
        """Rotate by copying and emptying."""
        shutil.copy2(self.path, self._shift())
        os.truncate(self.path, 0)

    def pack(self, keep: int) -> None:
        """Compress the newest rotated file."""
        path = self.directory / "in.jsonl.1"
        if path.exists():
            target = path.with_suffix(".1.gz")
            target.write_bytes(gzip.compress(path.read_bytes()))
            info = path.stat()
            os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))
            if keep % 3:
                path.unlink()

    def look(self, _: int) -> None:
        """The collector runs to the end."""
        self.ledger.once()

    def kill(self, blocks: int) -> None:
        """The collector is killed after some blocks."""
        self.ledger.once(kill_after=blocks % 4)

    def drop_oldest(self, _: int) -> None:
        """Retention removes a file that was read."""
        self.ledger.once()
        old = sorted(self.directory.glob("in.jsonl.*"), key=self._age)
        if len(old) > 2:
            old[-1].unlink()


steps = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(1, 60)), max_size=14)


@given(steps=steps)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_line_is_read_exactly_once_and_in_order(steps: list[tuple[str, int]]) -> None:
    """Appends, rotations of every kind, compression, kills and restarts in any order."""
    with tempfile.TemporaryDirectory() as name:
        log = Log(Path(name), Ledger(Path(name) / "in.jsonl*"))
        log.append(1)
        for step, number in steps:
            getattr(log, step.replace("-", "_"))(number)
        log.append(1)
        log.ledger.once().once()
        assert log.ledger.ids == list(range(1, log.written + 1))
