"""Whole batches to lines of text without a Python loop over events.

Each column becomes one array of ready pieces, and one join makes the lines. Values that need
escaping are rare: only the distinct ones among them go through Python.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from audit_events.schema import BY_NAME
from exporters.contracts import EVENT_ID

# A join may not exceed 2 GiB; so many bytes of events make at most a few times as much text.
MAX_SLICE_BYTES: Final = 32 << 20
MAX_SLICE_ROWS: Final = 16_384


@dataclass(frozen=True, slots=True)
class Style:
    """How a format writes a line: pieces around values, and how a text value is escaped.

    `special` is an RE2 pattern: texts that it matches go through `text`, all others are written
    as they are between two `quote`s. `null` None leaves the column out.
    """

    line_start: str
    line_end: str
    first: Callable[[str], str]
    later: Callable[[str], str]
    special: str
    text: Callable[[str], str]
    quote: str
    null: str | None


def lines(batch: pa.RecordBatch, columns: Sequence[str], style: Style) -> bytes:
    """The rows of a batch as lines of text in UTF-8."""
    return b"".join(_slice_lines(part, columns, style) for part in _slices(batch))


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if not batch.num_rows:
        return
    row_bytes = max(batch.nbytes // batch.num_rows, 1)
    step = max(min(MAX_SLICE_ROWS, MAX_SLICE_BYTES // row_bytes), 1)
    for start in range(0, batch.num_rows, step):
        yield batch.slice(start, step)


def _slice_lines(batch: pa.RecordBatch, columns: Sequence[str], style: Style) -> bytes:
    """Pieces side by side: literal text, and one value a row; `written` says where a row began."""
    pieces: list[Any] = [style.line_start]
    written: pa.Array | bool = False
    for name in columns:
        before, values, after = _values(batch, name, style)
        if style.null is not None:
            lead = style.later(name) if written is True else style.first(name)
            empty = values.null_count == len(values)
            pieces += [lead, style.null if empty else values.fill_null(style.null)]
            written = True
        elif values.null_count == len(values):
            continue
        elif values.null_count == 0 and not isinstance(written, pa.Array):
            lead = style.later(name) if written else style.first(name)
            pieces += [lead + before, values, after]
            written = True
        else:
            pieces.append(_optional(before, values, after, _lead(name, style, written)))
            written = _or(written, pc.is_valid(values))
    return _joined([*pieces, style.line_end], batch.num_rows)


def _lead(name: str, style: Style, written: pa.Array | bool) -> Any:
    if isinstance(written, pa.Array):
        return pc.if_else(written, style.later(name), style.first(name))
    return style.later(name) if written else style.first(name)


def _or(written: pa.Array | bool, valid: pa.Array) -> pa.Array | bool:
    if isinstance(written, bool):
        return True if written else valid
    either = pc.or_(written, valid)
    return True if pc.all(either).as_py() else either


def _optional(before: str, values: pa.Array, after: str, lead: Any) -> pa.Array:
    """A column that some rows lack: its piece is empty there."""
    if isinstance(values, pa.DictionaryArray) and isinstance(lead, str):
        words = [f"{lead}{before}{word}{after}" for word in values.dictionary.to_pylist()]
        return pa.array(words, pa.string()).take(values.indices).fill_null("")
    joined = pc.binary_join_element_wise(lead, before, _plain(values), after, "")
    return joined.fill_null("")


def _joined(pieces: Sequence[Any], rows: int) -> bytes:
    """One join over all pieces; neighbouring literals, constant columns among them, become one."""
    merged: list[Any] = [""]
    for piece in pieces:
        piece = _constant(piece)
        if isinstance(piece, str) and isinstance(merged[-1], str):
            merged[-1] += piece
        else:
            merged.append(piece)
    if len(merged) == 1:
        return str(merged[0]).encode() * rows
    joined = pc.binary_join_element_wise(*[_plain(p) for p in merged if p != ""], "")
    _, _, data = joined.buffers()
    text: bytes = data.to_pybytes() if data is not None else b""
    return text


def _constant(piece: Any) -> Any:
    if (
        isinstance(piece, pa.DictionaryArray)
        and not piece.null_count
        and len(piece.dictionary) == 1
    ):
        return piece.dictionary[0].as_py()
    return piece


def _plain(values: Any) -> Any:
    return values.cast(pa.string()) if isinstance(values, pa.DictionaryArray) else values


def _values(batch: pa.RecordBatch, name: str, style: Style) -> tuple[str, pa.Array, str]:
    """A column's values ready to be written, and the quotes that go around each of them."""
    if name == EVENT_ID:
        store, seq = _plain(batch.column("store")), batch.column("seq").cast(pa.string())
        return _texts(pc.binary_join_element_wise(store, seq, "-"), style)
    column, values = BY_NAME[name], batch.column(name)
    if column.type == "timestamp":
        # Casting without a zone is eight times faster; the type's zone is UTC, so Z is true.
        text = values.cast(pa.timestamp("us")).cast(pa.string())
        text = pc.binary_join_element_wise(pc.binary_replace_slice(text, 10, 11, "T"), "Z", "")
        return style.quote, text, style.quote
    if column.type in ("int32", "int64"):
        return "", values.cast(pa.string()), ""
    if not column.dictionary:
        return _texts(_plain(values), style)
    coded = values if isinstance(values, pa.DictionaryArray) else values.dictionary_encode()
    used = pc.unique(coded.indices).drop_null() if len(coded.dictionary) > 1 else coded.indices
    if len(used) < len(coded.dictionary):
        coded = _plain(coded).dictionary_encode()
    before, words, after = _texts(coded.dictionary, style)
    words = pa.array([f"{before}{word}{after}" for word in words.to_pylist()], pa.string())
    return "", pa.DictionaryArray.from_arrays(coded.indices, words), ""


def _texts(values: pa.Array, style: Style) -> tuple[str, pa.Array, str]:
    special = pc.fill_null(pc.match_substring_regex(values, style.special), False)
    if not pc.any(special).as_py():
        return style.quote, values, style.quote
    chosen = values.filter(special).dictionary_encode()
    escaped = pa.array([style.text(value) for value in chosen.dictionary.to_pylist()], pa.string())
    quoted = pc.binary_join_element_wise(style.quote, values, style.quote, "")
    return "", pc.replace_with_mask(quoted, special, escaped.take(chosen.indices)), ""
