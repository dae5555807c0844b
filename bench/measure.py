"""Run a command and tell its time, processor time and peak memory; print figures as a table."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

AUDIT = str(Path(sys.executable).with_name("audit"))
# ru_maxrss: KiB on Linux, bytes on macOS.
RSS_UNIT = 1 if platform.system() == "Darwin" else 1024


@dataclass(frozen=True)
class Cost:
    """What a finished process took; `rss_mb` is the peak of its largest process, decimal MB."""

    wall_s: float
    cpu_s: float
    rss_mb: float


@dataclass
class Table:
    """Figures with a title and a sentence on how to read them."""

    title: str
    note: str
    header: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """A row; numbers are formatted by the caller."""
        self.rows.append([str(cell) for cell in cells])

    def markdown(self) -> str:
        """The table as Markdown, columns padded so that it reads well unrendered too."""
        lines = [list(self.header), *map(list, self.rows)]
        widths = [max(len(line[n]) for line in lines) for n in range(len(self.header))]
        cells = [[c.ljust(w) for c, w in zip(line, widths, strict=True)] for line in lines]
        ruler = ["-" * width for width in widths]
        body = "\n".join(f"| {' | '.join(line)} |" for line in [cells[0], ruler, *cells[1:]])
        return f"### {self.title}\n\n{self.note}\n\n{body}\n"


def cores() -> int:
    """How many cores a command may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def pinned(command: Sequence[str]) -> list[str]:
    """The command on one core where the system can do that."""
    taskset = shutil.which("taskset")
    return [taskset, "-c", "0", *command] if taskset else list(command)


def run(command: Sequence[str], env: Mapping[str, str] | None = None, stdin: str = "") -> Cost:
    """Run to the end with output discarded; a failure stops the bench and shows what was said."""
    start = perf_counter()
    with open(stdin or os.devnull, "rb") as source:  # noqa: PTH123  the null device has no Path
        process = subprocess.Popen(
            command,
            stdin=source,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, **(env or {})},
        )
        said = process.stderr.read() if process.stderr else b""
        return finished(process, start, said)


def finished(process: subprocess.Popen[bytes], start: float, said: bytes = b"") -> Cost:
    """Wait for a process and take its cost from the kernel; raises if it failed."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit {process.returncode}: {said[-2000:].decode(errors='replace')}")
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(perf_counter() - start, cpu, usage.ru_maxrss * RSS_UNIT / 1e6)


def facts() -> list[str]:
    """What the figures depend on: processor, memory, versions, load. No names of machines."""
    from importlib.metadata import version

    names = ("duckdb", "pyarrow", "deltalake", "msgspec", "pyperscan")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return [
        f"- {processor()}, {os.cpu_count()} cores, {memory:.0f} GB",
        f"- {platform.system()} {platform.release()}, Python {platform.python_version()}",
        "- " + ", ".join(f"{name} {version(name)}" for name in names),
        f"- load at the start {os.getloadavg()[0]:.1f}",
    ]


def processor() -> str:
    """The processor's own name."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
