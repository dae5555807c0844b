"""Times as people type them, turned into microseconds since 1970 UTC; and back for messages.

A time without a zone is meant in the display zone. In the hour that a clock change leaves out, a
local time means the same time by the old offset (02:30 becomes 03:30). In the hour that happens
twice, `since` takes the first and `until` the second: too much is shown rather than too little.
"""

import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from audit_events.errors import UsageError
from query.contracts import Window

HINT: Final = (
    '30m 1h30m 2d 1w · 02:00 · "2026-07-28 02:00" · 2026-07-28T02:00+09:00 · "2 hours ago"'
    " · now today yesterday"
)
# `--around T` shows this much on each side.
AROUND_US: Final = 5 * 60 * 1_000_000
MAX_TEXT: Final = 64

_SECOND: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_MIN_US: Final = (datetime(1, 1, 2, tzinfo=UTC) - _EPOCH) // _MICROSECOND
_MAX_US: Final = (datetime(9999, 12, 30, tzinfo=UTC) - _EPOCH) // _MICROSECOND
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

# Compiled when first needed: most commands are asked no time.
_SPAN: Final = r"-?((?:[0-9]{1,9}[smhdw])+)(?: ago)?"
_AGO: Final = (
    r"([0-9]{1,9}|an?) ?(s|m|h|d|w|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?) ago"
)
_NUMBER: Final = r"@?([0-9]{9,19})(?:\.([0-9]{1,9}))?"
_CLOCK: Final = r"([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
_DATE: Final = r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
_OFFSET: Final = r" ?(z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
_FULL: Final = rf"{_DATE}(?:[t ]{_CLOCK}{_OFFSET})?"
_WORD: Final = rf"(today|yesterday)(?: {_CLOCK})?|{_CLOCK}"


def display_zone(
    name: str | None = None, *, utc: bool = False, environ: Mapping[str, str] | None = None
) -> tzinfo:
    """The zone of `--utc`, else `--tz`, else TZ, else the machine's; UsageError for no zone."""
    if utc:
        return UTC
    if name is not None:
        return _zone(name)
    env = os.environ if environ is None else environ
    value = env.get("TZ", "").removeprefix(":")
    return (_known_zone(value) or _machine_zone()) if value else _local_zone()


def resolve(text: str, now: int, zone: tzinfo, *, flag: str = "since", late: bool = False) -> int:
    """The moment in µs that `text` means at `now`; `late` takes the later of two meanings (until).

    UsageError for anything that is not a time.
    """
    words = " ".join(text.lower().split())
    try:
        found = _meaning(words, now, zone, late=late)
    except (ValueError, OverflowError):
        found = None
    if found is not None and _MIN_US <= found <= _MAX_US:
        return found
    raise UsageError(f"--{flag} {_quoted(text)}: not a time", hint=HINT)


def window(
    since: str | None,
    until: str | None,
    around: str | None,
    clock: Literal["event", "arrival"],
    at: tuple[int, tzinfo],
) -> tuple[Window, list[str]]:
    """The half-open window of the flags at `at` = (now, zone), and warnings about the future.

    UsageError for no time, for `around` beside another, and for a window that holds nothing.
    """
    now, zone = at
    if around is not None:
        if since is not None or until is not None:
            raise UsageError("--around goes without --since and --until")
        middle = resolve(around, now, zone, flag="around")
        return Window(middle - AROUND_US, middle + AROUND_US, clock), []
    low = None if since is None else resolve(since, now, zone)
    high = None if until is None else resolve(until, now, zone, flag="until", late=True)
    if low is not None and high is not None and low >= high:
        raise UsageError(
            f"--since {stamp(low, zone)} is not before --until {stamp(high, zone)}: an empty window"
        )
    warnings = []
    if low is not None and low > now:
        warnings.append(
            f"--since {stamp(low, zone)} is {span(low - now)} in the future"
            f" (this {_machine()} says {stamp(now, zone)})"
        )
    return Window(low, high, clock), warnings


def to_datetime(us: int, zone: tzinfo) -> datetime:
    """A moment in a zone; moments before year 1 or after 9999 become the nearest that fits."""
    return (_EPOCH + timedelta(microseconds=min(max(us, _MIN_US), _MAX_US))).astimezone(zone)


def offset(moment: datetime) -> str:
    """`+09`, `+0530`: the short form of screens; UTC is `+00`."""
    text = moment.strftime("%z")[:5]
    return text.removesuffix("00") if len(text) == 5 else text


