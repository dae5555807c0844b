"""Buckets of time: the engine's arithmetic against the calendar, clock changes included."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from query.calendar import DAY_US, HOUR_US, MINUTE_US, buckets

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Clock changes of an hour and of half an hour, offsets with minutes, none at all, a day left out.
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "Asia/Tokyo",
         "UTC", "America/Sao_Paulo")  # fmt: skip
FIRST = int(datetime(2015, 1, 1, tzinfo=UTC).timestamp())
LAST = int(datetime(2027, 1, 1, tzinfo=UTC).timestamp())
moments = st.integers(FIRST * 1_000_000, LAST * 1_000_000)


def to_us(moment: datetime) -> int:
    """µs since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def local(at: int, zone: ZoneInfo) -> datetime:
    """A moment on the wall's clock."""
    return (EPOCH + timedelta(microseconds=at)).astimezone(zone)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(ZONES), moments, st.integers(0, 4 * DAY_US))
def test_a_day_is_the_date_on_the_wall(name: str, at: int, more: int) -> None:
    """The day's key is its date, and it begins and ends where its date does."""
    zone = ZoneInfo(name)
    days = buckets(DAY_US, zone, at, at + more)
    for moment in (at, at + more // 2, at + more):
        key = days.key(moment)
        date = local(moment, zone).date()
        assert key == (date - EPOCH.date()).days
        assert days.begin(key) <= moment < days.end(key)
        assert days.end(key) == days.begin(key + 1)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(ZONES), moments, st.integers(0, 400 * DAY_US), st.sampled_from([5, 15, 60]))
def test_an_hour_begins_on_the_hour_of_the_wall(name: str, at: int, more: int, size: int) -> None:
    """Every moment lies in its bucket, which is no longer than it says and begins round."""
    zone = ZoneInfo(name)
    hours = buckets(size * MINUTE_US, zone, at, at + more)
    moment = at + more // 2
    begin, end = hours.begin(hours.key(moment)), hours.end(hours.key(moment))
    assert begin <= moment < end <= begin + size * MINUTE_US
    if begin not in (since for since, _ in hours.changes):
        assert local(begin, zone).minute % size == 0


def test_the_hour_that_a_clock_change_repeats_is_two() -> None:
    """02:00 to 03:00 in Berlin on 2026-10-25 comes twice, and the day has 25 hours."""
    berlin = ZoneInfo("Europe/Berlin")
    since = to_us(datetime(2026, 10, 25, tzinfo=berlin))
    until = to_us(datetime(2026, 10, 26, tzinfo=berlin))
    hours = buckets(HOUR_US, berlin, since, until)
    clock = [local(key, berlin).hour for key in hours.between(since, until)]
    assert clock == [0, 1, 2, 2, *range(3, 24)]
    days = buckets(DAY_US, berlin, since, until)
    (day,) = days.between(since, until)
    assert days.end(day) - days.begin(day) == 25 * HOUR_US


@pytest.mark.parametrize("size", [5 * MINUTE_US, HOUR_US, 6 * HOUR_US, DAY_US])
@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from(ZONES), st.lists(moments, min_size=1, max_size=20),
    st.lists(st.integers(-62_000_000_000, 253_000_000_000), max_size=3),
)  # fmt: skip
def test_the_engine_computes_the_same_keys(
    size: int, name: str, times: list[int], odd: list[int]
) -> None:
    """SQL and Python agree, for moments outside of the prepared stretch too."""
    found = buckets(size, ZoneInfo(name), min(times), max(times))
    everything = [*times, *(second * 1_000_000 for second in odd)]
    sql = f"SELECT {found.sql('make_timestamptz(t)')} FROM (SELECT unnest(?) AS t)"  # noqa: S608
    with duckdb.connect() as con:
        got = [key for (key,) in con.execute(sql, [everything]).fetchall()]
    assert got == [found.key(at) for at in everything]


def test_buckets_cover_a_stretch_without_a_hole() -> None:
    """Each begins where the one before ended, across both clock changes of a year."""
    zone = ZoneInfo("Australia/Lord_Howe")
    since = to_us(datetime(2026, 3, 1, tzinfo=UTC))
    until = to_us(datetime(2026, 10, 31, tzinfo=UTC))
    hours = buckets(HOUR_US, zone, since, until)
    keys = list(hours.between(since, until))
    assert len(keys) > 5000
    assert all(hours.end(a) == hours.begin(b) for a, b in pairwise(keys))
