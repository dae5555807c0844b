"""No room, no rights, no lock: nothing is lost, the position stays, and work resumes by itself."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from audit_events.errors import StorageError
from collector.service import Collector
from collector.store import writer_lock
from tests.collector.storekit import NEVER, House, audit, exact, upkeep
from tests.collector.test_power_cut import PowerCut, cut_at
from tests.collector.trail_check import Victim, Writer, check, wait_for

NO_ROOM = "No space left on device"
DISK_BYTES = 8 << 20


def wait_until(happened, timeout: float = 90) -> None:
    """Until `happened()`, or fail."""
    deadline = time.monotonic() + timeout
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


# --- without root: no file may grow beyond a limit


@pytest.fixture
def small(tmp_path: Path) -> tuple[House, Writer]:
    """A house with more events than the limit lets in."""
    house = House(tmp_path)
    writer = Writer(tmp_path / "log")
    writer.write(60_000)
    return house, writer


def full_victim(house: House) -> Victim:
    """A collector whose events have met the limit; its heartbeat may have met it before them."""
    victim = Victim(house.folder, fsize=240_000, rows=1 << 40, age_s=1e9, every_s=1e9)
    wait_until(lambda: "trying again in" in (house.folder / "stderr").read_text())
    return victim


def test_a_full_disk_loses_nothing_and_work_resumes(small: tuple[House, Writer]) -> None:
    """Back-off, a sentence, and all of it once there is room, without a restart."""
    house, writer = small
    victim = full_victim(house)
    seen = house.seen()
    check(seen)
    assert len(seen.pids) < writer.written
    assert "trying again in" in (house.folder / "stderr").read_text()
    victim.process.send_signal(signal.SIGUSR1)
    wait_for(house.folder, writer)
    assert victim.terminate() == 0
    exact(house, writer.written)


def test_stopping_on_a_full_disk_says_so_and_a_later_start_is_exact(
    small: tuple[House, Writer],
) -> None:
    """SIGTERM while full ends with 5; nothing of what waited is lost."""
    house, writer = small
    victim = full_victim(house)
    assert victim.terminate() == 5
    assert "stopped while the store cannot be written" in (house.folder / "stderr").read_text()
    check(house.seen())
    house.collect()
    exact(house, writer.written)


# --- with root: a disk of its own


@contextlib.contextmanager
def disk(at: Path) -> Iterator[None]:
    """A real file system of DISK_BYTES; skips where none can be made."""
    at.mkdir(parents=True)
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES},mode=0700", "tmpfs", str(at)]
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small disk")
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A house whose store has a small disk of its own, 400 events sealed."""
    with disk(tmp_path / "store"):
        house = House(tmp_path)
        Writer(tmp_path / "log").write(400)
        house.collect()
        yield house


def ballast(house: House) -> Path:
    """The file that takes all the room."""
    return house.root / "ballast"


