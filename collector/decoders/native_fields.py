"""What a native record may say: its fields, their other names, and rows on their way to a batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

# Other names of a column, in order of preference; the first that is there counts, the rest is kept
# in `extra`.
ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "ts": ("timestamp", "time"),
    "correlation_id": ("run_id", "trace_id", "traceparent"),
    "policy_rule": ("rule",),
    "syscall": ("op", "operation"),
    "command": ("args", "argv"),
    "dst": ("dest", "destination"),
    "message": ("msg",),
}
TIME_FIELDS: Final = ("ts", "timestamp", "time")
COMMAND_FIELDS: Final = ("command", "args", "argv")
NAME_FIELDS: Final = (
    "kind", "host", "sandbox", "correlation_id", "run_id", "trace_id", "traceparent", "enforcer",
    "syscall", "op", "operation", "resource", "access", "decision", "error", "process", "policy",
    "policy_digest", "policy_rule", "rule", "tool", "outcome",
)  # fmt: skip
TEXT_FIELDS: Final = (
    "path", "path_to", "dst", "dest", "destination", "dst_host", "target", "message", "msg",
)  # fmt: skip
INT_FIELDS: Final = ("dst_port", "pid", "ppid", "uid", "latency_us", "duration_us", "count")
FIELDS: Final = (*TIME_FIELDS, *NAME_FIELDS, *TEXT_FIELDS, *COMMAND_FIELDS, *INT_FIELDS)
# Understood, but one record at a time: what they mean depends on the rest of it.
RARE_KEYS: Final = frozenset({
    "allowed", "flags", "rule_section", "rule_index",
    "latency", "latency_ns", "latency_ms", "duration", "duration_ns", "duration_ms",
})  # fmt: skip
INT_MIN: Final[dict[str, int]] = {"count": 1}
INT_MAX: Final = (1 << 63) - 1
MAX_DEPTH: Final = 64


@dataclass(slots=True)
class Rough:
    """Typed but not yet normalised rows: absent columns are null.

    `extra` holds ready JSON members (`"key":value`) of the rows that have any, `flags` the rows
    of each flag.
    """

    positions: npt.NDArray[np.int64]
    columns: dict[str, pa.Array] = field(default_factory=dict)
    extra: dict[int, list[str]] = field(default_factory=dict)
    flags: dict[str, set[int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.positions)

    def keep(self, row: int, member: str) -> None:
        """Add a JSON member to the row's `extra`."""
        self.extra.setdefault(row, []).append(member)

    def drop(self, row: int) -> None:
        """Forget what was kept of a row that turned out to be none."""
        self.extra.pop(row, None)
        for rows in self.flags.values():
            rows.discard(row)

    def flag(self, row: int, name: str) -> None:
        """Flag a row."""
        self.flags.setdefault(name, set()).add(row)


def merge(roughs: Sequence[Rough]) -> Rough:
    """All rows as one; a column may be absent from some."""
    if len(roughs) == 1:
        return roughs[0]
    merged = Rough(np.concatenate([rough.positions for rough in roughs]))
    for name in FIELDS:
        if any(name in rough.columns for rough in roughs):
            merged.columns[name] = pa.concat_arrays([
                rough.columns[name] if name in rough.columns
                else pa.nulls(len(rough), field_type(name))
                for rough in roughs
            ])  # fmt: skip
    base = 0
    for rough in roughs:
        merged.extra |= {row + base: members for row, members in rough.extra.items()}
        for flag, rows in rough.flags.items():
            merged.flags.setdefault(flag, set()).update(row + base for row in rows)
        base += len(rough)
    return merged


def field_type(name: str) -> pa.DataType:
    """The Arrow type of a field in `Rough`: times and commands are texts until normalised."""
    return pa.int64() if name in INT_FIELDS else pa.string()


def columns_of(rows: Sequence[dict[str, Any]]) -> dict[str, pa.Array]:
    """Columns from rows of clean values."""
    used = {name for row in rows for name in row}
    return {
        name: pa.array([row.get(name) for row in rows], field_type(name))
        for name in FIELDS
        if name in used
    }
