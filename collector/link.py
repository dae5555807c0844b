"""Join what the layer and the operating system tell of one operation, and repeats with the first.

A `report` is the same operation told by another source: one pid did the same to the same object
with the same outcome, within the window. Of each source one report joins one event: the nearest in
time, and none where two are equally near. A system's row that no layer told reports of another
system's; two copies of one kernel record are known by its serial number. A `repeat` is a count of
further occurrences of an earlier event. Only masked text is compared, so that a start after a kill,
which has no other, answers alike.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import EVENT_SCHEMA
from audit_events.schema import OS_FORMATS
from collector.commit import Link
from collector.link_index import COLUMNS, Kept, Place, Told, Wanted, repeats_of, scan
from collector.link_match import match

LINK_WINDOW_US: Final = 1_000_000
_LAYERS: Final = ""
# How far back partners and what is repeated are looked for; about 20 MB.
MAX_RECENT_ROWS: Final = 1 << 17
MAX_RECENT_S: Final = 30.0
MAX_TOLD: Final = 1 << 16
# The kernel counts duplicates for some seconds before it tells them.
REPEAT_WINDOW_US: Final = 30_000_000
_INHERITED: Final = (
    "sandbox", "correlation_id", "policy", "policy_digest", "policy_rule", "rule_section",
    "rule_index",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Heir:
    """A row of a batch that takes over what is known of the event that it links to."""

    row: int
    place: Place
    kind: str


class Linker:
    """Remembers what was told of late; all of it is bounded."""

    def __init__(
        self,
        *,
        window_us: int = LINK_WINDOW_US,
        patient: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`patient`: files are read from beginning to end, so arrival says nothing of time."""
        self._window = window_us
        self._patient = patient
        self.now = clock
        self._systems: set[str] = set()
        self._layers: set[str] = set()
        self._kept: deque[Kept] = deque()
        self._rows = 0
        self._wanted = Wanted()
        self._order: deque[Told] = deque()
        self._fresh: list[Kept] = []

    def knows(self, source: str, format_: str) -> None:
        """A source that will speak."""
        (self._systems if format_ in OS_FORMATS else self._layers).add(source)

    def is_system(self, source: str) -> bool:
        """Whether the operating system speaks there."""
        return source in self._systems

    def waits_for_layers(self, source: str) -> bool:
        """Whether a layer may tell what this source tells."""
        return bool(self._layers) and source in self._systems

    def waited(self, since: float) -> bool:
        """Whether rows that came at `since` have waited long enough."""
        return not self._patient and self.now() - since >= self._window / 1e6

    @property
    def pairs(self) -> bool:
        """Whether anything can be told twice at all."""
        return bool(self._systems and self._layers) or len(self._systems) > 1

    def layer(self, batch: pa.RecordBatch, offset: int) -> list[Link]:
        """Remember a layer's masked rows, from row `offset` of the commit on; links of the late.

        A row whose system's report is stored already becomes the report, and inherits nothing.
        """
        if not self.pairs:
            return []
        kept = self._keep(Kept(batch.select(COLUMNS), "", offset, self.now()))
        if not self._wanted.told:
            return []
        keys = {place.key for place in scan(kept, self._wanted)}
        links = []
        for told, place in self._matched(keys, self._systems):
            # Of two systems' stored rows it reports the nearer one.
            if told.place is not None and place.kept is kept and place.row not in kept.reports:
                kept.reports.add(place.row)
                told.place.kept.told_by.setdefault(told.place.row, set()).add(_LAYERS)
                if not self._sought(told.place.kept, told.place.row):
                    self._done(told)
                links.append(_link(offset + place.row, "report", told.place))
        return links

    def tell(self, source: str, batch: pa.RecordBatch) -> list[Told]:
        """What a system's masked rows tell, to be settled once its time to wait is over."""
        if not self.pairs:
            return []
        again = set(repeats_of(batch))
        kept = Kept(batch.select(COLUMNS), source, 0, self.now())
        told = [
            self._told(kept, row, key, ts) for row, key, ts in kept.operations() if row not in again
        ]
        self._want(told)
        while len(self._order) > MAX_TOLD:
            self._wanted.drop(self._order.popleft())
        return told

    def settle(self, told: Sequence[Told]) -> dict[int, Place]:
        """The events that one source's rows are reports of, by row."""
        wanted = {id(each) for each in told}
        found = {}
        # One number proves more than nearness: the layer told of that record already, and another
        # event of the layer, however near, is of something else.
        for each, place in self._fellows([each for each in told if each.serial is not None]):
            if not place.kept.free(place.row, _LAYERS):
                self._join(each, place)
                found[each.row] = place
        keys, sources = {each.key for each in told}, {each.source for each in told}
        for each, place in self._matched(keys, sources):
            if id(each) in wanted:
                self._join(each, place)
                found[each.row] = place
        if len(self._systems) > 1:
            for each, place in self._fellows([each for each in told if not each.joined]):
                self._join(each, place)
                found[each.row] = place
        return found

    def repeats(self, source: str, batch: pa.RecordBatch) -> dict[int, Place]:
        """The earlier events of the source that rows are further occurrences of, by row."""
        again = repeats_of(batch)
        if not again:
            return {}
        here = Kept(batch.select(COLUMNS), source, -1, 0.0)
        earlier = (kept for kept in reversed(self._kept) if kept.source == source)
        return _repeated(here, set(again), earlier)

    def system(self, source: str, batch: pa.RecordBatch, offset: int, told: Sequence[Told]) -> None:
        """Remember a system's masked rows as they will be stored."""
        kept = self._keep(Kept(batch.select(COLUMNS), source, offset, self.now()))
        for each in told:
            if not each.joined:
                each.place = Place(kept, each.row, each.key, each.ts)

    def stored(self, first: int) -> None:
        """The commit is in, its first row under this seq."""
        for kept in self._fresh:
            kept.number(first)
        self._fresh = []
        self._tidy()

    def remember(self, batches: Iterable[pa.RecordBatch]) -> None:
        """What was stored of late, in the order of seq, for a start after any stop."""
        for batch in batches:
            for kept in _parts(batch, self.now()):
                self._keep(kept)
        self._fresh = []
        self._know_links()
        self._want(
            [
                self._told(kept, row, key, ts, Place(kept, row, key, ts))
                for kept in self._kept
                if kept.source
                for row, key, ts in kept.operations()
                if self._sought(kept, row)
            ]
        )
        self._tidy()

    def _know_links(self) -> None:
        """Who told what again, of what is kept."""
        tellers: dict[int, set[str]] = {}
        for kept in self._kept:
            for row, seq in kept.reported():
                kept.reports.add(row)
                tellers.setdefault(seq, set()).add(kept.source)
        for kept in self._kept:
            if kept.source:
                kept.reports.update(kept.repeats())
            for row in range(len(kept.ts)) if tellers else ():
                known = tellers.get(kept.seq(row) or 0)
                if known:
                    kept.told_by[row] = known

    def _sought(self, kept: Kept, row: int) -> bool:
        """Whether a layer may still tell of a system's stored row, or another system.

        A layer that came late is no end: the journal may tell of the row later still, as nothing
        there says that a record is whole.
        """
        if len(self._systems) > 1:
            return row not in kept.reports
        return kept.free(row, _LAYERS)

    def _told(self, kept: Kept, row: int, key: Any, ts: int, place: Place | None = None) -> Told:
        serial = kept.serial(row) if len(self._systems) > 1 else None
        return Told(kept.source, key, ts, row, kept.at, serial, place=place)

    def _keep(self, kept: Kept) -> Kept:
        self._kept.append(kept)
        self._fresh.append(kept)
        self._rows += len(kept.ts)
        return kept

    def _want(self, told: Sequence[Told]) -> None:
        """Look for the layers' rows among those told before, and from now on."""
        if not told:
            return
        fresh = Wanted()
        for each in told:
            fresh.add(each)
            self._wanted.add(each)
        self._order.extend(told)
        times = [each.ts for each in told]
        low, high = min(times) - self._window, max(times) + self._window
        for kept in self._kept:
            if not kept.source and kept.low <= high and low <= kept.high:
                scan(kept, fresh)

    def _matched(self, keys: Iterable[Any], sources: Iterable[str]) -> list[tuple[Told, Place]]:
        """Pairs of the sources' rows with layers', over all that is known of each key; what is
        stored on both sides cannot pair."""
        pairs = []
        for key in keys:
            told = self._wanted.told.get(key, ())
            places = [p for kept in self._kept for p in kept.found.get(key, {}).values()]
            for source in sorted(sources) if places else ():
                mine = [each for each in told if each.source == source and _untold(each)]
                free = [place for place in places if place.kept.free(place.row, source)]
                pairs += match(mine, free, self._window)
        return sorted(pairs, key=lambda pair: abs(pair[0].ts - pair[1].ts))

    def _fellows(self, told: Sequence[Told]) -> list[tuple[Told, Place]]:
        """Pairs of one source's rows with rows that another system told before."""
        groups: dict[Any, dict[int | None, list[Told]]] = {}
        for each in told:
            groups.setdefault(each.key, {}).setdefault(each.serial, []).append(each)
        pairs = []
        for key, mine in groups.items():
            places = self._stored(key, told[0].source)
            for serial, copies in mine.items():
                pairs += match(copies, places.get(serial, ()), self._window)
        return pairs

    def _stored(self, key: Any, source: str) -> dict[int | None, list[Place]]:
        """The other systems' rows of a key that the source may still report of, by serial."""
        places: dict[int | None, list[Place]] = {}
        for other in self._wanted.told.get(key, ()):
            place = other.place
            if place is not None and other.source != source and place.kept.free(place.row, source):
                places.setdefault(other.serial, []).append(place)
        return places

    def _join(self, told: Told, place: Place) -> None:
        place.kept.told_by.setdefault(place.row, set()).add(told.source)
        self._done(told)

    def _done(self, told: Told) -> None:
        told.joined = True
        self._wanted.drop(told)

    def _tidy(self) -> None:
        old = -math.inf if self._patient else self.now() - MAX_RECENT_S
        while self._kept and (self._rows > MAX_RECENT_ROWS or self._kept[0].at < old):
            self._rows -= len(self._kept.popleft().ts)
        while self._order and (self._order[0].joined or self._is_over(self._order[0], old)):
            self._wanted.drop(self._order.popleft())

    def _is_over(self, told: Told, old: float) -> bool:
        return told.place is not None and told.at < old


