"""Which lines a table of counts has: groups in order, days across or one below the other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from audit.page_stats import MAX_ACROSS, Across, Entry, counted
from query.axes import Axis
from query.calendar import Buckets
from query.contracts import Gap
from query.stats import Group, Stats

_ADDED: Final = ("runs", "first", "last")


@dataclass(frozen=True, slots=True)
class Shape:
    """A table: its axes and numbers, its lines, and the buckets that stand side by side."""

    axes: tuple[Axis, ...]
    names: tuple[str, ...]
    entries: tuple[Entry, ...]
    across: Across | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """The time shown, in µs, and now."""

    since: int | None
    until: int | None
    now: int


def shape(found: Stats, names: Sequence[str], span: Span, *, newest_first: bool = False) -> Shape:
    """The table of an answer; time goes across where there is another axis and not too much."""
    place = next((n for n, axis in enumerate(found.axes) if axis.size), None)
    if place is None or found.times is None or not found.groups:
        entries = _ordered([Entry(g.key, g.values, {}) for g in found.groups], names, newest_first)
        return Shape(found.axes, tuple(names), tuple(entries))
    times = found.times
    keys = _keys(found, times, span)
    gaps = _gap_lengths(found.gaps, times, keys, span.now)
    if len(found.axes) == 1:
        return _down(found, times, names, keys, gaps)
    if len(keys) > MAX_ACROSS:
        # Nothing happened in most of them: those where it did may still fit.
        last = found.total.values["last"]
        keys = _keys(found, times, Span(found.total.values["first"], last + 1, last))
    if "p50" in names or not keys or len(keys) > MAX_ACROSS:
        return _long(found, times, names, place, newest_first=newest_first)
    rest = (*found.axes[:place], *found.axes[place + 1 :])
    entries = _ordered(_across(found.groups, names, place), names, newest_first)
    across = Across(found.axes[place], times, keys, frozenset(gaps))
    return Shape(rest, tuple(names), tuple(entries), across)


def _keys(found: Stats, times: Buckets, span: Span) -> list[int]:
    """Every bucket of the time shown, empty ones too; none if they are too many to list."""
    first, last = found.total.values["first"], found.total.values["last"]
    since = first if span.since is None else span.since
    until = max(last or 0, span.now) + 1 if span.until is None else span.until
    if since is None:
        return []
    keys = list(times.between(since, until))
    held = {group.key[-1] for group in found.groups} if len(found.axes) == 1 else set()
    return keys if not held or held <= set(keys) else []


def _gap_lengths(
    gaps: Iterable[Gap], times: Buckets, keys: Iterable[int], now: int
) -> dict[int, int]:
    """How much of each bucket gaps cover, in µs; of two at a time the longer one."""
    lengths: dict[int, int] = {}
    gaps = tuple(gaps)
    for key in keys if gaps else ():
        begin, end = times.begin(key), times.end(key)
        for gap in gaps:
            until = now if gap.until is None else gap.until
            covered = min(until, end) - max(gap.since, begin)
            if covered > 0 or begin <= gap.since < end:
                lengths[key] = max(lengths.get(key, 0), covered)
    return lengths


def _down(
    found: Stats,
    times: Buckets,
    names: Sequence[str],
    keys: Sequence[int],
    gaps: Mapping[int, int],
) -> Shape:
    """Time alone: a line a bucket, in order, empty ones and gaps too."""
    held = {group.key[0]: group.values for group in found.groups}
    nothing = dict.fromkeys(found.total.values, 0) | dict.fromkeys(_ADDED[1:])
    nothing |= dict.fromkeys(("p50", "p95", "p99", "max"))
    shown = [name for name in names if name not in ("first", "last")]
    entries = [
        Entry((times.begin(key),), {**held.get(key, nothing), "gap": gaps.get(key)}, {})
        for key in (keys or sorted(held))
    ]
    return Shape(found.axes, (*shown, *(["gap"] if gaps else [])), tuple(entries))


def _long(
    found: Stats, times: Buckets, names: Sequence[str], place: int, *, newest_first: bool
) -> Shape:
    begin = times.begin
    entries = [
        Entry((*g.key[:place], begin(g.key[place]), *g.key[place + 1 :]), g.values, {})
        for g in found.groups
    ]
    shown = tuple(name for name in names if name not in ("first", "last"))
    return Shape(found.axes, shown, tuple(_ordered(entries, names, newest_first)))


def _across(groups: Iterable[Group], names: Sequence[str], place: int) -> list[Entry]:
    joined: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        joined.setdefault((*group.key[:place], *group.key[place + 1 :]), []).append(group)
    return [
        Entry(key, _summed(held), {g.key[place]: counted(g.values, names) for g in held})
        for key, held in joined.items()
    ]


def _summed(groups: Sequence[Group]) -> dict[str, Any]:
    """Counts added up; runs of several buckets cannot be, and are not shown."""
    sums: dict[str, Any] = {}
    for group in groups:
        for name, value in group.values.items():
            if name not in _ADDED and isinstance(value, int):
                sums[name] = sums.get(name, 0) + value
    first = [g.values["first"] for g in groups if g.values["first"] is not None]
    last = [g.values["last"] for g in groups if g.values["last"] is not None]
    return {
        **sums,
        "runs": None,
        "first": min(first, default=None),
        "last": max(last, default=None),
    }


def _ordered(entries: Sequence[Entry], names: Sequence[str], newest_first: bool) -> list[Entry]:
    """The largest first, or the newest; equals by their names."""

    def order(entry: Entry) -> tuple[Any, ...]:
        text = tuple("" if value is None else str(value) for value in entry.key)
        newest = -(entry.values.get("last") or 0)
        most = -counted(entry.values, names)
        return (newest, most, text) if newest_first else (most, newest, text)

    return sorted(entries, key=order)
