"""The README's story as a small store, built with the layout's own tables: SQLite and Arrow only.

`python -m tests.audit.story DIR` makes one to look at by hand.
"""

import io
import json
import os
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from audit_events.arrow import to_storage
from audit_events.layout import CONTROL_DDL, SPOOL_DDL, StorePaths
from audit_events.rows import rows_to_batch

STORE = "7kq2m"
HOST = "mini-tokyo-07"
JST = timezone(timedelta(hours=9))
DAY = "2026-07-28"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SWIFT = "/workspace/Sources/App/Feature/Settings/SettingsViewController.swift"
MASKED = "/workspace/[REDACTED:openclaw-token:3fa94c1d22b0].json"
ADMIN = "Must be admin to run 'stream' command"
DIGEST = "sha256:9c1e44" + "0" * 58


def at(clock: str, day: str = DAY) -> int:
    """Microseconds of a time of day in Tokyo."""
    moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=JST)
    return (moment - _EPOCH) // timedelta(microseconds=1)


NOW = at("18:05:10.250")


def event(seq: int, clock: str, decision: str | None, by: str, **values: Any) -> dict[str, Any]:
    """One row; `by` is `process[pid]`."""
    process, _, pid = by.rstrip("]").partition("[")
    ts = at(clock)
    rule = values.get("policy_rule", "")
    section, _, index = rule.rstrip("]").partition("[")
    return {
        "store": STORE,
        "seq": seq,
        "ts": ts,
        "observed_at": ts + 40_000,
        "kind": "decision",
        "source": "openclaw",
        "format": "native",
        "source_position": seq * 180,
        "host": HOST,
        "sandbox": "agent-demo",
        "correlation_id": "7f3a91c2",
        "enforcer": "openclaw",
        "decision": decision,
        "process": process,
        "pid": int(pid),
        "policy": "agent-readonly",
        "policy_digest": DIGEST,
        "rule_section": section or None,
        "rule_index": int(index) if index.isdecimal() else None,
        "rule_origin": "reported" if rule else None,
        **values,
    }


def file_event(seq: int, clock: str, decision: str, by: str, *what: Any) -> dict[str, Any]:
    """A filesystem row: access, path, rule, latency."""
    access, path, rule, latency = what
    return event(
        seq, clock, decision, by, resource="filesystem", syscall="open", access=access, path=path,
        policy_rule=rule, latency_us=latency,
    )  # fmt: skip


def _earlier() -> Iterator[dict[str, Any]]:
    """Something older that matches `--path /workspace`, so that more always matches."""
    for seq in range(4701, 4711):
        yield file_event(
            seq, f"17:41:{seq - 4700:02}", "allow", "make[3000]", "read", f"/workspace/old/{seq}.c",
            "filesystem.allow[0]", 30,
        ) | {"sandbox": "build-1", "correlation_id": "5be01f77"}  # fmt: skip


def story() -> list[dict[str, Any]]:
    """The seven records of the screens (and what they fold), after ten older ones."""
    ssh, node = "/Users/agent/.ssh/id_ed25519", "/opt/homebrew/bin/node"
    reads = ("read", SWIFT, "filesystem.allow[0]", 31)
    denied = ("read", ssh, "filesystem.deny[1]", 22)
    return [
        *_earlier(),
        file_event(4711, "18:03:12.481", "allow", "zsh[4021]", "read",
                   "/workspace/agent-entry.sh", "filesystem.allow[0]", 34),
        event(4712, "18:03:12.512", "deny", "git[4023]", resource="network", syscall="connect",
              access="connect", dst="140.82.113.4:443", dst_host="140.82.113.4", dst_port=443,
              policy_rule="network.egress.deny-all", latency_us=19),
        *(file_event(4713 + n, "18:03:12.655", "allow", "rg[4025]", *reads) for n in range(212)),
        *(file_event(4925 + n, "18:03:13.020", "deny", "python3[4031]", *denied)
          for n in range(3)),
        event(4928, "18:03:13.024", "deny", "python3[4031]", resource="filesystem",
              syscall="file-read-data", access="read", path=ssh, source="unified-log",
              format="seatbelt", enforcer="seatbelt", sandbox="", correlation_id="os:1:4031:1",
              policy=None, policy_digest=None, linked_seq=4925, link="report"),
        event(4929, "18:03:13.301", "deny", "zsh[4021]", resource="process", syscall="execve",
              access="exec", path=node, policy_rule="process.default-deny", latency_us=27),
        event(4930, "18:03:13.377", "deny", "Python[4044]", resource="mach", access="lookup",
              syscall="mach-lookup", target="com.apple.networkd", source="unified-log",
              format="seatbelt", enforcer="seatbelt", sandbox="build-2",
              correlation_id="b41c07e9", policy=None, policy_digest=None),
        file_event(4931, "18:03:14.002", "allow", "zsh[4021]", "write", MASKED,
                   "filesystem.allow[0]", 33) | {
                       "redactions": 1, "redaction_kinds": "openclaw-token"},
    ]  # fmt: skip


