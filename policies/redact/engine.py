"""The gate: a batch goes in, a batch without secrets comes out, and nothing else makes one."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import EVENT_SCHEMA
from policies.redact.columns import (
    FLAGS,
    MESSAGE,
    NAMES,
    Column,
    Tally,
    distinct_of,
    flagged,
    scannable,
)
from policies.redact.explain import Finding, find
from policies.redact.fields import (
    dropped_field,
    mask_field,
    scanned_text,
)
from policies.redact.fingerprint import FingerprintKey
from policies.redact.mask import OPENING, Masker
from policies.redact.recent import Recent
from policies.redact.rule import Keep, Rule
from policies.redact.rules import rules_digest
from policies.redact.scan import Hits
from policies.redact.state import Open, State, Stream, dump_state, load_state
from policies.redact.streams import continues, opens
from policies.redact.types import Redacted
from policies.redact.view import plain

_OWN_COLUMNS: Final = ("redaction_kinds", "redaction_digest")
_TEXT_COLUMNS: Final = tuple(
    number
    for number, field in enumerate(EVENT_SCHEMA)
    if pa.types.is_string(field.type) and field.name not in _OWN_COLUMNS
)
# Which rows of a batch, as booleans.
Changed = np.ndarray[Any, np.dtype[np.bool_]]


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
        self._recent = Recent()
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
        arrays, state, tally = self._masked(batch, state, trusted=False)
        self._report(arrays, tally)
        return Redacted(pa.RecordBatch.from_arrays(arrays, schema=EVENT_SCHEMA)), state

    def mask_again(self, batch: pa.RecordBatch, state: State) -> tuple[Redacted, State, Changed]:
        """Stored rows by today's rules, what stays open, and which rows changed.

        Markers in them are ours and stay. A changed row adds to `redactions` and
        `redaction_kinds` and names today's rules; any other row is left as it is, to the byte.
        """
        arrays, state, tally = self._masked(batch, state, trusted=True)
        changed = tally.counts > 0
        again = list(batch.columns)
        for number in (*_TEXT_COLUMNS, NAMES.index("flags")):
            again[number] = arrays[number]
        if changed.any():
            self._add_up(batch, again, tally, changed)
        return Redacted(pa.RecordBatch.from_arrays(again, schema=EVENT_SCHEMA)), state, changed

    def _add_up(
        self, batch: pa.RecordBatch, arrays: list[pa.Array], tally: Tally, changed: Changed
    ) -> None:
        """The row's own account of masks, old and new together."""
        counts, kinds, digest = (NAMES.index(n) for n in ("redactions", *_OWN_COLUMNS))
        arrays[counts] = pc.add(batch.column(counts), pa.array(tally.counts, pa.int32()))
        names = batch.column(kinds).to_pylist()
        new = tally.kinds().to_pylist()
        for row in np.flatnonzero(changed).tolist():
            both = {*(names[row] or "").split(","), *(new[row] or "").split(",")} - {""}
            names[row] = ",".join(sorted(both))
        arrays[kinds] = pa.array(names, pa.string())
        mine = pa.scalar(self.digest, pa.string())
        arrays[digest] = pc.if_else(pa.array(changed), mine, batch.column(digest))
        if tally.failed:
            arrays[FLAGS] = flagged(arrays[FLAGS], tally.failed)

    def _masked(
        self, batch: pa.RecordBatch, state: State, *, trusted: bool
    ) -> tuple[list[pa.Array], State, Tally]:
        columns = self._encoded(batch)
        hits = self._scan(columns)
        opened = self._mask_hits(columns, hits, trusted=trusted)
        arrays = list(batch.columns)
        tally = Tally(batch.num_rows)
        for column in columns:
            if column.masked:
                arrays[column.number] = tally.add(column)
        if opened or not state.idle:
            arrays[MESSAGE], state = self._follow(
                batch, arrays, opened, state, tally, trusted=trusted
            )
        return arrays, state, tally

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

    def _encoded(self, batch: pa.RecordBatch) -> list[Column]:
        columns = []
        first = 0
        for number in _TEXT_COLUMNS:
            array = batch.column(number)
            if array.null_count == len(array):
                continue
            distinct = distinct_of(array)
            columns.append(Column(number, array, distinct, first, {}))
            first += len(distinct)
        return columns

    def _scan(self, columns: Sequence[Column]) -> Hits:
        texts = [scannable(column) for column in columns]
        if not texts:
            return {}
        joined, lengths = zip(*texts, strict=True)
        ends = np.cumsum(np.concatenate(lengths).astype(np.int64) + 1)
        return self._masker.scan_joined(b"\n".join(joined), ends)

    def _mask_hits(
        self, columns: Sequence[Column], hits: Hits, *, trusted: bool
    ) -> dict[int, Open]:
        """Masks the hit values of each column; tells which messages leave something open."""
        opened: dict[int, Open] = {}
        for number, ids in hits.items():
            column = next(c for c in reversed(columns) if c.first <= number)
            value = number - column.first
            text = column.distinct[value].as_py()
            # Stage 1 saw the markers as text; the rules are to see them as stand-ins.
            tried = None if trusted and OPENING in text else ids
            mask = partial(mask_field, self._masker, column.name, text, tried, trusted=trusted)
            masked = self._recent.masked(column.name, text, trusted, mask)
            if masked.text != text or masked.failed:
                column.masked[value] = masked
            if column.number == MESSAGE and not self._masker.openers.isdisjoint(ids):
                left = opens(plain(text).text)
                if left:
                    opened[value] = left
        for column in columns if self._drops else ():
            if kind := self._drops.get(column.name):
                texts = column.distinct.to_pylist()
                gone = [dropped_field(column.name, t, f"[REDACTED:{kind}]") for t in texts]
                column.masked = {n: m for n, m in enumerate(gone) if m.text != texts[n]}
        return opened

    def _follow(
        self,
        batch: pa.RecordBatch,
        arrays: list[pa.Array],
        opened: dict[int, Open],
        state: State,
        tally: Tally,
        *,
        trusted: bool,
    ) -> tuple[pa.Array, State]:
        """Goes through the messages of open streams row by row."""
        messages = batch.column(MESSAGE)
        follow = _Follow(batch, opened, state)
        texts = arrays[MESSAGE].to_pylist()
        for row, stream, value in follow.rows():
            before = follow.now(stream)
            if before is None:
                # What opens something is known: stage 1 saw it.
                if value in opened:
                    follow.set(stream, opened[value])
                continue
            text = messages[row].as_py()
            spans, after = continues(text, before)
            follow.set(stream, after)
            if spans:
                if "message" in self._drops:
                    continue
                masked = mask_field(self._masker, "message", text, trusted=trusted, known=spans)
                if masked.text == text:
                    continue
                texts[row] = masked.text
                tally.replace(row, masked)
        return pa.array(texts, pa.string()), follow.state()

    def _report(self, arrays: list[pa.Array], tally: Tally) -> None:
        rows = tally.rows
        arrays[NAMES.index("redactions")] = pa.array(tally.counts, pa.int32())
        kinds = tally.kinds()
        arrays[NAMES.index("redaction_kinds")] = kinds
        digest = pa.repeat(pa.scalar(self.digest, pa.string()), rows)
        arrays[NAMES.index("redaction_digest")] = digest
        flags = NAMES.index("flags")
        if tally.failed:
            arrays[flags] = flagged(arrays[flags], tally.failed)


class _Follow:
    """The streams of a batch whose messages depend on what came before."""

    def __init__(self, batch: pa.RecordBatch, opened: dict[int, Open], state: State) -> None:
        self._batch = batch
        self._before = state
        self._now: dict[Stream, Open | None] = dict(state.streams)
        self._overflow = state.overflow
        self._opened = opened

    def rows(self) -> list[tuple[int, Stream, int]]:
        """The rows with a message in a stream that is or becomes open, in order; which of the
        distinct messages each holds."""
        messages = self._batch.column(MESSAGE)
        rows = np.flatnonzero(messages.is_valid().to_numpy(zero_copy_only=False)).tolist()
        sources = self._batch.column(NAMES.index("source")).to_pylist()
        pids = self._batch.column(NAMES.index("pid")).to_pylist()
        values = messages.dictionary_encode().indices.to_pylist()
        streams = [(row, (sources[row] or "", pids[row]), values[row]) for row in rows]
        if self._overflow:
            return streams
        concerned = set(self._before.streams)
        concerned |= {stream for _, stream, value in streams if value in self._opened}
        return [entry for entry in streams if entry[1] in concerned]

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
