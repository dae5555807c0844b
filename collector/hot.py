"""Counters kept hot beside the spool, so that the situation at 3 a.m. needs SQLite only.

Per hour and minute by kind and decision, per run and the rules that refused in it, the newest
denies and the sandboxes ever seen: all written in the transaction of the batch that they count.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from audit_events.layout import HOT_DENIES, MAX_RUN_RULES
from audit_events.schema import OS_FORMATS

MINUTE_US: Final = 60_000_000
# Minutes kept: a day and the hour before it.
KEPT_MINUTES: Final = 25 * 60
NO_RUN: Final = "-"
SYSTEM_RUN: Final = "os:"
# Typed: pyarrow searches the disk for a module to tell the type of a bare value, 50 µs each time.
_MINUTE: Final = pa.scalar(MINUTE_US, pa.int64())
_DENY: Final = pa.scalar("deny", pa.string())
_REPORT: Final = pa.scalar("report", pa.string())
_NONE: Final = pa.scalar(0, pa.int64())
_SYSTEMS: Final = pa.array(sorted(OS_FORMATS), pa.string())
FEW_ROWS: Final = 400
_KEYS: Final = ("minute", "kind", "decision", "run", "host", "sandbox")
_NUMBERS: Final = ("n", "masked", "skewed", "ts", "seq")
# Key numbers stay far below what an int64 holds.
_MAX_SPAN: Final = 1 << 40
_SHORT: Final = 1 << 16
_DENY_COLUMNS: Final = (
    "seq", "ts", "kind", "sandbox", "correlation_id", "enforcer", "syscall", "resource", "access",
    "decision", "path", "dst", "target", "process", "pid", "policy_rule", "rule_origin",
    "latency_us", "count", "flags",
)  # fmt: skip


def count(connection: sqlite3.Connection, batch: pa.RecordBatch) -> None:
    """Add a stored batch (STORAGE_SCHEMA) to every counter."""
    few = batch.num_rows <= FEW_ROWS
    text = _plain if few else pa.RecordBatch.column
    deny = pc.equal(decision := _plain(batch, "decision").fill_null(""), _DENY)
    number = batch.column("count").fill_null(0)
    if (again := _told_again(batch)) is not None:
        number, deny = pc.if_else(again, _NONE, number), pc.and_not(deny, again)
    columns = {
        "minute": pc.divide(batch.column("ts").cast(pa.int64()), _MINUTE),
        "kind": text(batch, "kind"),
        "decision": decision,
        "n": number,
        "masked": batch.column("redactions").cast(pa.int64()),
        "skewed": _skewed(batch),
        "run": text(batch, "correlation_id"),
        "host": text(batch, "host"),
        "sandbox": text(batch, "sandbox"),
        "ts": batch.column("ts").cast(pa.int64()),
        "seq": batch.column("seq"),
    }
    groups = _grouped_few(columns) if few else _grouped_many(columns)
    _put_times(connection, groups)
    _put_runs(connection, groups)
    _keep_denies(connection, batch, pc.indices_nonzero(deny))


def _told_again(batch: pa.RecordBatch) -> pa.Array | None:
    """Rows in which the system tells what a layer's event told: one operation, counted once."""
    link = batch.column("link")
    if link.null_count == len(link):
        return None
    system = pc.is_in(_plain(batch, "format"), _SYSTEMS)
    return pc.and_(pc.equal(link.cast(pa.string()), _REPORT).fill_null(False), system)


@dataclass(frozen=True, slots=True)
class _Group:
    """Rows of one minute, kind, decision and run, summed up."""

    minute: int
    kind: str
    decision: str
    run: str
    host: str
    sandbox: str
    n: int
    rows: int
    masked: int
    skewed: int
    first_ts: int
    last_ts: int
    first_seq: int
    last_seq: int


