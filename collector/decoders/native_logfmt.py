"""Native records as logfmt: big blocks as columns by numpy, odd lines one by one, with one meaning.

A line is `key=value` pairs between blanks. A value that starts with a quote runs to the closing
quote and may hold backslash escapes; any other runs to the next blank. A bare word is a key that is
true. A line without one known key is no record.
"""

import re
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from collector.decoders.escapes import resolve_surrogates
from collector.decoders.native_fields import FIELDS, INT_FIELDS, INT_MIN, RARE_KEYS, Rough
from collector.decoders.native_record import integer, member

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_KNOWN: Final = frozenset(FIELDS) | RARE_KEYS
_PAIR: Final = re.compile(
    r'[ \t]*([^\s="{}\[\],]+)(?:=(?:"([^"\\]*+(?:\\.[^"\\]*+)*+)"|((?!")[^ \t]*)))?(?=[ \t]|\Z)',
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
# Below this many lines the fixed cost of the columns is more than that of the lines.
MIN_LINES: Final = 200

_SPACE, _NEWLINE, _EQUALS, _QUOTE = 32, 10, 61, 34
_ODD: Final = b"\t\\"
# A line of one pair may be the start of a block of lines.
MIN_PAIRS: Final = 2


def pairs(line: str) -> list[tuple[str, Any]] | None:
    """The pairs of one line in order, a bare word with True; None if it is no logfmt."""
    found: list[tuple[str, Any]] = []
    at, end = 0, len(line.rstrip(" \t"))
    while at < end:
        match = _PAIR.match(line, at, end)
        if match is None:
            return None
        key, quoted, plain = match.groups()
        if quoted is not None:
            found.append((key, _unescape(quoted)))
        else:
            found.append((key, True if plain is None else plain))
        at = match.end()
    return found


def is_record(found: list[tuple[str, Any]]) -> bool:
    """Whether pairs hold one known key with a value."""
    return any(key in _KNOWN and value is not True for key, value in found)


def _unescape(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted
    return _ESCAPE.sub(
        lambda m: chr(int(m[1], 16)) if m[1] else _ESCAPED.get(m[2], m[2]),
        resolve_surrogates(quoted),
    )


def _words_of(names: list[str]) -> Ints:
    """First and last eight bytes (as far as there are) and length of each name, as one row."""
    rows = []
    for name in names:
        raw = name.encode()
        rows.append([
            int.from_bytes(raw[:8], "little"), int.from_bytes(raw[-8:], "little"), len(raw),
        ])  # fmt: skip
    return np.array(rows, dtype=np.uint64).astype(np.int64)


_MAX_KEY: Final = 16  # first and last eight bytes tell keys of at most this length apart
_NAMES: Final = tuple(name for name in FIELDS if len(name) <= _MAX_KEY)
_TABLE: Final = _words_of(list(_NAMES))
_FIRST, _LAST, _SIZE = (np.ascontiguousarray(column) for column in _TABLE.T)
_SLOT_BITS: Final = 12


def _slots(first: Ints, last: Ints, size: Ints, multiplier: int) -> Ints:
    mixed = (first ^ (last << 7)) * np.int64(multiplier) + size * np.int64(0x9E3779B1)
    return (mixed >> (64 - _SLOT_BITS)) & ((1 << _SLOT_BITS) - 1)


def _multiplier() -> int:
    """The first odd number that sends no two names to one slot."""
    for candidate in range(0x5DEECE66D1CE4E5, 1 << 62, 0x2545F4914F6CDD2):
        if len(set(_slots(_FIRST, _LAST, _SIZE, candidate).tolist())) == len(_NAMES):
            return candidate
    raise AssertionError("unreachable: a candidate fits within a few tries")


_FACTOR: Final = _multiplier()
_PLACE: Final = np.zeros(1 << _SLOT_BITS, dtype=np.int64)
_PLACE[_slots(_FIRST, _LAST, _SIZE, _FACTOR)] = np.arange(len(_NAMES))


class Columns:
    """Clean lines of a block as columns; `clean[i]` says whether line i is one of them.

    Clean means: at least two pairs, known keys, none twice, quotes only around whole values, no
    escape, no byte that needs care. Every other line is for `pairs`.
    """

    def __init__(self, data: bytes, starts: Ints, ends: Ints) -> None:
        self._data, self._starts = data, starts
        lines = len(starts)
        view = np.frombuffer(data, dtype=np.uint8)
        bad = _odd_lines(view, data, starts, lines)
        hits, marks = _hits(view, ends)
        line = np.cumsum(marks == _NEWLINE) - (marks == _NEWLINE)
        quotes = _quotes_before(marks, line)
        # A line with an odd quote is not clean; its end still ends it.
        outside = ((quotes & 1 == 0) | (marks == _NEWLINE)) & (marks != _QUOTE)
        tokens = _tokens(hits[outside], marks[outside], line[outside], starts)
        value_start, value_end, wrapped = _unquote(view, tokens.eq + 1, tokens.end)
        bad |= _miscounted(marks, line, tokens, wrapped, lines)
        key = _keys(data, tokens.start, tokens.eq)
        bad[tokens.line[key < 0]] = True
        self._table = np.full(lines * len(_NAMES), -1, dtype=np.int64)
        place = tokens.line * len(_NAMES) + np.maximum(key, 0)
        self._table[place] = np.arange(len(place))
        taken = np.bincount(place[key >= 0], minlength=lines * len(_NAMES))
        bad |= (taken > 1).reshape(lines, len(_NAMES)).any(axis=1)
        bad |= np.bincount(tokens.line, minlength=lines) < MIN_PAIRS
        self.clean: Mask = ~bad
        self._spans = np.empty(2 * len(value_start) + 1, dtype=np.int32)
        self._spans[0:-1:2], self._spans[1::2] = value_start, value_end
        self._spans[-1] = len(data)

    def rough(self, chosen: Ints, offset: int) -> Rough:
        """The chosen clean lines; positions are `offset` plus the place in the block."""
        flat = pa.StringArray.from_buffers(
            len(self._spans) - 1, pa.py_buffer(self._spans), pa.py_buffer(self._data)
        )
        places = self._table.reshape(-1, len(_NAMES))[chosen]
        rough = Rough(self._starts[chosen] + offset)
        for column, name in enumerate(_NAMES):
            index = places[:, column]
            if (index >= 0).any():
                taken = pa.array(index * 2, pa.int64(), mask=index < 0)
                rough.columns[name] = flat.take(taken)
        _numbers(rough, places)
        return rough


def _numbers(rough: Rough, places: Ints) -> None:
    """Digits as numbers; a text that is none goes to extra, an empty one is absent."""
    odd: list[tuple[int, int, str, str]] = []
    for name in INT_FIELDS:
        array = rough.columns.get(name)
        if array is None:
            continue
        if pc.all(pc.ascii_is_decimal(array)).as_py() and name not in INT_MIN:
            try:
                rough.columns[name] = array.cast(pa.int64())
                continue
            except pa.ArrowInvalid:  # beyond int64
                pass
        values = [value or None for value in array.to_pylist()]
        numbers = [integer(value, INT_MIN.get(name, 0)) for value in values]
        place = places[:, _NAMES.index(name)].tolist()
        for row, (value, number) in enumerate(zip(values, numbers, strict=True)):
            if number is None and value is not None:
                odd.append((row, place[row], name, value))
        rough.columns[name] = pa.array(numbers, pa.int64())
    for row, _, name, value in sorted(odd):
        rough.keep(row, member(name, value))
        rough.flag(row, "unknown-value")


class _Tokens:
    """The pairs of a block: where key starts, its =, where the value ends, and the line."""

    def __init__(self, start: Ints, eq: Ints, end: Ints, line: Ints, words: Ints) -> None:
        self.start, self.eq, self.end, self.line = start, eq, end, line
        self.words = words  # line of every token, pair or not


def _odd_lines(view: npt.NDArray[np.uint8], data: bytes, starts: Ints, lines: int) -> Mask:
    """Lines with a byte that only the careful reader understands."""
    bad = np.zeros(lines, dtype=bool)
    odd = np.zeros(256, dtype=bool)
    odd[[mark for mark in _ODD if mark in data]] = True
    if not data.isascii() and (b"\xf4\x8f" in data or not _is_utf8(data)):
        odd[128:] = True
    if odd.any():
        bad[np.searchsorted(starts, np.flatnonzero(odd[view]), side="right") - 1] = True
    return bad


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _hits(view: npt.NDArray[np.uint8], ends: Ints) -> tuple[Ints, npt.NDArray[np.uint8]]:
    """Places of blanks, =, quotes and of each line's end, in order, and the mark at each."""
    wanted = np.zeros(len(view) + 1, dtype=bool)
    np.equal(view, _SPACE, out=wanted[:-1])
    wanted[:-1] |= view == _EQUALS
    wanted[:-1] |= view == _QUOTE
    # A line's end is where its text ends: at the CR of CRLF, or one past the data.
    wanted[ends] = True
    hits = np.flatnonzero(wanted)
    marks = view[np.minimum(hits, len(view) - 1)]
    marks[np.searchsorted(hits, ends)] = _NEWLINE
    return hits, marks


def _quotes_before(marks: npt.NDArray[np.uint8], line: Ints) -> Ints:
    """Quotes in the same line before each mark."""
    is_quote = marks == _QUOTE
    total = np.cumsum(is_quote)
    at_line_end = total[marks == _NEWLINE]
    base = np.concatenate(([0], at_line_end[:-1])) if len(at_line_end) else at_line_end
    before: Ints = total - is_quote - base[line]
    return before


def _tokens(hits: Ints, marks: npt.NDArray[np.uint8], line: Ints, starts: Ints) -> _Tokens:
    is_eq = marks == _EQUALS
    stops = np.flatnonzero(~is_eq)
    stop_at, stop_line = hits[stops], line[stops]
    after_newline = np.concatenate(([True], marks[stops][:-1] == _NEWLINE))
    begin = np.concatenate(([0], stop_at[:-1] + 1))
    begin = np.where(after_newline, starts[stop_line], begin)
    words = stop_line[stop_at > begin]
    # The first = after a stop belongs to the token that ends at the next stop.
    first = is_eq & np.concatenate(([True], ~is_eq[:-1]))
    owner = np.cumsum(~is_eq)[first]
    return _Tokens(begin[owner], hits[first], stop_at[owner], stop_line[owner], words)


def _unquote(view: npt.NDArray[np.uint8], start: Ints, end: Ints) -> tuple[Ints, Ints, Mask]:
    """Values without their quotes, and which had them."""
    opened = np.zeros(len(start), dtype=bool)
    long = end - start >= 2
    opened[long] = (view[start[long]] == _QUOTE) & (view[end[long] - 1] == _QUOTE)
    return start + opened, end - opened, opened


def _miscounted(
    marks: npt.NDArray[np.uint8], line: Ints, tokens: _Tokens, wrapped: Mask, lines: int
) -> Mask:
    """Lines with bare words, or with quotes that do not wrap a whole value."""
    bare = np.bincount(tokens.words, minlength=lines) != np.bincount(tokens.line, minlength=lines)
    quotes = np.bincount(line[marks == _QUOTE], minlength=lines)
    inside = quotes != 2 * np.bincount(tokens.line[wrapped], minlength=lines)
    mask: Mask = bare | inside
    return mask


_LOW_BYTES: Final = np.array([(1 << (8 * n)) - 1 for n in range(8)] + [-1], dtype=np.int64)


def _keys(data: bytes, start: Ints, end: Ints) -> Ints:
    """The place in `_NAMES` of each key, -1 if it is not known."""
    padded = bytes(8) + data + bytes(8)
    word = np.ndarray(shape=(len(padded) - 7,), dtype="<i8", buffer=padded, strides=(1,))
    size = end - start
    short = np.clip(size, 0, 8)
    first = word[start + 8] & _LOW_BYTES[short]
    last = word[end - short + 8] & _LOW_BYTES[short]
    place = _PLACE[_slots(first, last, size, _FACTOR)]
    same = (_FIRST[place] == first) & (_LAST[place] == last) & (_SIZE[place] == size)
    return np.where(same, place, -1)
