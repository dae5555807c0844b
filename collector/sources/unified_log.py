"""The unified-log source: what macOS says of its sandboxes, live and read back after a pause.

docs/guides/macos-unified-log.md says what it needs and what the log itself does not tell.
"""

import ctypes
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from collector.contracts import Emission, SourcePlugin, SourceSettings, StreamPosition
from collector.sources.child import trusted_command

if TYPE_CHECKING:  # a command that only checks settings reads no log
    from collector.sources.unified_log_reading import LogOptions

_UNIT_S: Final = {"s": 1, "m": 60, "h": 3600}
# Apple silicon; what an Intel Mac says is asked of it.
TICKS_PER_S: Final = 24_000_000
# Seconds, minutes, or up to 24 hours.
BACKFILL: Final = r"^([0-9]{1,4}s|[0-9]{1,3}m|(1?[0-9]|2[0-4])h)$"
# Entries of one shape: they tell the decoder.
_SAMPLE: Final = (
    b'{"timestamp":"2026-07-28 09:00:00.000000+0000","processID":0,"machTimestamp":1,'
    b'"senderImagePath":"\\/System\\/Library\\/Extensions\\/Sandbox.kext\\/Contents\\/MacOS'
    b'\\/Sandbox","eventMessage":"Sandbox: sh(1) deny(1) file-read-data \\/private"}\n'
)


def boot_session() -> str:
    """The running system's boot session as the log names it; "" where it cannot be asked."""
    if sys.platform != "darwin":
        return ""
    size = ctypes.c_size_t(64)
    answer = ctypes.create_string_buffer(size.value)
    libc = ctypes.CDLL(None)
    if libc.sysctlbyname(b"kern.bootsessionuuid", answer, ctypes.byref(size), None, 0):
        return ""
    return answer.value.decode("ascii", "replace")


def ticks_per_s() -> int:
    """Ticks of machTimestamp in a second."""
    if sys.platform != "darwin":
        return TICKS_PER_S
    ratio = (ctypes.c_uint32 * 2)()
    ctypes.CDLL(None).mach_timebase_info(ctypes.byref(ratio))
    return 1_000_000_000 * ratio[1] // ratio[0] if ratio[0] else TICKS_PER_S


class UnifiedLogSource:
    """One stream without offsets of its own; its mark says which entries were given."""

    kind = "unified-log"
    rereadable = True

    def __init__(
        self,
        name: str,
        options: "LogOptions",
        *,
        key: bytes,
        session: Callable[[], str] = boot_session,
    ) -> None:
        """`key` (at least 16 bytes) keys the hashes stored with a position."""
        self.name = name
        self._options, self._key, self._session = options, key, session

    @property
    def location(self) -> str:
        """The program that is asked."""
        return self._options.command

    def run(
        self,
        positions: Mapping[str, StreamPosition],
        emit: Callable[[Emission], None],
        stop: Event,
        *,
        once: bool,
    ) -> None:
        """Follow until `stop`, or give what the log holds with `once` (then SourceError if it
        cannot be read; else a gap, and another try after a pause)."""
        from collector.sources.unified_log_mark import Recent, decode_mark
        from collector.sources.unified_log_reading import STREAM, Reading

        position = positions.get(STREAM)
        mark = decode_mark(position.mark) if position else None
        reading = Reading(
            self.name, self._options, Recent.of(mark, self._key, ticks_per_s()), emit, stop,
            session=self._session(), at=position.read_to if position else 0,
        )  # fmt: skip
        if once:
            reading.show()
        else:
            reading.follow()

    def consumed(self, stream: str, resume: int, read_to: int) -> None:
        """Nothing to do: the mark is stored with the rows."""


class UnifiedLogSettings(SourceSettings, frozen=True, kw_only=True):
    """[sources.NAME] of kind unified-log.

    `log_command`: absolute, root's, writable by nobody else; `any_owner` leaves that unchecked and
    is meant for tests. `sandboxd`: its longer reports too. `backfill`: how far the log is read
    back after a pause, at most a day; "0s" is not at all.
    """

    log_command: Annotated[str, Meta(pattern=r"^/")] = "/usr/bin/log"
    any_owner: bool = False
    sandboxd: bool = False
    backfill: Annotated[str, Meta(pattern=BACKFILL)] = "24h"


def _make(name: str, settings: UnifiedLogSettings, key: bytes) -> UnifiedLogSource:
    from collector.sources.unified_log_reading import LogOptions

    seconds = int(settings.backfill[:-1]) * _UNIT_S[settings.backfill[-1]]
    options = LogOptions(
        command=settings.log_command,
        sandboxd=settings.sandboxd,
        backfill=timedelta(seconds=seconds),
        any_owner=settings.any_owner,
    )
    return UnifiedLogSource(name, options, key=key)


def _samples(_settings: UnifiedLogSettings) -> Iterator[bytes]:
    yield _SAMPLE


def _parse(argument: str) -> UnifiedLogSettings:
    if argument and not argument.startswith("/"):
        raise ValueError("the command must be an absolute path")
    return UnifiedLogSettings(kind="unified-log", log_command=argument or "/usr/bin/log")


def _check(settings: UnifiedLogSettings) -> None:
    trusted_command(settings.log_command, any_owner=settings.any_owner)


source = SourcePlugin(
    kind="unified-log",
    settings=UnifiedLogSettings,
    parse=_parse,
    make=_make,
    usage="unified-log:[COMMAND]",
    samples=_samples,
    check=_check,
)
