"""Native records as JSON lines: whole blocks by msgspec, what it cannot vouch for line by line."""

import json
from collections.abc import Sequence
from enum import Enum, auto
from operator import attrgetter
from typing import Annotated, Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from msgspec import Meta
from msgspec.structs import astuple

from audit_events import text
from collector.contracts import Reason, Reject
from collector.decoders.escapes import needs_care, resolve_surrogates
from collector.decoders.native_columns import PlainColumns, plain_lines, without
from collector.decoders.native_fields import (
    COMMAND_FIELDS,
    FIELDS,
    INT_FIELDS,
    INT_MAX,
    INT_MIN,
    MAX_DEPTH,
    RARE_KEYS,
    TIME_FIELDS,
    Rough,
    columns_of,
    field_type,
)
from collector.decoders.native_record import Members, Number, RecordError, add

_FIELD_SET: Final = frozenset(FIELDS)
# How many rows tell which fields a block has; into how many parts a block with a bad line is cut,
# and from how few lines on each line is looked at alone.
# A member that one record in forty has is met with a chance of 96 %.
_SAMPLE_ROWS: Final = 128
_PARTS: Final = 8
_FEW_LINES: Final = 48
# A block of which fewer lines are plain is read in one way.
_PLAIN_SHARE: Final = 0.75


def _python_type(name: str) -> Any:
    if name in INT_FIELDS:
        return Annotated[int, Meta(ge=INT_MIN.get(name, 0), le=INT_MAX)] | None
    if name in TIME_FIELDS:
        return str | Annotated[int, Meta(ge=-INT_MAX, le=INT_MAX)] | float | None
    return str | list[str] | None if name in COMMAND_FIELDS else str | None


def _decoder(*, forbid_unknown: bool) -> msgspec.json.Decoder[Any]:
    members = [(name, _python_type(name), None) for name in FIELDS]
    struct = msgspec.defstruct("Record", members, gc=False, forbid_unknown_fields=forbid_unknown)
    return msgspec.json.Decoder(struct)


_KNOWN: Final = _decoder(forbid_unknown=True)
_LENIENT: Final = _decoder(forbid_unknown=False)
_RAW: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_REFUSED: Final = (msgspec.MsgspecError, RecursionError)


_QUOTE, _COLON, _BACKSLASH, _BLANK, _N_OF_NULL = 34, 58, 92, 32, 110


class _Verdict(Enum):
    """How one line may be read."""

    KNOWN = auto()
    UNKNOWN_KEYS = auto()
    CAREFUL = auto()


