"""HTTP by hand: what no client library would send."""

import json
import socket
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Heard:
    """What came back before the connection was closed."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error(self) -> dict[str, Any]:
        """The error of the body."""
        found: dict[str, Any] = json.loads(self.body)["error"]
        assert found["status"] == self.status
        return found


def connect(port: int) -> socket.socket:
    """A connection that gives up after 20 s."""
    sock = socket.create_connection(("127.0.0.1", port), timeout=20)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def read_all(sock: socket.socket) -> bytes:
    """Everything until the other end closes."""
    data = b""
    while True:
        try:
            piece = sock.recv(65536)
        except ConnectionResetError:
            return data
        if not piece:
            return data
        data += piece


def heard(data: bytes) -> Heard:
    """An answer taken apart."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return Heard(int(first.split()[1]), headers, body)


def say(port: int, data: bytes) -> Heard:
    """Send this, and hear the answer to its end."""
    with connect(port) as sock:
        sock.sendall(data)
        return heard(read_all(sock))


def request(port: int, line: str, token: str = "", **headers: str) -> Heard:
    """A request in our words; `Host` and `Connection` are right unless given."""
    given = {"Host": f"127.0.0.1:{port}", "Connection": "close"}
    given |= {"Authorization": f"Bearer {token}"} if token else {}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{line} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
    return say(port, "\r\n".join([*lines, "", ""]).encode())
