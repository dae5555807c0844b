"""A writer for the socket source that loses and repeats nothing.

    socket_writer.py SOCKET NAME FILE

The protocol is docs/guides/socket.md. A line is kept until the collector says `ok`, so whoever dies
first, the collector or the connection, the line is sent again and stored once.
"""

import argparse
import itertools
import socket
import time
from collections import deque
from pathlib import Path

# Lines that wait for their `ok`; `write` waits when there are more.
MAX_KEPT_LINES = 10_000
TIMEOUT_S = 10.0
RETRY_FIRST_S = 0.05
RETRY_MOST_S = 2.0


class SocketWriter:
    """Sends lines under one name. The numbers of lines go on where the collector stands, unless
    `first` says that the caller numbers them itself (the lines of a file), from that number."""

    def __init__(self, path: str | Path, name: str, *, first: int | None = None) -> None:
        self._path, self._name = str(path), name
        self._number = first
        self._kept: deque[tuple[int, bytes]] = deque()
        self._unsent: deque[bytes] = deque()
        self._socket: socket.socket | None = None
        self._heard = b""
        # Lines up to this number were sent by an earlier life of ours.
        self._ahead = 0

    def write(self, line: bytes) -> None:
        """Send one line (its newline is added); waits while too many are not stored yet."""
        if self._number is None:
            self._connect()
        number, line = self._number or 1, line.rstrip(b"\n") + b"\n"
        if number > self._ahead:
            self._kept.append((number, line))
            self._unsent.append(line)
        self._number = number + 1
        self._pump(wait=len(self._kept) >= MAX_KEPT_LINES)

    def flush(self) -> None:
        """Returns when everything is stored."""
        while self._kept:
            self._pump(wait=True)

    def close(self) -> None:
        """Leave; what is not stored yet is lost with this object."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _pump(self, *, wait: bool) -> None:
        try:
            connection = self._socket or self._connect()
            while self._unsent:
                piece = [self._unsent.popleft() for _ in range(min(256, len(self._unsent)))]
                connection.sendall(b"".join(piece))
            self._listen(connection, TIMEOUT_S if wait else 0.0)
        except OSError:
            self.close()

    def _listen(self, connection: socket.socket, timeout: float) -> None:
        """Take what the collector says: `ok N` lets go of lines up to N."""
        connection.settimeout(timeout)
        try:
            data = connection.recv(4096)
        except BlockingIOError:
            return
        finally:
            connection.settimeout(TIMEOUT_S)
        if not data:
            raise ConnectionError("the collector closed the connection")
        *lines, self._heard = (self._heard + data).split(b"\n")
        for words in (line.split() for line in lines):
            if words[:1] == [b"ok"]:
                while self._kept and self._kept[0][0] <= int(words[1]):
                    self._kept.popleft()
            elif words[:1] == [b"error"]:
                raise SystemExit(f"refused: {b' '.join(words[1:]).decode(errors='replace')}")

    def _connect(self) -> socket.socket:
        delay = RETRY_FIRST_S
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            connection.settimeout(TIMEOUT_S)
            try:
                connection.connect(self._path)
                self._greet(connection)
            except OSError:
                connection.close()
                time.sleep(delay)
                delay = min(delay * 2, RETRY_MOST_S)
                continue
            self._socket = connection
            return connection

    def _greet(self, connection: socket.socket) -> None:
        """Agree on the next line: ours may all be there already, or begin later than asked for."""
        connection.sendall(f"ack 1 {self._name}\n".encode())
        self._heard = b""
        while b"\n" not in self._heard:
            data = connection.recv(4096)
            if not data:
                raise ConnectionError("the collector closed the connection")
            self._heard += data
        line, _, self._heard = self._heard.partition(b"\n")
        word, _, number = line.partition(b" ")
        if word != b"next":
            raise SystemExit(f"refused: {number.decode(errors='replace')}")
        wanted = int(number)
        if self._number is None:
            self._number = wanted
        oldest = self._kept[0][0] if self._kept else self._number
        if wanted < oldest:
            connection.sendall(f"from {oldest}\n".encode())
        self._unsent = deque(line for number, line in self._kept if number >= wanted)
        self._ahead = max(wanted - 1, self._ahead) if not self._kept else self._ahead


def main() -> None:
    """Send the lines of a file, each once, however often this is called."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("socket")
    parser.add_argument("name")
    parser.add_argument("file", type=Path)
    words = parser.parse_args()
    writer = SocketWriter(words.socket, words.name, first=1)
    with words.file.open("rb") as lines:
        for line in itertools.takewhile(lambda text: text.endswith(b"\n"), lines):
            writer.write(line)
    writer.flush()


if __name__ == "__main__":
    main()
