"""The gate: a batch goes in, a batch without secrets comes out, and nothing else makes one."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import EVENT_SCHEMA
from policies.redact.explain import Finding, find
from policies.redact.fields import (
    PATH_COLUMNS,
    Masked,
    dropped_field,
    mask_field,
    scanned_text,
)
from policies.redact.fingerprint import FingerprintKey
from policies.redact.mask import Masker
from policies.redact.rule import Keep, Rule
from policies.redact.rules import rules_digest
from policies.redact.scan import Hits
from policies.redact.state import Open, State, Stream, dump_state, load_state
from policies.redact.streams import continues, opens
from policies.redact.types import Redacted
from policies.redact.view import BREAK, plain

_OWN_COLUMNS: Final = ("redaction_kinds", "redaction_digest")
_TEXT_COLUMNS: Final = tuple(
    number
    for number, field in enumerate(EVENT_SCHEMA)
    if pa.types.is_string(field.type) and field.name not in _OWN_COLUMNS
)
_NAMES: Final = tuple(EVENT_SCHEMA.names)
_MESSAGE: Final = _NAMES.index("message")
# Made once: pyarrow looks for an optional package each time it makes a scalar of a Python string.
_NEWLINE, _EMPTY, _BREAK = (pa.scalar(text, pa.string()) for text in ("\n", "", BREAK))
_FLAG: Final = "masked_field"


@dataclass(slots=True)
class _Column:
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
        return str(_NAMES[self.number])


class Redactor:
    """Masks secrets by a table of rules; one instance serves one loop."""

    def __init__(
        self,
        rules: Sequence[Rule],
        key: FingerprintKey,
        *,
        engine: bool = True,
        keeps: Sequence[Keep] = (),
        drops: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Raises SelfTestError if the matching engine cannot be trusted.

        With `engine=False`, and where the engine is not installed, every text is a candidate of
        every rule: the same answers, some hundred times slower. `keeps` are exceptions; `drops` are
        columns that are masked whole, by name, with the kind that their marker shows.
        """
        self._masker = Masker(rules, key, engine=engine, keeps=keeps)
        self._drops = dict(drops)
        # Which rules, and under which key: docs/decisions/0010.
        self.digest = f"{rules_digest(rules, (tuple(keeps), tuple(drops)))}-{key.id}"

    @property
    def fast(self) -> bool:
        """False if the matching engine is missing."""
        return self._masker.scanner.fast

    @staticmethod
    def initial_state() -> State:
        """Nothing is open."""
        return State()

    @staticmethod
    def dump_state(state: State) -> str:
        """The state as JSON, for the transaction that stores the batch."""
        return dump_state(state)

    @staticmethod
    def load_state(text: str) -> State:
        """The state of `dump_state`; damaged text counts as "everything may be open"."""
        return load_state(text)

    def redact(self, batch: pa.RecordBatch, state: State) -> tuple[Redacted, State]:
        """The batch without secrets, and what stays open for the next one.

        Rows must come in the order of their sources. `redactions`, `redaction_kinds` and
        `redaction_digest` are set; a field that failed closed adds the flag `masked_field`. How
        rows are cut into batches makes no difference.
        """
        columns = self._encoded(batch)
        hits = self._scan(columns)
        opened = self._mask_hits(columns, hits)
        arrays = list(batch.columns)
        tally = _Tally(batch.num_rows)
        for column in columns:
            if column.masked:
                arrays[column.number] = tally.add(column)
        if opened or not state.idle:
            arrays[_MESSAGE], state = self._follow(batch, arrays, opened, state, tally)
        self._report(arrays, tally)
        return Redacted(pa.RecordBatch.from_arrays(arrays, schema=EVENT_SCHEMA)), state

    def redact_text(
        self, text: str, column: str = "message", *, trusted: bool = True
    ) -> tuple[str, Counter[str]]:
        """One field without its secrets, and how often each kind was masked.

        `column` says which shape it has (a path, an argv, a JSON object, text). Markers that are in
        it already are kept, so that doing it twice changes nothing; with `trusted=False` they are
        escaped, as `redact` does with what comes from a source.
        """
        if kind := self._drops.get(column):
            masked = dropped_field(column, text, f"[REDACTED:{kind}]")
        else:
            masked = mask_field(self._masker, column, text, trusted=trusted)
        return masked.text, masked.kinds

    def findings(
        self, text: str, column: str = "message", *, trusted: bool = True
    ) -> list[Finding]:
        """Why `redact_text` masks what it masks in this field, in order."""
        return find(self._masker, scanned_text(column, text), trusted=trusted)

    def _encoded(self, batch: pa.RecordBatch) -> list[_Column]:
        columns = []
        first = 0
        for number in _TEXT_COLUMNS:
            array = batch.column(number)
            if array.null_count == len(array):
                continue
            distinct = _distinct(array)
            columns.append(_Column(number, array, distinct, first, {}))
            first += len(distinct)
        return columns

    def _scan(self, columns: Sequence[_Column]) -> Hits:
        texts = [_scannable(column) for column in columns]
        if not texts:
            return {}
        joined, lengths = zip(*texts, strict=True)
        ends = np.cumsum(np.concatenate(lengths).astype(np.int64) + 1)
        return self._masker.scan_joined(b"\n".join(joined), ends)

    def _mask_hits(self, columns: Sequence[_Column], hits: Hits) -> dict[int, Open]:
        """Masks the hit values of each column; tells which messages leave something open."""
        opened: dict[int, Open] = {}
        for number, ids in hits.items():
            column = next(c for c in reversed(columns) if c.first <= number)
            value = number - column.first
            text = column.distinct[value].as_py()
            masked = mask_field(self._masker, column.name, text, ids, trusted=False)
            if masked.text != text or masked.failed:
                column.masked[value] = masked
            if column.number == _MESSAGE and not self._masker.openers.isdisjoint(ids):
                left = opens(plain(text).text)
                if left:
                    opened[value] = left
        for column in columns if self._drops else ():
            if kind := self._drops.get(column.name):
                marker = f"[REDACTED:{kind}]"
                texts = enumerate(column.distinct.to_pylist())
                column.masked = {n: dropped_field(column.name, text, marker) for n, text in texts}
        return opened

    def _follow(
        self,
        batch: pa.RecordBatch,
        arrays: list[pa.Array],
        opened: dict[int, Open],
        state: State,
        tally: "_Tally",
    ) -> tuple[pa.Array, State]:
        """Goes through the messages of open streams row by row."""
        messages = batch.column(_MESSAGE)
        follow = _Follow(batch, opened, state)
        texts = arrays[_MESSAGE].to_pylist()
        for row, stream in follow.rows():
            text = messages[row].as_py()
            before = follow.now(stream)
            if before is None:
                follow.set(stream, opens(plain(text).text))
                continue
            spans, after = continues(text, before)
            follow.set(stream, after)
            if spans:
                if "message" in self._drops:
                    continue
                masked = mask_field(self._masker, "message", text, trusted=False, known=spans)
                texts[row] = masked.text
                tally.replace(row, masked)
        return pa.array(texts, pa.string()), follow.state()

    def _report(self, arrays: list[pa.Array], tally: "_Tally") -> None:
        rows = tally.rows
        arrays[_NAMES.index("redactions")] = pa.array(tally.counts, pa.int32())
        kinds = tally.kinds()
        arrays[_NAMES.index("redaction_kinds")] = kinds
        digest = pa.repeat(pa.scalar(self.digest, pa.string()), rows)
        arrays[_NAMES.index("redaction_digest")] = digest
        flags = _NAMES.index("flags")
        if tally.failed:
            arrays[flags] = _flagged(arrays[flags], tally.failed)