def _untold(told: Told) -> bool:
    """Whether no layer has told of the row so far."""
    return told.place is None or told.place.kept.free(told.place.row, _LAYERS)


def inherit(batch: pa.RecordBatch, heirs: Sequence[Heir]) -> pa.RecordBatch:
    """The rows with what is known of the events that they link to, where they do not say it."""
    if not heirs:
        return batch
    for name in _INHERITED:
        values = batch.column(name).to_pylist()
        for heir in heirs:
            if values[heir.row] in (None, "-", ""):
                values[heir.row] = heir.place.value(name)
        batch = _with(batch, name, values)
    origins, rules = batch.column("rule_origin").to_pylist(), batch.column("policy_rule")
    for heir in heirs:
        if origins[heir.row] is None and rules[heir.row].is_valid:
            origins[heir.row] = "linked"
    return _with(batch, "rule_origin", origins)


def links_of(heirs: Iterable[Heir], offset: int) -> list[Link]:
    """The links of a batch whose first row is `offset` of its commit."""
    return [_link(offset + heir.row, heir.kind, heir.place, offset) for heir in heirs]


def _link(row: int, kind: str, place: Place, own: int = 0) -> Link:
    """A place in the batch itself has no offset yet: its batch begins at row `own`."""
    if place.kept.offset < 0:
        return Link(row, kind, partner=own + place.row)
    seq = place.kept.seq(place.row)
    return Link(row, kind, seq=seq, partner=None if seq else place.kept.offset + place.row)


