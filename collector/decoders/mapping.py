"""A settings table that maps any JSON lines to columns: pointers, constants, value maps."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from audit_events.errors import SettingsError
from audit_events.schema import BY_NAME, COMMIT_COLUMNS, DECISIONS, KINDS, RESOURCES

# The trail sets these itself.
_OURS: Final = {
    *COMMIT_COLUMNS, "source", "format", "source_position", "linked_seq", "link", "flags", "extra",
    "redactions", "redaction_kinds", "redaction_digest", "rule_section", "rule_index",
    "rule_origin", "until",
}  # fmt: skip
_POINTER: Final = re.compile(r"(?:/(?:[^~/]|~[01])*)+")
_CLOSED: Final = {"kind": KINDS, "decision": DECISIONS, "resource": RESOURCES}
_KEYS: Final = ("from", "constant", "map", "default")
MAX_COLUMNS: Final = 64


@dataclass(frozen=True, slots=True)
class Rule:
    """How one column is filled: the first pointer that finds a value, through the map."""

    column: str
    pointers: tuple[tuple[str, ...], ...] = ()
    constant: str | int | None = None
    words: Mapping[str, str] | None = None
    default: str | int | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A checked mapping: `only` lists what a line must hold to be taken, else it is left out."""

    rules: tuple[Rule, ...]
    only: tuple[tuple[tuple[str, ...], frozenset[str]], ...] = ()


def parse_table(settings: Mapping[str, Any], place: str) -> Table:
    """The table of `settings`; SettingsError that starts with `place` and names the key at fault.

    `{columns: {ts: "/time", decision: {from: "/verdict", map: {blocked: deny}}}, only: {...}}`
    """
    unknown = settings.keys() - {"columns", "only"}
    if unknown:
        raise SettingsError(f"{place}: unknown key {min(unknown)!r}", hint="use columns and only")
    columns = settings.get("columns")
    if not isinstance(columns, Mapping) or not columns or len(columns) > MAX_COLUMNS:
        raise SettingsError(
            f"{place}: columns must be a table", hint="name at least ts and decision"
        )
    rules = tuple(_rule(name, said, f"{place}: columns.{name}") for name, said in columns.items())
    only = settings.get("only", {})
    if not isinstance(only, Mapping):
        raise SettingsError(f"{place}: only must be a table", hint='"/type" = ["decision"]')
    return Table(rules, tuple(_only(key, words, place) for key, words in only.items()))


def _rule(column: str, said: Any, place: str) -> Rule:
    if column not in BY_NAME:
        raise SettingsError(f"{place}: no such column", hint="see docs/schema.md")
    if column in _OURS:
        raise SettingsError(f"{place}: the trail sets this column itself")
    if isinstance(said, str | list):
        said = {"from": said}
    if not isinstance(said, Mapping) or not said or said.keys() - set(_KEYS):
        raise SettingsError(f"{place}: use a pointer, or {', '.join(_KEYS)}")
    pointers = said.get("from", [])
    pointers = [pointers] if isinstance(pointers, str) else pointers
    if not isinstance(pointers, list):
        raise SettingsError(f"{place}: from must be a pointer or a list of pointers")
    words = said.get("map")
    if words is not None and not _is_words(words):
        raise SettingsError(f"{place}: map must be a table of texts")
    for name in ("constant", "default"):
        _check_value(column, said.get(name), f"{place}.{name}")
    for word in (words or {}).values():
        _check_value(column, word, f"{place}.map")
    return Rule(
        column,
        tuple(_pointer(pointer, place) for pointer in pointers),
        said.get("constant"),
        {key.lower(): word for key, word in words.items()} if words else None,
        said.get("default"),
    )


def _is_words(words: Any) -> bool:
    return isinstance(words, Mapping) and all(
        isinstance(key, str) and isinstance(word, str) for key, word in words.items()
    )


def _check_value(column: str, value: Any, place: str) -> None:
    if value is None:
        return
    expected = str if BY_NAME[column].type in ("string", "timestamp") else int
    if type(value) is not expected:
        raise SettingsError(f"{place}: must be of type {expected.__name__}")
    allowed = _CLOSED.get(column)
    if allowed and (value not in allowed or value == "gap"):
        raise SettingsError(f"{place}: {value!r} is none of {', '.join(allowed)}")


def _only(key: str, words: Any, place: str) -> tuple[tuple[str, ...], frozenset[str]]:
    words = [words] if isinstance(words, str) else words
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise SettingsError(f"{place}: only.{key}: must be a list of texts")
    return _pointer(key, f"{place}: only"), frozenset(words)


def _pointer(pointer: Any, place: str) -> tuple[str, ...]:
    """The keys of an RFC 6901 pointer."""
    if not isinstance(pointer, str) or not _POINTER.fullmatch(pointer):
        raise SettingsError(f"{place}: {pointer!r} is no JSON pointer", hint="such as /event/path")
    return tuple(
        part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/")
    )
