"""What the storage tests share: a collector run in this process, copies of a store, its truths."""

import json
import os
import shutil
import sqlite3
import subprocess
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import collector.decoders
from audit.keys import load_or_create
from audit_events import plugins
from collector.recovery import Opened, open_for_writing
from collector.seal import Sealer, SealLimits
from collector.service import Collector, Plan, Summary
from collector.sources.file import FileSource
from collector.spool import no_step
from collector.store import Store, open_or_create
from collector.upkeep import Upkeep
from policies.redact import default_redactor
from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey
from tests import forked
from tests.collector.trail_check import Seen, outside_reader, snapshot

# Limits that no test reaches: nothing is sealed before the end.
NEVER = SealLimits(rows=1 << 40, bytes=1 << 40, age_s=1e9)
# Every commit is sealed on its own.
ALWAYS = SealLimits(rows=1, bytes=1, age_s=0)


_REDACTOR: list[Redactor] = []


def shared_redactor(key: FingerprintKey) -> Redactor:
    """One for all houses, whoever's key it has: compiling the rules takes half a second."""
    if not _REDACTOR:
        _REDACTOR.append(default_redactor(key))
    return _REDACTOR[0]


def the_redactor() -> Redactor:
    """The shared one, for tests that make rows themselves."""
    return shared_redactor(FingerprintKey(b"k" * 32))


@dataclass
class House:
    """A folder with a log, a store and the keys outside of it."""

    folder: Path
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "log").mkdir(parents=True, exist_ok=True)

    @property
    def root(self) -> Path:
        """The store."""
        return self.folder / "store"

    @property
    def spool(self) -> Path:
        """The store's spool.db."""
        return self.root / "spool.db"

    @property
    def log(self) -> Path:
        """The Delta log."""
        return self.root / "events" / "_delta_log"

    @property
    def store(self) -> Store:
        """The store, made if need be."""
        return open_or_create(self.root)

    @property
    def watermark(self) -> Path:
        """The last seq, beside the keys."""
        return self.folder / "keys" / "keys" / f"{self.store.id}.seq"

    def plan(
        self,
        on_step: Callable[[str], None] = no_step,
        limits: SealLimits = NEVER,
        upkeep: Callable[[Sealer], None] | None = None,
    ) -> Plan:
        """A collector of the log folder's files."""
        store = self.store
        key = load_or_create(self.folder / "keys", store.id)
        native = plugins.load(collector.decoders, "decoder", "native")
        pattern = str(self.folder / "log" / "decisions.jsonl*")
        return Plan(
            store=store,
            watermark=self.watermark,
            sources=[(FileSource("openclaw", [pattern], key=key.secret), native)],
            redactor=shared_redactor(key),
            host="test-host",
            version="0",
            say=self.said.append,
            on_step=on_step,
            limits=limits,
            upkeep=upkeep,
        )

    def collect(self, **words: object) -> Summary:
        """One `collect --once`."""
        return Collector(self.plan(**words)).run(threading.Event(), once=True)  # type: ignore[arg-type]

    def open(self, **words: object) -> Opened:
        """The store open for writing, as a start does it."""
        return open_for_writing(self.store, self.watermark, **words)  # type: ignore[arg-type]

    def copy_to(self, folder: Path) -> "House":
        """The same store elsewhere, reading the very same files of the log."""
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(self.root, folder / "store")
        shutil.copytree(self.folder / "keys", folder / "keys")
        (folder / "log").mkdir()
        for path in (self.folder / "log").iterdir():
            (folder / "log" / path.name).hardlink_to(path)
        return House(folder)

    def restore(self, backup: Path) -> "House":
        """This house as `backup` has it; every file becomes a new one, as on another disk."""
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(backup, self.folder, dirs_exist_ok=True)
        return self

    def seen(self) -> Seen:
        """What an independent reader finds."""
        return snapshot(self.root)

    def meta(self) -> dict[str, object]:
        """The facts of spool.db."""
        with closing(sqlite3.connect(self.spool)) as db:
            return dict(db.execute("SELECT key, value FROM meta"))

    def ask(self, sql: str, *values: object) -> list[tuple]:
        """A question to spool.db."""
        with closing(sqlite3.connect(self.spool)) as db:
            return db.execute(sql, values).fetchall()

    def identities(self) -> dict[int, int | None]:
        """seq → pid of every row: who holds which id."""
        seen = self.seen()
        return dict(zip(seen.seqs, seen.named, strict=True))

    def notices(self) -> list[str]:
        """What the collector itself said, as the record has it."""
        return [text for text in self.seen().notices if "could not be read" not in text]


def exact(house: House, events: int) -> None:
    """Every event once, no seq twice, sums balance, nothing private is open, outsiders agree."""
    seen = house.seen()
    assert sorted(seen.pids) == list(range(1, events + 1))
    assert len(set(seen.seqs)) == len(seen.seqs)
    t = seen.tallies
    assert t.get("seen", 0) == sum(t.get(k, 0) for k in ("stored", "rejected", "filtered"))
    assert outside_reader(house.root) == sorted(seen.seqs)


def upkeep(keep: timedelta | None = None, above: int = 1) -> Upkeep:
    """Runs at every look of the sealer."""
    return Upkeep(keep, print, every_s=0, above=above)


def commits(house: House) -> list[Path]:
    """The log's JSON files in order."""
    return sorted(path for path in house.log.glob("*.json"))


def words_of(path: Path) -> dict:
    """What a commit of ours says of itself."""
    info = json.loads(path.read_bytes().splitlines()[0])["commitInfo"]
    return json.loads(info["sandtrail"])


def audit(
    house: House, *words: str, timeout: float = 60, **environ: str
) -> subprocess.CompletedProcess[str]:
    """The real command on this house's store."""
    return forked.run(
        "audit.main", "--store", str(house.root), *words,
        env=environment(house, **environ), timeout=timeout,
    )  # fmt: skip


def environment(house: House, **more: str) -> dict[str, str]:
    """Nothing of the caller's own settings, keys beside the store."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {
        **kept, "HOME": str(house.folder), "XDG_CONFIG_HOME": str(house.folder / "config"),
        "TZ": "UTC", "PYTHONPATH": str(Path(__file__).parents[2]), **more,
    }  # fmt: skip
