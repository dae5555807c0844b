"""A service that runs: its server over its sockets, and how it stops."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import uvicorn

from audit import wiring
from audit.call import Call
from audit.say import Voice, is_terminal
from audit.serving import links, sessions, sockets
from audit.serving.app import create_app
from audit.serving.guards import Log
from audit.serving.protocol import protocol_with
from audit.serving.service import Limits, Service, make_service
from audit.serving.sockets import Place
from audit.serving.tokens import Scope
from audit_events.errors import Exit, SettingsError, StorageError, UsageError
from collector.sources import socket_path

# DuckDB's own buffers for two threads.
MIN_QUERY_MB: Final = 64
# What interrupted queries have to end in.
ENDING_S: Final = 5.0
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Server(uvicorn.Server):
    """Ends streams first, then lets what is in flight finish."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """No new connection; streams end; answers have `stop_s` to finish."""
        self._service.stopping.set()
        await super().shutdown(sockets)
        self._service.workers.close()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are `run`'s: uvicorn would raise them once more, and the exit code be theirs."""
        yield


def server_of(
    service: Service, log: Log | None = None, context: ssl.SSLContext | None = None
) -> Server:
    """The server of a service, ready to run on sockets of its caller's."""
    _quiet()
    limits = service.limits
    config = uvicorn.Config(
        create_app(service, log), http=protocol_with(service), ws="none", lifespan="off",
        loop="asyncio", log_config=None, access_log=False, server_header=False,
        proxy_headers=False, timeout_keep_alive=int(limits.idle_s), backlog=sockets.BACKLOG,
        timeout_graceful_shutdown=int(limits.stop_s),
        h11_max_incomplete_event_size=limits.head_bytes,
        ssl_context_factory=None if context is None else lambda *_: context,
    )  # fmt: skip
    return Server(config, service)


def _quiet() -> None:
    """uvicorn's own log quotes tracebacks and what clients said: nobody hears it."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `audit serve` was asked for."""

    place: Place
    limits: Limits
    log_requests: bool = False
    log: Path | None = None


def serve(call: Call, wanted: Wanted) -> Exit:
    """Serve until SIGTERM or Ctrl-C; errors of the place and the store before anybody is served."""
    place = wanted.place
    sockets.check(place)
    check_limits(wanted.limits)
    store = wiring.find_store(call)
    context = sockets.tls_context(place.cert, place.key) if place.cert and place.key else None
    log = _own_log(wanted.log)
    voice = Voice(call.prog, call.environ, log)
    renew = _Renewal(place, context, voice, log)
    with contextlib.ExitStack() as held:
        port_socket = _port_socket(held, place)
        port = port_socket.getsockname()[1] if port_socket else 0
        service = make_service(
            call, store, wanted.limits, hosts=place.hosts(port), secure=place.secure,
            log_requests=wanted.log_requests,
        )  # fmt: skip
        runs = []
        if port_socket is not None:
            held.callback(_withdraw, service, place.url(port))
            links.announce(store, place.url(port), call.now())
            runs.append((server_of(service, voice.line, context), port_socket))
        if place.unix is not None:
            unix = sockets.listen_unix(place.unix)
            held.callback(socket_path.close, unix, place.unix)
            runs.append((server_of(service, voice.line), unix))
        asyncio.run(_run(runs, renew, lambda: _greet(service, voice, place, port)))
    voice.line("stopped")
    if not service.workers.ended(ENDING_S):
        # A thread that computes in Python cannot be ended, only its process: all else is closed.
        os._exit(Exit.DONE)
    return Exit.DONE


def _port_socket(held: contextlib.ExitStack, place: Place) -> socket.socket | None:
    if place.port is None:
        return None
    return held.enter_context(sockets.listen(place.host, place.port))


def check_limits(limits: Limits) -> None:
    """UsageError for limits under which nothing can be answered."""
    if limits.query_s < 1:
        raise UsageError("--query-time: at least 1 s")
    if int(limits.query_memory.removesuffix("MB")) < MIN_QUERY_MB:
        raise UsageError(f"--query-memory: at least {MIN_QUERY_MB} MB")


def _withdraw(service: Service, url: str) -> None:
    """The list of services is a convenience: a disk that is full by now changes no exit code."""
    with contextlib.suppress(StorageError):
        links.withdraw(service.store, url)


@dataclass(frozen=True, slots=True)
class _Renewal:
    """SIGHUP opens the log anew, and reads certificate and key again for those who come then."""

    place: Place
    context: ssl.SSLContext | None
    voice: Voice
    log: Any

    def __bool__(self) -> bool:
        """Whether there is anything to renew: else a terminal that closes ends the service."""
        return self.context is not None or self.log is not None

    def __call__(self) -> None:
        if self.log is not None:
            self.log.reopen()
        if self.context is None or self.place.cert is None or self.place.key is None:
            return
        try:
            sockets.load_pair(self.context, self.place.cert, self.place.key)
        except (SettingsError, StorageError) as error:
            self.voice.failure(error)
        else:
            self.voice.line("certificate and key were read again")


async def _run(
    runs: Sequence[tuple[Server, socket.socket]], renew: _Renewal, greet: Callable[[], None]
) -> None:
    """Serve until a signal; nobody is greeted before signals are heard and sockets are open."""
    loop = asyncio.get_running_loop()

    def stop(number: int) -> None:
        for server, _ in runs:
            server.handle_exit(number, None)

    for number in _SIGNALS:
        loop.add_signal_handler(number, stop, number)
    if renew:
        loop.add_signal_handler(signal.SIGHUP, renew)
    greet()
    await asyncio.gather(*(server.serve(sockets=[sock]) for server, sock in runs))


def _greet(service: Service, voice: Voice, place: Place, port: int) -> None:
    """Where it is; the link in only to a person who looks, never into a log."""
    prog = service.call.prog
    where = [place.url(port)] if place.port is not None else []
    where += [f"unix:{place.unix}"] if place.unix is not None else []
    voice.line(f"serving {service.store.root} at {' and '.join(where)}")
    if place.port is None or not is_terminal(voice.stream):
        return
    link = links.new_link(service.store, place.url(port), Scope(), service.now())
    voice.line(f"open within {sessions.CODE_S} s: {link}")
    voice.line(f"another link: {prog} serve link · for programs: {prog} serve token create")


def _own_log(path: Path | None) -> Any:
    if path is None:
        return None
    from audit.own_log import OwnLog

    try:
        return OwnLog(path.expanduser())
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from error
