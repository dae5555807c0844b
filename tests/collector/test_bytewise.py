"""Counting and finding bytes through numpy gives what `bytes` gives."""

from hypothesis import example, given
from hypothesis import strategies as st

from collector import bytewise

BYTES = st.binary(max_size=64) | st.lists(st.sampled_from([b"\\", b"u", b"\n", b"}"])).map(b"".join)


@given(BYTES, st.integers(0, 255))
@example(b"", 10)
@example(b"\n", 10)
def test_count_is_that_of_bytes(data: bytes, byte: int) -> None:
    assert bytewise.count(data, byte) == data.count(byte)
    assert bytewise.count(bytearray(data), byte) == data.count(byte)


@given(BYTES)
@example(b"")
@example(b"\\")
@example(b"\\u")
@example(b"u\\")
def test_a_pair_is_found_where_bytes_finds_it(data: bytes) -> None:
    assert bytewise.has_pair(data, 0x5C, 0x75) == (b"\\u" in data)
