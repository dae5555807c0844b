"""Linking by a real collector that is killed: each record once, and every pair linked once."""

import random
import subprocess
import time
from pathlib import Path

from audit_events.layout import StorePaths
from query.contracts import Request
from query.engine import row_pages
from tests.collector.linking import layer_line, system_line
from tests.collector.trail_check import Victim

KILLS = 4
STEPS = ("spool.before-commit", "spool.after-commit", "seal.after-commit", "spool.after-rows")


def write(folder: Path, first: int, count: int, rng: random.Random) -> None:
    """Operations that both logs tell of, in two orders."""
    pids = list(range(first, first + count))
    with (folder / "log" / "decisions.jsonl").open("ab") as layer:
        layer.write(b"".join(layer_line(pid / 100, pid, f"/k{pid % 5}") for pid in pids))
    rng.shuffle(pids)
    with (folder / "system.ndjson").open("ab") as system:
        system.write(b"".join(system_line(p / 100 + 0.02, p, f"/k{p % 5}") for p in pids))


def test_killed_anywhere_each_pair_is_linked_once(tmp_path: Path) -> None:
    """Layers and system are read by processes that die; the links are as if none had."""
    rng = random.Random(5)
    (tmp_path / "log").mkdir()
    system, written = str(tmp_path / "system.ndjson"), 0
    for number in range(KILLS):
        step = STEPS[number % len(STEPS)]
        victim = Victim(tmp_path, step=step, nth=rng.randint(1, 3), system=system, rows=60)
        for _ in range(30):
            write(tmp_path, written + 1, 20, rng)
            written += 20
            time.sleep(0.1)
            if victim.process.poll() is not None:
                break
        victim.kill()
    last = Victim(tmp_path, system=system, once=True)
    try:
        assert last.process.wait(60) == 0
    except subprocess.TimeoutExpired:
        last.kill()
        raise
    pages = row_pages(StorePaths(tmp_path / "store"), Request())
    rows = {row["seq"]: row for page in pages for row in page if row["kind"] == "decision"}
    told = sorted((row["source"], row["pid"]) for row in rows.values())
    assert told == sorted((s, p + 1) for s in ("openclaw", "unified-log") for p in range(written))
    pairs = [(row["pid"], rows[row["linked_seq"]]) for row in rows.values() if "link" in row]
    assert all(pid == partner["pid"] and "link" not in partner for pid, partner in pairs)
    assert sorted(pid for pid, _ in pairs) == list(range(1, written + 1))
