"""Event times in every notation."""

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.decoders import times

AT = 1_785_229_392_000_000  # 2026-07-28T09:03:12Z


@pytest.mark.parametrize(
    ("text", "value", "no_zone"),
    [
        ("2026-07-28T09:03:12Z", AT, False),
        ("2026-07-28t09:03:12z", AT, False),
        ("2026-07-28 09:03:12Z", AT, False),
        ("2026-07-28T11:03:12+02:00", AT, False),
        ("2026-07-28 11:03:12+0200", AT, False),
        ("2026-07-28T00:33:12-0830", AT, False),
        ("2026-07-28T09:03:12.5Z", AT + 500_000, False),
        ("2026-07-28T09:03:12,5Z", AT + 500_000, False),
        ("2026-07-28T09:03:12.123456789Z", AT + 123_456, False),
        ("2026-07-28T09:03:12", AT, True),
        ("2026-07-28T09:02:60Z", AT - 12_000_000, False),
        ("1785229392", AT, False),
        ("1785229392.25", AT + 250_000, False),
        ("1785229392000", AT, False),
        ("1785229392000000", AT, False),
        ("1785229392000000999", AT, False),
        ("-1.5", -1_500_000, False),
    ],
)
def test_times_are_read(text: str, value: int, no_zone: bool) -> None:
    """RFC 3339 with any offset and fraction, and epochs of any unit."""
    assert times.parse(text) == (value, no_zone)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2026-02-30T00:00:00Z", "2026-07-28T24:00:00Z", "2026-07-28T09:03:12+24:00",
     "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9" * 30, "1e9", "٢٠٢٦-07-28", " 1"],
)  # fmt: skip
def test_what_is_no_time_is_none(text: str) -> None:
    """An unreadable time is a value, not an exception."""
    assert times.parse(text) is None


notations = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    st.datetimes().map(lambda moment: moment.isoformat(" ") + "-23:59"),
    st.datetimes().map(lambda moment: moment.isoformat(timespec="minutes")),
    st.integers(-(10**19), 10**19).map(str),
    st.text(alphabet="0123456789-:TZ.+ ", max_size=24),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.none() | notations, min_size=1, max_size=4))
def test_columns_and_single_values_agree(texts: list[str | None]) -> None:
    """A column is read as `parse` reads each of its values."""
    found = times.column(pa.array(texts, pa.string()))
    for row, text in enumerate(texts):
        parsed = None if text is None else times.parse(text)
        assert found.absent[row] == (text is None)
        assert found.bad[row] == (text is not None and parsed is None)
        assert (found.micros[row], found.no_zone[row]) == (parsed or (0, False))
