"""Compaction, retention and the log's upkeep: no count ever changes, whatever happens meanwhile."""

import hashlib
import random
import shutil
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from audit_events.canonical import segment_digest
from audit_events.errors import StorageError
from audit_events.layout import CONTROL_DDL, RETIRED_GRACE_S
from collector import upkeep as module
from collector.archive import read_file
from collector.recovery import Opened
from collector.spool import decode_batch
from collector.sqlite import control_connection
from collector.upkeep import CHECKPOINT_EVERY_COMMITS, compactions, removals
from query.contracts import Request
from query.engine import count
from query.reader import Query, Reader
from query.snapshot import open_snapshot
from tests.collector.storekit import House, commits, upkeep, words_of
from tests.collector.test_join import commit
from tests.collector.test_power_cut import PowerCut, cut_at
from tests.collector.trail_check import Victim, outside_reader, private

FILES, ROWS = 204, 2
NOW = datetime(2026, 7, 31, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def backup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A day of FILES small files: where it stood, and a copy."""
    folder = tmp_path_factory.mktemp("many")
    house = House(folder / "house")
    opened = house.open()
    sealer, files = opened.sealer, []
    for _ in range(FILES):
        opened.spool.append(commit(ROWS, [("a", 5)]))
        (data,) = house.ask("SELECT data FROM batches ORDER BY first_seq DESC LIMIT 1")[0]
        rows = pa.Table.from_batches([decode_batch(data)])
        files.append(sealer.archive.write(rows, "2026-07-28", "seal"))
    last = opened.spool.last_seq
    sealer.archive.commit(files, sealed_upto=last, metadata=sealer.carried())
    sealer.reconcile()
    sealer.delete_sealed()
    close(opened)
    shutil.copytree(house.folder, folder / "backup")
    return folder


@pytest.fixture
def house(backup: Path) -> House:
    """That house, anew."""
    return House(backup / "house").restore(backup / "backup")


@pytest.fixture
def days(tmp_path: Path) -> House:
    """Three days, two files each."""
    house = House(tmp_path)
    opened = house.open()
    for day in (0, 1, 2, 0, 1, 2):
        opened.spool.append(commit(5, [("a", 5)], day))
        opened.sealer.seal()
    close(opened)
    return house


def close(opened: Opened) -> None:
    """Close what was opened."""
    opened.sealer.close()
    opened.spool.close()


def records(house: House) -> int:
    """What a query counts."""
    return count(house.store.paths, Request()).records


def live(house: House) -> list[str]:
    """Paths of the file list."""
    return [path for (path,) in house.ask("SELECT path FROM files ORDER BY path")]


def test_the_count_never_changes_while_hundreds_of_files_are_joined(house: House) -> None:
    """Readers before, during and after see every event once."""
    counts, stop = [], threading.Event()

    def read() -> None:
        while not stop.is_set():
            counts.append(records(house))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        opened = house.open()
        done = upkeep().run(opened.sealer, NOW)
    finally:
        stop.set()
        reader.join()
    assert [len(compaction.files) for compaction in done.compacted] == [FILES]
    assert set(counts) == {FILES * ROWS}
    assert len(counts) > 2
    assert len(live(house)) == 1
    assert outside_reader(house.root) == list(range(1, FILES * ROWS + 1))
    assert private(house.root) == []


@pytest.mark.parametrize(
    "step",
    [
        "compact.after-delta-commit",
        pytest.param("compact.before-file", marks=pytest.mark.torture),
        pytest.param("compact.before-delta-commit", marks=pytest.mark.torture),
    ],
)
def test_killed_while_compacting(days: House, step: str) -> None:
    """A real kill at each step leaves one valid view; the next run finishes."""
    assert Victim(days.folder, step=step, every_s=0.1, above=1).dies(60)
    assert records(days) == 30
    opened = days.open()
    upkeep().run(opened.sealer, NOW)
    assert records(days) == 30
    assert len(live(days)) == 3


@pytest.mark.torture
@pytest.mark.timeout(900)
def test_killed_at_fifty_random_moments(backup: Path) -> None:
    """The whole figure: after each kill the count is the same, and at last it is done."""
    house = House(backup / "house").restore(backup / "backup")
    for _ in range(50):
        victim = Victim(house.folder, every_s=0.05)
        time.sleep(random.uniform(0.5, 2.5))
        victim.kill()
        assert records(house) == FILES * ROWS
    opened = house.open()
    upkeep().run(opened.sealer, NOW)
    assert (records(house), len(live(house))) == (FILES * ROWS, 1)


def test_the_rows_are_the_same_to_the_last_byte(days: House) -> None:
    """The canonical digest of a date does not change when its files are joined."""

    def digest() -> str:
        return segment_digest(read_dates(days, "2026-07-28").sort_by([("seq", "ascending")]))

    before = digest()
    opened = days.open()
    upkeep().run(opened.sealer, NOW)
    assert len(live(days)) == 3
    assert digest() == before


def read_dates(house: House, date: str):
    """All rows of a date, from the listed files."""
    paths = [path for path in live(house) if path.startswith(f"date={date}/")]
    return pa.concat_tables([read_file(house.root / "events", path) for path in paths])


def test_a_damaged_file_stays_and_the_rest_is_joined(days: House) -> None:
    """It is said once; nothing is committed in its place, and other days do not wait for it."""
    path = days.root / "events" / live(days)[0]
    path.write_bytes(path.read_bytes()[:-8])
    said: list[str] = []
    opened = days.open()
    worker = upkeep()
    worker._say = said.append
    done = [worker.run(opened.sealer, NOW) for _ in range(2)]
    assert [len(d.compacted) for d in done] == [2, 0]
    assert len(said) == 1
    assert live(days)[0] in said[0]
    assert path.exists()
    assert days.ask("SELECT sum(rows) FROM files") == [(30,)]


def test_replaced_files_stay_fifteen_minutes(days: House) -> None:
    """For readers that list them; then they go."""
    old = [days.root / "events" / path for path in live(days)]
    opened = days.open()
    worker = upkeep()
    worker.run(opened.sealer, datetime.now(UTC))
    now = datetime.now(UTC)
    assert worker.sweep(opened.sealer, now + timedelta(seconds=RETIRED_GRACE_S - 30)) == 0
    assert all(path.exists() for path in old)
    assert worker.sweep(opened.sealer, now + timedelta(seconds=RETIRED_GRACE_S + 1)) == 6
    assert not any(path.exists() for path in old)
    assert records(days) == 30


def test_a_reader_of_an_old_snapshot_reads_on(days: House) -> None:
    """It was opened before the compaction and reads after it."""
    with open_snapshot(days.store.paths) as snapshot:
        opened = days.open()
        upkeep().run(opened.sealer, NOW)
        with Reader(snapshot, snapshot.parts, final=False) as reader:
            ((rows,),) = reader.rows(snapshot.parts, Query("count(*)"))
    assert rows == 30


def test_retention_takes_whole_days_and_leaves_a_record(days: House) -> None:
    """Oldest first, with the digest of what went; the sums go on to balance."""
    digests = days.ask("SELECT sha256 FROM segments WHERE date = '2026-07-28' ORDER BY first_seq")
    opened = days.open()
    done = upkeep(timedelta(days=2), above=99).run(opened.sealer, NOW)
    assert [removal.date for removal in done.removed] == ["2026-07-28"]
    assert {path.split("/")[0] for path in live(days)} == {"date=2026-07-29", "date=2026-07-30"}
    together = hashlib.sha256("\n".join(d for (d,) in digests).encode()).hexdigest()
    assert days.ask("SELECT date, rows, min_seq, max_seq, reason, sha256 FROM removals") == [
        ("2026-07-28", 10, 1, 20, "retention", together)
    ]
    assert (days.meta()["archived_rows"], records(days)) == (20, 20)
    opened.spool.append(commit(3, [("a", 6)], 2))
    opened.sealer.seal()
    close(opened)
    again = days.open()
    assert again.notices == []
    assert outside_reader(days.root) == [*range(6, 16), *range(21, 34)]
    assert len(days.ask("SELECT 1 FROM retired")) == 2


def test_a_removal_is_remembered_over_a_lost_spool(days: House) -> None:
    """The record is in the log's commit, not in spool.db alone."""
    opened = days.open()
    upkeep(timedelta(days=2), above=99).run(opened.sealer, NOW)
    close(opened)
    records_before = days.ask("SELECT date, rows, sha256 FROM removals")
    for path in days.root.glob("spool.db*"):
        path.unlink()
    close(days.open())
    assert days.ask("SELECT date, rows, sha256 FROM removals") == records_before
    assert days.meta()["archived_rows"] == 20


@pytest.mark.parametrize("step", ["retention.after-delta-commit", "reconcile.before-commit"])
def test_cut_while_removing(days: House, step: str) -> None:
    """Removed once, recorded once."""
    opened = days.open(on_step=cut_at(step))
    with pytest.raises(PowerCut):
        upkeep(timedelta(days=2), above=99).run(opened.sealer, NOW)
    again = days.open()
    upkeep(timedelta(days=2), above=99).run(again.sealer, NOW)
    assert days.ask("SELECT count(*), sum(rows) FROM removals") == [(1, 10)]
    assert days.meta()["archived_rows"] == 20


def test_an_export_that_lags_holds_a_day_back(days: House) -> None:
    """Until its cursor is past the day's last event; the reason is said."""
    control = control_connection(days.root / "control.db", CONTROL_DDL)
    control.execute("INSERT INTO cursors VALUES('splunk', 19, 0)")
    opened = days.open()
    said: list[str] = []
    worker = upkeep(timedelta(days=2), above=99)
    worker._say = said.append
    assert worker.run(opened.sealer, NOW).removed == []
    assert said == ["2026-07-28 is kept: splunk has not got it yet"]
    control.execute("UPDATE cursors SET seq = 20")
    assert [r.date for r in worker.run(opened.sealer, NOW).removed] == ["2026-07-28"]
    control.close()


def test_a_day_goes_only_when_all_of_it_is_too_old(days: House) -> None:
    """`keep` 2 d at noon of the 31st keeps the whole 29th."""
    files = days.open().sealer.archive.live()
    kept = timedelta(days=2)
    before = datetime(2026, 7, 30, 23, 59, tzinfo=UTC)
    assert removals(files, {}, before, kept) == []
    after = datetime(2026, 7, 31, 0, 0, tzinfo=UTC)
    assert [r.date for r in removals(files, {}, after, kept)] == ["2026-07-28"]


def test_a_stale_optimizer_from_outside_is_refused(days: House) -> None:
    """Its commit doubles rows: the sum does not hold, the old view stays, the error is clear."""
    outside = DeltaTable(str(days.root / "events"))
    opened = days.open()
    upkeep().run(opened.sealer, NOW)
    outside.optimize.compact()
    opened.spool.append(commit(1, [("a", 6)]))
    with pytest.raises(StorageError) as caught:
        opened.sealer.seal()
    assert "60 rows, 30 were sealed" in caught.value.message
    assert "only the collector may" in str(caught.value.hint)
    assert records(days) == 31


def test_orphans_go_at_a_start_only(days: House) -> None:
    """While it runs, a file that nobody lists may be one that is just being written."""
    stray = days.root / "events" / "date=2026-07-28" / "seal-stray.parquet"
    opened = days.open()
    shutil.copy(days.root / "events" / live(days)[0], stray)
    upkeep().run(opened.sealer, NOW)
    assert stray.exists()
    close(opened)
    close(days.open())
    assert not stray.exists()
    assert records(days) == 30


def test_the_log_gets_checkpoints_and_does_not_grow_for_ever(days: House) -> None:
    """Of what lies before the last but one checkpoint only a removal and the creation stay."""
    opened = days.open()
    worker = upkeep(timedelta(days=2), above=99)
    worker._last_checkpoint = -CHECKPOINT_EVERY_COMMITS
    worker.run(opened.sealer, NOW)
    assert len(list(days.log.glob("*.checkpoint.parquet"))) == 1
    opened.spool.append(commit(1, [("a", 6)]))
    opened.sealer.seal()
    opened.sealer.archive.checkpoint()
    now = datetime.now(UTC)
    assert opened.sealer.archive.clean_log(now) == 0
    assert opened.sealer.archive.clean_log(now + timedelta(days=8)) == 6
    left = [int(path.stem) for path in commits(days)]
    assert left == [0, 7, 8]
    assert private(days.root) == []
    close(opened)
    for path in days.root.glob("spool.db*"):
        path.unlink()
    close(days.open())
    assert days.ask("SELECT date, rows FROM removals") == [("2026-07-28", 10)]
    assert len(outside_reader(days.root)) == 21


def test_few_files_and_large_ones_are_left_alone(days: House) -> None:
    """Each rewrite costs: only a day with many small files is worth it."""
    files = days.open().sealer.archive.live()
    assert compactions(files, above=2) == []
    assert [c.date for c in compactions(files, above=1)] == [
        "2026-07-28", "2026-07-29", "2026-07-30",
    ]  # fmt: skip


def test_every_commit_carries_the_positions(days: House) -> None:
    """So that a lost spool finds them in the newest one, whatever kind it is."""
    opened = days.open()
    upkeep(timedelta(days=2)).run(opened.sealer, NOW)
    positions = [words_of(path)["streams"] for path in commits(days)[1:]]
    assert positions[-1] == {"openclaw": {"a": [5, [], 5, "bQ=="]}}
    assert all(positions)


def test_a_compacted_file_is_sorted_for_the_question_most_asked(days: House) -> None:
    """Denials first, then by time; the worker's file is private."""
    opened = days.open()
    upkeep().run(opened.sealer, NOW)
    for path in live(days):
        table = pq.ParquetFile(days.root / "events" / path).read()
        keys = list(zip(table["decision"].to_pylist(), table["ts"].to_pylist(), strict=True))
        assert keys == sorted(keys, key=lambda key: (key[0] != "deny", key[1]))
        assert (days.root / "events" / path).stat().st_mode & 0o077 == 0


def test_a_compaction_ends_with_the_collector(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM does not wait for a worker that takes its time; the worker does not outlive it."""
    stopping = threading.Event()
    stopping.set()
    monkeypatch.setattr(module.sys, "executable", "/bin/sleep")
    monkeypatch.setattr(module, "WORKER_LOOK_S", 0.05)
    slow = [module.sys.executable, "30"]
    real = module.subprocess.Popen
    children = []

    def start(_words: object, **more: object) -> object:
        children.append(real(slow, **more))
        return children[-1]

    monkeypatch.setattr(module.subprocess, "Popen", start)
    with pytest.raises(StorageError, match="stopped"):
        module._worked({}, stopping)
    assert children[0].returncode is not None
