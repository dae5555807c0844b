"""Blocks of plain JSON records straight into columns; anything unusual is left to others.

Arrow's reader is twice as fast as objects that are taken apart again, and leaves the interpreter
free meanwhile. It forgives what a record must not hold, and a bare `null` between two objects
crashes it, so it is given only lines that hold one object of texts and numbers each: they start
with a brace, end with one, and hold no other that closes.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from collector import bytewise
from collector.decoders.native_fields import FIELDS, INT_FIELDS, INT_MIN, field_type

# Below this a call costs more than it saves.
MIN_LINES: Final = 256
# After blocks that it could not read it is not tried for so many.
_PAUSE_BLOCKS: Final = 16
_NEWLINE, _CLOSING = 0x0A, 0x7D

Numbers = npt.NDArray[np.int64]


@dataclass(slots=True)
class PlainColumns:
    """Reads blocks of one stream; knows the fields that its records have had so far."""

    names: set[str] = field(default_factory=set)
    min_lines: int = MIN_LINES
    _pause: int = 0

    def learn(self, names: set[str]) -> None:
        """What others found in a block that was not read here."""
        if not names <= self.names:
            self.names |= names
            self._pause = 0

    def ready(self, lines: int) -> bool:
        """Whether a block of so many lines is worth a try."""
        self._pause = max(0, self._pause - 1)
        return not self._pause and bool(self.names) and lines >= self.min_lines

    def read(self, data: bytes | bytearray, lines: int) -> dict[str, pa.Array] | None:
        """The columns of `lines` plain objects (`plain_lines`); None if one is of another kind."""
        columns = self._read(data, lines)
        if columns is None:
            self._pause = _PAUSE_BLOCKS
        return columns

    def _read(self, data: bytes | bytearray, lines: int) -> dict[str, pa.Array] | None:
        if not data.isascii() and not _is_utf8(data):
            return None
        names: list[str] = [name for name in FIELDS if name in self.names]
        try:
            table = arrow_json.read_json(
                pa.py_buffer(data),
                arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
                arrow_json.ParseOptions(
                    explicit_schema=pa.schema([(name, field_type(name)) for name in names]),
                    newlines_in_values=False,
                    unexpected_field_behavior="error",
                ),
            )
        except pa.ArrowException:
            # The error quotes the line, so it is not chained.
            return None
        if table.num_rows != lines:
            return None
        columns = {name: table[name].combine_chunks() for name in names}
        columns = {name: array for name, array in columns.items() if array.null_count < lines}
        return columns if all(_in_bounds(name, array) for name, array in columns.items()) else None


def plain_lines(data: bytes, starts: Numbers, ends: Numbers) -> npt.NDArray[np.bool_] | None:
    """Which of the lines hold one closing brace only; None if there is more than these lines.

    All of them start and end with a brace: data[starts[i]:ends[i]] is line i.
    """
    lines = bytewise.count(data, _NEWLINE) + (not data.endswith(b"\n"))
    if b"\0" in data or lines != len(starts):
        return None
    if bytewise.count(data, _CLOSING) == len(starts):
        return np.ones(len(starts), dtype=bool)
    closing = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _CLOSING)
    first = np.searchsorted(closing, starts)
    plain: npt.NDArray[np.bool_] = closing[first] == ends - 1
    return plain


def without(data: bytes | bytearray, starts: Numbers, ends: Numbers) -> bytearray:
    """The same bytes with some lines blanked out."""
    left = bytearray(data)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        left[start:end] = b" " * (end - start)
    return left


def _is_utf8(data: bytes | bytearray) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _in_bounds(name: str, array: pa.Array) -> bool:
    return name not in INT_FIELDS or pc.min(array).as_py() >= INT_MIN.get(name, 0)
