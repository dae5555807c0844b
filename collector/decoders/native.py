"""The sandbox's own decision records: JSON lines, logfmt lines and blocks of lines, mixed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from audit_events import text
from audit_events.rows import EMPTY_BATCH
from collector.contracts import Block, Decoded, DecoderPlugin, Filtered, Reason, Reject, Tally
from collector.decoders import native_block, native_logfmt
from collector.decoders.lines import LineReader
from collector.decoders.native_block import OpenBlock
from collector.decoders.native_columns import PlainColumns
from collector.decoders.native_fields import Rough, columns_of, merge
from collector.decoders.native_json import JsonLines, parse
from collector.decoders.native_normalise import normalise
from collector.decoders.native_record import RecordError, add
from collector.decoders.times import micros

_BRACE: Final = ord("{")
_RECOGNISED_LINES: Final = 20


@dataclass(slots=True)
class _Found:
    """What one call of the decoder found."""

    roughs: list[Rough] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    blank: int = 0
    records: list[tuple[int, list[tuple[str, Any]]]] = field(default_factory=list)


def _now() -> datetime:
    return datetime.now(UTC)


class NativeDecoder:
    """Native records of one stream. `clock` gives the time of records that have none."""

    def __init__(self, clock: Callable[[], datetime] = _now) -> None:
        self._clock = clock
        self._reader = LineReader()
        self._open: OpenBlock | None = None
        self._resume = 0
        self._columns = PlainColumns()

    def decode(self, block: Block) -> Decoded:
        """The records that end in this block; a block of lines that is still open waits."""
        lines = self._reader.take(block)
        found = _Found()
        if lines.data:
            self._read(lines.data, lines.start, found)
        self._resume = lines.end
        return self._decoded(found, self._clock())

    def flush(self, now: datetime) -> Decoded:
        """The open block, if any, flagged `incomplete` if it says no decision, tool or outcome."""
        found = _Found()
        unended = self._open is not None
        self._close(found)
        return self._decoded(found, now, incomplete=unended)

    def _read(self, data: bytes, offset: int, found: _Found) -> None:
        starts, ends = _line_bounds(data)
        view = np.frombuffer(data, dtype=np.uint8)
        full = ends > starts
        is_json = full & (view[np.minimum(starts, len(view) - 1)] == _BRACE)
        if is_json.any():
            roughs, rejects = JsonLines(data, starts[is_json], ends[is_json], self._columns).read(
                offset
            )
            found.roughs += roughs
            found.rejects += rejects
        if is_json.all():
            self._close(found)
            return
        self._read_others(data, offset, starts, ends, is_json, found)

    def _read_others(
        self,
        data: bytes,
        offset: int,
        starts: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
        is_json: npt.NDArray[np.bool_],
        found: _Found,
    ) -> None:
        """Lines that are not JSON: columns where a run of clean logfmt allows it."""
        clean = np.zeros(len(starts), dtype=bool)
        columns = None
        if len(starts) >= native_logfmt.MIN_LINES:
            columns = native_logfmt.Columns(data, starts, ends)
            clean = columns.clean & ~is_json
        if self._open is None and clean.all():
            taken = np.arange(len(starts))
        else:
            taken = np.array(self._walk(data, offset, (starts, ends), (clean, is_json), found), int)
        if columns is not None and len(taken):
            found.roughs.append(columns.rough(taken, offset))

    def _walk(
        self,
        data: bytes,
        offset: int,
        bounds: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
        kinds: tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]],
        found: _Found,
    ) -> list[int]:
        """Line by line, since a block may be open; returns the lines left to the columns."""
        taken = []
        rows = zip(*(array.tolist() for array in (*bounds, *kinds)), strict=True)
        for row, (start, end, clean, is_json) in enumerate(rows):
            if is_json:
                self._close(found)
            elif clean and self._open is None:
                taken.append(row)
            else:
                self._line(data[start:end], start + offset, found)
        return taken

    def _line(self, raw: bytes, start: int, found: _Found) -> None:
        line = text.from_bytes(raw).strip(" \t")
        if not line:
            self._close(found)
            found.blank += 1
        elif self._open is not None and self._open.accepts(line):
            return
        else:
            self._close(found)
            self._first_line(line, raw, start, found)

    def _first_line(self, line: str, raw: bytes, start: int, found: _Found) -> None:
        """A line outside of any block: a one-line record, the start of a block, or a reject."""
        pairs = None if line[0] in "{[" else native_logfmt.pairs(line)
        valued = sum(value is not True for _, value in pairs or ())
        if valued < native_logfmt.MIN_PAIRS or not native_logfmt.is_record(pairs or []):
            self._open = native_block.opens(line, start)
            if self._open is not None:
                return
        if pairs is not None and native_logfmt.is_record(pairs):
            found.records.append((start, pairs))
            return
        found.records.append((start, [("", raw)]))

    def _close(self, found: _Found) -> None:
        if self._open is not None:
            found.records.append((self._open.start, self._open.pairs))
            self._open = None

    def _decoded(self, found: _Found, now: datetime, *, incomplete: bool = False) -> Decoded:
        found.roughs.append(_careful(found, incomplete=incomplete))
        roughs = [rough for rough in found.roughs if len(rough)]
        batch = EMPTY_BATCH
        if roughs:
            batch, rejects = normalise(merge(roughs), micros(now))
            batch = _in_order(batch)
            found.rejects += rejects
        filtered = {Filtered.BLANK: found.blank} if found.blank else {}
        seen = batch.num_rows + len(found.rejects) + found.blank
        rejects_in_order = tuple(sorted(found.rejects, key=lambda reject: reject.origin))
        resume = self._resume if self._open is None else self._open.start
        return Decoded(batch, rejects_in_order, Tally(seen, filtered), resume)


def _careful(found: _Found, *, incomplete: bool) -> Rough:
    """The records that were read one by one."""
    rough, positions = Rough(np.empty(0, np.int64)), []
    rows: list[dict[str, Any]] = []
    for start, pairs in found.records:
        try:
            rows.append(_record(rough, len(rows), pairs))
            positions.append(start)
        except RecordError as error:
            rough.drop(len(rows))
            found.rejects.append(Reject(start, error.reason))
    if incomplete and rows and not {"decision", "outcome", "tool"} & rows[-1].keys():
        rough.flag(len(rows) - 1, "incomplete")
    rough.positions = np.array(positions, dtype=np.int64)
    rough.columns = columns_of(rows)
    return rough


def _record(rough: Rough, row: int, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if pairs and pairs[0][0] == "":
        pairs = parse(pairs[0][1])
    if len({key for key, _ in pairs}) != len(pairs):
        raise RecordError(Reason.DUPLICATE_KEY)
    return add(rough, row, pairs)


def _in_order(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows in the order of the stream."""
    places = batch.column("source_position").to_numpy()
    return batch if (places[1:] > places[:-1]).all() else batch.take(pa.array(np.argsort(places)))


