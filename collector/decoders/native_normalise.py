"""Rough rows of native records to events: times, closed words, destinations, bounds, flags."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from audit_events import text
from audit_events.rows import FEW_ROWS, batch_of
from audit_events.schema import BY_NAME, KINDS, MAX_NAME_BYTES, MAX_TEXT_BYTES
from collector.contracts import Reason, Reject
from collector.decoders import destinations, times, words
from collector.decoders.native_fields import ALIASES, TIME_FIELDS, Rough
from collector.decoders.native_record import argv_of_text, argv_that_fits, member
from collector.decoders.rules import split_rules

Mask = npt.NDArray[np.bool_]
_STRING: Final = pa.string()

_SKEW_AHEAD_US: Final = 86_400 * 1_000_000
_YEAR_2000_US: Final = 946_684_800 * 1_000_000
_TRACEPARENT_PARTS: Final = 4
# The JSON object `extra` may grow to this; what does not fit is cut and flagged.
MAX_EXTRA_BYTES: Final = MAX_TEXT_BYTES


def normalise(
    rough: Rough, now_us: int, form: str = "native"
) -> tuple[pa.RecordBatch, list[Reject]]:
    """Event rows in the order of `rough`, and a reject for each row whose time cannot be read."""
    _absent_if_empty(rough)
    _merge_aliases(rough)
    bad = _time(rough, now_us)
    _decision(rough)
    _words(rough)
    _kind_and_resource(rough)
    _destination(rough)
    _rule(rough)
    _command(rough)
    _bounds(rough)
    batch = _batch(rough, form)
    rejects = [Reject(int(at), Reason.BAD_TIME) for at in rough.positions[bad]]
    return (batch.filter(pa.array(~bad)) if rejects else batch), rejects


@lru_cache(maxsize=256)
def _text(value: str | None) -> pa.Scalar:
    """A typed scalar: for a bare str pyarrow looks for a module that is not there, 90 µs a call."""
    return pa.scalar(value, pa.string())


def _valid(rough: Rough, name: str) -> Mask:
    array = rough.columns.get(name)
    if array is None or array.null_count == len(array):
        return np.zeros(len(rough), dtype=bool)
    if array.null_count == 0:
        return np.ones(len(rough), dtype=bool)
    valid: Mask = pc.is_valid(array).to_numpy(zero_copy_only=False)
    return valid


def _coded(coded: pa.DictionaryArray, code: int) -> Mask:
    """The rows that hold one of the distinct values."""
    mask: Mask = coded.indices.fill_null(-1).to_numpy() == code
    return mask


def _rows(mask: Mask) -> list[int]:
    rows: list[int] = np.flatnonzero(mask).tolist()
    return rows


def _absent_if_empty(rough: Rough) -> None:
    """An empty text says nothing: the key is taken as absent."""
    for name, array in rough.columns.items():
        if array.type == _STRING and _has_empty(array):
            rough.columns[name] = pc.if_else(pc.equal(array, _text("")), _text(None), array)


def _has_empty(array: pa.Array) -> bool:
    if len(array) <= FEW_ROWS:
        return "" in array.to_pylist()
    return bool(pc.min(pc.binary_length(array)).as_py() == 0)


def _unknown_value(rough: Rough, row: int, name: str, value: str | int) -> None:
    rough.keep(row, member(name, value))
    rough.flag(row, "unknown-value")


def _merge_aliases(rough: Rough) -> None:
    if "traceparent" in rough.columns:
        _map(rough, "traceparent", _trace_id)
    for name, others in ALIASES.items():
        for other in others:
            found = rough.columns.pop(other, None)
            if found is None:
                continue
            mine = rough.columns.get(name)
            if mine is None:
                rough.columns[name] = found
                continue
            both = pc.and_(pc.is_valid(mine), pc.is_valid(found)).to_numpy(zero_copy_only=False)
            for row in _rows(both):
                rough.keep(row, member(other, found[row].as_py()))
            rough.columns[name] = pc.coalesce(mine, found)


def _trace_id(traceparent: str) -> str | None:
    """The trace id of a W3C traceparent: version, 32 hex digits, parent, flags."""
    parts = traceparent.lower().split("-")
    whole = len(parts) >= _TRACEPARENT_PARTS and len(parts[1]) == 32
    return parts[1] if whole and set(parts[1]) <= set("0123456789abcdef") else None


def _map(rough: Rough, name: str, meaning: Callable[[str], str | None]) -> None:
    """Replace a column's words by their meaning; a word without goes to extra."""
    array = rough.columns[name]
    coded = array.dictionary_encode()
    said = coded.dictionary.to_pylist()
    meant = [meaning(word) for word in said]
    rough.columns[name] = pa.array(meant, pa.string()).take(coded.indices)
    if None not in meant:
        return
    for code, word in enumerate(meant):
        if word is None:
            for row in _rows(_coded(coded, code)):
                _unknown_value(rough, row, name, said[code])


