"""Records of many lines survive a death in their middle: each event once, and whole."""

import json
import os
import random
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.collector.trail_check import Victim, Writer, snapshot, wait_for

# How much is written at once: every border is then one that a block can have.
PIECES = {"1 byte": 1, "1 line": None, "64 KiB": 64 * 1024}
STEPS = ("spool.after-rows", "spool.before-commit", "spool.after-commit", "seal.after-delta-commit")
GROUP = 6


def audit_group(first: int, rng: random.Random) -> list[bytes]:
    """Events of four records each, their records interleaved as several CPUs write them."""
    events = []
    for number in range(first, first + GROUP):
        stamp = f"audit(1785229{392 + number // 1000:03}.{number % 1000:03}:{number}):"
        events.append([
            f'type=LANDLOCK_ACCESS msg={stamp} domain=1 blockers=fs.read_file path="/p{number}"',
            f"type=SYSCALL msg={stamp} arch=c000003e syscall=257 success=no exit=-13 pid={number}",
            f'type=PROCTITLE msg={stamp} proctitle="cat"',
            f"type=EOE msg={stamp} ",
        ])  # fmt: skip
    lines = []
    while events:
        event = rng.choice(events)
        lines.append(event.pop(0).encode() + b"\n")
        events = [event for event in events if event]
    return lines


def report_group(first: int, _rng: random.Random) -> list[bytes]:
    """Long reports of sandboxd, and reports of the kernel with a tag on their second line."""
    lines = []
    for number in range(first, first + GROUP):
        head = "2026-07-28 09:03:12.481 E  "
        said = f"Sandbox: cat({number}) deny(1) file-read-data /p{number}\n"
        if number % 2:
            where = json.dumps({"operation": "file-read-data", "target": f"/p{number}", "uid": 7})
            who = "sandboxd[601:1a] [com.apple.sandbox.reporting:violation] "
            more = f"Process:         cat [{number}]\nUser ID:         7\n\nMetaData: {where}\n"
            text = head + who + said + more
        else:
            text = f"{head}kernel[0:1a] (Sandbox) {said}RUN-{number}\n"
        lines += [line.encode() + b"\n" for line in text.removesuffix("\n").split("\n")]
    return lines


def block_group(first: int, _rng: random.Random) -> list[bytes]:
    """Native records in block form: a pair a line, a blank line or the next ts= between them."""
    lines = []
    for number in range(first, first + GROUP):
        pairs = ("ts=2026-07-28T09:03:12Z", f"path=/p{number}", "decision=deny", f"pid={number}")
        lines += [pair.encode() + b"\n" for pair in pairs]
        lines += [b"\n"] if number % 2 else []
    return lines


GROUPS = {"linux-audit": audit_group, "seatbelt": report_group, "native": block_group}


class GroupWriter(Writer):
    """Appends groups of records in pieces of one size after another; rotates between groups."""

    def __init__(self, folder: Path, form: str, rng: random.Random) -> None:
        super().__init__(folder, rate=GROUP, rotate_every=240, rng=rng)
        self.form = form

    def write(self, count: int) -> None:
        """One group, whatever `count`: a record never waits for the next one."""
        lines = GROUPS[self.form](self.written + 1, self.rng)
        size = self.rng.choice(list(PIECES.values()))
        data = b"".join(lines)
        pieces = lines if size is None else [data[i : i + size] for i in range(0, len(data), size)]
        with self.path.open("ab", buffering=0) as file:
            for piece in pieces:
                file.write(piece)
        self.written += GROUP
        if self.written // self.rotate_every > self._rotations:
            self._rotations += 1
            self.path.rename(self.folder / f"decisions.jsonl.{self._rotations}")


def stored(store: Path) -> list[dict[str, Any]]:
    """Every event of the archive, as any Delta reader sees it."""
    columns = ["pid", "path", "kind", "decision", "uid", "process", "flags", "extra"]
    return DeltaTable(str(store / "events")).to_pyarrow_dataset().to_table(columns).to_pylist()


def seen(store: Path) -> list[int]:
    """The pids in the store now; none if it died before its first transaction."""
    try:
        return snapshot(store).pids
    except (KeyError, sqlite3.OperationalError):
        return []


def check_whole(form: str, row: dict[str, Any]) -> None:
    """All lines of a record are in its event."""
    number = row["pid"]
    assert (row["kind"], row["decision"], row["path"]) == ("decision", "deny", f"/p{number}")
    assert "incomplete" not in (row["flags"] or "")
    extra = json.loads(row["extra"] or "{}")
    if form == "linux-audit":
        assert (extra["serial"], extra["exit"]) == (number, -13)
    elif form == "seatbelt":
        assert (row["uid"] == 7) if number % 2 else (extra["tag"] == f"RUN-{number}")


def kill_run(folder: Path, form: str, kills: int, seed: int) -> None:
    """A writer, `kills` deaths at named steps and at any moment, an orderly end, the truth."""
    rng = random.Random(seed)
    print(f"seed {seed}, {form}, {kills} kills")
    (folder / "log").mkdir()
    writer = GroupWriter(folder / "log", form, random.Random(seed + 1))
    writer.start()
    try:
        for number in range(kills):
            if number % 2:
                victim = Victim(folder, decoder=form, step=rng.choice(STEPS), nth=rng.randint(1, 3))
                if not victim.dies(2):
                    victim.kill()
            else:
                victim = Victim(folder, decoder=form)
                victim.wait_until_up()
                time.sleep(rng.uniform(0.05, 0.5))
                victim.kill()
            pids = seen(folder / "store")
            assert len(set(pids)) == len(pids)
        last = Victim(folder, decoder=form)
        time.sleep(0.3)
    finally:
        writer.finish()
    wait_for(folder, writer)
    assert last.terminate() == 0
    rows = stored(folder / "store")
    assert sorted(row["pid"] for row in rows) == list(range(1, writer.written + 1))
    for row in rows:
        check_whole(form, row)


@pytest.mark.parametrize("form", GROUPS)
def test_five_kills_in_the_middle_of_records(tmp_path: Path, form: str) -> None:
    """Interleaved audit events, reports of many lines and blocks: each once, and whole."""
    kill_run(tmp_path, form, 5, int(os.environ.get("SANDTRAIL_SEED", "20261129")))


@pytest.mark.torture
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("form", GROUPS)
def test_forty_kills_in_the_middle_of_records(tmp_path: Path, form: str) -> None:
    """The full figure."""
    kill_run(tmp_path, form, 40, int(os.environ.get("SANDTRAIL_SEED", "20261129")) + 7)
