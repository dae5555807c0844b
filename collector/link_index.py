"""What was told of late, as the linker looks through it: whole columns, and rows only on demand."""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

COLUMNS: Final = [
    "kind", "ts", "host", "sandbox", "correlation_id", "linked_seq", "link", "syscall", "resource",
    "access", "decision", "path", "path_to", "dst", "target", "pid", "policy", "policy_digest",
    "policy_rule", "rule_section", "rule_index", "flags", "extra",
]  # fmt: skip
# Columns that make two events the same operation; host and pid stand first.
_KEY: Final = (
    "host", "pid", "decision", "resource", "access", "path", "path_to", "dst", "target",
)  # fmt: skip
_READ: Final = ["kind", "flags", *_KEY]
_OBJECTS: Final = ("path", "dst", "target", "path_to")
_NO_PID: Final = -1
# So few rows are looked at one by one.
FEW_ROWS: Final = 32
# Links that every macOS has; the layer and the kernel may name either side.
_MOVED: Final = ("/private/tmp", "/private/var", "/private/etc")
_DUPLICATE: Final = '"duplicate"'
_SERIAL: Final = '"serial"'

Key = tuple[Any, ...]


class Kept:
    """The rows of one batch; `source` is empty for a layer's.

    `offset` is the place of the first row in its commit, until `number` tells the commit's seq.
    """

    def __init__(
        self, batch: pa.RecordBatch, source: str, offset: int, at: float, seqs: Any = None
    ) -> None:
        self._batch = batch
        self.source = source
        self.offset = offset
        self.at = at
        self._seqs = seqs
        self._first: int | None = None
        self.ts = batch.column("ts").cast(pa.int64()).to_numpy()
        self.low = int(self.ts.min()) if len(self.ts) else 0
        self.high = int(self.ts.max()) if len(self.ts) else -1
        # Rows that link to another one themselves: nothing links to them.
        self.reports: set[int] = set()
        # Which sources told the row once more; "" stands for the layers.
        self.told_by: dict[int, set[str]] = {}
        # Rows that somebody asked for, by what they are.
        self.found: dict[Key, dict[int, Place]] = {}
        self._pids: Any = None

    @property
    def pids(self) -> Any:
        """The pid of each row, -1 where there is none."""
        if self._pids is None:
            column = self._batch.column("pid")
            self._pids = column.fill_null(_NO_PID).to_numpy()
        return self._pids

    def number(self, first: int) -> None:
        """The commit's first row has this seq."""
        self._first = first + self.offset

    def seq(self, row: int) -> int | None:
        """The row's seq, None until it is stored."""
        if self._seqs is not None:
            return int(self._seqs[row])
        return None if self._first is None else self._first + row

    def value(self, name: str, row: int) -> Any:
        """One value."""
        return self._batch.column(name)[row].as_py()

    def operations(self, rows: Any = None) -> list[tuple[int, Key, int]]:
        """(row, key, ts) of the rows that can be told twice, of these or all."""
        found = np.flatnonzero(self.pids != _NO_PID) if rows is None else np.asarray(rows)
        if not len(found):
            return []
        part = self._batch.select(_READ).take(pa.array(found, pa.int64()))
        told = zip(found.tolist(), *(column.to_pylist() for column in part.columns), strict=True)
        keys = ((row, _key(*values)) for row, *values in told)
        return [(row, key, int(self.ts[row])) for row, key in keys if key is not None]

    def objects(self) -> pa.Array:
        """What each row is about, for a quick look."""
        return pc.coalesce(*(self._batch.column(name) for name in _OBJECTS))

    def repeats(self) -> list[int]:
        """Rows that count further occurrences of another one."""
        return repeats_of(self._batch)

    def free(self, row: int, source: str) -> bool:
        """Whether a report of the source may still join the row."""
        return row not in self.reports and source not in self.told_by.get(row, ())

    def serial(self, row: int) -> int | None:
        """The number that the kernel gave the record, where it has one."""
        extra = self.value("extra", row)
        if extra is None or _SERIAL not in extra:
            return None
        found = json.loads(extra).get("serial")
        return found if isinstance(found, int) else None

    def reported(self) -> list[tuple[int, int]]:
        """(row, linked seq) of the reports among the rows."""
        rows = np.flatnonzero(
            pc.equal(self._batch.column("link"), "report")
            .fill_null(False)
            .to_numpy(zero_copy_only=False)
        ).tolist()
        return [(row, self.value("linked_seq", row)) for row in rows]


