"""The file source beside and inside of archives: each line exactly once, whoever packs when."""

import gzip
import tracemalloc
from pathlib import Path

import pytest

from collector.contracts import Reason
from tests.collector.filekit import Ledger, append, events, pack


def test_gz_beside_the_rotated_file_is_not_read_again(tmp_path: Path) -> None:
    """`gzip -k` leaves both: exactly every line, also after the plain one is gone."""
    log = tmp_path / "in.jsonl"
    log.write_bytes(events(1, 50))
    ledger = Ledger(tmp_path / "in.jsonl*").once()
    append(log, events(51, 80))
    log.rename(tmp_path / "in.jsonl.1")
    pack(tmp_path / "in.jsonl.1", keep=True)
    log.write_bytes(events(81, 99))
    assert ledger.once().ids == list(range(1, 100))
    (tmp_path / "in.jsonl.1").unlink()
    assert ledger.once().once().ids == list(range(1, 100))


def test_a_plain_file_beside_an_archive_that_was_read_is_not_read_again(tmp_path: Path) -> None:
    """Also after restarts that knew the finished archive without unpacking it."""
    log = tmp_path / "in.jsonl.1"
    log.write_bytes(events(1, 30))
    content = log.read_bytes()
    pack(log)
    ledger = Ledger(tmp_path / "in.jsonl*").once().once()
    log.write_bytes(content)
    assert ledger.once().once().ids == list(range(1, 31))


def test_a_first_start_beside_a_file_and_its_gz_reads_it_once(tmp_path: Path) -> None:
    """Equal content is one stream even if neither was seen before."""
    log = tmp_path / "in.jsonl.1"
    log.write_bytes(events(1, 30))
    pack(log, keep=True)
    assert Ledger(tmp_path / "in.jsonl*").once().once().ids == list(range(1, 31))


@pytest.mark.parametrize("committed", [0, 1, 2, 3])
def test_a_kill_while_reading_a_gz_repeats_nothing(tmp_path: Path, committed: int) -> None:
    """Positions are offsets of the unpacked stream; its end is final."""
    log = tmp_path / "in.jsonl.1"
    log.write_bytes(events(1, 20_000).rstrip())
    pack(log)
    ledger = Ledger(tmp_path / "*.gz").once(kill_after=committed).once().once()
    assert ledger.ids == list(range(1, 20_001))
    assert ledger.blocks[-1].final


def test_a_gz_of_several_members_is_one_stream(tmp_path: Path) -> None:
    """Appending a member to an archive that was read gives only the new lines."""
    archive = tmp_path / "a.gz"
    archive.write_bytes(gzip.compress(events(1, 5)) + gzip.compress(events(6, 9)))
    ledger = Ledger(archive).once()
    append(archive, gzip.compress(events(10, 12)))
    assert ledger.once().ids == list(range(1, 13))


@pytest.mark.parametrize("damage", ["cut", "broken"])
def test_a_damaged_gz_is_one_reject_and_a_warning(tmp_path: Path, damage: str) -> None:
    """What comes before the damage is read; the next start does not count it again."""
    archive = tmp_path / "a.gz"
    data = bytearray(gzip.compress(events(1, 20_000), compresslevel=1))
    if damage == "cut":
        del data[-2000:]
    else:
        data[-2000:-1000] = b"\xff" * 1000
    archive.write_bytes(data)
    ledger = Ledger(archive).once()
    assert [reason for _, reason in ledger.rejects] == [Reason.DAMAGED_ARCHIVE]
    assert ledger.rejects[0][0] == ledger.blocks[-1].end
    assert sum("damaged archive" in w for w in ledger.warnings) == 1
    # A damaged deflate stream may yield some nonsense before it is noticed; whole lines are whole.
    assert b"".join(b.data for b in ledger.blocks).startswith(events(1, 15_000))
    assert len(ledger.once().rejects) == 1


def test_a_file_that_is_no_gz_at_all_is_one_reject(tmp_path: Path) -> None:
    """A name may lie."""
    (tmp_path / "a.gz").write_bytes(events(1, 3))
    ledger = Ledger(tmp_path / "a.gz").once().once()
    assert ledger.rejects == [(0, Reason.DAMAGED_ARCHIVE)]


def test_a_gz_that_unpacks_to_one_endless_line_stays_bounded(tmp_path: Path) -> None:
    """256 MiB of zeros are one reject and little memory."""
    with gzip.open(tmp_path / "a.gz", "wb", compresslevel=1) as out:
        for _ in range(256):
            out.write(bytes(1 << 20))
    ledger = Ledger(tmp_path / "a.gz")
    tracemalloc.start()
    ledger.once()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert ledger.rejects == [(0, Reason.TOO_LONG)]
    assert peak < 24 << 20


def test_gzip_at_work_is_waited_for(tmp_path: Path) -> None:
    """An archive that is still being written is not called damaged."""
    archive = tmp_path / "a.gz"
    data = gzip.compress(events(1, 3000))
    with Ledger(archive) as ledger:
        archive.write_bytes(data[: len(data) // 2])
        ledger.settle()
        append(archive, data[len(data) // 2 :])
        ledger.until(lambda: len(ledger.lines) == 3000)
    assert ledger.ids == list(range(1, 3001))
    assert ledger.rejects == []
