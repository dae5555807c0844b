"""Purge: today's rules over yesterday's rows; seqs stay, old bytes go, a kill is no damage."""

import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from audit_events.canonical import segment_digest
from audit_events.rows import rows_to_batch
from audit_events.schema import KINDS
from collector.archive import read_file
from collector.commit import Commit
from collector.purge import Order, Purged, purge
from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey
from policies.redact.packs import parse_pack
from query import engine
from query.contracts import Request
from tests import forked
from tests.collector.storekit import House

KEY = FingerprintKey(b"k" * 32)
PACK = parse_pack(
    "rules:\n  - {id: acme, action: hash, pattern: 'acme_(?P<secret>[a-z0-9]{16})'}\n", "p"
)
SECRET = "q7w8e9r0t1y2u3i4"
# No rule of ours is needed to see what a new rule changes, and few rules compile at once.
YESTERDAY = Redactor((), KEY)
TODAY = Redactor(PACK.rules, KEY)


def rows(first: int, number: int, secret: bool) -> list[dict[str, object]]:
    """Events over three days; every fifth holds the secret, in different fields."""
    made = []
    for n in range(first, first + number):
        token = f"acme_{SECRET}" if secret and n % 5 == 0 else "harmless"
        made.append(
            {
                "ts": 1_785_140_000_000_000 + n * 2_000_000_000, "kind": "decision",
                "source": "s", "format": "native", "source_position": n, "host": "h",
                "sandbox": "agent-demo", "correlation_id": "r1", "decision": "deny",
                "path": f"/w/{token}/{n}", "command": f'["tool","{token}"]',
                "message": f"x {token} y" if n % 2 else None,
            }
        )  # fmt: skip
    return made


def store(house: House, *, buffer: bool = True) -> House:
    """Rows of three days in the archive (two seals) and, if wanted, some in the buffer."""
    opened = house.open()
    for first in (0, 40):
        batch = YESTERDAY.redact(
            rows_to_batch(rows(first, 40, secret=True)), YESTERDAY.initial_state()
        )[0]
        opened.spool.append(Commit(batches=[batch]))
        assert opened.sealer.seal()
    if buffer:
        batch = YESTERDAY.redact(
            rows_to_batch(rows(80, 10, secret=True)), YESTERDAY.initial_state()
        )[0]
        opened.spool.append(Commit(batches=[batch]))
    opened.sealer.close()
    opened.spool.close()
    return house


def order(**words: object) -> Order:
    """Purge everything by today's rules."""
    return Order(TODAY, None, "h", "0", **words)  # type: ignore[arg-type]


def run(house: House, **words: object) -> Purged:
    """One purge of the house."""
    return purge(house.store, house.watermark, order(**words))


def bytes_of(house: House) -> bytes:
    """Every byte of every file of the store."""
    return b"\0".join(path.read_bytes() for path in house.root.rglob("*") if path.is_file())


def texts(house: House) -> dict[int, str]:
    """The text of each event, by seq, and that nothing but events is there."""
    found = engine.answer(house.store.paths, Request({"kind": KINDS})).rows
    seqs = [row["seq"] for row in found]
    assert len(set(seqs)) == len(seqs)
    return {row["seq"]: repr(row) for row in found}


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A store full of what yesterday's rules did not know."""
    return store(House(tmp_path))


def test_a_purge_masks_stored_events_and_keeps_their_seqs(house: House) -> None:
    """Archive and buffer alike; every other event stays as it was, to the byte."""
    before = texts(house)
    assert sum(SECRET in text for text in before.values()) == 18
    done = run(house)
    after = texts(house)
    assert done.events == 18
    assert not any(SECRET in text for text in after.values())
    assert list(after)[:90] == list(before)
    same = [seq for seq in before if SECRET not in before[seq]]
    assert all(after[seq] == before[seq] for seq in same)
    assert all("[REDACTED:acme:" in after[seq] for seq in before if seq not in same)
    assert all(TODAY.digest in after[seq] for seq in before if seq not in same)
    notice = after[91]
    assert "purge: 18 stored events were masked anew" in notice


def test_nothing_of_the_old_bytes_is_left(house: House) -> None:
    """Old files, free pages, -wal, copies set aside: the hot denies stood there in clear."""
    old_files = list(house.root.glob("events/date=*/*.parquet"))
    blobs = [blob for (blob,) in house.ask("SELECT data FROM batches")]
    aside = house.root / "lost" / "20260728T000000Z-0000"
    aside.mkdir(parents=True)
    (aside / "spool.db").write_bytes(SECRET.encode())
    assert SECRET.encode() in bytes_of(house)
    assert all(blob[100:200] in bytes_of(house) for blob in blobs)
    done = run(house)
    assert done.removed == [f"lost/{aside.name}"]
    left = bytes_of(house)
    assert SECRET.encode() not in left
    assert not any(blob[100:200] in left for blob in blobs)
    assert not any(path.exists() for path in old_files)


def test_what_was_rewritten_is_on_record(house: House) -> None:
    """Which rows, why, by which rules, digests before and after; segments prove the new rows."""
    old = dict(house.ask("SELECT first_seq || date, sha256 FROM segments"))
    run(house)
    records = house.ask(
        "SELECT date, rows, changed, reason, rules FROM rewrites ORDER BY min_seq, date"
    )
    assert sum(changed for _, _, changed, _, _ in records) == 16
    assert {(reason, rules) for *_, reason, rules in records} == {("purge", TODAY.digest)}
    for first, last, date, sha256 in house.ask(
        "SELECT first_seq, last_seq, date, sha256 FROM segments"
    ):
        held = [
            read_file(house.root / "events", path).sort_by("seq")
            for (path,) in house.ask("SELECT path FROM files WHERE date = ?", date)
        ]
        [mine] = [t for t in held if t["seq"][0].as_py() == first and t["seq"][-1].as_py() == last]
        assert segment_digest(mine) == sha256
        assert old.get(f"{first}{date}") != sha256


