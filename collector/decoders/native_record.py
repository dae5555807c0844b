"""One native record, read carefully: any value of any type ends in a typed field or in `extra`."""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from audit_events import text
from collector.contracts import Reason
from collector.decoders.escapes import resolve_surrogates
from collector.decoders.native_fields import (
    COMMAND_FIELDS,
    FIELDS,
    INT_FIELDS,
    INT_MAX,
    INT_MIN,
    MAX_DEPTH,
    RARE_KEYS,
    TIME_FIELDS,
    Rough,
)

_INTEGER: Final = re.compile(r"-?\d{1,19}(?:\.0{1,18})?", re.ASCII)
_DURATION: Final = re.compile(r"(\d{1,15})(?:\.(\d{1,9}))?(ns|us|µs|μs|ms|s)", re.ASCII)
_NANOS: Final = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9}
# What a producer may say of its own record; the other flags are our findings.
_ACCEPTED_FLAGS: Final = frozenset({"asked", "would-deny", "timeout", "incomplete", "truncated"})
_JSON_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)


class Number(str):
    """A JSON number (or NaN, Infinity) as it was written."""

    __slots__ = ()


class Members(list[tuple[str, Any]]):
    """A JSON object as it was written: in order, with every repeated key."""

    __slots__ = ()


class RecordError(Exception):
    """A record that is none; carries a reason and nothing of the record."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


def add(rough: Rough, row: int, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The typed fields of a record with unique keys; the rest goes to `rough`'s extra and flags."""
    record = dict(pairs)
    fields: dict[str, Any] = {}
    for key, value in record.items():
        if key in RARE_KEYS:
            continue
        if key not in FIELDS:
            rough.keep(row, member(key, value))
            continue
        if value is None:
            continue
        known = _typed(key, value)
        if known is None:
            rough.keep(row, member(key, value))
            rough.flag(row, "unknown-value")
        else:
            fields[key] = known
    for key in [key for key in record if key in RARE_KEYS]:
        if not _rare(rough, row, fields, key, record):
            rough.keep(row, member(key, record[key]))
    return fields


def _typed(key: str, value: Any) -> str | int | None:
    """The value as its field's type; None if it does not fit."""
    if key in INT_FIELDS:
        return integer(value, INT_MIN.get(key, 0))
    if key in COMMAND_FIELDS:
        return argv(value)
    if type(value) is str or (key in TIME_FIELDS and isinstance(value, Number)):
        return str(value)
    return None


def integer(value: Any, least: int = 0) -> int | None:
    """A whole number of at least `least` that fits int64, from a number or its digits."""
    if not isinstance(value, str) or not _INTEGER.fullmatch(value):
        return None
    number = int(str(value).partition(".")[0])
    return number if least <= number <= INT_MAX else None


def argv(value: Any) -> str | None:
    """A command as a JSON array of texts; a text is an array of one, or such an array already."""
    if isinstance(value, str):
        return argv_of_text(str(value))
    if isinstance(value, list) and all(type(word) is str for word in value):
        return _dumps(value)
    return None


def argv_of_text(value: str) -> str:
    """A command given as one text."""
    if value.startswith("["):
        try:
            words = json.loads(resolve_surrogates(value))
        except (ValueError, RecursionError):
            words = None
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            return _dumps(words)
    return _dumps([value])


def _rare(rough: Rough, row: int, fields: dict[str, Any], key: str, record: dict[str, Any]) -> bool:
    """Whether a key whose meaning hangs on the rest of the record found its place."""
    value = record[key]
    if key == "allowed":
        word = {"True": "allow", "true": "allow", "False": "deny", "false": "deny"}.get(str(value))
        if word is None or "decision" in fields:
            return False
        fields["decision"] = word
        return True
    if key == "flags":
        names = value.split(",") if isinstance(value, str) else []
        if not names or not _ACCEPTED_FLAGS.issuperset(names):
            return False
        for name in names:
            rough.flag(row, name)
        return True
    if key in ("rule_section", "rule_index"):
        return _rule(fields, record)
    target = "latency_us" if key.startswith("latency") else "duration_us"
    amount = _microseconds(str(value) if isinstance(value, str) else "", key.partition("_")[2])
    if amount is None or target in fields:
        return False
    fields[target] = amount
    return True


def _rule(fields: dict[str, Any], record: dict[str, Any]) -> bool:
    """A rule given in two parts; where the whole is given too, the parts may only repeat it."""
    section, index = record.get("rule_section"), integer(record.get("rule_index"))
    if not isinstance(section, str) or Number is type(section):
        return False
    if index is None and record.get("rule_index") is not None:
        return False
    whole = section + ("" if index is None else f"[{index}]")
    return bool(fields.setdefault("policy_rule", whole) == whole and "rule" not in fields)


def argv_that_fits(command: str, limit: int) -> str:
    """A JSON array of texts in at most `limit` bytes: later words are cut, then left out."""
    kept: list[str] = []
    left = limit - 2
    for word in json.loads(command):
        size = len(_dumps(word).encode()) + 1
        if size > left:
            # An escape may make six bytes of one.
            kept.append(text.clip(word, max(left // 6 - 3, 0))[0])
            break
        kept.append(word)
        left -= size
    return _dumps(kept)


def _microseconds(value: str, unit: str) -> int | None:
    """`1.5ms`, or a bare number where the key names the unit; None if the unit is a guess."""
    match = _DURATION.fullmatch(value + unit)
    if match is None:
        return None
    fraction = match[2] or ""
    nanos: int = int(match[1] + fraction) * _NANOS[match[3]] // 10 ** len(fraction)
    return min(nanos // 1000, INT_MAX)


def member(key: str, value: Any) -> str:
    """`"key":value` of a JSON object: numbers as they were written."""
    return f"{_dumps(key)}:{_encode(value, 0)}"


def _encode(value: Any, depth: int) -> str:
    if depth > MAX_DEPTH:
        raise RecordError(Reason.TOO_DEEP)
    if isinstance(value, Number):
        return str(value) if _JSON_NUMBER.fullmatch(value) else _dumps(str(value))
    if isinstance(value, str):
        return _dumps(value)
    if isinstance(value, Members):
        inner = (f"{_dumps(k)}:{_encode(item, depth + 1)}" for k, item in value)
        return "{" + ",".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_encode(item, depth + 1) for item in value) + "]"
    return json.dumps(value)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
