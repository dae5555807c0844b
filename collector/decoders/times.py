"""Event times in every notation a record may use, as microseconds since 1970 UTC."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_RFC3339: Final = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d)(?::(\d\d)(?::(\d\d)(?:[.,](\d{1,18}))?)?)?)?"
    r" ?(?:([Zz]|UTC)|([+-])(\d\d)(?::?(\d\d))?)?",
    re.ASCII,
)
_EPOCH: Final = re.compile(r"(-?\d{1,19})(?:\.(\d{1,18}))?", re.ASCII)
_DAY_US: Final = 86_400 * 1_000_000
_EPOCH_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)
_FIRST: Final = (datetime(1, 1, 1, tzinfo=UTC) - _EPOCH_START) // _MICROSECOND
_LAST: Final = (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - _EPOCH_START) // _MICROSECOND
# Seconds of today have 10 digits, milliseconds 13, microseconds 16, nanoseconds 19: the borders lie
# between, so that any time from 1973 to 5138 is read in its own unit.
_SECONDS_BELOW, _MILLIS_BELOW, _MICROS_BELOW = 10**11, 10**14, 10**17


def micros(moment: datetime) -> int:
    """Microseconds since 1970 UTC of an aware datetime."""
    return (moment - _EPOCH_START) // _MICROSECOND


def parse(text: str) -> tuple[int, bool] | None:
    """Microseconds and whether a zone was missing (then UTC is assumed); None if unreadable."""
    match = _RFC3339.fullmatch(text)
    if match is None:
        return _epoch(text)
    year, month, day, hour, minute, second, fraction, utc, sign, off_h, off_m = match.groups()
    leap = second == "60"
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0),
            59 if leap else int(second or 0), tzinfo=UTC,
        )  # fmt: skip
    except ValueError:
        return None
    value = micros(moment) + leap * 1_000_000 + int((fraction or "0")[:6].ljust(6, "0"))
    if sign:
        minutes = int(off_h) * 60 + int(off_m or 0)
        if int(off_h) > 23 or int(off_m or 0) > 59:
            return None
        value -= (minutes if sign == "+" else -minutes) * 60_000_000
    return (value, not (utc or sign)) if _FIRST <= value <= _LAST else None


def yearless(stamp: str, now: datetime) -> tuple[int, bool] | None:
    """`Jul  1 09:32:13`: the newest such day that is not ahead of the clock; zone unknown."""
    for year in range(now.year, now.year - 8, -1):
        try:
            moment = datetime.strptime(f"{year} {stamp} +0000", "%Y %b %d %H:%M:%S %z")
        except ValueError:
            continue
        value = micros(moment)
        if value <= micros(now) + _DAY_US:
            return value, True
    return None


def _epoch(text: str) -> tuple[int, bool] | None:
    match = _EPOCH.fullmatch(text)
    if match is None:
        return None
    whole, fraction = int(match[1]), match[2] or ""
    size = abs(whole)
    if size < _SECONDS_BELOW:
        unit = 1_000_000
    elif size < _MILLIS_BELOW:
        unit = 1_000
    elif size < _MICROS_BELOW:
        unit = 1
    else:
        return whole // 1_000, False
    part = int(fraction[:6].ljust(6, "0")) * unit // 1_000_000
    value = whole * unit + (-part if match[1].startswith("-") else part)
    return (value, False) if _FIRST <= value <= _LAST else None


@dataclass(frozen=True, slots=True)
class Times:
    """One value a row: `micros` is 0 where `absent` or `bad`."""

    micros: npt.NDArray[np.int64]
    absent: npt.NDArray[np.bool_]
    bad: npt.NDArray[np.bool_]
    no_zone: npt.NDArray[np.bool_]


def column(texts: pa.Array) -> Times:
    """`parse` over a text column: one cast where all rows are alike, else per distinct value."""
    absent = np.asarray(pc.is_null(texts).to_numpy(zero_copy_only=False))
    nothing = np.zeros(len(texts), dtype=bool)
    values = _cast_all(texts)
    if values is not None:
        return Times(values, absent, nothing, nothing)
    coded = texts.dictionary_encode()
    parsed = [parse(text) for text in coded.dictionary.to_pylist()]
    index = coded.indices.fill_null(len(parsed)).to_numpy()
    known = np.array([0 if p is None else p[0] for p in parsed] + [0], dtype=np.int64)
    bad = np.array([p is None for p in parsed] + [False], dtype=bool)
    bare = np.array([p is not None and p[1] for p in parsed] + [False], dtype=bool)
    return Times(known[index], absent, bad[index], bare[index])


def _cast_all(texts: pa.Array) -> npt.NDArray[np.int64] | None:
    """All rows at once if Arrow reads every one (RFC 3339 with a zone, at most six decimals)."""
    try:
        cast = texts.cast(pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid:
        return None
    found: npt.NDArray[np.int64] = cast.cast(pa.int64()).fill_null(0).to_numpy()
    # Arrow takes offsets that leave the years 1 to 9999; `parse` does not.
    return found if not len(found) or (found.min() >= _FIRST and found.max() <= _LAST) else None