def _grouped_many(columns: Mapping[str, pa.Array]) -> list[_Group]:
    """By one number a row for its whole key: a group-by over five text columns costs three times
    as much."""
    order, starts = _runs_of_equal_keys([columns[name] for name in _KEYS])
    firsts = pa.array(order[starts])
    keys = [_quick(columns[name].take(firsts)).to_pylist() for name in _KEYS]
    numbers = {name: columns[name].to_numpy()[order] for name in _NUMBERS}
    sums = [
        np.add.reduceat(numbers["n"], starts),
        np.diff(np.append(starts, len(order))),
        np.add.reduceat(numbers["masked"], starts),
        np.add.reduceat(numbers["skewed"], starts),
        np.minimum.reduceat(numbers["ts"], starts),
        np.maximum.reduceat(numbers["ts"], starts),
        np.minimum.reduceat(numbers["seq"], starts),
        np.maximum.reduceat(numbers["seq"], starts),
    ]
    return [_Group(*row) for row in zip(*keys, *(column.tolist() for column in sums), strict=True)]


def _runs_of_equal_keys(keys: Sequence[pa.Array]) -> tuple[Any, Any]:
    """Row numbers with equal keys side by side, and where each stretch starts."""
    code = np.zeros(len(keys[0]), np.int64)
    span = 1
    for key in keys:
        coded = key if pa.types.is_dictionary(key.type) else key.dictionary_encode()
        span *= max(1, len(coded.dictionary))
        if span > _MAX_SPAN:
            names, code = np.unique(code, return_inverse=True)
            span = len(names) * max(1, len(coded.dictionary))
        code = code * len(coded.dictionary) + coded.indices.to_numpy()
    # Of two bytes they are sorted by counting, twenty times as fast.
    order = np.argsort(code.astype(np.uint16) if span <= _SHORT else code, kind="stable")
    return order, np.append(0, np.flatnonzero(np.diff(code[order])) + 1)


