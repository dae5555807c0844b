"""Native records as blocks: `key=value` lines ended by a blank line or the next time."""

import re
from dataclasses import dataclass, field
from typing import Any, Final

from collector.contracts import Reason
from collector.decoders.native_fields import FIELDS, RARE_KEYS, TIME_FIELDS
from collector.decoders.native_record import RecordError

_LINE: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_.\-]*)=(.*)", re.DOTALL | re.ASCII)
_STARTS_PAIR: Final = re.compile(r"\s+[A-Za-z_][A-Za-z0-9_.\-]*=", re.ASCII)
_KNOWN: Final = frozenset(FIELDS) | RARE_KEYS
# Far more lines than a record has columns: a block that goes on is cut here and starts anew.
MAX_BLOCK_LINES: Final = 256
MAX_BLOCK_TEXT_BYTES: Final = 1 << 20


@dataclass(slots=True)
class OpenBlock:
    """A record whose lines are still coming; `start` is its first byte in the stream."""

    start: int
    pairs: list[tuple[str, Any]] = field(default_factory=list)
    size: int = 0

    def record(self) -> list[tuple[str, Any]]:
        """Its pairs; RecordError if a key came twice."""
        if len({key for key, _ in self.pairs}) != len(self.pairs):
            raise RecordError(Reason.DUPLICATE_KEY)
        return self.pairs

    def accepts(self, line: str) -> bool:
        """Whether the line belongs to this record; if so it is added."""
        match = _LINE.fullmatch(line)
        if match is None or (match[1] in TIME_FIELDS and self._ends_at(match)):
            return False
        if len(self.pairs) >= MAX_BLOCK_LINES or self.size + len(line) > MAX_BLOCK_TEXT_BYTES:
            return False
        self.pairs.append((match[1], _value(match[2])))
        self.size += len(line)
        return True

    def _ends_at(self, match: re.Match[str]) -> bool:
        """A second time, or a time that has other pairs on its line, is the next record."""
        timed = any(key in TIME_FIELDS for key, _ in self.pairs)
        return timed or bool(_STARTS_PAIR.search(match[2]))


def opens(line: str, start: int) -> OpenBlock | None:
    """A new block if the line is one known key and its value.

    Only a time may hold blanks here: a line of garbage that begins like a pair opens nothing.
    """
    match = _LINE.fullmatch(line)
    if match is None or match[1] not in _KNOWN:
        return None
    if match[1] in TIME_FIELDS:
        if _STARTS_PAIR.search(match[2]):
            return None
    elif " " in match[2] or "\t" in match[2]:
        return None
    block = OpenBlock(start)
    block.accepts(line)
    return block


def _value(text: str) -> str:
    """The rest of the line without blanks around it; quotes around the whole are taken off."""
    value = text.strip(" \t")
    whole = len(value) >= 2 and value[0] == value[-1] == '"'
    return value[1:-1] if whole and "\\" not in value and '"' not in value[1:-1] else value
