"""Any JSON lines, mapped to columns by a settings table: a new producer needs no code."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np

from collector.contracts import Block, Decoded, DecoderPlugin, Filtered, Reject, Tally
from collector.decoders.lines import LineReader
from collector.decoders.mapping import Rule, Table
from collector.decoders.native_fields import FIELDS, RARE_KEYS, Rough, columns_of
from collector.decoders.native_json import parse
from collector.decoders.native_normalise import normalise
from collector.decoders.native_record import Members, Number, RecordError, add
from collector.decoders.times import micros

# A member that no rule names is kept under this key when its own name means something to us.
_PREFIX: Final = "source."
_OWN_WORDS: Final = frozenset(FIELDS) | RARE_KEYS


def _now() -> datetime:
    return datetime.now(UTC)


class MappedDecoder:
    """JSON lines of one stream through a table; words and times are read as in native records."""

    def __init__(self, table: Table, clock: Callable[[], datetime] = _now) -> None:
        self._table, self._clock = table, clock
        self._reader = LineReader()
        self._resume = 0

    def decode(self, block: Block) -> Decoded:
        """One event for each line that the table takes."""
        lines = self._reader.take(block)
        rough, positions, at = Rough(np.empty(0, np.int64)), [], lines.start
        rows: list[dict[str, Any]] = []
        rejects: list[Reject] = []
        filtered: dict[Filtered, int] = {}
        for raw in lines.data.removesuffix(b"\n").split(b"\n") if lines.data else ():
            found = self._pairs(raw)
            if isinstance(found, Filtered):
                filtered[found] = filtered.get(found, 0) + 1
            elif isinstance(found, RecordError):
                rejects.append(Reject(at, found.reason))
            else:
                try:
                    rows.append(add(rough, len(rows), found))
                    positions.append(at)
                except RecordError as error:
                    rough.drop(len(rows))
                    rejects.append(Reject(at, error.reason))
            at += len(raw) + 1
        rough.positions = np.array(positions, dtype=np.int64)
        rough.columns = columns_of(rows)
        batch, late = normalise(rough, micros(self._clock()), form="mapped")
        rejects = sorted([*rejects, *late], key=lambda reject: reject.origin)
        self._resume = lines.end
        seen = batch.num_rows + len(rejects) + sum(filtered.values())
        return Decoded(batch, tuple(rejects), Tally(seen, filtered), self._resume)

    def flush(self, now: datetime) -> Decoded:
        """Nothing ever waits."""
        return MappedDecoder(self._table, lambda: now).decode(
            Block("", "", b"", self._resume, self._resume)
        )

    def _pairs(self, raw: bytes) -> list[tuple[str, Any]] | Filtered | RecordError:
        if not raw.strip():
            return Filtered.BLANK
        try:
            members = parse(raw)
        except RecordError as error:
            return error
        for pointer, words in self._table.only:
            if str(_find(members, pointer)) not in words:
                return Filtered.NOT_ENFORCEMENT
        pairs: list[tuple[str, Any]] = []
        used: list[tuple[str, ...]] = []
        for rule in self._table.rules:
            taken, found = _value(rule, members)
            pairs.append((rule.column, found))
            used += [taken] if taken else []
        rest = _without(members, used)
        return pairs + [(_free(key), value) for key, value in rest or ()]


def _free(key: str) -> str:
    """A name under which a member lands in extra, whatever our own keys are."""
    return _PREFIX + key if key in _OWN_WORDS else key


def _find(members: Any, pointer: tuple[str, ...]) -> Any:
    """The value at a pointer, None if there is none."""
    found = members
    for key in pointer:
        if isinstance(found, Members):
            found = next((value for name, value in found if name == key), None)
        elif isinstance(found, list) and key.isdecimal() and int(key[:9]) < len(found):
            found = found[int(key[:9])]
        else:
            return None
    return found


def _value(rule: Rule, members: Members) -> tuple[tuple[str, ...] | None, Any]:
    """The pointer that was taken, and what the rule makes of its value."""
    if rule.constant is not None:
        return None, _typed(rule.constant)
    for pointer in rule.pointers:
        found = _find(members, pointer)
        if found is not None:
            return pointer, rule.words.get(str(found).lower(), found) if rule.words else found
    return None, _typed(rule.default)


def _without(value: Any, pointers: list[tuple[str, ...]]) -> Any:
    """The value without what the pointers took; None if nothing is left of it."""
    if () in pointers:
        return None
    if not pointers or not isinstance(value, list):
        return value
    named = isinstance(value, Members)
    items = value if named else [(str(place), item) for place, item in enumerate(value)]
    kept = []
    for key, item in items:
        inner = [pointer[1:] for pointer in pointers if pointer[0] == key]
        rest = _without(item, inner)
        if rest is not None or not inner:
            kept.append((key, rest))
    if not kept:
        return None
    return Members(kept) if named else [rest for _, rest in kept]


def _typed(value: str | int | None) -> Any:
    """Numbers as the native reader knows them."""
    return Number(value) if isinstance(value, int) else value


def plugin(table: Table, name: str = "mapped") -> DecoderPlugin:
    """A decoder for one table; it recognises nothing, since settings name it."""
    return DecoderPlugin(name, lambda: MappedDecoder(table), lambda _sample: False)
