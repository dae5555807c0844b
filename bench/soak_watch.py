"""What the soak looks at: the collector's memory and descriptors, the reader's lag, the disk."""

import json
import os
import resource
import shutil
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
DISK_BYTES = 3 << 30
SAMPLE_S = 1.0


@dataclass(frozen=True)
class Sample:
    """One look: seconds since the start, the collector's age in seconds, MB, open descriptors."""

    at: float
    age: float
    rss_mb: float
    descriptors: int
    children_mb: float
    spool_mb: float
    store_mb: float
    load: float


@dataclass
class Watch:
    """Looks at a collector every second; `collector` is told the newest pid."""

    store: Path
    start: float
    samples: list[Sample] = field(default_factory=list)
    _pid: int = 0
    _since: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)

    def collector(self, pid: int) -> None:
        """Another process from now on."""
        self._pid, self._since = pid, time.monotonic()

    def run(self) -> None:
        """Until `stop`."""
        while not self._stop.wait(SAMPLE_S):
            with suppress(OSError, ValueError):
                self.samples.append(self._look())

    def stop(self) -> None:
        """No more looks."""
        self._stop.set()

    def _look(self) -> Sample:
        now, proc = time.monotonic(), Path("/proc", str(self._pid))
        return Sample(
            now - self.start,
            now - self._since,
            rss_mb(self._pid),
            len(os.listdir(proc / "fd")),  # noqa: PTH208 - names only, no paths
            sum(rss_mb(pid) for pid in children(self._pid)),
            sum(p.stat().st_size for p in self.store.glob("spool.db*")) / 1e6,
            sum(p.stat().st_size for p in self.store.rglob("*") if p.name != "ballast") / 1e6,
            os.getloadavg()[0],
        )


def rss_mb(pid: int) -> float:
    """Resident memory of a process in MB; OSError when it is gone."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES / 1e6


def children(pid: int) -> list[int]:
    """Its children now."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


@dataclass
class Probes:
    """What `audit tail -f` printed: (seconds since the start, lag in s) of each probe."""

    start: float
    lags: list[tuple[float, float]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)

    def follow(self, tail: subprocess.Popen[bytes]) -> None:
        """Read until the reader ends."""
        assert tail.stdout
        for text in tail.stdout:
            now, event = time.time(), json.loads(text)
            if event["kind"] != "decision":
                continue  # gaps are told whatever is asked for
            self.numbers.append(event["latency_us"])
            appended = datetime.fromisoformat(event["ts"]).timestamp()
            at = time.monotonic() - self.start
            self.lags.append((at - (now - appended), now - appended))


class Disk:
    """A disk for the store that can be filled, and what it is."""

    def __init__(self, words: str, place: Path) -> None:
        self.words, self._ballast = words, place / "ballast"
        self.pid = 0

    def fill(self) -> None:
        """Leave not one block."""
        if not self.words.startswith("limit"):
            self._fill()
            return
        self._limit(1 << 18)

    def _fill(self) -> None:
        descriptor = os.open(self._ballast, os.O_CREAT | os.O_WRONLY, 0o600)
        for piece in (1 << 24, 1 << 20, 1 << 12):
            with suppress(OSError):
                while True:
                    at = os.fstat(descriptor).st_size
                    os.posix_fallocate(descriptor, at, piece)
        os.close(descriptor)

    def free(self) -> None:
        """Give the room back."""
        if self.words.startswith("limit"):
            self._limit(resource.RLIM_INFINITY)
        self._ballast.unlink(missing_ok=True)

    def _limit(self, size: int) -> None:
        _, hard = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
        soft = hard if size == resource.RLIM_INFINITY else size
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def disk(room: Path, place: Path) -> Iterator[Disk]:
    """A disk of its own where we may mount one, else a limit of the file size."""
    place.mkdir(mode=0o700)
    words = _mounted(room, place) if os.geteuid() == 0 else ""
    try:
        yield Disk(words or "limit of the file size, set from outside on the collector", place)
    finally:
        if words:
            subprocess.run(["umount", "-l", place], check=True)


def _mounted(room: Path, place: Path) -> str:
    """What was mounted, "" if nothing could be."""
    image = room / "disk.img"
    with image.open("wb") as file:
        file.truncate(DISK_BYTES)
    made = shutil.which("mkfs.ext4") and _ok("mkfs.ext4", "-q", "-m", "0", image)
    if made and _ok("mount", "-o", "loop", image, place):
        place.chmod(0o700)
        return "an ext4 file system of its own in a file (loop device)"
    if _ok("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0700", "tmpfs", place):
        return "a tmpfs of its own"
    return ""


def _ok(*words: object) -> bool:
    ran = subprocess.run([str(word) for word in words], capture_output=True, check=False)
    return ran.returncode == 0


def medians(values: list[tuple[float, float]], every: float) -> list[float]:
    """The median of each stretch of `every` seconds of (at, value)."""
    parts: dict[int, list[float]] = {}
    for at, value in values:
        parts.setdefault(int(at // every), []).append(value)
    return [statistics.median(part) for _, part in sorted(parts.items())]