@dataclass(frozen=True, slots=True)
class Place:
    """A row that is stored, or will be with this commit."""

    kept: Kept
    row: int
    key: Key
    ts: int

    def value(self, name: str) -> Any:
        """What the row says."""
        return self.kept.value(name, self.row)


@dataclass(slots=True, eq=False)
class Told:
    """A system's row that no layer's has joined; `place` once it is stored without one."""

    source: str
    key: Key
    ts: int
    row: int
    at: float
    serial: int | None = None
    joined: bool = False
    place: Place | None = None


def _key(kind: Any, flags: Any, *values: Any) -> Key | None:
    """What makes a row the same operation as another; None for one that cannot be told twice."""
    host, pid, decision, resource, access, *objects = values
    told = kind == "decision" and decision in ("allow", "deny") and pid is not None
    if not (told and any(objects)) or "forged" in (flags or ""):
        return None
    path, path_to, dst, target = objects
    return host, pid, decision, resource, access, _usual(path), _usual(path_to), dst, target


def _usual(path: str | None) -> str | None:
    """A path under the shorter of its two names."""
    return path[8:] if path is not None and path.startswith(_MOVED) else path


class Wanted:
    """Operations that a system told and another may tell again, with what finds them quickly."""

    def __init__(self) -> None:
        self.told: dict[Key, list[Told]] = {}
        self.pids: Counter[int] = Counter()
        self.names: Counter[str] = Counter()

    def add(self, told: Told) -> None:
        """One more."""
        self.told.setdefault(told.key, []).append(told)
        self.pids[told.key[1]] += 1
        self.names.update(names_of(told.key))

    def drop(self, told: Told) -> None:
        """No longer wanted; a second time changes nothing."""
        mates = self.told.get(told.key, [])
        if told not in mates:
            return
        mates.remove(told)
        if not mates:
            del self.told[told.key]
        _less(self.pids, told.key[1])
        for name in names_of(told.key):
            _less(self.names, name)


def _less(counter: Counter[Any], name: Any) -> None:
    counter[name] -= 1
    if not counter[name]:
        del counter[name]


def names_of(key: Key) -> set[str]:
    """Every text that `Kept.objects` may show for a row of this key."""
    first = next(word for word in (key[5], key[7], key[8], key[6]) if word)
    return {first, f"/private{first}"} if first.startswith("/") else {first}


def scan(kept: Kept, wanted: "Wanted") -> list[Place]:
    """Rows whose key is wanted; they are kept in `found` from then on."""
    pids = np.fromiter(wanted.pids, np.int64, len(wanted.pids))
    rows = np.flatnonzero(np.isin(kept.pids, pids))
    if len(rows) > FEW_ROWS:
        names = pa.array(list(wanted.names), pa.string())
        alike = pc.is_in(kept.objects().take(pa.array(rows)), names)
        rows = rows[alike.to_numpy(zero_copy_only=False)]
    places = []
    for row, key, ts in kept.operations(rows):
        if key not in wanted.told:
            continue
        known = kept.found.setdefault(key, {})
        places.append(known.setdefault(row, Place(kept, row, key, ts)))
    return places


def repeats_of(batch: pa.RecordBatch) -> list[int]:
    """Rows that say of themselves that they count further occurrences of an earlier one."""
    extra = batch.column("extra")
    if extra.null_count == len(extra):
        return []
    likely = pc.match_substring(extra, _DUPLICATE).fill_null(False)
    rows = np.flatnonzero(likely.to_numpy(zero_copy_only=False)).tolist()
    return [row for row in rows if json.loads(extra[row].as_py()).get("duplicate") is True]
