"""Where a store keeps what, and the tables of its two SQLite files.

Collector and query may not import each other; what both must agree on stands here. The Delta log
is the truth about the archive; `files` is a cache of one of its versions (docs/decisions/0005).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

STORE_MODE: Final = 0o700
FILE_MODE: Final = 0o600


@dataclass(frozen=True, slots=True)
class StorePaths:
    """The files of one store."""

    root: Path

    @property
    def toml(self) -> Path:
        """Settings and the store's id."""
        return self.root / "store.toml"

    @property
    def lock(self) -> Path:
        """flock'ed by the one writer; never unlinked."""
        return self.root / "lock"

    @property
    def spool(self) -> Path:
        """Batches not yet sealed, positions, counters: written by the lock's holder only."""
        return self.root / "spool.db"

    @property
    def control(self) -> Path:
        """Policies, tokens, cursors: short transactions from any command."""
        return self.root / "control.db"

    @property
    def events(self) -> Path:
        """The Delta table."""
        return self.root / "events"

    @property
    def log(self) -> Path:
        """The Delta log."""
        return self.events / "_delta_log"

    @property
    def notify(self) -> Path:
        """Touched after every commit, so that readers wake."""
        return self.root / "notify"

    @property
    def tmp(self) -> Path:
        """Scratch room of the query engine."""
        return self.root / "tmp"


# Times are microseconds since 1970 UTC. `done` and `streams` are JSON. `hours` and `minutes` count
# by event time (hour = ts // 3,600 s, minute = ts // 60 s): n = sum of `count`, events = rows;
# `minutes` reaches back a little over a day. `run_rules` counts the refusals of a run by rule, or
# by `(enforcer)` where no rule is known; stores made before it lack it. `meta` keys: store,
# created, last_seq, sealed_upto, delta_version, schema_version, collector (JSON: pid, version,
# started, heartbeat, stopped), sealed_streams (JSON: positions as of sealed_upto).
SPOOL_DDL: Final = """
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS batches(
  first_seq INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL, rows INTEGER NOT NULL,
  min_ts INTEGER NOT NULL, max_ts INTEGER NOT NULL, observed_at INTEGER NOT NULL,
  streams TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS files(
  path TEXT PRIMARY KEY, date TEXT NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL,
  min_ts INTEGER NOT NULL, max_ts INTEGER NOT NULL,
  min_observed INTEGER NOT NULL, max_observed INTEGER NOT NULL,
  min_seq INTEGER NOT NULL, max_seq INTEGER NOT NULL, schema_version INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS files_by_ts ON files(max_ts, min_ts);
CREATE INDEX IF NOT EXISTS files_by_seq ON files(max_seq, min_seq);
CREATE TABLE IF NOT EXISTS retired(path TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS segments(
  first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, date TEXT NOT NULL,
  rows INTEGER NOT NULL, sha256 TEXT NOT NULL, sealed_at INTEGER NOT NULL,
  PRIMARY KEY(first_seq, date)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS removals(
  date TEXT NOT NULL, at INTEGER NOT NULL, rows INTEGER NOT NULL,
  min_seq INTEGER NOT NULL, max_seq INTEGER NOT NULL, reason TEXT NOT NULL,
  sha256 TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rewrites(
  date TEXT NOT NULL, at INTEGER NOT NULL, rows INTEGER NOT NULL, changed INTEGER NOT NULL,
  min_seq INTEGER NOT NULL, max_seq INTEGER NOT NULL, reason TEXT NOT NULL, rules TEXT NOT NULL,
  old_sha256 TEXT NOT NULL, new_sha256 TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS streams(
  source TEXT NOT NULL, stream TEXT NOT NULL, resume INTEGER NOT NULL, done TEXT NOT NULL,
  read_to INTEGER NOT NULL, mark BLOB NOT NULL, updated_at INTEGER NOT NULL,
  PRIMARY KEY(source, stream)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sources(
  source TEXT PRIMARY KEY, kind TEXT NOT NULL, format TEXT NOT NULL, location TEXT NOT NULL,
  state TEXT NOT NULL, note TEXT NOT NULL, last_read_at INTEGER, last_event_ts INTEGER,
  behind_bytes INTEGER, redactor_state TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tallies(
  source TEXT NOT NULL, hour INTEGER NOT NULL, outcome TEXT NOT NULL, reason TEXT NOT NULL,
  n INTEGER NOT NULL, PRIMARY KEY(source, hour, outcome, reason)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS hours(
  hour INTEGER NOT NULL, kind TEXT NOT NULL, decision TEXT NOT NULL,
  n INTEGER NOT NULL, events INTEGER NOT NULL, masked INTEGER NOT NULL, skewed INTEGER NOT NULL,
  PRIMARY KEY(hour, kind, decision)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS minutes(
  minute INTEGER NOT NULL, kind TEXT NOT NULL, decision TEXT NOT NULL,
  n INTEGER NOT NULL, events INTEGER NOT NULL, masked INTEGER NOT NULL, skewed INTEGER NOT NULL,
  PRIMARY KEY(minute, kind, decision)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS denies(
  seq INTEGER PRIMARY KEY, ts INTEGER NOT NULL, event TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS runs(
  correlation_id TEXT PRIMARY KEY, host TEXT NOT NULL, sandbox TEXT NOT NULL,
  first_ts INTEGER NOT NULL, last_ts INTEGER NOT NULL, first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL, allow INTEGER NOT NULL, deny INTEGER NOT NULL,
  other INTEGER NOT NULL, guessed INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_by_time ON runs(last_ts);
CREATE INDEX IF NOT EXISTS runs_by_sandbox ON runs(sandbox, last_ts);
CREATE TABLE IF NOT EXISTS run_rules(
  correlation_id TEXT NOT NULL, rule TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY(correlation_id, rule)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS run_pids(
  correlation_id TEXT NOT NULL, pid INTEGER NOT NULL, first_ts INTEGER NOT NULL,
  last_ts INTEGER NOT NULL, named INTEGER NOT NULL, PRIMARY KEY(correlation_id, pid)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sandboxes(name TEXT PRIMARY KEY, last_ts INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gaps(
  id INTEGER PRIMARY KEY, source TEXT NOT NULL, from_ts INTEGER NOT NULL, to_ts INTEGER,
  reason TEXT NOT NULL, count INTEGER, seq INTEGER);
CREATE INDEX IF NOT EXISTS gaps_by_time ON gaps(from_ts);
"""

