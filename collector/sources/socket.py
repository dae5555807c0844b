"""The socket source: many writers on one unix stream socket, known by their uid.

docs/guides/socket.md is the protocol as a writer sees it.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from audit_events.errors import SourceError
from collector.contracts import Emission, SourcePlugin, SourceSettings, StreamPosition

if TYPE_CHECKING:  # a command that only checks settings serves nobody
    from collector.sources.socket_server import Server, SocketOptions
    from collector.sources.socket_wakeup import Wakeup

_UNIT_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class SocketSource:
    """Serves writers for as long as the collector runs."""

    kind = "socket"
    # A writer that counts its lines leaves a mark and sends again; of the others we know nothing.
    rereadable = False

    def __init__(self, name: str, options: "SocketOptions") -> None:
        self.name = name
        self._options = options
        self._wakeup: Wakeup | None = None
        self._server: Server | None = None

    @property
    def location(self) -> str:
        """The path, and whether anybody writes without counting."""
        path = str(self._options.path)
        server = self._server
        if server is None or not server.writers[0]:
            return path
        writers, plain = server.writers
        promise = f", {plain} at-least-once" if plain else ""
        return f"{path} ({writers} {'writer' if writers == 1 else 'writers'}{promise})"

    def run(
        self,
        positions: Mapping[str, StreamPosition],
        emit: Callable[[Emission], None],
        stop: Event,
        *,
        once: bool,
    ) -> None:
        """Serve until `stop`; raises SourceError if it cannot listen, or with `once`."""
        from collector.sources.socket_server import Server
        from collector.sources.socket_wakeup import Wakeup

        if once:
            raise SourceError(f"{self._options.path}: a socket has no end", hint="without --once")
        wakeup = self._wakeup = Wakeup()
        server = self._server = Server(self.name, self._options, wakeup, emit, stop)
        try:
            server.serve(positions)
        finally:
            server.writers = (0, 0)
            wakeup.close()

    def consumed(self, stream: str, resume: int, read_to: int) -> None:
        """A commit is in: only now may a writer hear `ok`."""
        if self._wakeup is not None:
            self._wakeup.say(stream, resume, read_to)


class SocketSettings(SourceSettings, frozen=True, kw_only=True):
    """[sources.NAME] of kind socket.

    `allow_uids`: who may write, by default the collecting user and root. `allow_sandboxes`: what
    they may speak of, by default any. `idle`: a writer that is quiet for this long is let go.
    """

    path: Annotated[str, Meta(min_length=1)]
    allow_uids: tuple[Annotated[int, Meta(ge=0)], ...] | None = None
    allow_sandboxes: tuple[str, ...] | None = None
    max_connections: Annotated[int, Meta(ge=1, le=4_096)] = 256
    idle: Annotated[str, Meta(pattern=r"^[0-9]{1,6}[smhd]$")] = "1d"


def _make(name: str, settings: SocketSettings, _key: bytes) -> SocketSource:
    from collector.sources.socket_server import SocketOptions

    uids, sandboxes = settings.allow_uids, settings.allow_sandboxes
    return SocketSource(
        name,
        SocketOptions(
            path=Path(settings.path).expanduser().absolute(),
            allow_uids=frozenset({os.geteuid(), 0} if uids is None else uids),
            allow_sandboxes=None if sandboxes is None else frozenset(sandboxes),
            max_connections=settings.max_connections,
            idle_s=float(int(settings.idle[:-1]) * _UNIT_S[settings.idle[-1]]),
        ),
    )


def _parse(argument: str) -> SocketSettings:
    if not argument:
        raise ValueError("no path")
    return SocketSettings(kind="socket", path=argument)


def _check(settings: SocketSettings) -> None:
    raise SourceError(f"{settings.path}: a socket has no end", hint="collect without --once")


source = SourcePlugin(
    kind="socket",
    settings=SocketSettings,
    parse=_parse,
    make=_make,
    usage="socket:PATH",
    check=_check,
)
