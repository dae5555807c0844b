"""What the unified log's own program is asked, and what tells one of its entries from another."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

KERNEL: Final = 'processID == 0 AND senderImagePath ENDSWITH "/Sandbox.kext/Contents/MacOS/Sandbox"'
SANDBOXD: Final = 'subsystem == "com.apple.sandbox.reporting" AND process == "sandboxd"'
BANNERS: Final = (b"Filtering the log data using", b"Skipping info and debug messages")
DROPPED: Final = b"=== Messages dropped during live streaming"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def predicate(*, sandboxd: bool) -> str:
    """Reports of the kernel's Sandbox extension, which nobody can forge; sandboxd's if asked."""
    return f"({KERNEL}) OR ({SANDBOXD})" if sandboxd else KERNEL


def stream_words(*, sandboxd: bool) -> list[str]:
    """`log stream …`, without the program."""
    asked = predicate(sandboxd=sandboxd)
    return ["stream", "--style", "ndjson", "--level", "debug", "--predicate", asked]


def show_words(start: datetime, *, sandboxd: bool) -> list[str]:
    """`log show …` of what the log holds from a time on, without the program."""
    return [
        "show", "--style", "ndjson", "--info", "--debug", "--loss",
        "--start", f"{start.astimezone(UTC):%Y-%m-%d %H:%M:%S}+0000",
        "--predicate", predicate(sandboxd=sandboxd),
    ]  # fmt: skip


class _Entry(msgspec.Struct, gc=False):
    machTimestamp: int | None = None  # noqa: N815 - Apple's names
    threadID: int | None = None  # noqa: N815
    bootUUID: str | None = None  # noqa: N815
    eventMessage: str | None = None  # noqa: N815
    timestamp: str | None = None
    count: int | None = None
    finished: int | None = None


_DECODER: Final = msgspec.json.Decoder(_Entry)


@dataclass(frozen=True, slots=True)
class Key:
    """An entry's identity; its wall time is none: `stream` and `show` give different ones.

    `boot` is "" where the program did not say, as `stream` does not.
    """

    boot: str
    mach: int
    said: bytes
    wall: str | None

    @property
    def micros(self) -> int | None:
        """Wall time in µs since 1970, None if it cannot be read."""
        try:
            moment = datetime.fromisoformat(self.wall or "")
            return (moment - _EPOCH) // timedelta(microseconds=1)
        except (ValueError, TypeError, OverflowError):
            return None


TRAILER: Final = "trailer"
UNREADABLE: Final = "unreadable"
WORDS: Final = "words"


def read(line: bytes) -> Key | str:
    """The key of an entry; else TRAILER, UNREADABLE, or WORDS of the program itself."""
    body = line.rstrip(b"\r\n")
    if not body.strip() or body.startswith(BANNERS):
        return WORDS
    try:
        entry = _DECODER.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return UNREADABLE
    if entry.finished is not None and entry.machTimestamp is None:
        return TRAILER
    if entry.machTimestamp is None or not 0 <= entry.machTimestamp < 1 << 63:
        return UNREADABLE
    said = b"%d %d " % (entry.machTimestamp, entry.threadID or 0)
    said += (entry.eventMessage or "").encode(errors="surrogatepass")
    return Key(entry.bootUUID or "", entry.machTimestamp, said, entry.timestamp)
