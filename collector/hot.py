"""Counters kept hot beside the spool, so that the situation at 3 a.m. needs SQLite only.

Per hour and minute by kind and decision, per run, the newest denies and the sandboxes ever seen:
all written in the transaction of the batch that they count.
"""

import sqlite3
from collections.abc import Iterable
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from audit_events.layout import HOT_DENIES

MINUTE_US: Final = 60_000_000
# Minutes kept: a day and the hour before it.
KEPT_MINUTES: Final = 25 * 60
NO_RUN: Final = "-"
_DENY_COLUMNS: Final = (
    "seq", "ts", "kind", "sandbox", "correlation_id", "enforcer", "syscall", "resource", "access",
    "decision", "path", "dst", "target", "process", "pid", "policy_rule", "rule_origin",
    "latency_us", "count", "flags",
)  # fmt: skip


def count(connection: sqlite3.Connection, batch: pa.RecordBatch) -> None:
    """Add a stored batch (STORAGE_SCHEMA) to every counter."""
    ts = batch.column("ts").cast(pa.int64())
    decision = _plain(batch, "decision").fill_null("")
    table = pa.table(
        {
            "minute": pc.divide(ts, MINUTE_US),
            "kind": _plain(batch, "kind"),
            "decision": decision,
            "n": batch.column("count").fill_null(0),
            "masked": batch.column("redactions").cast(pa.int64()),
            "skewed": _skewed(batch),
            "run": _plain(batch, "correlation_id"),
            "host": _plain(batch, "host"),
            "sandbox": _plain(batch, "sandbox"),
            "ts": ts,
            "seq": batch.column("seq"),
        }
    )
    _count_time(connection, table)
    _count_runs(connection, table)
    _keep_denies(connection, batch, decision)


def _plain(batch: pa.RecordBatch, name: str) -> pa.Array:
    return batch.column(name).cast(pa.string())


def _skewed(batch: pa.RecordBatch) -> pa.Array:
    flags = batch.column("flags")
    if flags.null_count == len(flags):
        return pc.cast(pc.is_valid(flags), pa.int64())
    return pc.match_substring(flags.cast(pa.string()), "skewed").fill_null(False).cast(pa.int64())


def _count_time(connection: sqlite3.Connection, table: pa.Table) -> None:
    grouped = table.group_by(["minute", "kind", "decision"], use_threads=False).aggregate(
        [("n", "sum"), ("n", "count"), ("masked", "sum"), ("skewed", "sum")]
    )
    rows = _tuples(grouped, "minute", "kind", "decision", "n_sum", "n_count", "masked_sum",
                   "skewed_sum")  # fmt: skip
    for name, per in (("minutes", 1), ("hours", 60)):
        connection.executemany(
            f"INSERT INTO {name} VALUES(?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET n = n + excluded.n, events = events + excluded.events,"
            " masked = masked + excluded.masked, skewed = skewed + excluded.skewed",
            [(minute // per, *rest) for minute, *rest in rows],
        )


def forget_old_minutes(connection: sqlite3.Connection, now_us: int) -> None:
    """Drop minutes that no screen asks for any more."""
    oldest = now_us // MINUTE_US - KEPT_MINUTES
    connection.execute("DELETE FROM minutes WHERE minute < ?", (oldest,))


def _count_runs(connection: sqlite3.Connection, table: pa.Table) -> None:
    # Our own notices and gaps belong to no run.
    table = table.filter(pc.not_equal(table.column("run"), NO_RUN))
    if not table.num_rows:
        return
    decisions = table.column("decision")
    counted = table.append_column(
        "allow", pc.if_else(pc.equal(decisions, "allow"), table.column("n"), 0)
    ).append_column("deny", pc.if_else(pc.equal(decisions, "deny"), table.column("n"), 0))
    grouped = counted.group_by(["run", "host", "sandbox"], use_threads=False).aggregate(
        [("ts", "min"), ("ts", "max"), ("seq", "min"), ("seq", "max"),
         ("allow", "sum"), ("deny", "sum"), ("n", "sum")]
    )  # fmt: skip
    rows = _tuples(grouped, "run", "host", "sandbox", "ts_min", "ts_max", "seq_min", "seq_max",
                   "allow_sum", "deny_sum", "n_sum")  # fmt: skip
    connection.executemany(
        "INSERT INTO runs VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)"
        " ON CONFLICT DO UPDATE SET first_ts = min(first_ts, excluded.first_ts),"
        " last_ts = max(last_ts, excluded.last_ts), last_seq = excluded.last_seq,"
        " allow = allow + excluded.allow, deny = deny + excluded.deny,"
        " other = other + excluded.other",
        [(*row[:9], row[9] - row[7] - row[8]) for row in rows],
    )
    connection.executemany(
        "INSERT INTO sandboxes VALUES(?, ?)"
        " ON CONFLICT DO UPDATE SET last_ts = max(last_ts, excluded.last_ts)",
        [(row[2], row[4]) for row in rows],
    )


def _keep_denies(connection: sqlite3.Connection, batch: pa.RecordBatch, decision: pa.Array) -> None:
    found = pc.indices_nonzero(pc.equal(decision, "deny"))
    if not len(found):
        return
    newest = batch.select(_DENY_COLUMNS).take(found[-HOT_DENIES:])
    columns = {
        name: (newest[name].cast(pa.int64()) if name == "ts" else newest[name]).to_pylist()
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


def _present(names: Iterable[str], values: Iterable[Any]) -> dict[str, Any]:
    return {k: v for k, v in zip(names, values, strict=True) if v is not None}


def _tuples(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return list(zip(*(table.column(name).to_pylist() for name in names), strict=True))
