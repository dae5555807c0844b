"""Where a service listens: a port of this machine, a port with TLS, a unix socket."""

import ipaddress
import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit_events.errors import SettingsError, StorageError, UsageError
from collector.sources import socket_path

BACKLOG: Final = 128
MAX_PORT: Final = 65_535
_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_CIPHERS: Final = "ECDHE+AESGCM:ECDHE+CHACHA20"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where to listen, as asked for; `port` None with a unix socket alone."""

    host: str = "127.0.0.1"
    port: int | None = None
    unix: Path | None = None
    cert: Path | None = None
    key: Path | None = None
    names: tuple[str, ...] = ()

    @property
    def secure(self) -> bool:
        """Whether the port speaks TLS."""
        return self.cert is not None

    def hosts(self, port: int) -> frozenset[str]:
        """The Host headers that mean us: loopback's names, the bound host, those allowed."""
        named = [self.host, os.uname().nodename, *self.names]
        bare = port == (443 if self.secure else 80)
        shown = {bracketed(name.lower()) for name in (*_LOOPBACK, *named)}
        return frozenset({f"{n}:{port}" for n in shown} | (shown if bare else set()))

    def url(self, port: int) -> str:
        """What a person opens."""
        scheme = "https" if self.secure else "http"
        everywhere = self.host in ("0.0.0.0", "::")  # noqa: S104
        host = (*self.names, os.uname().nodename)[0] if everywhere else self.host
        return f"{scheme}://{bracketed(host)}:{port}"


def bracketed(host: str) -> str:
    """A host as URLs and Host headers write it."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def check(place: Place) -> None:
    """UsageError for a place that is none, or would show the trail to a network in the clear."""
    if place.port is not None and not 0 <= place.port <= MAX_PORT:
        raise UsageError(f"--port {place.port}: 0 to {MAX_PORT}")
    if (place.cert is None) != (place.key is None):
        raise UsageError("--tls-cert and --tls-key belong together")
    if place.port is not None and not place.secure and not is_loopback(place.host):
        raise UsageError(
            f"--host {place.host}: others could read along; only loopback is served without TLS",
            hint="--tls-cert FILE --tls-key FILE, or a proxy with TLS in front of --unix",
        )
    for name in place.names:
        if not name or "/" in name or "*" in name:
            raise UsageError(f"--allow-host {name!r}: a name as it stands in the Host header")


def is_loopback(host: str) -> bool:
    """Whether every address of a host is this machine's own loopback."""
    return all(ipaddress.ip_address(found[4][0]).is_loopback for found in _addresses(host, 0))


def _addresses(host: str, port: int) -> list[tuple[int, int, int, str, tuple[str, int]]]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise UsageError(f"--host {host}: no such host") from None
    return found  # type: ignore[return-value]


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one. UsageError where it cannot be had."""
    family, kind, protocol, _, address = _addresses(host, port)[0]
    sock = socket.socket(family, kind, protocol)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # `::` would also take what comes by IPv4, under addresses that nobody named.
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.bind(address)
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise UsageError(
            f"{bracketed(host)}:{port}: {error.strerror}", hint="--port 0 takes a free one"
        ) from None
    return sock


def listen_unix(path: Path) -> socket.socket:
    """A socket file for this account alone, 0600; a stale one is taken over."""
    # The mode is right from the first moment, not only after a chmod.
    before = os.umask(0o177 if path.parent.is_dir() else 0o077)
    try:
        return socket_path.listen(path, shared=False)
    finally:
        os.umask(before)


def tls_context(cert: Path, key: Path) -> ssl.SSLContext:
    """A TLS 1.2+ context; SettingsError for files that make none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(_CIPHERS)
    load_pair(context, cert, key)
    return context


def load_pair(context: ssl.SSLContext, cert: Path, key: Path) -> None:
    """Take certificate and key from their files, now and again; errors as `tls_context`."""
    for path in (cert, key):
        if not path.is_file():
            raise SettingsError(f"{path}: no such file")
    try:
        # Without a word for it OpenSSL would ask the terminal, and a service would hang.
        context.load_cert_chain(cert, key, password=lambda: "")
    except ssl.SSLError as error:
        raise SettingsError(
            f"{cert} and {key} are no certificate and key that fit ({error.reason or 'PEM'})",
            hint="PEM files; a key under a password cannot be used",
        ) from None
    except OSError as error:
        raise StorageError(f"{error.filename or cert}: {error.strerror}") from None