def _flag(rough: Rough, mask: Mask, name: str) -> None:
    if mask.any():
        rough.flags.setdefault(name, set()).update(_rows(mask))


def _time(rough: Rough, now_us: int) -> Mask:
    """Set ts; a record without time happened when it was read. Returns the unreadable rows."""
    column = rough.columns.get("ts")
    found = times.column(pa.nulls(len(rough), pa.string()) if column is None else column)
    micros = np.where(found.absent, now_us, found.micros)
    _flag(rough, found.absent, "no-time")
    _flag(rough, found.no_zone, "no-zone")
    skewed = (micros > now_us + _SKEW_AHEAD_US) | (micros < _YEAR_2000_US)
    _flag(rough, skewed & ~found.bad, "skewed")
    rough.columns["ts"] = pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))
    return found.bad


def _decision(rough: Rough) -> None:
    array = rough.columns.get("decision")
    if array is None:
        return
    coded = array.dictionary_encode()
    spoken = coded.dictionary.to_pylist()
    said = [words.decision(word) for word in spoken]
    rough.columns["decision"] = pa.array([s.decision for s in said], pa.string()).take(
        coded.indices
    )
    for code, meaning in enumerate(said):
        if meaning.flag is None:
            continue
        rows: Mask = _coded(coded, code)
        _flag(rough, rows, meaning.flag)
        if meaning.flag == "unknown-decision":
            for row in _rows(rows):
                rough.keep(row, member("decision", spoken[code]))
        if meaning.error:
            _fill(rough, "error", rows, meaning.error)


def _fill(rough: Rough, name: str, rows: Mask, value: str) -> None:
    """Set `value` in the given rows that have none."""
    old = rough.columns.get(name)
    if old is not None and (old.null_count == 0 or not rows.any()):
        return
    if old is None and rows.all():
        rough.columns[name] = pa.repeat(_text(value), len(rough))
        return
    old = pa.nulls(len(rough), pa.string()) if old is None else old
    rough.columns[name] = pc.if_else(pc.and_(pa.array(rows), pc.is_null(old)), _text(value), old)


def _words(rough: Rough) -> None:
    if "outcome" in rough.columns:
        _map(rough, "outcome", words.outcome)
    for name, meaning in (("access", words.access), ("resource", words.resource)):
        if name not in rough.columns:
            continue
        given = _valid(rough, name)
        _map(rough, name, meaning)
        _fill(rough, name, given, "other")
    if "syscall" in rough.columns:
        coded = rough.columns["syscall"].dictionary_encode()
        verbs = [words.access_of_syscall(word) for word in coded.dictionary.to_pylist()]
        told = pa.array(verbs, pa.string()).take(coded.indices)
        access = rough.columns.get("access")
        rough.columns["access"] = told if access is None else pc.coalesce(access, told)


def _kind_and_resource(rough: Rough) -> None:
    if "kind" in rough.columns:
        _map(rough, "kind", lambda word: word if word in KINDS and word != "gap" else None)
    decided = _valid(rough, "decision")
    called = _valid(rough, "tool") | _valid(rough, "outcome") | _valid(rough, "duration_us")
    _fill(rough, "kind", called & ~decided, "tool_call")
    _fill(rough, "kind", np.ones(len(rough), dtype=bool), "decision")
    silent = ~decided
    if silent.any():
        kinds = rough.columns["kind"]
        silent &= pc.equal(kinds, _text("decision")).to_numpy(zero_copy_only=False)
    if silent.any():
        _flag(rough, silent, "no-decision")
        _fill(rough, "decision", silent, "unknown")
    if _valid(rough, "resource").all():
        return
    tool_call = pc.equal(rough.columns["kind"], _text("tool_call")).to_numpy(zero_copy_only=False)
    _fill(rough, "resource", tool_call, "tool")
    _fill(rough, "resource", _valid(rough, "path"), "filesystem")
    _fill(rough, "resource", _valid(rough, "dst") | _valid(rough, "dst_host"), "network")
    _fill(rough, "resource", np.ones(len(rough), dtype=bool), "other")


def _destination(rough: Rough) -> None:
    """Split dst; where only its parts are given, join them; parts that disagree go to extra."""
    whole, host, port = (_valid(rough, name) for name in ("dst", "dst_host", "dst_port"))
    if not (whole | host | port).any():
        return
    _ports_in_range(rough)
    given_host, given_port = rough.columns.get("dst_host"), rough.columns.get("dst_port")
    if ((host | port) & ~whole).any():
        joined: list[str | None] = [None] * len(rough)
        for row in _rows((host | port) & ~whole):
            joined[row] = destinations.join(_at(given_host, row), _at(given_port, row))
        parts = pa.array(joined, pa.string())
        rough.columns["dst"] = pc.coalesce(rough.columns["dst"], parts) if whole.any() else parts
    coded = rough.columns["dst"].dictionary_encode()
    split = [destinations.split(dst) for dst in coded.dictionary.to_pylist()]
    hosts = [None if name == "*" else name for name, _ in split]
    rough.columns["dst_host"] = pa.array(hosts, pa.string()).take(coded.indices)
    rough.columns["dst_port"] = pa.array([p for _, p in split], pa.int64()).take(coded.indices)
    for name, given in (("dst_host", given_host), ("dst_port", given_port)):
        _keep_differing(rough, name, given)


