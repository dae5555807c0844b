"""`audit collect` as a person starts it: closing lines, exits, signals, modes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.collector.storekit import House, audit, environment, exact
from tests.collector.trail_check import Writer, line, private

DEMO_SEATBELT = Path(__file__).parents[1] / "corpus" / "seatbelt"


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A house with an empty log folder."""
    return House(tmp_path)


def log(house: House) -> Path:
    """The live log."""
    return house.folder / "log" / "decisions.jsonl"


@contextmanager
def running(house: House, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A collector in the background; killed at the end whatever happens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "audit.main", "--store", str(house.root), "collect", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(house),
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def arrive(house: House, events: int, timeout: float = 60) -> None:
    """Wait until the store holds so many events."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            if len(house.seen().pids) >= events:
                return
        except Exception:  # noqa: BLE001, S110 - there is no store yet
            pass
        time.sleep(0.05)
    raise AssertionError("the events did not arrive")


def test_the_closing_line_counts_everything_and_names_the_first_reject(house: House) -> None:
    """Stored, rejected and filtered add up; a reject has its reason and its place."""
    bad_at = sum(len(line(n)) for n in range(1, 4))
    log(house).write_bytes(line(1) + line(2) + line(3) + b"what is this\n\n" + line(4))
    ran = audit(house, "collect", "--once", str(log(house)))
    assert (ran.returncode, ran.stdout) == (0, "")
    first, second = ran.stderr.splitlines()
    assert re.fullmatch(
        r"collected 6 lines: 4 stored \+ 1 rejected \+ 1 filtered, 0 masked, \d+\.\d s", first
    )
    assert second == (
        f"1 rejected: 1 not json or logfmt; first: {log(house)} byte {bad_at}"
        "   (audit query --kind notice --flag reject)"
    )
    exact(house, 4)


def test_an_unfinished_last_line_is_noted_and_read_once_it_is_whole(house: House) -> None:
    """Half an event is neither stored nor rejected."""
    whole = line(1) + line(2)
    log(house).write_bytes(whole[:-30])
    ran = audit(house, "collect", "--once", str(log(house)))
    at = len(line(1))
    assert f"ends in an unfinished line at byte {at}; it is read once it is whole" in ran.stderr
    assert "1 stored + 0 rejected" in ran.stderr
    with log(house).open("ab") as file:
        file.write(whole[-30:])
    ran = audit(house, "collect", "--once", str(log(house)))
    assert "collected 1 lines: 1 stored + 0 rejected" in ran.stderr
    exact(house, 2)


def test_a_file_that_is_not_there_is_a_source_error(house: House) -> None:
    """4, with its name; no store is made for it."""
    ran = audit(house, "collect", "--once", str(house.folder / "nothing.jsonl"))
    assert ran.returncode == 4
    assert "nothing.jsonl: no such file" in ran.stderr
    assert not house.root.exists()


def test_a_store_that_cannot_be_made_is_a_storage_error(house: House) -> None:
    """5, with the place and the reason."""
    log(house).write_bytes(line(1))
    (house.folder / "file").write_bytes(b"")
    ran = audit(House(house.folder), "collect", "--once", str(log(house)), "--store",
                str(house.folder / "file" / "store"))  # fmt: skip
    assert ran.returncode == 5
    assert f"{house.folder}/file/store: Not a directory" in ran.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_rights_is_a_storage_error(house: House) -> None:
    """5, not a traceback."""
    log(house).write_bytes(line(1))
    (house.folder / "locked").mkdir(mode=0o500)
    ran = audit(House(house.folder), "collect", "--once", str(log(house)), "--store",
                str(house.folder / "locked" / "store"))  # fmt: skip
    assert ran.returncode == 5
    assert "Permission denied" in ran.stderr


def test_sigterm_seals_what_is_there_and_ends_with_0(house: House) -> None:
    """And SIGHUP before it has no other effect than to look for new names, which are found."""
    log(house).write_bytes(b"".join(map(line, range(1, 301))))
    with running(house, str(house.folder / "log" / "*.jsonl")) as process:
        arrive(house, 300)
        second = house.folder / "log" / "second.jsonl"
        second.write_bytes(b"".join(map(line, range(301, 401))))
        process.send_signal(signal.SIGHUP)
        arrive(house, 400)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "collected 400 lines: 400 stored" in said
    exact(house, 400)
    assert house.ask("SELECT count(*) FROM batches") == [(0,)]
    assert house.ask("SELECT sum(rows) FROM files") == [(400,)]


def test_two_sources_keep_their_own_positions(house: House) -> None:
    """One store, one disk, two starts: each event once."""
    other = house.folder / "log" / "other.jsonl"
    words = [f"--source=one=file:{log(house)}", f"--source=two=file:{other}"]
    for turn in range(2):
        for path, start in ((log(house), 1), (other, 1_001)):
            with path.open("ab") as file:
                file.writelines(map(line, range(start + turn * 10, start + turn * 10 + 10)))
        assert audit(house, "collect", "--once", *words).returncode == 0
    pids = sorted(house.seen().pids)
    assert pids == [*range(1, 21), *range(1_001, 1_021)]
    assert audit(house, "query", "--source", "two", "--count").stdout.split()[0] == "20"


def test_a_foreign_format_is_recognised_and_said(house: House) -> None:
    """The first lines decide; a note says what was taken, and how to refuse."""
    capture = next(path for path in sorted(DEMO_SEATBELT.rglob("*.ndjson")))
    ran = audit(house, "collect", "--once", str(capture))
    assert ran.returncode == 0
    assert re.search(r"note: \S+ is read as seatbelt \(--decoder native to refuse\)", ran.stderr)


def test_an_odd_path_of_the_store_is_just_a_path(tmp_path: Path) -> None:
    """Blanks, quotes, non-ASCII, brackets, percent signs."""
    house = House(tmp_path / "Application Support é [1] 'x' 5% ?#*~")
    log(house).write_bytes(line(1) + line(2))
    pattern = str(log(house)).replace("[", "[[]").replace("?", "[?]").replace("*", "[*]")
    assert audit(house, "collect", "--once", pattern).returncode == 0
    exact(house, 2)
    assert audit(house, "query", "--count").stdout.split()[0] == "2"


@pytest.mark.parametrize("name", ["a%41", "a\\b"])
def test_a_path_that_delta_would_take_for_another_is_refused(house: House, name: str) -> None:
    """5 and one sentence, before anything is made there."""
    log(house).write_bytes(line(1))
    ran = audit(house, "collect", "--once", str(log(house)), "--store", str(house.folder / name))
    assert ran.returncode == 5
    assert "may hold no backslash and no %XX" in ran.stderr
    assert not (house.folder / name).exists()


def test_everything_is_private_under_any_umask(house: House) -> None:
    """Folders 0700, files 0600: store, keys, export, manifest, compaction, also in a folder that
    was there before with 0755."""
    house.root.mkdir(mode=0o755)
    old = os.umask(0o022)
    try:
        writer = Writer(house.folder / "log")
        for _ in range(2):
            writer.write(1_800)
            assert audit(house, "collect", "--once", f"{log(house)}*").returncode == 0
        assert audit(house, "upkeep", "--now").returncode == 0
        out = house.folder / "out" / "audit.json"
        out.parent.mkdir(mode=0o700)
        assert audit(house, "export", "-o", str(out)).returncode == 0
    finally:
        os.umask(old)
    assert private(house.root) == []
    assert private(house.folder / "config" / "sandtrail" / "keys") == []
    assert len(list(out.parent.iterdir())) == 2
    assert private(out.parent) == []
    exact(house, 3_600)


def test_quiet_is_quiet(house: House) -> None:
    """-q says nothing on success."""
    log(house).write_bytes(line(1))
    ran = audit(house, "collect", "--once", "-q", str(log(house)))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_collector_tells_readers_when_it_seals(house: House) -> None:
    """Its own settings, which a reader may not have: `status` counts down by them."""
    (house.folder / "audit.toml").write_text('[seal]\nafter = "90s"\n')
    (house.folder / "audit.toml").chmod(0o600)
    log(house).write_bytes(line(1))
    config = ("--config", str(house.folder / "audit.toml"))
    assert audit(house, *config, "collect", str(log(house)), "--once").returncode == 0
    assert json.loads(str(house.meta()["collector"]))["seal_after_s"] == 90.0
