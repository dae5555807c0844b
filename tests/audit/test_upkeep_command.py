"""`audit upkeep`: the plan, the work, and who else may be at it."""

import re
import shutil
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from audit_events.layout import CONTROL_DDL
from collector.sqlite import control_connection
from collector.store import writer_lock
from tests.collector.storekit import House, audit
from tests.collector.test_join import commit

TODAY = datetime.now(UTC).date()
OLDEST = (TODAY - date(2026, 7, 28)).days - 3
DATES = [str(TODAY - timedelta(days=days)) for days in (3, 2, 1)]
# Removes the first of the three days.
KEEP = "2d"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three days of two files of five events, and an export that has 19 of 30."""
    house = House(tmp_path_factory.mktemp("built"))
    opened = house.open()
    for day in (0, 1, 2, 0, 1, 2):
        opened.spool.append(commit(5, [("a", 5)], OLDEST + day))
        opened.sealer.seal()
    opened.sealer.close()
    opened.spool.close()
    return house.folder


@pytest.fixture
def house(built: Path, tmp_path: Path) -> House:
    """A copy of it."""
    shutil.copytree(built, tmp_path / "house")
    return House(tmp_path / "house")


def cursor_at(house: House, seq: int) -> None:
    """An export named splunk has got everything up to `seq`."""
    control = control_connection(house.root / "control.db", CONTROL_DDL)
    control.execute("INSERT OR REPLACE INTO cursors VALUES('splunk', ?, 0)", (seq,))
    control.close()


def files(house: House) -> list[tuple]:
    """How many files each date has."""
    return house.ask("SELECT date, count(*) FROM files GROUP BY date ORDER BY date")


def test_a_dry_run_says_what_would_be_done_and_changes_nothing(house: House) -> None:
    """The screen of the design, in its words and columns; a collector may be running."""
    before = files(house)
    with writer_lock(house.store.paths, "1.0.0"):
        ran = audit(house, "upkeep", "--keep", KEEP, "--now", "--dry-run")
    assert ran.returncode == 0, ran.stderr
    first, second = ran.stdout.splitlines()
    assert re.fullmatch(r"would compact   2 days, 4 files to 2 {12}frees +\d+(\.\d)? kB", first)
    assert re.fullmatch(
        rf"would remove    {DATES[0]} to {DATES[0]}        frees +\d+ kB   10 events", second
    )
    assert re.fullmatch(
        r"nothing was changed; without --dry-run this takes about \d+ s\n", ran.stderr
    )
    assert files(house) == before


def test_an_export_that_lags_is_named_with_what_it_lacks(house: House) -> None:
    """The day stays."""
    cursor_at(house, 18)
    ran = audit(house, "upkeep", "--keep", KEEP, "--dry-run")
    assert ran.stdout == f"would keep      {DATES[0]}" + " " * 22 + "splunk has not got 2 events\n"


def test_the_work_is_done_once(house: House) -> None:
    """Joined and removed; a second time there is nothing to do."""
    ran = audit(house, "upkeep", "--keep", KEEP, "--now")
    assert ran.returncode == 0, ran.stderr
    assert [line.split()[0] for line in ran.stdout.splitlines()] == ["compacted", "removed"]
    assert files(house) == [(DATES[1], 1), (DATES[2], 1)]
    assert audit(house, "query", "--count").stdout.split()[0] == "20"
    assert audit(house, "upkeep", "--keep", KEEP, "--now").stdout == "nothing to do\n"


def test_a_few_files_are_left_alone_without_now(house: House) -> None:
    """Two files a day are no burden."""
    assert audit(house, "upkeep").stdout == "nothing to do\n"
    assert [n for _, n in files(house)] == [2, 2, 2]


def test_a_running_collector_does_it_by_itself(house: House) -> None:
    """One writer a store: 5, and no need to do anything."""
    with writer_lock(house.store.paths, "1.0.0"):
        ran = audit(house, "upkeep", "--now")
    assert ran.returncode == 5
    assert "is being written by pid" in ran.stderr
    assert "hint: a running collector does this by itself" in ran.stderr


@pytest.mark.parametrize("keep", ["soon", "30", "-1d"])
def test_a_keep_that_is_no_length_is_refused(house: House, keep: str) -> None:
    """2, with an example; nothing is removed."""
    ran = audit(house, "upkeep", f"--keep={keep}")
    assert ran.returncode == 2
    assert "--keep 30d" in ran.stderr
    assert [n for _, n in files(house)] == [2, 2, 2]


def test_no_store_is_an_error(tmp_path: Path) -> None:
    """Upkeep makes none."""
    house = House(tmp_path / "none")
    ran = audit(house, "upkeep")
    assert ran.returncode == 5
    assert not house.root.exists()