class StoryStore:
    """A store that a test fills as a collector would."""

    def __init__(self, root: Path, rows: Sequence[dict[str, Any]] = ()) -> None:
        self.paths = StorePaths(root)
        root.mkdir(mode=0o700, exist_ok=True)
        self.paths.events.mkdir()
        self.paths.tmp.mkdir()
        self.paths.notify.write_bytes(b"0")
        (root / "audit.toml").write_text(f'host = "{HOST}"\n')
        self.con = sqlite3.connect(self.paths.spool, isolation_level=None)
        self.con.execute("PRAGMA journal_mode=WAL")
        self.con.executescript(SPOOL_DDL)
        with sqlite3.connect(self.paths.control) as control:
            control.executescript(CONTROL_DDL)
        control.close()
        self.meta(store=STORE, last_seq=0, sealed_upto=0, schema_version=1)
        if rows:
            self.append(rows)

    def meta(self, **values: Any) -> None:
        """Set facts of the store."""
        self.con.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))

    def collector(self, **values: Any) -> None:
        """Who collects: by default this very process, alive now."""
        told = {"pid": os.getpid(), "version": "0.1.0", "started": NOW - 3_600_000_000}
        self.meta(collector=json.dumps({**told, "heartbeat": NOW, **values}))

    def append(self, rows: Sequence[dict[str, Any]]) -> None:
        """One committed batch, with what the hot tables learn from it."""
        batch = to_storage(rows_to_batch(rows))
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        times = [row["ts"] for row in rows]
        self.con.execute("BEGIN IMMEDIATE")
        self.con.execute(
            "INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?, '{}', ?)",
            (rows[0]["seq"], rows[-1]["seq"], len(rows), min(times), max(times),
             rows[-1]["observed_at"], zstandard.compress(sink.getvalue())),
        )  # fmt: skip
        self._hot(rows)
        self.meta(last_seq=rows[-1]["seq"])
        self.con.execute("COMMIT")
        fd = os.open(self.paths.notify, os.O_WRONLY)
        os.pwrite(fd, b"1", 0)
        os.close(fd)

    def seal(self, rows: Sequence[dict[str, Any]], upto: int) -> Path:
        """These rows as one archive file; the spool's copies no longer count."""
        name = f"date={DAY}/story.parquet"
        path = self.paths.events / name
        path.parent.mkdir()
        pq.write_table(pa.Table.from_batches([rows_to_batch(rows)]), path, compression="zstd")
        bounds = [f(r[c] for r in rows) for c in ("ts", "observed_at", "seq") for f in (min, max)]
        self.con.execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
            (name, DAY, len(rows), path.stat().st_size, *bounds),
        )
        self.meta(sealed_upto=upto)
        return path

    def _hot(self, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            shown = {name: value for name, value in row.items() if value is not None}
            if row["decision"] == "deny":
                line = json.dumps({"count": 1, **shown})
                self.con.execute(
                    "INSERT INTO denies VALUES (?, ?, ?)", (row["seq"], row["ts"], line)
                )
            self._run(row)
            self.con.execute(
                "INSERT INTO minutes VALUES (?, ?, ?, 1, 1, ?, 0) ON CONFLICT DO UPDATE SET"
                " n = n + 1, masked = masked + excluded.masked",
                (row["ts"] // 60_000_000, row["kind"], row["decision"] or "",
                 row.get("redactions", 0)),
            )  # fmt: skip
            self.con.execute(
                "INSERT INTO sandboxes VALUES (?, ?) ON CONFLICT DO UPDATE"
                " SET last_ts = excluded.last_ts",
                (row["sandbox"], row["ts"]),
            )

    def _run(self, row: dict[str, Any]) -> None:
        allow, deny = (int(row["decision"] == word) for word in ("allow", "deny"))
        self.con.execute(
            "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0) ON CONFLICT DO UPDATE SET"
            " last_ts = excluded.last_ts, last_seq = excluded.last_seq,"
            " allow = allow + excluded.allow, deny = deny + excluded.deny",
            (row["correlation_id"], HOST, row["sandbox"], row["ts"], row["ts"], row["seq"],
             row["seq"], allow, deny),
        )  # fmt: skip
        if deny:
            rule = row.get("policy_rule") or f"({row.get('enforcer') or '?'})"
            self.con.execute(
                "INSERT INTO run_rules VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET n = n + 1",
                (row["correlation_id"], rule),
            )

    def gap(self, source: str, since: int, until: int | None, reason: str) -> None:
        """A line of the gaps table."""
        self.con.execute(
            "INSERT INTO gaps(source, from_ts, to_ts, reason) VALUES (?, ?, ?, ?)",
            (source, since, until, reason),
        )

    def source(self, name: str, state: str, **more: Any) -> None:
        """A line of the sources table."""
        values = {"kind": "file", "format": "native", "location": f"{name}.jsonl", "note": "",
                  "last_read_at": None, "last_event_ts": None, "behind_bytes": 0}  # fmt: skip
        values |= more
        self.con.execute(
            "INSERT INTO sources VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '{}')",
            (name, values["kind"], values["format"], values["location"], state, values["note"],
             values["last_read_at"], values["last_event_ts"], values["behind_bytes"]),
        )  # fmt: skip

    def tally(self, outcome: str, reason: str, n: int, source: str = "openclaw") -> None:
        """Records counted in the hour of NOW."""
        hour = NOW // 3_600_000_000
        self.con.execute(
            "INSERT INTO tallies VALUES (?, ?, ?, ?, ?)", (source, hour, outcome, reason, n)
        )

    def close(self) -> None:
        """Close the writer's connection."""
        self.con.close()


if __name__ == "__main__":
    made = StoryStore(Path(sys.argv[1]), story())
    made.collector()
    made.close()
