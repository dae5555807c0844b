"""What `audit upkeep` says and does: the plan of a dry run, or the work under the store's lock."""

import contextlib
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from audit import screen as output
from audit import wiring
from audit.call import Call
from audit.render_time import count, size
from audit.say import Voice
from audit.settings import duration_s
from audit_events.errors import StorageError, UsageError
from audit_events.layout import StorePaths
from audit_events.version import VERSION
from collector.archive import ArchiveFile
from collector.recovery import Opened, open_for_writing
from collector.store import Store, read_store_id, writer_lock
from collector.upkeep import (
    COMPACT_ABOVE_FILES,
    Compaction,
    Done,
    Removal,
    Upkeep,
    compactions,
    removals,
)
from query.snapshot import reading

# A compacted event weighs 14 to 18 bytes; what a compaction frees is told from that.
_COMPACTED_BYTES: Final = 16
# A worker's start, and the rows that it rewrites in a second.
_WORKER_S: Final = 0.7
_ROWS_A_SECOND: Final = 250_000
_KEEP: Final = re.compile(r"([0-9]{1,6}[smhdw])+")


@dataclass(frozen=True, slots=True)
class Plan:
    """What there is to do, and how far the exports are."""

    compactions: Sequence[Compaction]
    removals: Sequence[Removal]
    cursors: dict[str, int]

    @property
    def seconds(self) -> float:
        """About how long it takes."""
        rows = sum(file.rows for each in self.compactions for file in each.files)
        return _WORKER_S * (1 + len(self.compactions)) + rows / _ROWS_A_SECOND


def look(call: Call, keep: str | None, *, at_once: bool) -> None:
    """Print what would be done; needs no lock, so a collector may be running."""
    store = wiring.find_store(call)
    plan = _plan(store, _kept(call, keep), _moment(call), at_once=at_once)
    lines = _lines(plan, "would compact", "would remove", "would keep")
    output.put(lines or ["nothing to do"])
    if lines:
        Voice(call.prog, call.environ).line(
            f"nothing was changed; without --dry-run this takes about {plan.seconds:.0f} s"
        )


def work(call: Call, keep: str | None, *, at_once: bool) -> None:
    """Do it under the store's lock; StorageError if somebody else writes to the store."""
    store, kept, voice = wiring.find_store(call), _kept(call, keep), Voice(call.prog, call.environ)
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(writer_lock(store, VERSION))
        except StorageError as error:
            raise StorageError(
                error.message, hint="a running collector does this by itself"
            ) from None
        opened = _opened(call, store)
        stack.callback(opened.spool.close)
        stack.callback(opened.sealer.close)
        done, plan = _do(opened, store, kept, _moment(call), voice, at_once=at_once)
    lines = _lines(plan, "compacted", "removed", "kept")
    output.put(lines or ["nothing to do"])
    if done.compacted or done.removed:
        voice.line("replaced files stay 15 minutes for readers, then the next upkeep frees them")


def _opened(call: Call, store: StorePaths) -> Opened:
    name = read_store_id(store)
    if name is None:
        raise StorageError(f"{store.toml} is missing", hint="restore it from a copy")
    keys = wiring.key_dir(wiring.load_settings(call).settings.keys)
    return open_for_writing(Store(store, name), keys / "keys" / f"{name}.seq")


def _do(
    opened: Opened,
    store: StorePaths,
    keep: timedelta | None,
    now: datetime,
    voice: Voice,
    *,
    at_once: bool,
) -> tuple[Done, Plan]:
    while opened.sealer.seal():
        pass
    plan = _plan(store, keep, now, at_once=at_once)
    upkeep = Upkeep(keep, voice.note, above=1 if at_once else COMPACT_ABOVE_FILES)
    done = upkeep.run(opened.sealer, now)
    held = [removal for removal in plan.removals if removal.kept_for]
    return done, Plan(done.compacted, [*done.removed, *held], plan.cursors)


def _kept(call: Call, keep: str | None) -> timedelta | None:
    text = keep or wiring.load_settings(call).settings.retention.keep
    if text is None:
        return None
    if not _KEEP.fullmatch(text):
        raise UsageError(f"--keep {text}: not a length of time", hint="--keep 30d; 12h, 2w, 1d12h")
    return timedelta(seconds=duration_s(text))


def _moment(call: Call) -> datetime:
    return datetime.fromtimestamp(call.now() / 1e6, UTC)


def _plan(store: StorePaths, keep: timedelta | None, now: datetime, *, at_once: bool) -> Plan:
    with reading(store) as con:
        files = [
            ArchiveFile(*row)
            for row in con.execute(
                "SELECT path, date, rows, bytes, min_ts, max_ts, min_observed, max_observed,"
                " min_seq, max_seq FROM files"
            )
        ]
    cursors = _cursors(store)
    removed = removals(files, cursors, now, keep) if keep is not None else []
    going = {each.date for each in removed if not each.kept_for}
    joined = compactions(files, 1 if at_once else COMPACT_ABOVE_FILES)
    return Plan([each for each in joined if each.date not in going], removed, cursors)


def _cursors(store: StorePaths) -> dict[str, int]:
    if not store.control.exists():
        return {}
    uri = f"{store.control.resolve().as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as con:
        return dict(con.execute("SELECT name, seq FROM cursors").fetchall())


def _lines(plan: Plan, compact: str, remove: str, keep: str) -> list[str]:
    lines = []
    if joined := plan.compactions:
        files = [file for each in joined for file in each.files]
        freed = sum(file.bytes - _COMPACTED_BYTES * file.rows for file in files)
        days = f"{len(joined)} {'day' if len(joined) == 1 else 'days'}"
        what = f"{days}, {count(len(files))} files to {len(joined)}"
        lines.append(f"{compact:<16}{what:<32}frees {size(max(freed, 0)):>6}")
    if gone := [each for each in plan.removals if not each.kept_for]:
        freed = sum(file.bytes for each in gone for file in each.files)
        events = sum(each.rows for each in gone)
        what = f"{gone[0].date} to {gone[-1].date}"
        lines.append(f"{remove:<16}{what:<32}frees {size(freed):>6}   {count(events)} events")
    if held := [each for each in plan.removals if each.kept_for]:
        name = str(held[0].kept_for)
        lacks = sum(_lacking(file, plan.cursors[name]) for each in held for file in each.files)
        what = ", ".join(each.date for each in held)
        lines.append(f"{keep:<16}{what:<32}{name} has not got {count(lacks)} events")
    return lines


def _lacking(file: ArchiveFile, cursor: int) -> int:
    """Events of a file after the cursor; exact where its seqs are dense, else at most this many."""
    return max(0, min(file.rows, file.max_seq - cursor))
