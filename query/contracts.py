"""What a query takes and gives: shared by every command, the API and the exporters' wiring."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

# A row on its way to a person or a JSON line: column name to value in schema order, nulls left out,
# `event_id` first, timestamps as int microseconds since 1970 UTC. No pyarrow, no datetime.
Row = dict[str, Any]
# The sandboxes that one who asks may see; None for all.
Scope = tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open time window [since, until) in µs, on the event's clock or on arrival."""

    since: int | None = None
    until: int | None = None
    clock: Literal["event", "arrival"] = "event"


@dataclass(frozen=True, slots=True)
class Request:
    """What to look for: `values` maps a filter's flag name to its values (or within, and across).

    A value that starts with `!` excludes. `limit` None means all; the newest N otherwise, whatever
    `order`, which is display only; `oldest` turns that round. `scope` names the sandboxes that the
    asker may see, None for all: of others no answer holds anything.
    """

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    window: Window = field(default_factory=Window)
    limit: int | None = None
    oldest: bool = False
    order: Literal["asc", "desc"] = "asc"
    scope: Scope = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch in which a source's record is incomplete; times in µs, `until` None while open."""

    id: int
    source: str
    since: int
    until: int | None
    reason: str
    count: int | None
    seq: int | None


@dataclass(frozen=True, slots=True)
class Damaged:
    """An archive file that could not be read, with the rows that are missing from the answer."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows in display order, and what a reader must know before believing them."""

    rows: list[Row]
    more: bool
    searched: int
    upto: int
    gaps: tuple[Gap, ...] = ()
    damaged: tuple[Damaged, ...] = ()
