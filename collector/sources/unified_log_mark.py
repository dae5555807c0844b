"""How far the unified log was read: boot session, ticks, and keyed hashes of the last seconds.

Entries come nearly in the order of their ticks. What lies further back than the window was read;
within it the hashes tell. The hashes are keyed, since what they are made of is not yet masked.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import msgspec

from collector.sources.unified_log_entry import Key

WINDOW_S: Final = 10
HASH_BYTES: Final = 8
# With more entries in ten seconds the window is shorter: a mark is stored with every commit.
MAX_HASHES: Final = 4_096
MAX_SESSIONS: Final = 16
# The session before anybody named it.
UNKNOWN: Final = ""


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """What is stored with a position. `read_us`: the wall clock up to which nothing is missing.

    `sessions` are boots in order, the last one current; `floor` and `newest` are its ticks.
    """

    version: int
    sessions: list[str]
    floor: int
    newest: int
    read_us: int
    ticks: list[int]
    hashes: bytes


_DECODER: Final = msgspec.msgpack.Decoder(Mark)


def decode_mark(raw: bytes) -> Mark | None:
    """The mark, or None for bytes that are none: the log is then read like for the first time."""
    try:
        mark = _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    whole = len(mark.hashes) == len(mark.ticks) * HASH_BYTES
    return mark if mark.version == 1 and whole else None


@dataclass(slots=True)
class Recent:
    """What was given out lately. `ticks_per_s` is that of machTimestamp."""

    key: bytes
    ticks_per_s: int
    sessions: list[str] = field(default_factory=list)
    floor: int = -1
    newest: int = -1
    read_us: int = 0
    _order: deque[tuple[int, bytes]] = field(default_factory=deque)
    _known: set[bytes] = field(default_factory=set)

    @classmethod
    def of(cls, mark: Mark | None, key: bytes, ticks_per_s: int) -> "Recent":
        """As it was at a mark."""
        recent = cls(key[: blake2b.MAX_KEY_SIZE], ticks_per_s)
        if mark is not None:
            recent.sessions = list(mark.sessions)
            recent.floor, recent.newest, recent.read_us = mark.floor, mark.newest, mark.read_us
            for number, tick in enumerate(mark.ticks):
                at = number * HASH_BYTES
                recent._keep(tick, mark.hashes[at : at + HASH_BYTES])
        return recent

    def mark(self) -> bytes:
        """What to store."""
        ticks = [tick for tick, _ in self._order]
        hashes = b"".join(digest for _, digest in self._order)
        mark = Mark(1, self.sessions, self.floor, self.newest, self.read_us, ticks, hashes)
        return msgspec.msgpack.encode(mark)

    def take(self, entry: Key, current: str, *, live: bool) -> bool:
        """True if an entry is new; it is old from then on. `current` is the session that runs.

        What is `live` was never read before, however late it comes; only the hashes can tell that
        it was shown a moment ago.
        """
        if entry.boot and self.sessions == [UNKNOWN]:
            self.sessions = [entry.boot]
        session = entry.boot or current or (self.sessions[-1] if self.sessions else UNKNOWN)
        if not self.sessions or session != self.sessions[-1]:
            if session in self.sessions:
                return False
            self._begin(session)
        if entry.mach <= self.floor and not live:
            return False
        digest = blake2b(entry.said, key=self.key, digest_size=HASH_BYTES).digest()
        if digest in self._known:
            return False
        self._keep(entry.mach, digest)
        if entry.mach > self.newest:
            self.newest = entry.mach
            self._forget()
        return True

    def _begin(self, session: str) -> None:
        self.sessions = [*self.sessions, session][-MAX_SESSIONS:]
        self.floor = self.newest = -1
        self._order.clear()
        self._known.clear()

    def _keep(self, tick: int, digest: bytes) -> None:
        self._order.append((tick, digest))
        self._known.add(digest)

    def _forget(self) -> None:
        edge = self.newest - WINDOW_S * self.ticks_per_s
        while self._order and (self._order[0][0] <= edge or len(self._order) > MAX_HASHES):
            tick, digest = self._order.popleft()
            self._known.discard(digest)
            self.floor = max(self.floor, tick)


def newest_of(entries: Sequence[Key]) -> int | None:
    """The wall time of the last entry whose time can be read, in µs."""
    return next((found for entry in reversed(entries) if (found := entry.micros)), None)
