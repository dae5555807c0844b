"""Which files and batches a request needs at all, by the bounds that the snapshot knows of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from query.contracts import Request
from query.filters import included
from query.predicates import seq_range
from query.snapshot import Part

_END: Final = (1 << 63) - 1
# How many rows the first look at the newest (or oldest) parts may hold, and how that grows: most
# answers are found there, and a rare match still needs few looks.
FIRST_LOOK_ROWS: Final = 16_384
LOOK_GROWTH: Final = 8


@dataclass(frozen=True, slots=True)
class Bounds:
    """The seq range that can match, both ends included."""

    first: int = 0
    last: int = _END


def bounds(request: Request) -> Bounds:
    """The smallest range that holds every `seq` value of the request."""
    ranges = [seq_range(value) for value in included(request, "seq")]
    if not ranges:
        return Bounds()
    return Bounds(min(low for low, _ in ranges), max(high for _, high in ranges))


def prune(parts: Iterable[Part], request: Request) -> list[Part]:
    """The parts that may hold a match; never leaves out one that does."""
    span = bounds(request)
    return [
        part
        for part in parts
        if part.max_seq >= span.first and part.min_seq <= span.last and _in_window(part, request)
    ]


def _in_window(part: Part, request: Request) -> bool:
    window = request.window
    by_event = window.clock == "event"
    low, high = (part.min_ts, part.max_ts) if by_event else (part.min_observed, part.max_observed)
    return (window.since is None or high >= window.since) and (
        window.until is None or low < window.until
    )


def looks(parts: Iterable[Part], *, oldest: bool) -> list[list[Part]]:
    """The parts from newest to oldest (or turned round), in looks of growing size."""
    ordered = (
        sorted(parts, key=lambda part: part.min_seq)
        if oldest
        else sorted(parts, key=lambda part: part.max_seq, reverse=True)
    )
    out: list[list[Part]] = []
    budget, held = FIRST_LOOK_ROWS, FIRST_LOOK_ROWS
    for part in ordered:
        if held >= budget:
            budget = budget * LOOK_GROWTH if out else budget
            out.append([])
            held = 0
        out[-1].append(part)
        held += part.rows
    return out