def _grouped_few(columns: Mapping[str, pa.Array]) -> list[_Group]:
    """The same by a plain loop: below some hundred rows a group-by costs ten times as much."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for minute, kind, decision, n, masked, skewed, run, host, sandbox, ts, seq in zip(
        *(column.to_pylist() for column in columns.values()), strict=True
    ):
        key = (minute, kind, decision, run, host, sandbox)
        sums = groups.setdefault(key, [0, 0, 0, 0, ts, ts, seq, seq])
        sums[:4] = sums[0] + n, sums[1] + 1, sums[2] + masked, sums[3] + skewed
        sums[4:] = min(sums[4], ts), max(sums[5], ts), sums[6], seq
    return [_Group(*key, *sums) for key, sums in groups.items()]


def _plain(batch: pa.RecordBatch, name: str) -> pa.Array:
    return batch.column(name).cast(pa.string())


def _skewed(batch: pa.RecordBatch) -> pa.Array:
    flags = batch.column("flags")
    if flags.null_count == len(flags):
        return pc.cast(pc.is_valid(flags), pa.int64())
    return pc.match_substring(flags.cast(pa.string()), "skewed").fill_null(False).cast(pa.int64())


def _put_times(connection: sqlite3.Connection, groups: Sequence[_Group]) -> None:
    for name, per in (("minutes", 1), ("hours", 60)):
        sums: dict[tuple[int, str, str], list[int]] = {}
        for g in groups:
            mine = sums.setdefault((g.minute // per, g.kind, g.decision), [0, 0, 0, 0])
            mine[:] = mine[0] + g.n, mine[1] + g.rows, mine[2] + g.masked, mine[3] + g.skewed
        connection.executemany(
            f"INSERT INTO {name} VALUES(?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET n = n + excluded.n, events = events + excluded.events,"
            " masked = masked + excluded.masked, skewed = skewed + excluded.skewed",
            [(*key, *found) for key, found in sums.items()],
        )


def forget_old_minutes(connection: sqlite3.Connection, now_us: int) -> None:
    """Drop minutes that no screen asks for any more."""
    oldest = now_us // MINUTE_US - KEPT_MINUTES
    connection.execute("DELETE FROM minutes WHERE minute < ?", (oldest,))


def _put_runs(connection: sqlite3.Connection, groups: Sequence[_Group]) -> None:
    """Our own notices belong to no run; processes outside any sandbox would be one each."""
    inside = [g for g in groups if g.run != NO_RUN and not g.run.startswith(SYSTEM_RUN)]
    connection.executemany(
        "INSERT INTO runs VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)"
        " ON CONFLICT DO UPDATE SET first_ts = min(first_ts, excluded.first_ts),"
        " last_ts = max(last_ts, excluded.last_ts), last_seq = max(last_seq, excluded.last_seq),"
        " allow = allow + excluded.allow, deny = deny + excluded.deny,"
        " other = other + excluded.other",
        [
            (g.run, g.host, g.sandbox, g.first_ts, g.last_ts, g.first_seq, g.last_seq,
             *(g.n if g.decision == word else 0 for word in ("allow", "deny")),
             0 if g.decision in ("allow", "deny") else g.n)
            for g in inside
        ],
    )  # fmt: skip
    newest: dict[str, int] = {}
    for g in inside:
        newest[g.sandbox] = max(g.last_ts, newest.get(g.sandbox, g.last_ts))
    connection.executemany(
        "INSERT INTO sandboxes VALUES(?, ?)"
        " ON CONFLICT DO UPDATE SET last_ts = max(last_ts, excluded.last_ts)",
        list(newest.items()),
    )


def _keep_denies(connection: sqlite3.Connection, batch: pa.RecordBatch, found: pa.Array) -> None:
    if not len(found):
        return
    _count_rules(connection, batch, found)
    newest = batch.select(_DENY_COLUMNS).take(found[-HOT_DENIES:])
    columns = {
        name: _quick(newest[name]).to_pylist()
        for name in _DENY_COLUMNS
        if newest[name].null_count < newest.num_rows
    }
    connection.executemany(
        "INSERT OR REPLACE INTO denies VALUES(?, ?, ?)",
        [
            (seq, ts, orjson.dumps(_present(columns, values)).decode())
            for seq, ts, values in zip(
                columns["seq"], columns["ts"], zip(*columns.values(), strict=True), strict=True
            )
        ],
    )
    connection.execute(
        "DELETE FROM denies WHERE seq <= (SELECT seq FROM denies ORDER BY seq DESC"
        " LIMIT 1 OFFSET ?)",
        (HOT_DENIES,),
    )


def _count_rules(connection: sqlite3.Connection, batch: pa.RecordBatch, denies: pa.Array) -> None:
    """Refusals of each run by the rule, or by who refused where no rule is known."""
    columns = {
        name: _plain(batch, name).take(denies)
        for name in ("correlation_id", "policy_rule", "enforcer")
    } | {"n": batch.column("count").take(denies).fill_null(0)}
    few = len(denies) <= FEW_ROWS
    sums: Counter[tuple[str, str]] = Counter()
    for run, rule, who, n in _rules_few(columns) if few else _rules_many(columns):
        if run != NO_RUN:
            sums[run, rule or f"({who or '?'})"] += n
    connection.executemany(
        "INSERT INTO run_rules SELECT :run, :rule, :n"
        " WHERE (SELECT count(*) FROM run_rules WHERE correlation_id = :run) < :most"
        " OR EXISTS (SELECT 1 FROM run_rules WHERE correlation_id = :run AND rule = :rule)"
        " ON CONFLICT DO UPDATE SET n = n + excluded.n",
        [
            {"run": run, "rule": rule, "n": n, "most": MAX_RUN_RULES}
            for (run, rule), n in sums.items()
        ],
    )


def _rules_few(columns: Mapping[str, pa.Array]) -> Iterable[tuple[Any, ...]]:
    return zip(*(column.to_pylist() for column in columns.values()), strict=True)


def _rules_many(columns: Mapping[str, pa.Array]) -> Iterable[tuple[Any, ...]]:
    keys = [name for name in columns if name != "n"]
    grouped = pa.table(columns).group_by(keys, use_threads=False).aggregate([("n", "sum")])
    return zip(*(grouped[name].to_pylist() for name in (*keys, "n_sum")), strict=True)


def _quick(array: pa.Array) -> pa.Array:
    """The same values in a type that becomes Python objects five times as fast."""
    if pa.types.is_dictionary(array.type):
        return array.cast(pa.string())
    return array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array


def _present(names: Iterable[str], values: Iterable[Any]) -> dict[str, Any]:
    return {k: v for k, v in zip(names, values, strict=True) if v is not None}
