"""One event in the making, for decoders that build rows: bounds, flags, extra and time."""

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from audit_events import text
from audit_events.schema import COLUMNS, MAX_NAME_BYTES, MAX_TEXT_BYTES
from collector.decoders import times

_MAX_INT64: Final = (1 << 63) - 1
_LIMITS: Final = {c.name: MAX_NAME_BYTES if c.dictionary else MAX_TEXT_BYTES for c in COLUMNS}
_WIDE: Final = frozenset(c.name for c in COLUMNS if c.type == "int64")
_DAY_US: Final = 86_400 * 1_000_000
_YEAR_2000_US: Final = 946_684_800 * 1_000_000


@dataclass(slots=True)
class Row:
    """Columns, flags and extra of one event."""

    columns: dict[str, Any]
    flags: set[str] = field(default_factory=set)
    extra: dict[str, Any] = field(default_factory=dict)

    def finished(self) -> dict[str, Any]:
        """The columns within their bounds, with flags and extra; nulls are left out."""
        row: dict[str, Any] = {"count": self.columns.get("count", 1)}
        for name, value in self.columns.items():
            if value is None:
                continue
            if type(value) is str:
                limit = _LIMITS[name]
                # A character has at most four bytes.
                row[name] = value if len(value) * 4 <= limit else self._clipped(value, limit)
            elif name in _WIDE and value > _MAX_INT64:
                self.extra[name] = value
            else:
                row[name] = value
        if self.extra:
            row["extra"] = self._extra()
        if self.flags:
            row["flags"] = ",".join(sorted(self.flags))
        return row

    def set_time(self, said: str | tuple[int, bool] | None, now: datetime) -> bool:
        """Set ts from the record's text (or micros and no-zone); False if it cannot be read."""
        if isinstance(said, str):
            said = times.parse(said)
            if said is None:
                return False
        now_us = times.micros(now)
        value, no_zone = said or (now_us, False)
        if said is None:
            self.flags.add("no-time")
        if no_zone:
            self.flags.add("no-zone")
        if not _YEAR_2000_US <= value <= now_us + _DAY_US:
            self.flags.add("skewed")
        self.columns["ts"] = value
        if self.columns.get("kind") == "gap":
            self.columns.setdefault("until", value)
        return True

    def _clipped(self, value: str, limit: int) -> str:
        value, cut = text.clip(value, limit)
        if cut:
            self.flags.add("truncated")
        return value

    def _extra(self) -> str:
        whole = _dumps(self.extra)
        if len(whole.encode()) <= MAX_TEXT_BYTES:
            return whole
        self.flags.add("truncated")
        kept: dict[str, Any] = {}
        left = MAX_TEXT_BYTES - 64
        for key, value in self.extra.items():
            size = len(_dumps({key: value}).encode())
            if size <= left:
                kept[key] = value
                left -= size
        kept["members_left_out"] = len(self.extra) - len(kept)
        return _dumps(kept)


def gap(reason: str, count: int | None = None, said: str | None = None) -> Row:
    """A loss that the log itself reports: why in plain words, how many if it says so.

    It ends when it is told; `said` is the log's own line and goes to extra.
    """
    row = Row({"kind": "gap", "resource": "other", "count": count, "message": reason})
    if said:
        row.extra["said"] = said
    return row


def _dumps(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