def _repeated(here: Kept, again: set[int], earlier: Iterable[Kept]) -> dict[int, Place]:
    """For each row of `again` the newest earlier row that is the same operation, and no count."""
    found: dict[int, Place] = {}
    open_rows: dict[Any, list[int]] = {}
    newest: dict[Any, Place] = {}
    pids = np.unique(here.pids[list(again)])
    for name, place in _operations(here, pids):
        if place.row not in again:
            newest[name] = place
        elif name in newest:
            found[place.row] = newest[name]
        else:
            open_rows.setdefault(name, []).append(place.row)
    for kept in earlier:
        if not open_rows or kept.high < here.low - REPEAT_WINDOW_US:
            break
        counts = set(kept.repeats())
        here_too = {name: p for name, p in _operations(kept, pids) if p.row not in counts}
        for name in here_too.keys() & open_rows.keys():
            found |= dict.fromkeys(open_rows.pop(name), here_too[name])
    return found


def _operations(kept: Kept, pids: Any) -> Iterable[tuple[Any, Place]]:
    rows = np.flatnonzero(np.isin(kept.pids, pids)).tolist()
    for row, key, ts in kept.operations(rows):
        yield (*key, kept.value("syscall", row)), Place(kept, row, key, ts)


def _parts(batch: pa.RecordBatch, at: float) -> Iterable[Kept]:
    """The decisions of layers and of each system's source, with their seqs."""
    decisions = batch.filter(pc.equal(batch.column("kind"), "decision"))
    system = pc.is_in(decisions.column("format"), pa.array(sorted(OS_FORMATS), pa.string()))
    layers = decisions.filter(pc.invert(system))
    parts = [("", layers)] if layers.num_rows else []
    systems = decisions.filter(system)
    names = pc.unique(systems.column("source")).to_pylist()
    parts += [(name, systems.filter(pc.equal(systems.column("source"), name))) for name in names]
    for name, part in parts:
        yield Kept(part.select(COLUMNS), name, 0, at, seqs=part.column("seq").to_numpy())


def _with(batch: pa.RecordBatch, name: str, values: list[Any]) -> pa.RecordBatch:
    field = EVENT_SCHEMA.field(name)
    at = EVENT_SCHEMA.get_field_index(name)
    return batch.set_column(at, field, pa.array(values, field.type))
