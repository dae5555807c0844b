"""What one writer of a socket may say before the next one's turn."""

from typing import Final

READ_BYTES: Final = 128 * 1024
# A line that is no event costs a row as well, and may be a single byte: real ones meet the bound of
# bytes first, a flood of tiny ones this one.
READ_LINES: Final = 1_024
# All writers of a round together, for as long as that leaves each of them the fewest.
ROUND_LINES: Final = 16_384
FEWEST_LINES: Final = 256


def share_of(writers: int) -> int:
    """Lines that each of so many writers may say in a round."""
    return max(FEWEST_LINES, min(READ_LINES, ROUND_LINES // max(writers, 1)))


def first_lines(data: bytes, most: int) -> tuple[bytes, bytes]:
    """(at most so many lines, what follows them); a line that is not finished is no line."""
    if data.count(b"\n") <= most:
        return data, b""
    rest = data.split(b"\n", most)[most]
    return data[: len(data) - len(rest)], rest
