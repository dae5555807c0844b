"""A file that is there whole or not at all, readable by its owner only, with its digest."""

import contextlib
import hashlib
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from audit_events.errors import StorageError
from audit_events.layout import FILE_MODE

_HIDDEN: Final = ".{name}.{token}.part"


class AtomicFile:
    """Write, then leave the `with` block in order: only then does the name show the file.

    Anything else takes the temporary file away and leaves what the name showed before.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(_HIDDEN.format(name=path.name, token=secrets.token_hex(4)))
        self._digest = hashlib.sha256()
        self._fd = -1
        self.bytes = 0

    def __enter__(self) -> Self:
        try:
            self._fd = os.open(self._part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
        except OSError as error:
            raise StorageError(f"cannot write {self.path}: {error.strerror}") from error
        return self

    def write(self, data: bytes) -> None:
        """All of it; StorageError when the disk does not take it."""
        view = memoryview(data)
        self._digest.update(data)
        self.bytes += len(data)
        try:
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            raise StorageError(f"cannot write {self.path}: {error.strerror}") from error

    @property
    def sha256(self) -> str:
        """Of everything written so far, 64 hex digits."""
        return self._digest.hexdigest()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                os.fsync(self._fd)
            os.close(self._fd)
            if kind is None:
                self._part.replace(self.path)
                _sync_folder(self.path.parent)
        except OSError as failed:
            raise StorageError(f"cannot write {self.path}: {failed.strerror}") from failed
        finally:
            with contextlib.suppress(OSError):
                self._part.unlink()


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
