"""Counts put together from counts of single files, which never change and so need no second look.

A file that lies in the window as a whole is counted without it, so that its counts stay good while
the window moves on; of a file at the window's edge the whole minutes are kept, and the rest is
asked anew. The spool only grows until it is sealed, so what came since is added. A report whose
event lies elsewhere is kept apart (`Loose`) until that event is looked for.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from query.calendar import MINUTE_US
from query.contracts import Request, Window
from query.memo import MAX_ENTRY_WEIGHT, Memo
from query.predicates import Clause, all_of, not_
from query.reader import Query, Reader
from query.reports import IS_REPORT, told_twice
from query.snapshot import Part, Snapshot
from query.sums import SQL_RUNS, SQL_SUMS, Loose, Partial, Sums


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
        return SQL_SUMS.replace(SQL_RUNS, "NULL") if self.light else SQL_SUMS

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
    with memo.turn(question.stable):
        return _apart(reader, snapshot, parts, question, memo)


def _apart(
    reader: Reader, snapshot: Snapshot, parts: Sequence[Part], question: Question, memo: Memo
) -> tuple[Partial, Partial]:
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
    if not _spool_inside(snapshot, question.window):
        where = all_of([question.base, *_window(question.window)])
        return _partial(reader, spool, where, question)
    known = _known_of_spool(reader, snapshot, question, memo)
    later = _later(snapshot, known.upto)
    if not later:
        return known.sums
    where = all_of([question.base, Clause("seq > ?", (known.upto,))])
    return known.grown(_partial(reader, later, where, question), snapshot.last_seq, memo)


def prepare(
    reader: Reader,
    snapshot: Snapshot,
    parts: Sequence[Part],
    questions: Sequence[Question],
    memo: Memo,
) -> None:
    """Look once for questions that differ in what they count by: `counted` then finds it known.

    Where one look cannot tell all, it does nothing.
    """
    with memo.turn(tuple(question.stable for question in questions)):
        _prepare(reader, snapshot, parts, questions, memo)


def _prepare(
    reader: Reader,
    snapshot: Snapshot,
    parts: Sequence[Part],
    questions: Sequence[Question],
    memo: Memo,
) -> None:
    window = questions[0].window
    for part in _sorted(parts, window)[0]:
        keys = [_file_key(reader, part, question, None) for question in questions]
        if all(memo.get(key) is None for key in keys):
            found = _together(reader, [part], questions[0].base, questions)
            if found is not None and not _is_damaged(reader, [part]):
                for key, sums in zip(keys, found, strict=True):
                    memo.put(key, sums, sums.weight)
    known = [_known_of_spool(reader, snapshot, question, memo) for question in questions]
    if len({one.upto for one in known}) > 1 or not _spool_inside(snapshot, window):
        return
    if later := _later(snapshot, known[0].upto):
        where = all_of([questions[0].base, Clause("seq > ?", (known[0].upto,))])
        for one, sums in zip(known, _together(reader, later, where, questions) or (), strict=False):
            one.grown(sums, snapshot.last_seq, memo)


@dataclass(frozen=True, slots=True)
class _KnownOfSpool:
    """What was counted of the spool up to a seq."""

    key: Hashable
    upto: int
    sums: Partial

    def grown(self, more: Partial, upto: int, memo: Memo) -> Partial:
        """With what came later, which is remembered."""
        found = replace(self.sums, groups=dict(self.sums.groups))
        found.add(more)
        memo.put(self.key, (upto, found), found.weight)
        return found


def _known_of_spool(
    reader: Reader, snapshot: Snapshot, question: Question, memo: Memo
) -> _KnownOfSpool:
    place = (reader.place, snapshot.spool_changes(), snapshot.sealed_upto)
    key = ("spool", place, question.stable)
    upto, sums = memo.get(key) or (snapshot.sealed_upto, Partial())
    # Somebody may have asked later, and been quicker.
    if upto > snapshot.last_seq:
        return _KnownOfSpool(key, snapshot.sealed_upto, Partial())
    return _KnownOfSpool(key, upto, sums)


def _spool_inside(snapshot: Snapshot, window: Window) -> bool:
    batches = (part for part in snapshot.parts if part.path is None)
    return all(_inside(part.min_ts, part.max_ts, window) for part in batches)


def _later(snapshot: Snapshot, seq: int) -> list[Part]:
    return [part for part in snapshot.parts if part.path is None and part.max_seq > seq]


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
    key = _file_key(reader, part, question, minutes)
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


def _file_key(reader: Reader, part: Part, question: Question, minutes: Window | None) -> Hashable:
    return "file", reader.place, part.path, minutes, question.stable


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


def _together(
    reader: Reader, parts: Sequence[Part], where: Clause, questions: Sequence[Question]
) -> list[Partial] | None:
    """One look for questions of one key each; None where there are reports."""
    keys = [question.keys[0] for question in questions]
    told = f"coalesce({IS_REPORT.sql}, false)"
    sets = ", ".join(f"({told}, {key})" for key in keys)
    columns = ", ".join([told, f"GROUPING({', '.join(keys)})", *keys, questions[0].sums])
    rows = reader.rows(parts, Query(columns, where, Clause(f"GROUP BY GROUPING SETS ({sets})")))
    if any(row[0] for row in rows):
        return None
    found = [Partial() for _ in keys]
    # A bit for each key that a row is not counted by, the first key's the highest.
    places = {(1 << len(keys)) - 1 - (1 << n): len(keys) - 1 - n for n in range(len(keys))}
    width = 2 + len(keys)
    for row in rows:
        place = places[row[1]]
        found[place].groups[(row[2 + place],)] = _sums(row[width:])
    return found


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
