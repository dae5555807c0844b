"""Times as people type them."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit_events.errors import UsageError
from query.times import HINT, display_zone, resolve, span, stamp, window

TOKYO, NEW_YORK, KOLKATA = (
    ZoneInfo(name) for name in ("Asia/Tokyo", "America/New_York", "Asia/Kolkata")
)
NOW = 1_785_229_500_000_000  # 2026-07-28T09:05:00Z, 18:05 in Tokyo


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("now", "2026-07-28T09:05+00"),
        ("30s", "2026-07-28T09:04:30+00"),
        ("5m", "2026-07-28T09:00+00"),
        ("1h30m", "2026-07-28T07:35+00"),
        ("1d", "2026-07-27T09:05+00"),
        ("2w", "2026-07-14T09:05+00"),
        ("-1h", "2026-07-28T08:05+00"),
        ("2 hours ago", "2026-07-28T07:05+00"),
        ("an hour ago", "2026-07-28T08:05+00"),
        ("1 day ago", "2026-07-27T09:05+00"),
        ("today", "2026-07-27T15:00+00"),
        ("Yesterday", "2026-07-26T15:00+00"),
        ("yesterday 02:00", "2026-07-26T17:00+00"),
        ("02:00", "2026-07-27T17:00+00"),
        ("02:00:30", "2026-07-27T17:00:30+00"),
        ("2026-07-28", "2026-07-27T15:00+00"),
        ("2026-07-28 02:00", "2026-07-27T17:00+00"),
        ("  2026-07-28   02:00 ", "2026-07-27T17:00+00"),
        ("2026-07-28T02:00+09:00", "2026-07-27T17:00+00"),
        ("2026-07-28t02:00z", "2026-07-28T02:00+00"),
        ("2026-07-28T02:00:00.5-0530", "2026-07-28T07:30+00"),
        ("2026-07-28T23:59:60Z", "2026-07-29T00:00+00"),
        ("1785229392", "2026-07-28T09:03:12+00"),
        ("1785229392.5", "2026-07-28T09:03:12+00"),
        ("1785229392481", "2026-07-28T09:03:12+00"),
        ("1785229392481000", "2026-07-28T09:03:12+00"),
        ("1785229392481000000", "2026-07-28T09:03:12+00"),
    ],
)
def test_every_form_of_a_time_is_understood(text: str, utc: str) -> None:
    """A time without a zone is Tokyo's here."""
    assert stamp(resolve(text, NOW, TOKYO), UTC) == utc


@pytest.mark.parametrize(
    "text",
    ["1 hour ago am", "", "2026-13-01", "2026-02-30", "25:00", "2026", "1y", "tomorrow", "1.5h",
     "2026-07-28T02:00+99:00", "99999-01-01", "0001-01-01T00:00+23:59", "12345678901234567890",
     "\u0661\u0662:00", "1h\x00", "9" * 400],
)  # fmt: skip
def test_what_is_no_time_says_what_would_be(text: str) -> None:
    """Exit 2 with the flag, the value and the forms."""
    with pytest.raises(UsageError, match=r"^--since .*: not a time$") as raised:
        resolve(text, NOW, TOKYO)
    assert raised.value.hint == HINT


@given(st.text(max_size=40))
def test_no_text_breaks_the_reader_of_times(text: str) -> None:
    """A time or a UsageError, whatever is typed."""
    try:
        assert isinstance(resolve(text, NOW, NEW_YORK), int)
    except UsageError:
        assert text.strip() != "now"


@given(st.integers(1, 10_000), st.sampled_from("smhdw"))
def test_a_length_means_the_same_in_every_zone(count: int, unit: str) -> None:
    """`--since 1h` asks for the same events in Chicago, Kolkata and UTC; a day is 24 hours."""
    found = {resolve(f"{count}{unit}", NOW, zone) for zone in (TOKYO, NEW_YORK, KOLKATA, UTC)}
    assert len(found) == 1


@given(st.integers(0, 4_000_000_000_000_000), st.sampled_from([TOKYO, NEW_YORK, KOLKATA, UTC]))
def test_a_printed_time_reads_back(us: int, zone: ZoneInfo) -> None:
    """What the header shows can be pasted into `--since`."""
    second = us // 1_000_000 * 1_000_000
    assert resolve(stamp(second, zone), NOW, UTC) == second


def test_an_hour_that_happens_twice_shows_too_much_rather_than_too_little() -> None:
    """`since` takes the first 01:30 of the night, `until` the second."""
    first = resolve("2026-11-01 01:30", NOW, NEW_YORK)
    second = resolve("2026-11-01 01:30", NOW, NEW_YORK, late=True)
    assert second - first == 3_600_000_000


@pytest.mark.parametrize("late", [False, True])
def test_an_hour_that_is_left_out_means_the_hour_after_it(late: bool) -> None:
    """02:30 of the night in which clocks jump from 02:00 to 03:00 is 03:30."""
    found = resolve("2026-03-08 02:30", NOW, NEW_YORK, late=late)
    assert stamp(found, NEW_YORK) == "2026-03-08T03:30-04"


def test_a_window_is_since_to_until() -> None:
    """Half-open, on the clock that was asked for."""
    found, warnings = window("2h", "1h", None, "arrival", (NOW, TOKYO))
    assert (found.since, found.until) == (NOW - 7_200_000_000, NOW - 3_600_000_000)
    assert (found.clock, warnings) == ("arrival", [])


def test_around_is_five_minutes_each_side() -> None:
    """And goes with no other bound."""
    found, _ = window(None, None, "18:00", "event", (NOW, TOKYO))
    assert (found.since, found.until) == (NOW - 600_000_000, NOW)
    with pytest.raises(UsageError):
        window("1h", None, "18:00", "event", (NOW, TOKYO))


def test_a_start_in_the_future_is_answered_with_a_warning() -> None:
    """It names both moments and how far they are apart."""
    _, warnings = window("2026-07-29T02:00+09:00", None, None, "event", (NOW, TOKYO))
    assert len(warnings) == 1
    assert warnings[0].startswith("--since 2026-07-29T02:00+09 is 7 h 55 m in the future (this ")
    assert warnings[0].endswith(" says 2026-07-28T18:05+09)")


def test_an_empty_window_is_an_error_with_both_ends() -> None:
    """Exit 2: nothing can lie in it."""
    with pytest.raises(UsageError, match=r"18:05\+09 is not before --until 2026-07-28T17:05\+09"):
        window("now", "1h", None, "event", (NOW, TOKYO))


def test_the_display_zone_comes_from_flags_then_tz_then_the_machine() -> None:
    """--utc beats --tz beats TZ."""
    assert display_zone("Asia/Tokyo", utc=True, environ={"TZ": "Asia/Kolkata"}) == UTC
    assert display_zone("Asia/Tokyo", environ={"TZ": "Asia/Kolkata"}) == TOKYO
    assert display_zone(environ={"TZ": ":Asia/Kolkata"}) == KOLKATA
    with pytest.raises(UsageError, match="not a time zone"):
        display_zone("Tokyo/Asia")
    with pytest.raises(UsageError, match="not a time zone"):
        display_zone("../../etc/passwd")


@pytest.mark.parametrize(
    ("us", "text"),
    [(28_500_000_000, "7 h 55 m"), (696_000_000, "11 m 36 s"), (0, "0 s"), (-5, "0 s"),
     (273_600_000_000, "3 d 4 h"), (3_600_000_000, "1 h")],
)  # fmt: skip
def test_a_length_is_told_in_two_units(us: int, text: str) -> None:
    """The largest two, so that it is read at a glance."""
    assert span(us) == text
