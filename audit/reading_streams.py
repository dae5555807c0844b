"""The two answers of a read socket without an end of their own: all matches, and what is new."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Event
from typing import Any, Final

from audit.call import wall_clock
from audit_events.layout import StorePaths
from query import engine, trail, views
from query.contracts import Damaged, Gap, Request, Row
from query.views import Collector

PAGE_ROWS: Final = 5_000
# How often a follower hears at least that nothing is new, and at most.
QUIET_S: Final = (0.2, 5.0)


@dataclass(frozen=True, slots=True)
class Rows:
    """A page of matches in seq order: every match up to `upto` has been given by then."""

    rows: list[Row]
    upto: int
    damaged: tuple[Damaged, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """News of a follower, and who collects."""

    rows: list[Row]
    gaps: tuple[Gap, ...]
    upto: int
    collector: Collector


def pages(store: StorePaths, after_seq: int, request: Request) -> Iterator[Rows]:
    """As `engine.pages`."""
    for page in engine.pages(store, request, after_seq, PAGE_ROWS):
        yield Rows(engine.rows_of(page.table), page.upto, page.damaged)


def follow(store: StorePaths, after_seq: int, request: Request, quiet_s: float) -> Iterator[Told]:
    """As `trail.follow`, for ever."""
    pace = min(max(quiet_s, QUIET_S[0]), QUIET_S[1])
    for news in trail.follow(store, after_seq, request, Event(), quiet_s=pace):
        now = views.collector(store, wall_clock())
        yield Told(news.rows, news.gaps, news.upto, now)


STREAMS: Final[dict[str, Callable[..., Any]]] = {"pages": pages, "follow": follow}
