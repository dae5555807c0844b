"""Engines that are kept between the questions of a service: opening one costs 17 ms of a core.

A kept engine may read the folder of the archive; one that is opened for a question only the files
of its snapshot. Both get nothing but our own SQL with bound values.
"""

from pathlib import Path
from threading import Lock
from typing import Any


class Engines:
    """Idle engines by the folder that they may read; at most `most` are kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._idle: list[tuple[Path, Any]] = []
        self._lock = Lock()
        self._closed = False

    def take(self, folder: Path) -> Any | None:
        """The one that was given back last; None if there is none."""
        with self._lock:
            for place in range(len(self._idle) - 1, -1, -1):
                if self._idle[place][0] == folder:
                    return self._idle.pop(place)[1]
        return None

    def give(self, folder: Path, engine: Any) -> None:
        """Keep an engine that is as good as new, or close it if there are enough."""
        with self._lock:
            if not self._closed and len(self._idle) < self._most:
                self._idle.append((folder, engine))
                return
        engine.close()

    def close(self) -> None:
        """Close them all; what is given back later is closed too."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for _, engine in idle:
            engine.close()