class _Follow:
    """The streams of a batch whose messages depend on what came before."""

    def __init__(self, batch: pa.RecordBatch, opened: dict[int, Open], state: State) -> None:
        self._batch = batch
        self._before = state
        self._now: dict[Stream, Open | None] = dict(state.streams)
        self._overflow = state.overflow
        self._opened = opened

    def rows(self) -> list[tuple[int, Stream]]:
        """The rows with a message in a stream that is or becomes open, in order."""
        messages = self._batch.column(_MESSAGE)
        rows = np.flatnonzero(messages.is_valid().to_numpy(zero_copy_only=False)).tolist()
        sources = self._batch.column(_NAMES.index("source")).to_pylist()
        pids = self._batch.column(_NAMES.index("pid")).to_pylist()
        streams = [(row, (sources[row] or "", pids[row])) for row in rows]
        if self._overflow:
            return streams
        values = messages.dictionary_encode().indices.to_pylist()
        concerned = set(self._before.streams)
        concerned |= {stream for row, stream in streams if values[row] in self._opened}
        return [(row, stream) for row, stream in streams if stream in concerned]

    def now(self, stream: Stream) -> Open | None:
        """What is open in the stream at this row."""
        if stream in self._now:
            return self._now[stream]
        return "private-key" if self._overflow else None

    def set(self, stream: Stream, opened: Open | None) -> None:
        """What is open from the next row on."""
        self._now[stream] = opened

    def state(self) -> State:
        """The state after the batch."""
        return self._before.after(self._now)


class _Tally:
    """What was masked in each row of a batch."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.counts = np.zeros(rows, dtype=np.int32)
        self.failed: set[int] = set()
        self._columns: list[tuple[_Column, Any]] = []
        self._replaced: dict[int, Masked] = {}

    def add(self, column: _Column) -> pa.Array:
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
            if column.number == _MESSAGE and (own := column.masked.get(int(codes[row]))):
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
                if masked and not (column.number == _MESSAGE and row in self._replaced):
                    kinds.update(masked.kinds)
            found[row] = ",".join(sorted(kinds))
        return pa.array(found, pa.string())


def _distinct(array: pa.Array) -> pa.Array:
    """The values of a column; most columns of a batch have long runs, which are cheap to find."""
    runs = pc.run_end_encode(array).values
    return (runs if len(runs) < len(array) // 8 else array).unique().drop_null()


def _scannable(column: _Column) -> tuple[bytes, Any]:
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


def _flagged(flags: pa.Array, rows: set[int]) -> pa.Array:
    values = flags.to_pylist()
    for row in rows:
        values[row] = ",".join(sorted({*filter(None, (values[row] or "").split(",")), _FLAG}))
    return pa.array(values, pa.string())
