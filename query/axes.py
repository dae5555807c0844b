"""What events may be counted by: any column, the flags' names for them, and stretches of time."""

import re
from dataclasses import dataclass
from typing import Final

from audit_events.errors import UsageError
from audit_events.schema import BY_NAME, COLUMN_NAMES
from query.calendar import DAY_US, HOUR_US, MIN_BUCKET_US, Buckets
from query.filters import FILTERS, column_named

MAX_AXES: Final = 8
TIME_WORDS: Final = ("day", "hour", "bucket")
DEFAULT_BUCKET_US: Final = 5 * 60 * 1_000_000
# Each event has its own; counting by them is listing.
_UNIQUE: Final = ("seq", "event_id", "source_position")
_LISTS: Final = ("flags", "redaction_kinds")
_BUCKET: Final = re.compile(r"([1-9][0-9]{0,5})([smhd])")
_UNITS: Final = {"s": 1_000_000, "m": 60_000_000, "h": HOUR_US, "d": DAY_US}
_HEADERS: Final = {filter_.columns[0]: filter_.header for filter_ in FILTERS} | {
    "path": "PATH", "dst": "DESTINATION", "target": "TARGET", "decision": "DECISION",
    "command": "COMMAND", "message": "MESSAGE",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing to count by: `name` is a column, or a word of TIME_WORDS with the `size` in µs."""

    name: str
    size: int | None = None

    @property
    def header(self) -> str:
        """Its title on a screen."""
        return _HEADERS.get(self.name, self.name.upper().replace("_US", "").replace("_", " "))

    @property
    def is_list(self) -> bool:
        """Whether an event may have several values, each of which counts it."""
        return self.name in _LISTS

    def sql(self, times: Buckets | None = None) -> str:
        """Its value in a row of events; `times` for a time."""
        if times is not None:
            return times.sql("ts")
        if self.is_list:
            return f"unnest(coalesce(nullif(string_split({self.name}, ','), ['']), [NULL]))"
        if self.name == "policy_rule":
            return "coalesce(policy_rule, '(' || enforcer || ')')"
        is_time = BY_NAME[self.name].type == "timestamp"
        return f"epoch_us({self.name})" if is_time else self.name


def axes(words: tuple[str, ...], bucket_us: int | None) -> tuple[Axis, ...]:
    """The axes that a person named, each once; UsageError (T13) for one that is none."""
    found = dict.fromkeys(_axis(word, bucket_us) for word in words)
    if bucket_us is not None and not any(axis.size for axis in found):
        found[Axis("bucket", bucket_us)] = None
    if len(found) > MAX_AXES:
        raise UsageError(f"--by: at most {MAX_AXES} columns")
    if sum(axis.size is not None for axis in found) > 1:
        raise UsageError("--by: one of day, hour and bucket")
    return tuple(found)


def bucket(text: str) -> int:
    """`5m`, `30s`, `6h`, `1d` in µs; UsageError for anything else or more than a day."""
    match = _BUCKET.fullmatch(text.strip().lower())
    size = int(match[1]) * _UNITS[match[2]] if match else 0
    if not MIN_BUCKET_US <= size <= DAY_US:
        raise UsageError(f"--bucket {text}: no length from 1s to 1d", hint="30s 5m 1h 6h 1d")
    return size


def known() -> tuple[str, ...]:
    """Every column that can be counted by."""
    return tuple(name for name in COLUMN_NAMES if name not in _UNIQUE)


def _axis(word: str, bucket_us: int | None) -> Axis:
    if word == "day":
        return Axis("day", DAY_US)
    if word == "hour":
        return Axis("hour", HOUR_US)
    if word == "bucket":
        return Axis("bucket", bucket_us or DEFAULT_BUCKET_US)
    try:
        name = column_named("by", word)
    except UsageError as error:
        raise UsageError(error.message, hint="audit stats --by help") from None
    if name in _UNIQUE:
        raise UsageError(f"--by {word}: every event has its own", hint="audit query lists them")
    return Axis(name)