# `notices` wait for the collector's next turn: `meta.control_notice` of spool.db is the id of the
# last one that is in the trail (docs/decisions/0011). Of tokens, of one-time `codes` and of their
# `sessions` only hashes are kept; `scope` is JSON (audit/serving/tokens.py). `services` are those
# that run, by the URL of their page. Files made before a table came get it when they are next
# opened for writing.
CONTROL_DDL: Final = """
CREATE TABLE IF NOT EXISTS cursors(
  name TEXT PRIMARY KEY, seq INTEGER NOT NULL, updated_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS policies(
  digest TEXT PRIMARY KEY, name TEXT NOT NULL, text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS policy_history(
  id INTEGER PRIMARY KEY, sandbox TEXT NOT NULL, from_ts INTEGER NOT NULL,
  digest TEXT NOT NULL, path TEXT NOT NULL, applied_by TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS notices(
  id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, sandbox TEXT NOT NULL,
  policy TEXT, policy_digest TEXT, message TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS tokens(
  name TEXT PRIMARY KEY, sha256 TEXT NOT NULL, scope TEXT NOT NULL,
  created_at INTEGER NOT NULL, expires_at INTEGER, revoked_at INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS codes(
  sha256 TEXT PRIMARY KEY, scope TEXT NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sessions(
  sha256 TEXT PRIMARY KEY, scope TEXT NOT NULL, created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS services(
  url TEXT PRIMARY KEY, pid INTEGER NOT NULL, started_at INTEGER NOT NULL) WITHOUT ROWID;
"""

# A file that a compaction or retention replaced stays this long for readers that list it.
RETIRED_GRACE_S: Final = 15 * 60
# The newest denies kept hot for the situation screen.
HOT_DENIES: Final = 200
# Rules counted for a run; a log that invents names must not fill the database.
MAX_RUN_RULES: Final = 64
