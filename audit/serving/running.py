"""A service that runs: its sockets, its server, and how it stops."""

import logging
import socket
from typing import Final

import uvicorn

from audit.serving.app import create_app
from audit.serving.guards import Log
from audit.serving.protocol import protocol_with
from audit.serving.service import Service

BACKLOG: Final = 128
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")


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


def server_of(service: Service, log: Log | None = None, **more: str) -> Server:
    """The server of a service, ready to run on sockets of its caller's."""
    _quiet()
    limits = service.limits
    config = uvicorn.Config(
        create_app(service, log), http=protocol_with(service), ws="none", lifespan="off",
        loop="asyncio", log_config=None, access_log=False, server_header=False,
        proxy_headers=False, timeout_keep_alive=int(limits.idle_s), backlog=BACKLOG,
        timeout_graceful_shutdown=int(limits.stop_s),
        h11_max_incomplete_event_size=limits.head_bytes,
        **more,  # type: ignore[arg-type]
    )  # fmt: skip
    return Server(config, service)


def _quiet() -> None:
    """uvicorn's own log quotes tracebacks and what clients said: nobody hears it."""
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers = [logging.NullHandler()]
        logger.propagate = False


def hosts_of(port: int, named: tuple[str, ...] = (), *, secure: bool = False) -> frozenset[str]:
    """The Host headers of this machine's loopback and of `named`, with the port."""
    names = [name.lower() for name in (*_LOOPBACK, *named)]
    bare = names if port == (443 if secure else 80) else []
    return frozenset((*(f"{name}:{port}" for name in names), *bare))


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((host, port))
    return sock
