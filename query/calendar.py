"""Days, hours and other buckets of time in the display zone, clock changes included.

DuckDB's own `date_trunc` on TIMESTAMPTZ is slow and knows one zone a session; here a bucket is
arithmetic on microseconds with the zone's offset, which changes a few times a year.

A bucket of an hour or less begins at a moment: the hour that a clock change repeats is two.
A longer one goes by the clock on the wall: a day may have 23 or 25 hours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

MINUTE_US: Final = 60_000_000
HOUR_US: Final = 60 * MINUTE_US
DAY_US: Final = 24 * HOUR_US
MIN_BUCKET_US: Final = 1_000_000
# Buckets between two moments are listed only up to so many.
MAX_BUCKETS: Final = 10_000

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
# Clock changes are known in between; an event outside takes the nearest offset.
_FIRST_US: Final = 0
_LAST_US: Final = (datetime(2100, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
_EVER_US: Final = -(1 << 62)
# Added before a division, so that it rounds down for years before 1970 too.
_SHIFT_US: Final = 100_000_000 * 10**9


@dataclass(frozen=True, slots=True)
class Buckets:
    """Buckets of `size` µs in a zone; `changes` are (from µs, offset µs), the first one from ever.

    A key is the beginning in µs (an hour or less) or the number since 1970 by the wall's clock.
    """

    size: int
    zone: tzinfo
    changes: tuple[tuple[int, int], ...]

    @property
    def by_moment(self) -> bool:
        """Whether keys are moments."""
        return self.size <= HOUR_US

    def sql(self, column: str) -> str:
        """The key of a TIMESTAMPTZ column."""
        at = f"epoch_us({column})"
        offset = self._case(at, [after for _, after in self.changes])
        shift = -(-_SHIFT_US // self.size)
        number = f"((({at} + {offset} + {shift * self.size}) // {self.size}) - {shift})"
        if not self.by_moment:
            return number
        since = self._case(at, [change for change, _ in self.changes])
        return f"greatest({number} * {self.size} - {offset}, {since})"

    def key(self, at: int) -> int:
        """The key of a moment; what `sql` computes."""
        since, offset = next(change for change in reversed(self.changes) if at >= change[0])
        number = (at + offset) // self.size
        # A change of half an hour cuts the hour it falls into.
        return max(number * self.size - offset, since) if self.by_moment else number

    def begin(self, key: int) -> int:
        """When a bucket begins, in µs."""
        return key if self.by_moment else self._instant(key * self.size)

    def end(self, key: int) -> int:
        """When it ends, in µs, not included."""
        if not self.by_moment:
            return self._instant((key + 1) * self.size)
        offset = next(after for since, after in reversed(self.changes) if key >= since)
        whole = ((key + offset) // self.size + 1) * self.size - offset
        return min(whole, next((since for since, _ in self.changes if since > key), whole))

    def between(self, since: int, until: int) -> Iterator[int]:
        """The keys of [since, until), empty ones too, at most MAX_BUCKETS."""
        at = since
        for _ in range(MAX_BUCKETS):
            if at >= until:
                return
            key = self.key(at)
            yield key
            at = max(self.end(key), at + 1)

    def _case(self, at: str, values: Sequence[int]) -> str:
        """The value that belongs to the last clock change at or before a moment."""
        if len(values) == 1:
            return f"({values[0]})"
        edges = zip(self.changes[1:], values, strict=False)
        text = " ".join(f"WHEN {at} < {since} THEN {value}" for (since, _), value in edges)
        return f"(CASE {text} ELSE {values[-1]} END)"

    def _instant(self, wall_us: int) -> int:
        wall = _EPOCH.replace(tzinfo=None) + timedelta(microseconds=wall_us)
        return (wall.replace(tzinfo=self.zone) - _EPOCH) // _MICROSECOND


def buckets(size: int, zone: tzinfo, since: int, until: int) -> Buckets:
    """Buckets of `size` µs for events in [since, until]."""
    low = min(max(since, _FIRST_US), _LAST_US)
    high = min(max(until, low), _LAST_US)
    changes = [(_EVER_US, offset(low, zone))]
    at = low
    while at < high:
        after = min(at + DAY_US, high)
        if offset(after, zone) != changes[-1][1]:
            change = _change(at, after, zone)
            changes.append((change, offset(change, zone)))
            after = change
        at = after
    return Buckets(size, zone, tuple(changes))


def offset(at: int, zone: tzinfo) -> int:
    """A zone's offset from UTC at a moment, both in µs."""
    found = (_EPOCH + timedelta(microseconds=at)).astimezone(zone).utcoffset()
    return (found or timedelta()) // _MICROSECOND


def _change(low: int, high: int, zone: tzinfo) -> int:
    """The first moment after `low` with another offset, to the microsecond."""
    before = offset(low, zone)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset(middle, zone) == before else (low, middle)
    return high