def test_a_second_purge_finds_nothing(house: House) -> None:
    """Our own marks are no secrets: rewriting again changes no file."""
    run(house)
    files = house.ask("SELECT path FROM files")
    assert run(house).events == 0
    assert set(files) <= set(house.ask("SELECT path FROM files"))


def test_only_what_is_younger_is_looked_at(house: House) -> None:
    """`--since` leaves the files of older days alone."""
    younger = 1_785_140_000_000_000 + 60 * 2_000_000_000
    done = purge(house.store, house.watermark, Order(TODAY, younger, "h", "0"))
    assert "2026-07-27" not in done.changed
    assert done.events < 18


class Killed(BaseException):
    """Ends a purge at a step, as a kill would: nobody handles it."""


STEPS = [("purge.after-file", 1), ("purge.after-file", 3), ("purge.before-delta-commit", 1),
         ("purge.after-delta-commit", 1), ("reconcile.after-sync", 1),
         ("reconcile.before-commit", 1), ("reconcile.after-commit", 1), ("purge.in-spool", 1),
         ("purge.after-spool", 1), ("purge.after-forget", 1)]  # fmt: skip


@pytest.mark.parametrize(("step", "nth"), STEPS, ids=[f"{s}-{n}" for s, n in STEPS])
def test_killed_anywhere_the_next_start_is_consistent(house: House, step: str, nth: int) -> None:
    """Every event once, whatever was done by then; another purge finishes it."""
    before = texts(house)
    left = nth

    def on_step(name: str) -> None:
        nonlocal left
        left -= name == step
        if name == step and left == 0:
            raise Killed

    with pytest.raises(Killed):
        run(house, on_step=on_step)
    opened = house.open()
    opened.sealer.close()
    opened.spool.close()
    between = texts(house)
    assert [seq for seq in between if seq <= 90] == list(before)
    run(house)
    assert not any(SECRET in text for text in texts(house).values())
    assert SECRET.encode() not in bytes_of(house)
    known = {path for (path,) in house.ask("SELECT path FROM files")}
    found = {
        p.relative_to(house.root / "events").as_posix() for p in house.root.glob("events/date=*/*")
    }
    assert found == known


@pytest.mark.parametrize("step", sorted({step for step, _ in STEPS}))
def test_a_real_kill_anywhere_is_finished_by_the_next_purge(house: House, step: str) -> None:
    """SIGKILL in another process: nothing unwinds, what the kernel has is all there is."""
    before = texts(house)
    ran = forked.run("tests.collector.purge_victim", str(house.folder), step)
    assert ran.returncode == -signal.SIGKILL, ran.stderr[-500:]
    opened = house.open()
    opened.sealer.close()
    opened.spool.close()
    between = texts(house)
    assert [seq for seq in between if seq <= 90] == list(before)
    run(house)
    assert not any(SECRET in text for text in texts(house).values())
    assert SECRET.encode() not in bytes_of(house)
    assert hot_masks(house) == stored_masks(house)


def hot_masks(house: House) -> dict[int, int]:
    """Masks by hour as the counters say."""
    asked = house.ask("SELECT hour, sum(masked) FROM hours GROUP BY hour HAVING sum(masked) > 0")
    return {hour: int(masked) for hour, masked in asked}


def stored_masks(house: House) -> dict[int, int]:
    """Masks by hour as the rows say."""
    found: Counter[int] = Counter()
    for row in engine.answer(house.store.paths, Request({"kind": KINDS})).rows:
        found[row["ts"] // 3_600_000_000] += row["redactions"] or 0
    return dict(+found)


def test_the_hot_counters_say_what_the_rows_say(house: House) -> None:
    """`masked` of the status line and of --redactions are one number after a purge."""
    assert hot_masks(house) == {}
    run(house)
    assert hot_masks(house) == stored_masks(house)
    assert sum(hot_masks(house).values()) >= 36
    run(house)
    assert hot_masks(house) == stored_masks(house)


def test_the_hour_that_a_limit_cuts_keeps_its_counter(house: House) -> None:
    """Its older rows were not looked at; every later hour is exact."""
    younger = 1_785_140_000_000_000 + 60 * 2_000_000_000
    purge(house.store, house.watermark, Order(TODAY, younger, "h", "0"))
    first = younger // 3_600_000_000 + 1
    later = {hour: n for hour, n in stored_masks(house).items() if hour >= first}
    assert {hour: n for hour, n in hot_masks(house).items() if hour >= first} == later
    assert later


def test_a_mask_is_never_masked_again(house: House) -> None:
    """Purging with all rules on rows that hold marks changes none of them."""
    from policies.redact.rules import ALL_RULES

    full = Redactor(ALL_RULES, KEY)
    batch = rows_to_batch(
        [{"message": text, "path": f"/w/{text}"} for text in ("password=hunter2!x", "a [REDACTED:x",
          "Authorization: Bearer k2Lm9Qx7Vb4Nc8TzQr5Wd", "token: k2Lm9Qx7Vb4Nc8TzQr5Wd")]
    )  # fmt: skip
    once = full.redact(batch, full.initial_state())[0]
    again, _, changed = full.mask_again(once, full.initial_state())
    assert not changed.any()
    assert again.equals(once)
    assert len(re.findall("REDACTED:", once.column("message")[0].as_py())) == 1