class JsonLines:
    """JSON records of one block, each line an object or a reject.

    `data` is the block, line i is data[starts[i]:ends[i]] without its line end.
    """

    def __init__(
        self,
        data: bytes,
        starts: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
        columns: PlainColumns | None = None,
    ) -> None:
        self._data, self._starts, self._ends = data, starts, ends
        self._columns = columns or PlainColumns()

    def read(self, offset: int) -> tuple[list[Rough], list[Reject]]:
        """Rough rows and rejects; positions are `offset` plus the place in the block."""
        whole = self._one_object_a_line() and not needs_care(self._data)
        found = self._plain(offset) if whole else None
        if found is not None:
            return found, []
        rough = self._fast(np.arange(len(self._starts)), self._data, offset) if whole else None
        roughs, rejects = ([rough], []) if rough is not None else self._by_chunks(offset)
        self._columns.learn({name for rough in roughs for name in rough.columns})
        return roughs, rejects

    def _plain(self, offset: int) -> list[Rough] | None:
        """Plain lines straight into columns, and the few others; None if that is not to be had."""
        if not self._columns.ready(len(self._starts)):
            return None
        plain = plain_lines(self._data, self._starts, self._ends)
        if plain is None or np.count_nonzero(plain) < _PLAIN_SHARE * len(plain):
            return None
        others = np.flatnonzero(~plain)
        data: bytes | bytearray = self._data
        if len(others):
            data = without(data, self._starts[others], self._ends[others])
        columns = self._columns.read(data, len(plain) - len(others))
        if columns is None:
            return None
        rough = Rough(self._starts[plain] + offset, columns)
        if not len(others):
            return [rough]
        rest = self._group(others, offset)
        return None if rest is None else [rough, rest]

    def _one_object_a_line(self) -> bool:
        """Whether each line starts with { and ends with }: then no object can span two lines."""
        view = np.frombuffer(self._data, dtype=np.uint8)
        return bool((view[self._starts] == 123).all() and (view[self._ends - 1] == 125).all())

    def _by_chunks(self, offset: int) -> tuple[list[Rough], list[Reject]]:
        """Groups that are sound go fast; the lines of one that is not are sorted one by one."""
        roughs: list[Rough] = []
        pools: dict[_Verdict, list[int]] = {verdict: [] for verdict in _Verdict}
        groups = np.array_split(np.arange(len(self._starts)), _PARTS)
        while groups:
            lines = groups.pop()
            rough = self._group(lines, offset) if len(lines) > _FEW_LINES else None
            if rough is not None:
                roughs.append(rough)
            elif len(lines) > _FEW_LINES:
                groups += np.array_split(lines, _PARTS)
            else:
                for line in lines.tolist():
                    pools[_verdict(self._data[self._starts[line] : self._ends[line]])].append(line)
        for verdict in (_Verdict.KNOWN, _Verdict.UNKNOWN_KEYS):
            rough = self._group(np.array(pools[verdict], dtype=np.int64), offset)
            if rough is None:
                pools[_Verdict.CAREFUL] += pools[verdict]
            else:
                roughs.append(rough)
        rough, rejects = self._careful(pools[_Verdict.CAREFUL], offset)
        return [*roughs, rough], rejects

    def _group(self, lines: npt.NDArray[np.int64], offset: int) -> Rough | None:
        pieces = [self._data[self._starts[i] : self._ends[i]] for i in lines]
        if not all(piece[:1] == b"{" and piece[-1:] == b"}" for piece in pieces):
            return None
        data = b"\n".join(pieces)
        return None if needs_care(data) else self._fast(lines, data, offset)

    def _fast(self, lines: npt.NDArray[np.int64], data: bytes, offset: int) -> Rough | None:
        """Rows of lines that are sound objects with known types and no key twice, else None."""
        rough = Rough(self._starts[lines] + offset)
        try:
            records = _KNOWN.decode_lines(data)
        except _REFUSED:
            return rough if self._with_unknown(rough, lines, data) else None
        if len(records) != len(lines):
            return None
        keys = _count_keys(data)
        rough.columns = _columns(records, keys)
        if _values(rough.columns) == keys:
            return rough
        return rough if self._with_unknown(rough, lines, data) else None

    def _with_unknown(self, rough: Rough, lines: npt.NDArray[np.int64], data: bytes) -> bool:
        """Rows with their unknown members in extra; False if a line is not proven to be sound.

        A line is free of duplicate keys when its keys and values account for every byte of it.
        """
        try:
            records = _LENIENT.decode_lines(data)
            raws = _RAW.decode_lines(data)
            if len(records) != len(lines):
                return False
            sizes = (self._ends[lines] - self._starts[lines]).tolist()
            for row, (raw, size) in enumerate(zip(raws, sizes, strict=True)):
                if not _accounted(raw, size):
                    return False
                for key in raw:
                    if key in _FIELD_SET:
                        continue
                    kept = _raw_member(key, raw[key])
                    if kept is None:
                        return False
                    rough.keep(row, kept)
        except _REFUSED:
            return False
        names = set().union(*raws)
        rough.columns = _arrays(records, [name for name in FIELDS if name in names])
        return True

    def _careful(self, lines: list[int], offset: int) -> tuple[Rough, list[Reject]]:
        rough, positions, rejects = Rough(np.empty(0, np.int64)), [], []
        rows: list[dict[str, Any]] = []
        for line in lines:
            start = int(self._starts[line])
            try:
                pairs = parse(self._data[start : int(self._ends[line])])
                rows.append(add(rough, len(rows), pairs))
                positions.append(start + offset)
            except RecordError as error:
                rough.drop(len(rows))
                rejects.append(Reject(start + offset, error.reason))
        rough.positions = np.array(positions, dtype=np.int64)
        rough.columns = columns_of(rows)
        return rough, rejects


def _verdict(line: bytes) -> _Verdict:
    """Whether a line alone passes what `JsonLines` asks of a block."""
    if line[:1] != b"{" or line[-1:] != b"}" or needs_care(line):
        return _Verdict.CAREFUL
    try:
        record = _KNOWN.decode(line)
        if sum(value is not None for value in astuple(record)) == _count_keys(line):
            return _Verdict.KNOWN
    except _REFUSED:
        pass
    try:
        _LENIENT.decode(line)
        raw = _RAW.decode(line)
    except _REFUSED:
        return _Verdict.CAREFUL
    kept = all(key in _FIELD_SET or _raw_member(key, raw[key]) is not None for key in raw)
    return _Verdict.UNKNOWN_KEYS if kept and _accounted(raw, len(line)) else _Verdict.CAREFUL


