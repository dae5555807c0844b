"""The text columns of a batch by their distinct values, and the account of what was masked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import EVENT_SCHEMA
from policies.redact.fields import PATH_COLUMNS, Masked, scanned_text
from policies.redact.view import BREAK, plain

NAMES: Final = tuple(EVENT_SCHEMA.names)
MESSAGE: Final = NAMES.index("message")
FLAGS: Final = NAMES.index("flags")
# Made once: pyarrow looks for an optional package each time it makes a scalar of a Python string.
_NEWLINE, _EMPTY, _BREAK = (pa.scalar(text, pa.string()) for text in ("\n", "", BREAK))
_FLAG: Final = "masked_field"
# So many rows tell whether a column has long runs.
_SAMPLE_ROWS: Final = 256


@dataclass(slots=True)
class Column:
    """A text column by its distinct values; `first` is the number of the first one in the scan."""

    number: int
    array: pa.Array
    distinct: pa.Array
    first: int
    masked: dict[int, Masked]

    @property
    def rows(self) -> pa.Array:
        """Which distinct value each row holds; null where it holds none."""
        return pc.index_in(self.array, self.distinct)

    @property
    def name(self) -> str:
        return str(NAMES[self.number])


class Tally:
    """What was masked in each row of a batch."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.counts = np.zeros(rows, dtype=np.int32)
        self.failed: set[int] = set()
        self._columns: list[tuple[Column, Any]] = []
        self._replaced: dict[int, Masked] = {}

    def add(self, column: Column) -> pa.Array:
        """Counts a column's masked values; gives the column with them in place."""
        size = len(column.distinct)
        hit = np.zeros(size, dtype=bool)
        counts = np.zeros(size + 1, dtype=np.int32)
        for value, masked in column.masked.items():
            hit[value] = True
            counts[value] = masked.kinds.total()
        texts = [column.masked[value].text for value in sorted(column.masked)]
        values = pc.replace_with_mask(column.distinct, pa.array(hit), pa.array(texts, pa.string()))
        rows = column.rows
        codes = rows.fill_null(size).to_numpy(zero_copy_only=False)
        self.counts += counts[codes]
        self._columns.append((column, codes))
        bad = [value for value, masked in column.masked.items() if masked.failed]
        if bad:
            self.failed.update(np.flatnonzero(np.isin(codes, bad)).tolist())
        return values.take(rows)

    def replace(self, row: int, masked: Masked) -> None:
        """A message that was masked by what came before it, instead of by itself."""
        for column, codes in self._columns:
            if column.number == MESSAGE and (own := column.masked.get(int(codes[row]))):
                self.counts[row] -= own.kinds.total()
        self.counts[row] += masked.kinds.total()
        self._replaced[row] = masked
        if masked.failed:
            self.failed.add(row)

    def kinds(self) -> pa.Array:
        """The kinds of each row as a sorted comma list; null where nothing was masked."""
        found: list[str | None] = [None] * self.rows
        for row in np.flatnonzero(self.counts).tolist():
            kinds: set[str] = set(self._replaced[row].kinds) if row in self._replaced else set()
            for column, codes in self._columns:
                masked = column.masked.get(int(codes[row]))
                if masked and not (column.number == MESSAGE and row in self._replaced):
                    kinds.update(masked.kinds)
            found[row] = ",".join(sorted(kinds))
        return pa.array(found, pa.string())


def distinct_of(array: pa.Array) -> pa.Array:
    """The values of a column; most columns of a batch have long runs, which are cheap to find."""
    if _has_runs(array[:_SAMPLE_ROWS]):
        runs = pc.run_end_encode(array).values
        array = runs if _few(runs, array) else array
    return array.unique().drop_null()


def _has_runs(array: pa.Array) -> bool:
    return _few(pc.run_end_encode(array).values, array)


def _few(runs: pa.Array, array: pa.Array) -> bool:
    return len(runs) <= len(array) // 8


def scannable(column: Column) -> tuple[bytes, Any]:
    """The distinct values as stage 1 sees them, joined by newlines, and the length of each."""
    distinct = column.distinct
    if column.name not in PATH_COLUMNS:
        if column.name == "command":
            distinct = _as_arguments(distinct)
        if _may_hold_json(distinct):
            return _joined([scanned_text(column.name, t) for t in column.distinct.to_pylist()])
    if not pc.all(pc.string_is_ascii(distinct)).as_py():
        return _joined(distinct.to_pylist())
    whole = pa.ListArray.from_arrays(pa.array([0, len(distinct)], pa.int32()), distinct)
    lengths = pc.binary_length(distinct).to_numpy(zero_copy_only=False)
    return pc.binary_join(whole, _NEWLINE)[0].as_buffer().to_pybytes(), lengths


def _may_hold_json(texts: pa.Array) -> bool:
    starts = pc.or_(pc.starts_with(texts, "["), pc.starts_with(texts, "{"))
    return bool(pc.any(starts).as_py())


def _joined(texts: Sequence[str]) -> tuple[bytes, Any]:
    seen = [plain(text).text for text in texts]
    return "\n".join(seen).encode("ascii"), np.array([len(text) for text in seen])


def _as_arguments(commands: pa.Array) -> pa.Array:
    """`scanned_text` of whole argv columns, if all are plain; else the column as it is."""
    quotes_only = pc.all(pc.match_substring_regex(commands, r'\A\["[^\\]*"\]\z')).as_py()
    if not quotes_only:
        return commands
    inner = pc.utf8_slice_codeunits(commands, 2, -2)
    for border in ('","', '", "'):
        inner = pc.replace_substring(inner, border, BREAK)
    if pc.any(pc.match_substring(inner, '"')).as_py():
        return commands
    return pc.binary_join_element_wise(inner, _EMPTY, _BREAK)


def flagged(flags: pa.Array, rows: set[int]) -> pa.Array:
    values = flags.to_pylist()
    for row in rows:
        values[row] = ",".join(sorted({*filter(None, (values[row] or "").split(",")), _FLAG}))
    return pa.array(values, pa.string())
