"""Times, durations, sizes and counts as a person reads them; every time carries its offset."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = 1_000_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
# Beyond these datetime cannot go in every zone; such an instant is shown as a bare number.
_FIRST_US: Final = -62_000_000_000 * _SECOND
_LAST_US: Final = 253_000_000_000 * _SECOND


def local(micros: int, zone: tzinfo | None) -> datetime:
    """An instant in the display zone (None: this machine's)."""
    bounded = min(max(micros, _FIRST_US), _LAST_US)
    return (_EPOCH + timedelta(microseconds=bounded)).astimezone(zone)


def offset(moment: datetime) -> str:
    """`+09`, or `+0530` where minutes matter."""
    text = moment.strftime("%z")
    return text[:3] if text[3:5] == "00" else text[:5]


def clock(micros: int, zone: tzinfo | None, *, millis: bool = False) -> str:
    """`18:03:12+09`, with milliseconds `18:03:12.481+09`."""
    moment = local(micros, zone)
    fraction = f".{moment.microsecond // 1000:03d}" if millis else ""
    return f"{moment:%H:%M:%S}{fraction}{offset(moment)}"


def short_clock(micros: int, zone: tzinfo | None) -> str:
    """`17:05+09`."""
    moment = local(micros, zone)
    return f"{moment:%H:%M}{offset(moment)}"


def day(micros: int, zone: tzinfo | None) -> str:
    """`2026-07-28`."""
    return f"{local(micros, zone):%Y-%m-%d}"


def day_heading(micros: int, zone: tzinfo | None) -> str:
    """`2026-07-29 Wed +09:00`."""
    moment = local(micros, zone)
    zone_text = moment.strftime("%z")
    return f"{moment:%Y-%m-%d %a} {zone_text[:3]}:{zone_text[3:5]}"


def full(micros: int, zone: tzinfo | None, *, millis: bool = False) -> str:
    """`Tue 2026-07-28 18:03:12.512+09`."""
    return f"{local(micros, zone):%a %Y-%m-%d} {clock(micros, zone, millis=millis)}"


def moment(micros: int, zone: tzinfo | None, now: int) -> str:
    """An instant in a header: the clock alone for today, else with its day.

    Seconds are shown where they were meant: on a whole second that is not a whole minute, which is
    what a person types, and close to now; not for the odd moment that `1h` before now is.
    """
    meant = micros % _SECOND == 0 and micros % _MINUTE != 0
    seconds = meant or 0 <= now - micros < 10 * _MINUTE
    text = clock(micros, zone) if seconds else short_clock(micros, zone)
    return text if day(micros, zone) == day(now, zone) else f"{day(micros, zone)}T{text}"


def dated(micros: int, zone: tzinfo | None, now: int) -> str:
    """A clock with seconds, and its day unless that is today."""
    text = clock(micros, zone)
    return text if day(micros, zone) == day(now, zone) else f"{day(micros, zone)}T{text}"


def utc(micros: int) -> str:
    """RFC 3339 UTC with six digits: `2026-07-28T09:03:12.512000Z`."""
    return f"{local(micros, UTC):%Y-%m-%dT%H:%M:%S.%f}Z".rjust(27, "0")


def duration(micros: int) -> str:
    """`34µs 1.2ms 4.8s 2m10s 5h03m 3d04h`, without blanks."""
    if micros < 1000:
        return f"{micros}µs"
    if micros < _SECOND:
        return f"{micros / 1000:.1f}ms"
    if micros < 10 * _SECOND and micros % _SECOND:
        return f"{micros / _SECOND:.1f}s"
    if micros < _MINUTE:
        return f"{micros // _SECOND}s"
    large, small, size_large, size_small = _units(micros)
    rest = micros % size_large // size_small
    return f"{micros // size_large}{large}" + (f"{rest:02d}{small}" if rest else "")


def _units(micros: int) -> tuple[str, str, int, int]:
    """The two largest units of a duration of a minute or more."""
    if micros < _HOUR:
        return "m", "s", _MINUTE, _SECOND
    return ("h", "m", _HOUR, _MINUTE) if micros < _DAY else ("d", "h", _DAY, _HOUR)


def spoken(micros: int) -> str:
    """A duration in a sentence: `4.8 s`, `2 m 10 s`."""
    if micros < 10 * _SECOND:
        return f"{micros / _SECOND:.1f} s"
    if micros < _MINUTE:
        return f"{micros // _SECOND} s"
    large, small, size_large, size_small = _units(micros)
    rest = micros % size_large // size_small
    return f"{micros // size_large} {large}" + (f" {rest} {small}" if rest else "")


def spoken_micros(micros: int) -> str:
    """A short duration in a sentence: `19 µs`, `1.2 ms`."""
    if micros < 1000:
        return f"{micros} µs"
    return f"{micros / 1000:.1f} ms" if micros < _SECOND else spoken(micros)


def count(number: int) -> str:
    """`81,204`."""
    return f"{number:,}"


def size(number: int) -> str:
    """Decimal: `151 MB`."""
    amount = float(number)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            digits = 1 if unit != "B" and amount < 10 else 0
            return f"{amount:.{digits}f} {unit}"
        amount /= 1000
    raise AssertionError
