"""Which of several equal operations belong together: the nearest in time, or none."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from collector.link_index import Place, Told

# Of a loop that does the same thousands of times a second only the nearest few are compared.
MAX_NEAR: Final = 16


def match(
    told: Sequence[Told], places: Sequence[Place], window_us: int
) -> list[tuple[Told, Place]]:
    """Pairs, each at most once, nearest first; who has two equally near partners gets none."""
    places = sorted(places, key=lambda place: place.ts)
    times = [place.ts for place in places]
    pairs = [
        (abs(places[at].ts - each.ts), number, at)
        for number, each in enumerate(told)
        for at in _near(times, each.ts, window_us)
        if each.place is None or places[at].kept.seq(places[at].row) is None
    ]
    pairs.sort()
    out: list[tuple[Told, Place]] = []
    done_told: set[int] = set()
    done_places: set[int] = set()
    at = 0
    while at < len(pairs):
        distance = pairs[at][0]
        level = []
        while at < len(pairs) and pairs[at][0] == distance:
            level.append(pairs[at])
            at += 1
        free = [p for p in level if p[1] not in done_told and p[2] not in done_places]
        mates = [p[1] for p in free], [p[2] for p in free]
        for _, number, place in free:
            if mates[0].count(number) == mates[1].count(place) == 1:
                out.append((told[number], places[place]))
        # An undecided tie is no reason to take a partner farther away.
        done_told.update(mates[0])
        done_places.update(mates[1])
    return out


def _near(times: Sequence[int], ts: int, window_us: int) -> range:
    middle = bisect_left(times, ts)
    low = max(bisect_left(times, ts - window_us), middle - MAX_NEAR)
    return range(low, min(bisect_right(times, ts + window_us), middle + MAX_NEAR))