def fill(house: House) -> None:
    """Leave not one block."""
    with ballast(house).open("ab", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


def free(house: House) -> None:
    """Give the room back."""
    ballast(house).unlink()


def fill_at(house: House, step: str):
    """`on_step` that fills the disk the first time that `step` comes."""
    met: list[str] = []

    def on_step(name: str) -> None:
        if name == step and not met:
            met.append(name)
            fill(house)

    return on_step


def unlisted(house: House) -> list[str]:
    """Archive files that nobody will ever read."""
    known = {path for (path,) in house.ask("SELECT path FROM files UNION SELECT path FROM retired")}
    events = house.root / "events"
    found = {path.relative_to(events).as_posix() for path in events.glob("date=*/*")}
    return sorted(found - known)


def test_a_full_disk_under_a_running_collector(house: House) -> None:
    """Appends wait; with room again the same process stores every event once."""
    stop, before = threading.Event(), house.meta().get("collector")
    collector = Collector(house.plan())
    thread = threading.Thread(target=collector.run, args=(stop,), kwargs={"once": False})
    thread.start()
    try:
        # An earlier collector has left its word: this one must have opened the store.
        wait_until(lambda: house.meta().get("collector") != before)
        fill(house)
        writer = Writer(house.folder / "log", written=400)
        writer.write(20_000)
        wait_until(lambda: any(NO_ROOM in text for text in house.said))
        check(house.seen())
        free(house)
        wait_until(lambda: len(house.seen().pids) == writer.written)
    finally:
        stop.set()
        thread.join()
    exact(house, writer.written)


@pytest.mark.parametrize("step", ["seal.before-file", "seal.before-delta-commit",
                                  "seal.after-delta-commit", "reconcile.after-sync"])  # fmt: skip
def test_a_disk_that_fills_while_sealing(house: House, step: str) -> None:
    """At Parquet, at the commit, after the commit: the next try finds what is in and goes on."""
    Writer(house.folder / "log", written=400).write(6_000)
    with pytest.raises(PowerCut):
        house.collect(on_step=cut_at("seal.before-file"))
    opened = house.open(on_step=fill_at(house, step))
    # After the commit SQLite may find room inside its own -wal, which was longer before.
    late = step in ("seal.after-delta-commit", "reconcile.after-sync")
    for _ in range(2):
        with (
            contextlib.suppress(StorageError)
            if late
            else pytest.raises(StorageError, match=NO_ROOM)
        ):
            opened.sealer.seal()
        check_rows(house)
    free(house)
    while opened.sealer.seal():
        pass
    exact(house, 6_400)
    assert unlisted(house) == []


def check_rows(house: House) -> None:
    """A reader sees every event once even now."""
    assert sorted(house.seen().pids) == list(range(1, 6_401))


@pytest.mark.parametrize(
    "step", ["compact.before-file", "compact.before-delta-commit", "compact.after-delta-commit"]
)
def test_a_disk_that_fills_while_compacting(house: House, step: str) -> None:
    """The old files stay until the new one is in."""
    Writer(house.folder / "log", written=400).write(6_000)
    house.collect()
    opened = house.open(on_step=fill_at(house, step))
    with pytest.raises(StorageError, match=NO_ROOM):
        upkeep().run(opened.sealer, datetime.now(UTC))
    check_rows(house)
    free(house)
    upkeep().run(opened.sealer, datetime.now(UTC))
    exact(house, 6_400)
    assert len(house.ask("SELECT 1 FROM files WHERE date = '2026-07-28'")) == 1
    assert unlisted(house) == []


@pytest.mark.parametrize("there", [True, False], ids=["old store", "new store"])
def test_a_start_on_a_full_disk_is_one_clear_error(tmp_path: Path, there: bool) -> None:
    """5, with the place and the reason, and a later start is exact."""
    with disk(tmp_path / "store"):
        house = House(tmp_path)
        Writer(tmp_path / "log").write(300)
        log = str(tmp_path / "log" / "decisions.jsonl")
        if there:
            assert audit(house, "collect", "--once", log).returncode == 0
        fill(house)
        ran = audit(house, "collect", "--once", log)
        assert (ran.returncode, ran.stdout) == (5, "")
        assert NO_ROOM in ran.stderr
        assert "Traceback" not in ran.stderr
        free(house)
        assert audit(house, "collect", "--once", log).returncode == 0
        exact(house, 300)


def test_a_read_only_store_is_read_and_not_written(house: House) -> None:
    """Readers need no write permission; a collector says what it lacks."""
    where = str(house.root)
    subprocess.run(["mount", "-o", "remount,ro", where], check=True)
    asked = audit(house, "query", "--count")
    assert (asked.stdout.split()[0], asked.returncode) == ("400", 0)
    ran = audit(house, "collect", "--once", str(house.folder / "log" / "decisions.jsonl"))
    assert ran.returncode == 5
    assert "Read-only file system" in ran.stderr


def test_a_second_collector_is_told_who_holds_the_store(tmp_path: Path) -> None:
    """One writer a store."""
    house = House(tmp_path)
    Writer(tmp_path / "log").write(10)
    house.collect(limits=NEVER)
    with writer_lock(house.store.paths, "1.2.0"):
        ran = audit(house, "collect", "--once", str(tmp_path / "log" / "decisions.jsonl"))
    assert ran.returncode == 5
    held = f"store {house.store.id} is being written by pid {os.getpid()} (sandtrail 1.2.0, since 2"
    assert held in ran.stderr
    assert "hint:" in ran.stderr
