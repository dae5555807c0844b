"""A collector that runs for years: thousands of logs come and go, the system's limits are reached,
the machine stands still; memory and descriptors stay as they were, each event is stored once."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from collector.clock import Clocks, read_clocks
from collector.sources.file_identity import Fingerprinter, ReadAt, Trace
from tests.collector.logkit import until
from tests.collector.storekit import House, environment, exact
from tests.collector.test_clock import once_with
from tests.collector.test_socket_exactly_once import last_seq
from tests.collector.trail_check import Victim, Writer, line, wait_for

LINUX = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to measure")
FILES_OF_A_WAVE = 350
FEW_FILES = 200
EVENTS_OF_A_FILE = 5
# What a process takes while it is young says nothing.
WARM_WAVES = 2
# A log that is gone is remembered for a day in case it comes back: 9 KB each, 10,000 at most.
FULL_WAVES = 10_000 // FILES_OF_A_WAVE + 2
WITHIN = 0.10
FEW_MORE = 8


def resident(pid: int) -> int:
    """Bytes of a process in memory."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def descriptors(pid: int) -> int:
    """How many a process holds open."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


class Waves:
    """Logs that appear together, are read, and are gone for ever."""

    def __init__(self, folder: Path, files: int) -> None:
        self._folder, self._files = folder, files
        self.written = self.waves = 0

    def wave(self) -> list[Path]:
        """Hundreds of new files."""
        self.waves += 1
        paths = []
        for number in range(self._files):
            path = self._folder / f"decisions.jsonl.{self.waves}-{number}"
            first = self.written + 1
            self.written += EVENTS_OF_A_FILE
            path.write_bytes(b"".join(map(line, range(first, self.written + 1))))
            paths.append(path)
        return paths


def live_through(folder: Path, waves: int, warm: int, files: int) -> None:
    """Each wave read to its end; memory and descriptors of the last as of the first warm ones."""
    (folder / "log").mkdir()
    source, victim = Waves(folder / "log", files), Victim(folder, rows=2_000, age_s=1.0)
    figures: list[tuple[int, int]] = []
    try:
        victim.wait_until_up(60)
        for _ in range(waves):
            paths = source.wave()
            until(lambda: last_seq(folder) >= source.written, 120)
            for path in paths:
                path.unlink()
            figures.append((resident(victim.process.pid), descriptors(victim.process.pid)))
        assert victim.terminate() == 0
    finally:
        victim.kill()
    exact(House(folder), source.written)
    memory, open_files = zip(*figures[warm:], strict=True)
    print(f"{waves * files} logs: {memory[0] / 1e6:.0f} to {memory[-1] / 1e6:.0f} MB")
    assert memory[-1] <= memory[0] * (1 + WITHIN)
    assert max(open_files) <= min(open_files) + FEW_MORE


@LINUX
def test_thousands_of_logs_leave_memory_and_descriptors_flat(tmp_path: Path) -> None:
    """A log that is gone costs little, and no descriptor; 1,200 of them here."""
    live_through(tmp_path, 6, WARM_WAVES, FEW_FILES)


@LINUX
@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_twenty_thousand_logs_leave_memory_and_descriptors_flat(tmp_path: Path) -> None:
    """Beyond the number that is remembered nothing grows at all."""
    live_through(tmp_path, 58, FULL_WAVES, FILES_OF_A_WAVE)


@pytest.fixture
def limited(tmp_path: Path) -> list[str]:
    """A prefix that runs a command where the system gives no watch of files to anybody: a user
    namespace has limits of its own, so nobody else is in need meanwhile."""
    unshare = shutil.which("unshare")
    if unshare is None or sys.platform != "linux":
        pytest.skip("needs Linux's user namespaces, to lower a limit for one process only")
    prefix = [unshare, "--user", "--map-root-user", "sh", "-c"]
    tried = subprocess.run([*prefix, "echo 0 > /proc/sys/user/max_inotify_watches"],
                           capture_output=True, check=False)  # fmt: skip
    if tried.returncode:
        pytest.skip("no user namespace with a limit of its own can be made here")
    return prefix


@pytest.mark.parametrize("limit", ["max_inotify_watches", "max_inotify_instances"])
def test_the_systems_own_limit_of_watches_means_polling_and_a_warning(
    limited: list[str], tmp_path: Path, limit: str
) -> None:
    """The kernel's real refusal: an operator is told once, and lines come as before."""
    house, said = House(tmp_path), tmp_path / "stderr"
    log = tmp_path / "log" / "decisions.jsonl"
    log.write_bytes(line(1))
    lower = f'echo 0 > /proc/sys/user/{limit} && exec "$@"'
    words = ["--store", str(house.root), "collect", str(log)]
    with said.open("wb") as errors:
        collector = subprocess.Popen(
            [*limited, lower, "sh", sys.executable, "-m", "audit.main", *words],
            env=environment(house), stderr=errors,
        )  # fmt: skip
    try:
        for number in range(2, 6):
            stored(house, number - 1)
            with log.open("ab") as file:
                file.write(line(number))
        stored(house, 5)
        until(lambda: "polling instead" in told(house, said), 30)
    finally:
        collector.terminate()
        collector.wait(60)
    assert told(house, said).count("polling instead") == 1


