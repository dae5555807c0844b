"""The stdin source: whole lines until the end; what was read and not stored is gone with us."""

import os
import secrets
import select
import sys
from collections.abc import Callable, Mapping
from threading import Event
from typing import Final

from collector.contracts import (
    Block,
    Closed,
    Emission,
    Idle,
    Reason,
    Reject,
    SourcePlugin,
    SourceSettings,
    StreamPosition,
)
from collector.sources.line_cutter import Cut, LineCutter

READ_BYTES: Final = 256 * 1024
MAX_WAIT_S: Final = 0.2  # how late a stop may be noticed


class StdinSource:
    """One stream that begins with us and ends with its end of file.

    Its blocks have no mark, so a stream that was left open is a gap after a restart.
    """

    kind = "stdin"
    rereadable = False
    location = "stdin"

    def __init__(self, name: str, descriptor: int | None = None) -> None:
        """`descriptor` is read as it is and not closed; standard input without it."""
        self.name = name
        self._descriptor = descriptor

    def run(
        self,
        positions: Mapping[str, StreamPosition],  # noqa: ARG002 - nothing can be read again
        emit: Callable[[Emission], None],
        stop: Event,
        *,
        once: bool,  # noqa: ARG002 - there is an end in any case
    ) -> None:
        """Emit whole lines until the end of file or `stop`; half a line at the end is whole."""
        descriptor = sys.stdin.fileno() if self._descriptor is None else self._descriptor
        stream, cutter = f"stdin-{secrets.token_hex(6)}", LineCutter()
        # From here on a stop that is none of ours leaves a gap, even before the first line.
        emit(Block(self.name, stream, b"", 0, 0))
        while not stop.is_set():
            if not select.select([descriptor], [], [], MAX_WAIT_S)[0]:
                emit(Idle(self.name))
                continue
            data = os.read(descriptor, READ_BYTES)
            if not data:
                break
            for cut in cutter.feed(data):
                emit(self._block(stream, cut, final=False))
        if stop.is_set():
            return
        if (last := cutter.end()) is not None:
            emit(self._block(stream, last, final=True))
        emit(Closed(self.name, stream))

    def _block(self, stream: str, cut: Cut, *, final: bool) -> Block:
        rejects = (Reject(cut.start, Reason.TOO_LONG),) if cut.too_long else ()
        return Block(self.name, stream, cut.data, cut.start, cut.end, final=final, rejects=rejects)

    def consumed(self, stream: str, resume: int, read_to: int) -> None:
        """Nothing to do: nobody can be asked again."""


def _parse(argument: str) -> SourceSettings:
    if argument:
        raise ValueError("stdin takes no argument")
    return SourceSettings(kind="stdin")


source = SourcePlugin(
    kind="stdin",
    settings=SourceSettings,
    parse=_parse,
    make=lambda name, _settings, _key: StdinSource(name),
    usage="stdin:",
)
