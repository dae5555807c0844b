"""Files that cannot be read: one gap while there are any, one warning for each."""

import errno
import os
from collections.abc import Callable
from datetime import UTC, datetime

from collector.contracts import Emission, GapClosed, GapOpened, Warned


class Trouble:
    """Paths that cannot be read now; the gap closes when the last of them can, or is gone."""

    def __init__(self, source: str, emit: Callable[[Emission], None]) -> None:
        self._source, self._emit = source, emit
        self._paths: dict[str, int] = {}

    def add(self, path: str, reason: str, behind: int = 0) -> None:
        """The path cannot be read; `behind` bytes wait in it."""
        if path not in self._paths:
            self._emit(Warned(self._source, f"{path}: cannot be read: {reason}"))
            if not self._paths:
                text = f"a file cannot be read: {reason}"
                self._emit(GapOpened(self._source, datetime.now(UTC), text))
        self._paths[path] = behind

    def clear(self, path: str) -> None:
        """The path can be read again, or does not exist any more."""
        if self._paths.pop(path, None) is not None and not self._paths:
            self._emit(GapClosed(self._source, datetime.now(UTC)))

    def keep(self, exists: Callable[[str], bool]) -> None:
        """Forget paths that are gone."""
        for path in [path for path in self._paths if not exists(path)]:
            self.clear(path)

    @property
    def paths(self) -> frozenset[str]:
        """The paths in trouble."""
        return frozenset(self._paths)

    @property
    def behind_bytes(self) -> int:
        """Bytes that wait in files that cannot be read."""
        return sum(self._paths.values())


def why(error: OSError) -> str:
    """The system's own words for an error, never a path or content."""
    return os.strerror(error.errno or errno.EIO)
