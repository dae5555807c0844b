"""Counts put together from counts of single files, which never change and so need no second look.

A file that lies in the window as a whole is counted without it, so that its counts stay good while
the window moves on; of a file at the window's edge the whole minutes are kept, and the rest is
asked anew. The spool only grows until it is sealed, so what came since is added. A report whose
event lies elsewhere is kept apart (`Loose`) until that event is looked for.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from query.calendar import MINUTE_US
from query.contracts import Request, Window
from query.memo import MAX_ENTRY_WEIGHT, Memo
from query.predicates import Clause, all_of, not_
from query.reader import Query, Reader
from query.reports import IS_REPORT, told_twice
from query.snapshot import Part, Snapshot

Key = tuple[Any, ...]


@dataclass(slots=True)
class Sums:
    """Counts of events by decision, their runs, first and last moment (µs)."""

    allow: int = 0
    deny: int = 0
    unknown: int = 0
    other: int = 0
    runs: frozenset[str] = frozenset()
    first: int | None = None
    last: int | None = None

    @property
    def events(self) -> int:
        """All of them, whatever was decided."""
        return self.allow + self.deny + self.unknown + self.other

    def plus(self, more: "Sums") -> "Sums":
        """Both together."""
        return Sums(
            self.allow + more.allow, self.deny + more.deny, self.unknown + more.unknown,
            self.other + more.other, self.runs | more.runs,
            min((at for at in (self.first, more.first) if at is not None), default=None),
            max((at for at in (self.last, more.last) if at is not None), default=None),
        )  # fmt: skip

    def values(self) -> dict[str, Any]:
        """As `stats` tells a group."""
        return {
            "allow": self.allow, "deny": self.deny, "unknown": self.unknown, "other": self.other,
            "runs": len(self.runs), "first": self.first, "last": self.last,
        }  # fmt: skip


_RUNS: Final = "list(DISTINCT correlation_id)"
_SQL: Final = ", ".join(
    [
        *(f"coalesce(sum(count) FILTER (WHERE {which}), 0)::BIGINT" for which in (
            "decision = 'allow'", "decision = 'deny'", "decision = 'unknown'", "decision IS NULL",
        )),
        _RUNS, "min(epoch_us(ts))", "max(epoch_us(ts))",
    ]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loose:
    """A report whose event is not in the same file."""

    linked: int | None
    who: str
    key: Key
    sums: Sums


@dataclass(slots=True)
class Partial:
    """What one stretch of the trail adds to the counts."""

    groups: dict[Key, Sums] = field(default_factory=dict)
    doubled: int = 0
    reporters: frozenset[str] = frozenset()
    loose: tuple[Loose, ...] = ()
    # The keys by their counts, where somebody has sorted them.
    ranking: tuple[Key, ...] | None = None

    @property
    def weight(self) -> int:
        """How much of MAX_WEIGHT it takes."""
        return 1 + len(self.loose) + sum(1 + len(sums.runs) for sums in self.groups.values())

    def add(self, more: "Partial") -> None:
        """Take in another one."""
        for key, sums in more.groups.items():
            self.put(key, sums)
        self.doubled += more.doubled
        self.reporters |= more.reporters
        self.loose += more.loose

    def put(self, key: Key, sums: Sums) -> None:
        """Add to one group."""
        held = self.groups.get(key)
        self.groups[key] = sums if held is None else held.plus(sums)


class TooManyReportsError(Exception):
    """More than are compared: the counts are told unmerged."""


class TooHeavyError(Exception):
    """A file has more groups than are kept."""


_HEAVY: Final = Partial()


@dataclass(frozen=True, slots=True)
class Question:
    """A condition without its window, the window, and what to count by."""

    base: Clause
    window: Window
    keys: tuple[str, ...]
    merged: bool
    # Whether a file of very many groups is better left to the engine.
    light: bool = False

    @property
    def sums(self) -> str:
        """What is asked of a group: in a light question not which runs it belongs to."""
        return _SQL.replace(_RUNS, "NULL") if self.light else _SQL

    @property
    def stable(self) -> Hashable:
        """What the counts of a file depend on."""
        return self.base.sql, self.base.params, self.keys, self.merged, self.light


def counted(
    reader: Reader, snapshot: Snapshot, parts: Sequence[Part], question: Question, memo: Memo
) -> Partial:
    """The counts over all parts. TooManyReportsError."""
    files, fresh = apart(reader, snapshot, parts, question, memo)
    total = replace(files, groups=dict(files.groups), ranking=None)
    total.add(fresh)
    _resolve(reader, parts, question, total, memo)
    if not question.keys:
        total.groups.setdefault((), Sums())
    return total


def apart(
    reader: Reader, snapshot: Snapshot, parts: Sequence[Part], question: Question, memo: Memo
) -> tuple[Partial, Partial]:
    """The counts of files and those of what is newer or at an edge; nobody may change either."""
    whole, edge, spool = _sorted(parts, question.window)
    inner = _inner(question.window) if edge else None
    files = _of_files(reader, whole, edge if inner else [], inner, question, memo)
    fresh = _of_spool(reader, snapshot, spool, question, memo)
    if edge and inner != question.window:
        where = all_of([question.base, *_window(question.window)])
        if inner:
            where = all_of([where, not_(all_of(_window(inner)))])
        fresh = replace(fresh, groups=dict(fresh.groups))
        fresh.add(_partial(reader, edge, where, question))
    return files, fresh


def _of_spool(
    reader: Reader,
    snapshot: Snapshot,
    spool: Sequence[Part],
    question: Question,
    memo: Memo,
) -> Partial:
    """What is not in a file yet; of what was counted before only the later rows are asked."""
    base, held = question.base, [part for part in snapshot.parts if part.path is None]
    if not all(_inside(part.min_ts, part.max_ts, question.window) for part in held):
        return _partial(reader, spool, all_of([base, *_window(question.window)]), question)
    place = (reader.place, snapshot.spool_changes(), snapshot.sealed_upto)
    key = ("spool", place, question.stable)
    after, known = memo.get(key) or (snapshot.sealed_upto, Partial())
    if after > snapshot.last_seq:  # somebody asked later, and was quicker
        after, known = snapshot.sealed_upto, Partial()
    later = [part for part in held if part.max_seq > after]
    if not later:
        return known
    where = all_of([base, Clause("seq > ?", (after,))])
    found = replace(known, groups=dict(known.groups))
    found.add(_partial(reader, later, where, question))
    memo.put(key, (snapshot.last_seq, found), found.weight)
    return found


def _of_files(
    reader: Reader,
    whole: Sequence[Part],
    edge: Sequence[Part],
    minutes: Window | None,
    question: Question,
    memo: Memo,
) -> Partial:
    """What files add to the counts, which is kept as a sum too."""
    paths = (tuple(p.path for p in whole), tuple(p.path for p in edge))
    key = ("files", reader.place, paths, minutes, question.stable)
    known: Partial | None = memo.get(key)
    if known is None:
        known = Partial()
        for part in whole:
            known.add(_known(reader, part, question, None, memo))
        for part in edge:
            known.add(_known(reader, part, question, minutes, memo))
        if not _is_damaged(reader, [*whole, *edge]):
            memo.put(key, known, known.weight)
    return known


def _sorted(parts: Iterable[Part], window: Window) -> tuple[list[Part], list[Part], list[Part]]:
    """Files inside the window, files at its edges, batches."""
    whole: list[Part] = []
    edge: list[Part] = []
    spool: list[Part] = []
    for part in parts:
        inside = _inside(part.min_ts, part.max_ts, window)
        (spool if part.path is None else whole if inside else edge).append(part)
    return whole, edge, spool


def _inner(window: Window) -> Window | None:
    """The whole minutes of a window; None if there are none."""
    since = None if window.since is None else -(-window.since // MINUTE_US) * MINUTE_US
    until = None if window.until is None else window.until // MINUTE_US * MINUTE_US
    if since is not None and until is not None and since >= until:
        return None
    return Window(since, until)


def _window(window: Window) -> list[Clause]:
    bounds = ((">=", window.since), ("<", window.until))
    return [
        Clause(f"ts {sign} make_timestamptz(?)", (at,)) for sign, at in bounds if at is not None
    ]


def _known(
    reader: Reader, part: Part, question: Question, minutes: Window | None, memo: Memo
) -> Partial:
    key = ("file", reader.place, part.path, minutes, question.stable)
    found: Partial | None = memo.get(key)
    if found is _HEAVY:
        raise TooHeavyError
    if found is None:
        where = all_of([question.base, *(_window(minutes) if minutes else [])])
        found = _partial(reader, [part], where, question)
        if question.light and found.weight > MAX_ENTRY_WEIGHT:
            memo.put(key, _HEAVY, 1)
            raise TooHeavyError
        if not _is_damaged(reader, [part]):
            memo.put(key, found, found.weight)
    return found


def _is_damaged(reader: Reader, parts: Iterable[Part]) -> bool:
    bad = {file.path for file in reader.damaged}
    return any(part.shown_path in bad for part in parts)


def _partial(reader: Reader, parts: Sequence[Part], where: Clause, question: Question) -> Partial:
    """One look, and two more only where there are reports at all."""
    is_report = f"coalesce({IS_REPORT.sql}, false)" if question.merged else "false"
    by = ", ".join(str(number) for number in range(1, len(question.keys) + 2))
    columns = ", ".join([is_report, *question.keys, question.sums])
    rows = reader.rows(parts, Query(columns, where, Clause(f"GROUP BY {by}")))
    width = len(question.keys) + 1
    groups = {row[1:width]: _sums(row[width:]) for row in rows if not row[0]}
    if not any(row[0] for row in rows):
        return Partial(groups)
    doubled = told_twice(reader, parts, where)
    if doubled is None:
        raise TooManyReportsError
    loose = _loose(reader, parts, where, question, doubled)
    return Partial(groups, len(doubled), frozenset(doubled.values()), loose)


def _loose(
    reader: Reader,
    parts: Sequence[Part],
    where: Clause,
    question: Question,
    doubled: Mapping[int, str],
) -> tuple[Loose, ...]:
    """The reports that are not told twice by these parts alone."""
    names = ["seq", "linked_seq", "coalesce(enforcer, source)", *question.keys]
    by = ", ".join(str(number) for number in range(1, len(names) + 1))
    query = Query(
        ", ".join([*names, question.sums]), all_of([where, IS_REPORT]), Clause(f"GROUP BY {by}")
    )
    width = len(names)
    return tuple(
        Loose(row[1], row[2], row[3:width], _sums(row[width:]))
        for row in reader.rows(parts, query)
        if row[0] not in doubled
    )


def _sums(row: Sequence[Any]) -> Sums:
    allow, deny, unknown, other, runs, first, last = row
    return Sums(allow, deny, unknown, other, frozenset(runs or ()), first, last)


def _resolve(
    reader: Reader, parts: Sequence[Part], question: Question, total: Partial, memo: Memo
) -> None:
    """Drop the loose reports whose event matches somewhere, and count the others."""
    if not total.loose:
        return
    linked = {one.linked for one in total.loose if one.linked is not None}
    times = _partners(reader, parts, question, linked, memo)
    for one in total.loose:
        at = None if one.linked is None else times[one.linked]
        if at is not None and _inside(at, at, question.window):
            total.doubled += 1
            total.reporters |= {one.who}
        else:
            total.put(one.key, one.sums)
    total.loose = ()


def _inside(first: int, last: int, window: Window) -> bool:
    return (window.since is None or first >= window.since) and (
        window.until is None or last < window.until
    )


def _partners(
    reader: Reader, parts: Sequence[Part], question: Question, linked: set[int], memo: Memo
) -> dict[int, int | None]:
    """When each of these events happened, None for one that does not match."""
    found: dict[int, int | None] = {}
    missing: dict[int, tuple[Hashable, ...] | None] = {}
    asked: dict[str | int, Part] = {}
    for seq in linked:
        near = [part for part in parts if part.min_seq <= seq <= part.max_seq]
        files = tuple(part.path for part in near)
        key = ("partner", reader.place, files, seq, question.base.sql, question.base.params)
        known = memo.get(key) if None not in files else None
        if known is not None:
            found[seq] = known[0]
            continue
        missing[seq] = key if None not in files else None
        asked.update({part.path or part.min_seq: part for part in near})
    if missing:
        named = Clause("seq IN (SELECT unnest(?))", (list(missing),))
        query = Query("seq, epoch_us(ts)", all_of([question.base, not_(IS_REPORT), named]))
        there = dict(reader.rows(list(asked.values()), query)) if asked else {}
        for seq, place in missing.items():
            found[seq] = there.get(seq)
            if place is not None and not _is_damaged(reader, asked.values()):
                memo.put(place, (there.get(seq),), 1)
    return found


def without_window(request: Request) -> Request:
    """The same at any time."""
    return replace(request, window=Window())