def parse(line: bytes) -> Members:
    """The members of one object, numbers as `Number`; RecordError with the reason if it is none."""
    _check_depth(line)
    try:
        value = json.loads(
            resolve_surrogates(text.from_bytes(line)),
            strict=False,
            object_pairs_hook=Members,
            parse_int=Number,
            parse_float=Number,
            parse_constant=Number,
        )
    except (ValueError, RecursionError):
        # The error quotes the line, so it is not chained.
        raise RecordError(Reason.NOT_A_RECORD) from None
    if not isinstance(value, Members):
        raise RecordError(Reason.NOT_AN_OBJECT)
    if len({key for key, _ in value}) != len(value):
        raise RecordError(Reason.DUPLICATE_KEY)
    return value


def _check_depth(line: bytes) -> None:
    """RecordError if brackets outside of texts nest deeper than `MAX_DEPTH`."""
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return
    view = np.frombuffer(line.replace(b"\\\\", b"__").replace(b'\\"', b"__"), dtype=np.uint8)
    outside = np.cumsum(view == 34) % 2 == 0
    steps = np.isin(view, (91, 123)).astype(np.int8) - np.isin(view, (93, 125)).astype(np.int8)
    if int(np.cumsum(np.where(outside, steps, 0), dtype=np.int64).max(initial=0)) > MAX_DEPTH:
        raise RecordError(Reason.TOO_DEEP)


def _count_keys(data: bytes) -> int:
    """Known keys with a value other than null: quotes before a colon that neither open a text nor
    are escaped.

    Too many when a text in an array starts with a colon, too few with blanks before a colon; the
    caller then reads with more care.
    """
    view = np.frombuffer(data, dtype=np.uint8)
    quotes = np.flatnonzero((view[1:-3] == _QUOTE) & (view[2:-2] == _COLON)) + 1
    before, value = view[quotes - 1], view[quotes + 2]
    opens = (before == _COLON) | (before == _BACKSLASH)
    if (before == _BLANK).any():
        opens |= (before == _BLANK) & (view[quotes - 2] == _COLON)
    if (value == _BLANK).any():
        value = np.where(value == _BLANK, view[quotes + 3], value)
    return int(np.count_nonzero(~opens & (value != _N_OF_NULL)))


def _columns(records: Sequence[Any], keys: int) -> dict[str, pa.Array]:
    """The columns that hold values: those of a sample if they explain every key, else all."""
    if not records:
        return {}
    sample = records[:: max(1, len(records) // _SAMPLE_ROWS)]
    seen = zip(FIELDS, zip(*map(astuple, sample), strict=True), strict=True)
    names = [name for name, values in seen if values.count(None) < len(sample)]
    columns = _arrays(records, names)
    if _values(columns) != keys:
        columns |= _arrays(records, [name for name in FIELDS if name not in columns])
    return columns


def _arrays(records: Sequence[Any], names: Sequence[str]) -> dict[str, pa.Array]:
    columns = {}
    for name in names:
        values = list(map(attrgetter(name), records))
        array = _array(name, values)
        if array.null_count < len(values):
            columns[name] = array
    return columns


def _array(name: str, values: list[Any]) -> pa.Array:
    if name in COMMAND_FIELDS:
        values = [msgspec.json.encode(v).decode() if isinstance(v, list) else v for v in values]
    if name not in TIME_FIELDS:
        return pa.array(values, field_type(name))
    try:
        return pa.array(values, pa.string())
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return pa.array([number_text(value) for value in values], pa.string())


def number_text(value: str | int | float | None) -> str | None:
    """A time as text: numbers in plain digits."""
    if isinstance(value, float):
        return format(value, "f") if abs(value) >= 1e16 else repr(value)
    return value if value is None or isinstance(value, str) else str(value)


def _values(columns: dict[str, pa.Array]) -> int:
    return sum(len(array) - array.null_count for array in columns.values())


def _accounted(record: dict[str, msgspec.Raw], size: int) -> bool:
    """Whether the members fill `size` bytes, written compactly or with a blank after : and ,."""
    content = sum(map(len, record)) + sum(map(len, record.values()))
    # Braces, then per member two quotes and a colon, and commas between: 4n + 1 more, or 6n.
    return content + 4 * len(record) + 1 == size or content + 6 * len(record) == size


def _raw_member(key: str, raw: msgspec.Raw) -> str | None:
    """An unknown member as it was written; None if it takes care to keep."""
    if key in RARE_KEYS or '"' in key or "\\" in key or not key.isascii():
        return None
    value = bytes(raw)
    if value.count(b"[") + value.count(b"{") >= MAX_DEPTH:
        return None
    try:
        return f'"{key}":{value.decode()}'
    except UnicodeDecodeError:
        return None