def _keep_differing(rough: Rough, name: str, given: pa.Array | None) -> None:
    if given is None:
        return
    same = pc.equal(given, rough.columns[name]).fill_null(False)
    for row in _rows(pc.and_(pc.is_valid(given), pc.invert(same)).to_numpy(zero_copy_only=False)):
        rough.keep(row, member(name, _at(given, row)))


def _at(array: pa.Array | None, row: int) -> Any:
    return None if array is None else array[row].as_py()


def _ports_in_range(rough: Rough) -> None:
    ports = rough.columns.get("dst_port")
    if ports is None or (pc.max(ports).as_py() or 0) <= destinations.MAX_PORT:
        return
    fits = pc.less_equal(ports, destinations.MAX_PORT)
    for row in _rows(pc.invert(fits).fill_null(False).to_numpy(zero_copy_only=False)):
        _unknown_value(rough, row, "dst_port", ports[row].as_py())
    rough.columns["dst_port"] = pc.if_else(fits, ports, pa.scalar(None, pa.int64()))


def _rule(rough: Rough) -> None:
    rules = rough.columns.get("policy_rule")
    if rules is None:
        return
    rough.columns["rule_section"], rough.columns["rule_index"] = split_rules(rules)
    rough.columns["rule_origin"] = pc.if_else(pc.is_valid(rules), _text("reported"), _text(None))


def _command(rough: Rough) -> None:
    if "command" in rough.columns:
        coded = rough.columns["command"].dictionary_encode()
        argvs = [argv_of_text(command) for command in coded.dictionary.to_pylist()]
        rough.columns["command"] = pa.array(argvs, pa.string()).take(coded.indices)


def _bounds(rough: Rough) -> None:
    for name, array in rough.columns.items():
        if array.type != _STRING:
            continue
        limit = MAX_NAME_BYTES if BY_NAME[name].dictionary else MAX_TEXT_BYTES
        if array.nbytes <= limit:
            continue
        sizes = pc.binary_length(array)
        if (pc.max(sizes).as_py() or 0) <= limit:
            continue
        long: Mask = pc.greater(sizes, limit).fill_null(False).to_numpy(zero_copy_only=False)
        values = array.to_pylist()
        for row in _rows(long):
            clipped = argv_that_fits if name == "command" else _clip
            values[row] = clipped(values[row], limit)
        _flag(rough, long, "truncated")
        rough.columns[name] = pa.array(values, pa.string())


def _clip(value: str, limit: int) -> str:
    return text.clip(value, limit)[0]


def _batch(rough: Rough, form: str) -> pa.RecordBatch:
    rows = len(rough)
    columns = {name: a for name, a in rough.columns.items() if name not in TIME_FIELDS[1:]}
    columns["format"] = pa.repeat(_text(form), rows)
    columns["source_position"] = pa.array(rough.positions, pa.int64())
    count = columns.get("count")
    columns["count"] = (
        pa.repeat(pa.scalar(1, pa.int64()), rows) if count is None else count.fill_null(1)
    )
    columns["redactions"] = pa.repeat(pa.scalar(0, pa.int32()), rows)
    if rough.extra:
        columns["extra"] = _extra(rough)
    if any(rough.flags.values()):
        columns["flags"] = _flags(rough)
    return batch_of({name: _as(name, array) for name, array in columns.items()}, rows)


def _as(name: str, array: pa.Array) -> pa.Array:
    return array.cast(pa.int32()) if BY_NAME[name].type == "int32" else array


def _extra(rough: Rough) -> pa.Array:
    texts: list[str | None] = [None] * len(rough)
    for row, members in rough.extra.items():
        joined = "{" + ",".join(members) + "}"
        if len(joined) * 4 > MAX_EXTRA_BYTES and len(joined.encode()) > MAX_EXTRA_BYTES:
            joined = _extra_that_fits(members)
            rough.flag(row, "truncated")
        texts[row] = joined
    return pa.array(texts, pa.string())


def _extra_that_fits(members: list[str]) -> str:
    """The members that fit, in order, and how many were left out."""
    kept, left, dropped = [], MAX_EXTRA_BYTES - 64, 0
    for entry in members:
        size = len(entry.encode()) + 1
        if size > left:
            dropped += 1
            continue
        kept.append(entry)
        left -= size
    return "{" + ",".join([*kept, f'"members_left_out":{dropped}']) + "}"


def _flags(rough: Rough) -> pa.Array:
    texts: list[str | None] = [None] * len(rough)
    for name in sorted(rough.flags):
        for row in rough.flags[name]:
            before = texts[row]
            texts[row] = name if before is None else f"{before},{name}"
    return pa.array(texts, pa.string())