def stored(house: House, count: int) -> None:
    """Until so many events are in."""
    until(lambda: last_seq(house.folder) >= count, 60)
    assert sorted(house.seen().pids) == list(range(1, count + 1))


def told(house: House, said: Path) -> str:
    """What an operator hears."""
    return said.read_text() + "\n".join(house.said)


def test_a_process_that_stood_still_goes_on_where_it_was(tmp_path: Path) -> None:
    """Stopped for seconds as by a suspended machine, with a rotation meanwhile: each event once."""
    (tmp_path / "log").mkdir()
    writer, victim = Writer(tmp_path / "log"), Victim(tmp_path)
    try:
        victim.wait_until_up(60)
        for _ in range(3):
            writer.write(2_000)
            victim.process.send_signal(signal.SIGSTOP)
            writer.write(2_000)
            time.sleep(2.5)
            victim.process.send_signal(signal.SIGCONT)
            wait_for(tmp_path, writer, 120)
        assert victim.terminate() == 0
    finally:
        victim.kill()
    exact(House(tmp_path), writer.written)


def test_a_sleep_is_a_notice_in_the_trail(tmp_path: Path) -> None:
    """Two hours without a record are explained where one looks for them."""
    house, looks = House(tmp_path), []

    def slept() -> Clocks:
        looks.append(1)
        now, away = read_clocks(), 7_200 if len(looks) > 1 else 0
        return Clocks(now.wall + away, now.steady + away, now.awake)

    once_with(house, slept)
    (told_,) = [text for text in house.seen().notices if "slept" in text]
    assert told_.startswith("the machine slept for 7,200 s")
    assert not [text for text in house.seen().notices if "was set" in text]


class Counting(Fingerprinter):
    """Says how many digests were taken."""

    taken = 0

    def digest(self, raw: bytes) -> bytes:
        """One more."""
        self.taken += 1
        return super().digest(raw)


def test_a_log_that_is_gone_is_known_again_without_new_digests() -> None:
    """Each new file is compared with all that are gone; what was read on has another print."""
    prints = Counting(b"k" * 32)
    trace = Trace(prints).advanced(line(1))
    first = trace.print
    assert [trace.print for _ in range(100)] == [first] * 100
    assert prints.taken == 2
    more = trace.advanced(line(2))
    assert more.print == Fingerprinter(b"k" * 32).of(reader(line(1) + line(2)), more.end)
    assert more.print != first


def reader(data: bytes) -> ReadAt:
    """A file of these bytes."""
    return lambda offset, size: data[offset : offset + size]
