"""How the flow's thread tells the socket's thread what is committed."""

import contextlib
import os
from collections import deque
from threading import Lock


class Wakeup:
    """What other threads have to say to the server's; they may come after it has ended."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._said: deque[tuple[str, int, int]] = deque()
        self._reader, self._writer = os.pipe()
        for end in (self._reader, self._writer):
            os.set_blocking(end, False)
        self._open = True

    def fileno(self) -> int:
        """For a selector."""
        return self._reader

    def say(self, stream: str, resume: int, read_to: int) -> None:
        """From any thread."""
        with self._lock, contextlib.suppress(BlockingIOError):
            if self._open:
                self._said.append((stream, resume, read_to))
                os.write(self._writer, b".")

    def take(self) -> list[tuple[str, int, int]]:
        """Everything said since."""
        with self._lock:
            with contextlib.suppress(BlockingIOError):
                os.read(self._reader, 65_536)
            said = list(self._said)
            self._said.clear()
            return said

    def close(self) -> None:
        """Hear no more."""
        with self._lock:
            self._open = False
            os.close(self._reader)
            os.close(self._writer)