def _line_bounds(data: bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Start and end of each line, without LF or CRLF."""
    view = np.frombuffer(data, dtype=np.uint8)
    newlines = np.flatnonzero(view == 10)
    if not data.endswith(b"\n"):
        newlines = np.append(newlines, len(data))
    starts = np.concatenate(([0], newlines[:-1] + 1))
    ends = newlines.copy()
    full = ends > starts
    ends[full] -= view[ends[full] - 1] == 13
    return starts, ends


def explain(raw: bytes) -> list[str]:
    """Which of the three forms the lines have."""
    line = raw.strip()
    if line.startswith(b"{"):
        return ["one JSON object a line"]
    if b"\n" in line:
        return ["a block: key=value a line, up to a blank line or the next ts="]
    return ["logfmt: key=value on one line, values with blanks in quotes"]


def recognises(sample: bytes) -> bool:
    """Whether at least half of the first lines name a decision, rule, tool or sandbox."""
    lines = [line for line in sample.splitlines()[:_RECOGNISED_LINES] if line.strip()]
    words = (b"decision", b"policy_rule", b"tool", b"sandbox")
    hits = sum(
        any(b'"%b":' % w in line.replace(b" ", b"") or b"%b=" % w in line for w in words)
        for line in lines
    )
    return bool(lines) and hits * 2 >= len(lines)


decoder = DecoderPlugin(name="native", make=NativeDecoder, recognises=recognises)
