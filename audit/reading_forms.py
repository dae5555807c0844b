"""Stories and counts as they cross a read socket: in parts, each of which a JSON line can hold."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta, tzinfo
from typing import Any, Final

import msgspec

from audit_events.errors import UsageError
from audit_events.layout import StorePaths
from query import axes as axis_names
from query import stats as counts
from query import story as stories
from query.calendar import DAY_US, MIN_BUCKET_US, Buckets
from query.contracts import Damaged, Gap, Request
from query.runs import Run
from query.stats import Counting, Group, Measure, Stats
from query.story import Step, Story, Totals
from query.times import display_zone

MAX_BUCKET_US: Final = 366 * DAY_US


@dataclass(frozen=True, slots=True)
class StoryForm:
    """A story; each row is `{"step": …}` or `{"gap": …}`."""

    rows: list[Any]
    run: Run
    policies: tuple[tuple[str, str | None], ...]
    totals: Totals
    gaps: tuple[Gap, ...]
    more: bool
    stored: int
    damaged: tuple[Damaged, ...]


@dataclass(frozen=True, slots=True)
class StatsForm:
    """Counts; each row is a group. `changes` are those of the buckets, None where no axis is one.

    The axes and the zone are the asker's own, which has them already.
    """

    rows: list[Any]
    total: dict[str, Any]
    changes: tuple[tuple[int, int], ...] | None
    reports: int
    reporters: tuple[str, ...]
    searched: int
    upto: int
    gaps: tuple[Gap, ...]
    damaged: tuple[Damaged, ...]
    merged: bool


def story(store: StorePaths, word: str, request: Request, sandbox: str | None = None) -> StoryForm:
    """As `story.story`."""
    found = stories.story(store, word, request, sandbox)
    return StoryForm(
        rows=[{"gap" if isinstance(step, Gap) else "step": step} for step in found.steps],
        run=found.run,
        policies=found.policies,
        totals=found.totals,
        gaps=found.gaps,
        more=found.more,
        stored=found.stored,
        damaged=found.damaged,
    )


def story_of(form: StoryForm) -> Story:
    """The story at the near end."""
    return Story(
        run=form.run,
        policies=form.policies,
        totals=form.totals,
        steps=tuple(_step(row) for row in form.rows),
        gaps=form.gaps,
        more=form.more,
        stored=form.stored,
        damaged=form.damaged,
    )


def _step(row: dict[str, Any]) -> Step | Gap:
    [(name, value)] = row.items()
    return msgspec.convert(value, Gap) if name == "gap" else msgspec.convert(value, Step)


def stats(
    store: StorePaths,
    request: Request,
    axes: tuple[str, ...],
    bucket_us: int | None,
    measure: Measure,
    zone: str,
    merged: bool,
) -> StatsForm:
    """As `stats.stats`; UsageError for an axis or a bucket that is none: they become SQL."""
    if bucket_us is not None and not MIN_BUCKET_US <= bucket_us <= MAX_BUCKET_US:
        raise UsageError("--bucket: from 1s to 366d")
    counting = Counting(axis_names.axes(axes, bucket_us), measure, display_zone(zone), merged)
    found = counts.stats(store, request, counting)
    return StatsForm(
        rows=[{"key": group.key, "values": group.values} for group in found.groups],
        total=dict(found.total.values),
        changes=None if found.times is None else found.times.changes,
        reports=found.reports,
        reporters=found.reporters,
        searched=found.searched,
        upto=found.upto,
        gaps=found.gaps,
        damaged=found.damaged,
        merged=found.merged,
    )


def counting_words(counting: Counting) -> list[Any]:
    """What is to be counted, in plain words."""
    bucket = next((axis.size for axis in counting.axes if axis.name == "bucket"), None)
    names = [axis.name for axis in counting.axes]
    return [names, bucket, counting.measure, _named(counting.zone), counting.merged]


def stats_of(form: StatsForm, counting: Counting) -> Stats:
    """The counts at the near end, which knows what it asked for."""
    size = next((axis.size for axis in counting.axes if axis.size), None)
    cut = None if size is None or form.changes is None else (size, counting.zone, form.changes)
    return Stats(
        axes=counting.axes,
        groups=tuple(Group(tuple(row["key"]), row["values"]) for row in form.rows),
        total=Group((), form.total),
        times=None if cut is None else Buckets(*cut),
        reports=form.reports,
        reporters=form.reporters,
        searched=form.searched,
        upto=form.upto,
        gaps=form.gaps,
        damaged=form.damaged,
        merged=form.merged,
    )


def _named(zone: tzinfo) -> str:
    """A zone's name, or its offset where it has only that."""
    if name := getattr(zone, "key", None):
        return str(name)
    offset = zone.utcoffset(None)
    if offset is None:
        raise UsageError("this machine's time zone has no name", hint="--tz Asia/Tokyo, or --utc")
    sign, minutes = "-" if offset < timedelta() else "+", abs(offset) // timedelta(minutes=1)
    return f"{sign}{minutes // 60:02}:{minutes % 60:02}"


FORMS: Final[dict[str, Callable[..., Any]]] = {"story": story, "stats": stats}
