"""How a file is known again: keyed fingerprints of its head and of the bytes before a position."""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

import msgspec

HEAD_BYTES: Final = 1024  # the first kilobyte holds several time stamps: two logs seldom share it
LAST_BYTES: Final = 256  # the bytes before a position tell "regrown past it" from "appended to"
DIGEST_BYTES: Final = 16
MIN_KEY_BYTES: Final = 16
# Distances between remembered positions double: few of them, most of them recent.
CHECKPOINT_SPREAD: Final = 2

ReadAt = Callable[[int, int], bytes]


class ReplacedError(Exception):
    """The file no longer holds what was read of it."""


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """What is stored beside a position; digests are keyed, the bytes behind them are unredacted.

    `seen` is when (epoch seconds) all names had last been looked at. `path` is raw
    bytes because a file name need not be UTF-8. `packed` is (size, mtime_ns, inode) of a compressed
    file read to its end. `tail` says the position follows a line without newline.
    """

    path: bytes
    dev: int
    ino: int
    head: bytes
    last: bytes
    seen: float
    tail: bool = False
    packed: tuple[int, int, int] | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Mark)


def encode_mark(mark: Mark) -> bytes:
    """The bytes stored with a position."""
    return _encoder.encode(mark)


def decode_mark(raw: bytes) -> Mark | None:
    """The mark, or None for bytes that are none: the file is then taken as unknown."""
    try:
        return _decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


@dataclass(frozen=True, slots=True)
class Print:
    """A position and what lies before it."""

    end: int
    head: bytes
    last: bytes


class Fingerprinter:
    """Digests under one secret key, so that nobody can guess a line from what is stored."""

    def __init__(self, key: bytes) -> None:
        if len(key) < MIN_KEY_BYTES:
            raise ValueError(f"the fingerprint key needs at least {MIN_KEY_BYTES} bytes")
        self._key = key[: blake2b.MAX_KEY_SIZE]

    def digest(self, raw: bytes) -> bytes:
        """The keyed digest of some bytes."""
        return blake2b(raw, key=self._key, digest_size=DIGEST_BYTES, person=b"file-print").digest()

    def of(self, read_at: ReadAt, end: int) -> Print:
        """The print of the first `end` bytes of a file."""
        head = read_at(0, min(HEAD_BYTES, end))
        start = max(0, end - LAST_BYTES)
        return Print(end, self.digest(head), self.digest(read_at(start, end - start)))

    def fits(self, read_at: ReadAt, known: Print) -> bool:
        """True if the file begins with what the print was taken of."""
        size = min(HEAD_BYTES, known.end)
        head = read_at(0, size)
        if len(head) < size or self.digest(head) != known.head:
            return False
        start = max(0, known.end - LAST_BYTES)
        last = read_at(start, known.end - start)
        return len(last) == known.end - start and self.digest(last) == known.last


@dataclass(slots=True)
class Trace:
    """What was read of one stream, as far as it takes to know the stream again."""

    prints: Fingerprinter
    end: int = 0
    head_raw: bytes = b""
    last_raw: bytes = b""
    checkpoints: list[Print] = field(default_factory=list)
    # Each new file is compared with all that is missing one: thousands of digests, always the same.
    _print: Print | None = field(default=None, compare=False)

    @property
    def print(self) -> Print:
        """The print at the end of what was read; `end` and what lies before it never change."""
        if self._print is None:
            digest = self.prints.digest
            self._print = Print(self.end, digest(self.head_raw), digest(self.last_raw))
        return self._print

    def advanced(self, data: bytes) -> "Trace":
        """A trace that ends after `data`; this one stays as it is."""
        head = self.head_raw
        if len(head) < HEAD_BYTES:
            head += data[: HEAD_BYTES - len(head)]
        last = data[-LAST_BYTES:]
        if len(last) < LAST_BYTES:
            last = (self.last_raw + last)[-LAST_BYTES:]
        return Trace(self.prints, self.end + len(data), head, last, self.checkpoints)

    def at(self, read_at: ReadAt, end: int) -> "Trace":
        """A trace that ends at `end`, taken from the file; ReplacedError if that is shorter."""
        start = max(0, end - LAST_BYTES)
        head, last = read_at(0, min(HEAD_BYTES, end)), read_at(start, end - start)
        if len(head) < min(HEAD_BYTES, end) or len(last) < end - start:
            raise ReplacedError
        return Trace(self.prints, end, head, last, self.checkpoints)

    def recalled(self, read_at: ReadAt, known: Print, end: int) -> "Trace | None":
        """A trace that ends at `end`, from a file that begins with what the print was taken of.

        None if it does not. What is read before that check was there if the check holds: a
        truncation between the two would leave a trace of nothing, which every file matches.
        """
        try:
            trace = self.at(read_at, end)
        except ReplacedError:
            return None
        return trace if self.prints.fits(read_at, known) else None

    def matches(self, read_at: ReadAt) -> bool:
        """True if the file still holds what was read of it."""
        before = self.end - len(self.last_raw)
        return (
            read_at(0, len(self.head_raw)) == self.head_raw
            and read_at(before, len(self.last_raw)) == self.last_raw
        )

    def remember(self, limit: int) -> None:
        """Keep this position for later, thinning older ones; `limit` bounds their number."""
        kept: list[Print] = []
        gap = 0
        for old in reversed(self.checkpoints):
            if old.end < self.end and self.end - old.end >= gap:
                kept.append(old)
                gap = (self.end - old.end) * CHECKPOINT_SPREAD
        self.checkpoints = [*reversed(kept[: limit - 1]), self.print]
