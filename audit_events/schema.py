"""The event, schema version 1: one row a column, the single place where a column is declared.

Kept free of pyarrow so that commands which must start at once can read it; `arrow.py` turns it
into an Arrow schema. Evolution rule: columns are only added, nullable, at the end, with the
version that brought them in `since`. A reader selects nulls for columns that a file lacks.
"""

from dataclasses import dataclass
from typing import Final, Literal

SCHEMA_VERSION: Final = 1

Type = Literal["string", "int32", "int64", "timestamp"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `dictionary` is a storage hint for writers, never a type in flow."""

    name: str
    type: Type
    meaning: str
    nullable: bool = True
    dictionary: bool = False
    since: int = 1


def _name(name: str, meaning: str, *, nullable: bool = True) -> Column:
    """A text column of few distinct values."""
    return Column(name, "string", meaning, nullable=nullable, dictionary=True)


def _text(name: str, meaning: str) -> Column:
    return Column(name, "string", meaning)


def _int(name: str, meaning: str, *, nullable: bool = True) -> Column:
    return Column(name, "int64", meaning, nullable=nullable)


COLUMNS: Final[tuple[Column, ...]] = (
    _name("store", "store that gave the seq", nullable=False),
    _int("seq", "order within the store, from 1", nullable=False),
    Column("ts", "timestamp", "event time", nullable=False),
    Column("observed_at", "timestamp", "when the collector committed it", nullable=False),
    _name("kind", "decision, tool_call, gap or notice", nullable=False),
    Column("until", "timestamp", "end of a gap"),
    _name("source", "configured source", nullable=False),
    _name("format", "decoder", nullable=False),
    _int("source_position", "byte offset or sequence in the source", nullable=False),
    _name("host", "machine", nullable=False),
    _name("sandbox", "sandbox the process ran in", nullable=False),
    _name("correlation_id", "the run", nullable=False),
    _int("linked_seq", "the event that this one repeats or reports"),
    _name("link", "report or repeat"),
    _name("enforcer", "who decided"),
    _name("syscall", "the source's own name of the operation"),
    _name("resource", "kind of object", nullable=False),
    _name("access", "normalised verb"),
    _name("decision", "allow, deny or unknown"),
    _name("error", "stable code of a refusal or failure"),
    _text("path", "exact path, secrets masked"),
    _text("path_to", "second path of a rename or link"),
    _text("dst", "network destination, host:port"),
    _text("dst_host", "host part of dst"),
    Column("dst_port", "int32", "port part of dst"),
    _text("target", "object that is neither a path nor an address"),
    _text("command", "argv as a JSON array"),
    _name("process", "name of the process"),
    _int("pid", "process id"),
    _int("ppid", "parent's process id"),
    _int("uid", "user id"),
    _name("policy", "policy name"),
    _name("policy_digest", "sha256 of the policy text in force"),
    _name("policy_rule", "rule that decided"),
    _name("rule_section", "section part of policy_rule"),
    Column("rule_index", "int32", "index part of policy_rule"),
    _name("rule_origin", "reported, tagged, linked or derived"),
    _int("latency_us", "decision latency in microseconds"),
    _name("tool", "tool that the agent called"),
    _name("outcome", "how a tool call ended"),
    _int("duration_us", "duration of a tool call in microseconds"),
    _int("count", "occurrences this record stands for; null for a gap of unknown size"),
    _name("flags", "sorted comma list"),
    Column("redactions", "int32", "how many secrets were masked", nullable=False),
    _name("redaction_kinds", "sorted comma list of masked kinds"),
    _name("redaction_digest", "digest of the rules that masked"),
    _text("message", "redacted original, only where columns do not hold all of it"),
    _text("extra", "JSON object of unknown keys"),
)

COLUMN_NAMES: Final[tuple[str, ...]] = tuple(column.name for column in COLUMNS)
BY_NAME: Final[dict[str, Column]] = {column.name: column for column in COLUMNS}

# Set by the spool at commit, never by a decoder.
COMMIT_COLUMNS: Final = ("store", "seq", "observed_at")

KINDS: Final = ("decision", "tool_call", "gap", "notice")
DEFAULT_KINDS: Final = ("decision", "tool_call", "gap")
# Decoders of what the operating system says; everybody else is an enforcement layer.
OS_FORMATS: Final = frozenset({"seatbelt", "linux-audit", "eslogger", "santa"})
DECISIONS: Final = ("allow", "deny", "unknown")
RESOURCES: Final = (
    "filesystem", "network", "process", "mach", "ipc", "sysctl", "iokit", "signal", "system",
    "tool", "other",
)  # fmt: skip
ACCESSES: Final = (
    "read", "write", "create", "delete", "rename", "link", "exec", "fork", "connect", "bind",
    "listen", "accept", "send", "receive", "resolve", "lookup", "register", "signal", "mount",
    "ioctl", "open", "metadata", "map", "issue", "call", "other",
)  # fmt: skip
LINKS: Final = ("report", "repeat")
RULE_ORIGINS: Final = ("reported", "tagged", "linked", "derived")
OUTCOMES: Final = ("ok", "timeout", "retry", "policy_violation", "error")

# Why a value is what it is; a decoder may use only these (contract test).
FLAGS: Final = (
    "ambiguous", "asked", "correlation-guessed", "forged", "incomplete", "masked_field",
    "no-decision", "no-time", "no-zone", "normalised", "policy-ambiguous", "reject",
    "rule-mismatch", "skewed", "timeout", "truncated", "unknown-decision", "unknown-value",
    "would-deny",
)  # fmt: skip

# Bounds of one field, in bytes of UTF-8. PATH_MAX is 4,096 on Linux and 1,024 on macOS; 32 KiB
# keeps any real path, argv or message whole and bounds what a hostile line can make us hold.
MAX_TEXT_BYTES: Final = 32 * 1024
MAX_NAME_BYTES: Final = 512

# The longest line we read; a longer one is one counted reject. See docs/guarantees.md.
MAX_LINE_BYTES: Final = 1 << 20
# A block holds whole lines and at least one line of the longest kind.
MAX_BLOCK_BYTES: Final = 2 << 20