def stamp(us: int, zone: tzinfo) -> str:
    """`2026-07-28T18:05+09`, with seconds where there are some."""
    moment = to_datetime(us, zone)
    form = "%Y-%m-%dT%H:%M:%S" if moment.second else "%Y-%m-%dT%H:%M"
    return moment.strftime(form) + offset(moment)


def span(us: int) -> str:
    """A length in its two largest units: `7 h 55 m`, `11 m 36 s`, `3 d 4 h`, `12 s`."""
    left, parts = max(us, 0) // _SECOND, []
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        count, left = divmod(left, size)
        parts.append((count, unit))
    while len(parts) > 1 and not parts[0][0]:
        parts.pop(0)
    return " ".join(f"{count} {unit}" for count, unit in parts[:2] if count) or "0 s"


def _meaning(words: str, now: int, zone: tzinfo, *, late: bool) -> int | None:
    if words == "now":
        return now
    if match := re.fullmatch(_SPAN, words):
        parts = re.findall(r"([0-9]+)([smhdw])", match[1])
        return _ago(sum(int(count) * _UNITS[unit] for count, unit in parts), now)
    if match := re.fullmatch(_AGO, words):
        count = 1 if match[1] in ("a", "an") else int(match[1])
        return _ago(count * _UNITS[match[2][0]], now)
    if match := re.fullmatch(_NUMBER, words):
        return _number(match[1], match[2] or "0")
    if match := re.fullmatch(_WORD, words):
        day = to_datetime(now, zone).date() - timedelta(days=match[1] == "yesterday")
        clock = match.groups()[1:5] if match[1] else match.groups()[5:9]
        return _local(day, clock, zone, late=late)
    if match := re.fullmatch(_FULL, words):
        day = date(int(match[1]), int(match[2]), int(match[3]))
        place = _offset(match[8]) if match[8] else zone
        return _local(day, match.groups()[3:7], place, late=late)
    return None


def _ago(seconds: int, now: int) -> int:
    return max(now - seconds * _SECOND, _MIN_US)


def _number(whole: str, fraction: str) -> int:
    """Seconds, milli-, micro- or nanoseconds since 1970, told apart by their number of digits."""
    per_unit: int = 10 ** (9 - 3 * ((len(whole) - 8) // 3))
    nanos = int(whole) * per_unit + int(fraction.ljust(9, "0")[:9]) * per_unit // 10**9
    return nanos // 1000


def _local(day: date, clock: tuple[str | None, ...], zone: tzinfo, *, late: bool) -> int:
    hour, minute, second = (int(part or 0) for part in clock[:3])
    leap = second == 60
    micro = int((clock[3] or "0").ljust(6, "0")[:6])
    moment = datetime(
        day.year, day.month, day.day, hour, minute, second - leap, micro, zone, fold=int(late)
    )
    if late and _skipped(moment):
        moment = moment.replace(fold=0)
    return (moment.astimezone(UTC) - _EPOCH) // _MICROSECOND + leap * _SECOND


def _skipped(moment: datetime) -> bool:
    back = moment.astimezone(UTC).astimezone(moment.tzinfo)
    return back.replace(tzinfo=None) != moment.replace(tzinfo=None)


def _offset(text: str) -> tzinfo:
    if text == "z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[3:].removeprefix(":") or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("offset out of range")
    length = timedelta(hours=hours, minutes=minutes)
    return timezone(-length if text[0] == "-" else length)


def _zone(name: str) -> tzinfo:
    if name.upper() in ("UTC", "Z"):
        return UTC
    if re.fullmatch(r"[+-][0-9]{2}(?::?[0-9]{2})?", name):
        try:
            return _offset(name)
        except ValueError:
            raise UsageError(f"--tz {name}: not a time zone", hint="Asia/Tokyo, +09:00") from None
    found = _known_zone(name)
    if found is None:
        raise UsageError(f"--tz {_quoted(name)}: not a time zone", hint="Asia/Tokyo, +09:00, UTC")
    return found


def _known_zone(name: str) -> tzinfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def _local_zone() -> tzinfo:
    path = Path("/etc/localtime")
    try:
        name = str(path.resolve(strict=True)).partition("zoneinfo/")[2]
        with path.open("rb") as data:
            return _known_zone(name) or ZoneInfo.from_file(data, key=name or None)
    except (OSError, ValueError):
        return _machine_zone()


def _machine_zone() -> tzinfo:
    """What the C library makes of TZ; a fixed offset, so right for now and not for last winter."""
    return datetime.now(UTC).astimezone().tzinfo or UTC


def _quoted(text: str) -> str:
    shown = text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "…"
    return f'"{shown}"' if re.search(r"\s", shown) or not shown else shown


def _machine() -> str:
    return "Mac" if sys.platform == "darwin" else "machine"
