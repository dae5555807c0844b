"""Counts as the API tells them: buckets of time with their ends, groups with their keys."""

from collections.abc import Mapping
from typing import Any, Final

from audit.serving import answers
from audit.serving.asked import Told
from audit.serving.service import Service
from audit_events.errors import QueryError
from audit_events.schema import BY_NAME
from query import axes as axis_names
from query.axes import Axis
from query.calendar import Buckets
from query.contracts import Request
from query.extent import bucket_for, extent
from query.stats import Counting, Group, Measure, Stats, stats

# More lines than this are no chart; whoever wants them takes the events.
MAX_GROUPS: Final = 20_000
# Empty buckets are told up to here; beyond only those that hold something.
MAX_BUCKETS: Final = 2_000
_MICROS: Final = ("p50", "p95", "p99", "max")


def counts(service: Service, asked: Told, by: tuple[str, ...], bucket: str | None) -> Any:
    """The answer of `/v1/counts`."""
    request = asked.request()
    span = extent(service.store, request, service.now())
    size = None
    if bucket is not None:
        size = bucket_for(*span) if bucket == "auto" else axis_names.bucket(bucket_words(bucket))
    axes = axis_names.axes(by, size)
    found = measured(service, request, Counting(axes, zone=asked.question.zone))
    time = next((axis for axis in axes if axis.size), None)
    return {
        "axes": ["time" if axis.size else axis.name for axis in axes],
        "bucket": None if time is None else {"size_us": time.size},
        "buckets": _buckets(found, span),
        "groups": [_group(found, group) for group in ordered(found)],
        "total": {"key": [], **values(found.total.values)},
        "reports": found.reports,
        **answers.seen(asked.scope, searched=found.searched),
        "upto": found.upto,
        **doubts(found, asked),
    }


def bucket_words(bucket: str) -> str:
    """`day` and `hour` as lengths."""
    return {"day": "1d", "hour": "1h"}.get(bucket, bucket)


def doubts(found: Stats, asked: Told) -> dict[str, Any]:
    """What makes counts doubtful."""
    return {
        "gaps": answers.gaps(found.gaps),
        "damaged": answers.damaged(found.damaged, asked.scope),
    }


def measured(service: Service, request: Request, counting: Counting) -> Stats:
    """The counts; QueryError for more groups than one answer holds."""
    found = stats(service.store, request, counting, service.kept.counts)
    if len(found.groups) > MAX_GROUPS:
        raise QueryError(f"more than {MAX_GROUPS:,} groups", hint="count by less, or since=1d")
    return found


def of_measure(service: Service, asked: Told, by: str, measure: Measure) -> Stats:
    """Counts by one column."""
    counting = Counting(axis_names.axes((by,), None), measure, asked.question.zone)
    return measured(service, asked.request(), counting)


def ordered(found: Stats) -> list[Group]:
    """By time, then by the other keys, so that an answer is always the same."""
    return sorted(found.groups, key=lambda group: [_order(value) for value in group.key])


def _order(value: Any) -> tuple[bool, bool, Any]:
    number = isinstance(value, int)
    return value is not None, not number, value if number else str(value)


def _buckets(found: Stats, span: tuple[int, int]) -> list[dict[str, Any]]:
    times = found.times
    if times is None:
        return []
    place = next(n for n, axis in enumerate(found.axes) if axis.size)
    held = {group.key[place] for group in found.groups}
    first, last = span
    if (last - first) // times.size <= MAX_BUCKETS:
        held |= set(times.between(first, last))
    return [{"start": answers.time(times.begin(key)), "end": answers.time(times.end(key))}
            for key in sorted(held)]  # fmt: skip


def _group(found: Stats, group: Group) -> dict[str, Any]:
    return {"key": key(found, group), **values(group.values)}


def key(found: Stats, group: Group) -> list[Any]:
    """The values of a group's axes; times in RFC 3339."""
    return [
        _shown(axis, value, found.times) for axis, value in zip(found.axes, group.key, strict=True)
    ]


def _shown(axis: Axis, value: Any, times: Buckets | None) -> Any:
    if axis.size and times is not None:
        return answers.time(times.begin(value))
    is_time = axis.name in BY_NAME and BY_NAME[axis.name].type == "timestamp"
    return answers.time(value) if is_time else value


def values(held: Mapping[str, Any]) -> dict[str, Any]:
    """A group's numbers; lengths in µs say so in their name."""
    return {
        f"{name}_us" if name in _MICROS else name: answers.time(value)
        if name in ("first", "last")
        else value
        for name, value in held.items()
    }
