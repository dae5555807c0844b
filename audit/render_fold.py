"""Repeats of one operation become one line, and a report by the system joins what it reports.

After the fact the first of the repeats stands for all (`×N`); live the first is shown at once and
the others follow in one line. Never two decisions in one line, never across a gap.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from query.contracts import Row

# A repeat belongs to the line above if it comes within this time of the one before.
QUIET_US: Final = 1_000_000
# Live, a repetition that goes on is told about this often.
SPEAK_EVERY_US: Final = 5_000_000
MAX_KEYS: Final = 1_000
# Live, a system's report is joined with an event shown at most this many events ago.
MAX_REMEMBERED_SEQS: Final = 10_000

Key = tuple[Any, ...]


@dataclass(slots=True)
class Line:
    """What is shown as one line: an event, how many it stands for, who else told it."""

    row: Row
    times: int = 1
    reported: bool = False
    last_ts: int = 0
    last_seq: int = 0
    # None: an event; else the line tells of further repeats during so many microseconds.
    more_us: int | None = None


def key(row: Row) -> Key:
    """Events with one key are the same operation again."""
    names = ("sandbox", "correlation_id", "decision", "policy_rule", "access", "kind", "process")
    objects = ("path", "path_to", "dst", "target", "pid", "enforcer", "tool", "outcome")
    return tuple(row.get(name) for name in (*names, *objects))


def line_of(row: Row) -> Line:
    """One event as a line."""
    return Line(row, last_ts=row["ts"], last_seq=row["seq"])


def merge(rows: Iterable[Row]) -> list[Line]:
    """A report whose event is in the answer becomes its `+os`; other rows stay as they are."""
    lines: dict[int, Line] = {}
    reports: list[Row] = []
    for row in rows:
        if row.get("link") == "report":
            reports.append(row)
        else:
            lines[row["seq"]] = line_of(row)
    kept = list(lines.values())
    for report in reports:
        partner = lines.get(report.get("linked_seq", -1))
        if partner is None:
            kept.append(line_of(report))
        else:
            partner.reported = True
            if _says_more(report, partner.row):
                partner.row = report
    return kept if len(kept) == len(lines) else _in_order(kept, rows)


def _says_more(report: Row, row: Row) -> bool:
    """A layer that came late is the report of what the system told first; it knows the sandbox."""
    return bool(row.get("sandbox") == "-" != report.get("sandbox"))


def _in_order(lines: list[Line], rows: Iterable[Row]) -> list[Line]:
    place = {row["seq"]: index for index, row in enumerate(rows)}
    return sorted(lines, key=lambda line: place[line.row["seq"]])


def fold(lines: Iterable[Line], gaps: Iterable[int] = ()) -> list[Line]:
    """Repeats without a pause join the first of them; order of the firsts is kept.

    `gaps` are moments (µs) at which the record broke, though no row of the answer says so.
    """
    breaks = sorted(gaps)
    out: list[Line] = []
    current: dict[Key, Line] = {}
    for line in lines:
        if line.row["kind"] == "gap":
            current.clear()
            out.append(line)
            continue
        name = key(line.row)
        first = current.get(name)
        if first and _follows(line.row["ts"], first.last_ts, breaks):
            first.times += 1
            first.reported |= line.reported
            first.last_ts, first.last_seq = line.last_ts, line.last_seq
            continue
        current[name] = line
        out.append(line)
    return out


def _follows(ts: int, last_ts: int, breaks: Sequence[int]) -> bool:
    low, high = min(ts, last_ts), max(ts, last_ts)
    return high - low <= QUIET_US and bisect_right(breaks, low) == bisect_right(breaks, high)


@dataclass(slots=True)
class _Repeat:
    shown_at: int
    seen_at: int
    held: int = 0
    first: Row = field(default_factory=dict)
    last: Row = field(default_factory=dict)


class LiveFold:
    """Folding while events arrive; `now` is in microseconds of any steady clock."""

    def __init__(self) -> None:
        self._repeats: OrderedDict[Key, _Repeat] = OrderedDict()
        self._shown: OrderedDict[int, None] = OrderedDict()

    def feed(self, row: Row, now: int) -> list[Line]:
        """Lines to print because of this event: itself at once, or nothing while it repeats."""
        if row.get("link") == "report" and row.get("linked_seq") in self._shown:
            return []
        self._remember(row["seq"])
        if row["kind"] == "gap":
            return [*self.flush(), line_of(row)]
        name = key(row)
        repeat = self._repeats.get(name)
        if repeat is None:
            self._repeats[name] = _Repeat(now, now)
            return [*self._make_room(), line_of(row)]
        repeat.held += 1
        repeat.seen_at = now
        repeat.first = repeat.first or row
        repeat.last = row
        return []

    def tick(self, now: int) -> list[Line]:
        """Lines for repeats that went quiet, or have gone on for a while."""
        out: list[Line] = []
        for name, repeat in list(self._repeats.items()):
            quiet = now - repeat.seen_at >= QUIET_US
            if repeat.held and (quiet or now - repeat.shown_at >= SPEAK_EVERY_US):
                out.append(_told(repeat))
                repeat.held, repeat.first, repeat.shown_at = 0, {}, now
            if quiet:
                del self._repeats[name]
        return out

    def flush(self) -> list[Line]:
        """Everything that is held back."""
        out = [_told(repeat) for repeat in self._repeats.values() if repeat.held]
        self._repeats.clear()
        return out

    def _make_room(self) -> list[Line]:
        if len(self._repeats) <= MAX_KEYS:
            return []
        _, oldest = self._repeats.popitem(last=False)
        return [_told(oldest)] if oldest.held else []

    def _remember(self, seq: int) -> None:
        self._shown[seq] = None
        if len(self._shown) > MAX_REMEMBERED_SEQS:
            self._shown.popitem(last=False)


def _told(repeat: _Repeat) -> Line:
    lasted = max(repeat.last["ts"] - repeat.first["ts"], 0)
    last = repeat.last
    return Line(repeat.first, repeat.held, False, last["ts"], last["seq"], more_us=lasted)
