"""The collector's own log when nobody else keeps one: bounded, rotated, private.

It holds what `collect` says on stderr: counts, names and reasons, never a record.
"""

import os
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

MAX_LOG_BYTES: Final = 4 << 20
# `collector.log.1` is the newest of the old ones.
OLD_LOGS: Final = 3
_MODE: Final = 0o600


class OwnLog:
    """A text stream for `Voice`; file descriptor 2 goes to the file too, so that even what Python
    itself says at a crash is in it. Raises OSError where the file cannot be opened."""

    encoding = "utf-8"

    def __init__(
        self,
        path: Path,
        *,
        most: int = MAX_LOG_BYTES,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        redirect: bool = True,
    ) -> None:
        self._path = path
        self._most = most
        self._now = now
        self._redirect = redirect
        self._file: TextIO | None = None
        self._lock = threading.Lock()
        self._moved = False
        self._open()

    def reopen(self) -> None:
        """Somebody may have moved the file: the next line opens it anew. For signal handlers."""
        self._moved = True

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, _MODE)
        old, self._file = self._file, open(descriptor, "a", encoding="utf-8", errors="replace")  # noqa: PTH123, SIM115
        if old is not None:
            old.close()
        if self._redirect:
            sys.stderr.flush()
            os.dup2(descriptor, 2)

    def write(self, text: str) -> int:
        """A line with its time; rotates before the file is too large."""
        with self._lock:
            assert self._file is not None  # noqa: S101
            if self._moved:
                self._moved = False
                self._open()
            elif os.fstat(self._file.fileno()).st_size >= self._most:
                self._rotate()
            written = self._file.write(f"{self._now():%Y-%m-%dT%H:%M:%SZ} {text}")
            self._file.flush()
            return written

    def flush(self) -> None:
        """Every line is on its way already."""

    def isatty(self) -> bool:
        """Nobody watches."""
        return False

    def _rotate(self) -> None:
        for number in range(OLD_LOGS, 0, -1):
            older = self._path if number == 1 else Path(f"{self._path}.{number - 1}")
            if older.exists():
                older.replace(f"{self._path}.{number}")
        self._open()
