"""A writer, a rotator and a collector that is stopped and started, all at the same time."""

import random
import time
from pathlib import Path

import pytest

from tests.collector.filekit import Ledger
from tests.collector.test_file_source_property import Log

KEPT = 30


@pytest.mark.parametrize("seed", [1, 2])
def test_a_busy_log_under_rotation_and_restarts_is_read_exactly_once(
    tmp_path: Path, seed: int
) -> None:
    """Renames, truncations and compression under a running collector lose and repeat nothing."""
    chance = random.Random(seed)
    log = Log(tmp_path, Ledger(tmp_path / "in.jsonl*"))
    log.append(1)
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        with log.ledger:
            for _ in range(chance.randint(5, 40)):
                step = chance.choices(
                    [log.append, log.half, log.rename, log.copytruncate, log.pack],
                    [60, 10, 6, 6, 4],
                )[0]
                if len(list(tmp_path.iterdir())) < KEPT or step in (log.append, log.half):
                    step(chance.randint(1, 60))
                time.sleep(chance.random() / 200)
    log.append(1)
    log.ledger.once().once()
    ids = log.ledger.ids
    wanted = set(range(1, log.written + 1))
    assert (sorted(wanted - set(ids))[:9], len(ids) - len(set(ids))) == ([], 0)
