"""Bytes of a file at an offset, plain or unpacked from gzip, in bounded memory."""

import gzip
import os
import stat
import time
import zlib
from enum import StrEnum
from typing import Final, Protocol

UNPACK_BYTES: Final = 256 * 1024
# A hostile archive of 16 MiB can unpack to 16 GiB; nothing that rotates a log makes more.
MAX_UNPACKED_BYTES: Final = 16 << 30
SETTLE_S: Final = 1.0  # an archive that grew within this time is still being written
KEEP_BEHIND_BYTES: Final = 1024  # a print needs the bytes just before a position


class Damage(StrEnum):
    """Why an archive could not be read to its end."""

    CUT_OFF = "it ends before its last member is whole"
    BROKEN = "its compressed data is broken"
    TOO_LARGE = "it unpacks to more than the limit"


class NotRegularError(OSError):
    """The path names a directory, a FIFO, a socket or a device."""


class Reader(Protocol):
    """One open file."""

    damage: Damage | None

    def read_at(self, offset: int, size: int) -> bytes:
        """At most `size` bytes from `offset`; fewer only at the end."""
        ...

    def stat(self) -> os.stat_result:
        """The open file's own state, whatever its name is now."""
        ...

    def close(self) -> None:
        """Give the descriptor back."""
        ...


class Plain:
    """A file as it is."""

    damage: Damage | None = None

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def read_at(self, offset: int, size: int) -> bytes:
        data = os.pread(self._fd, size, offset)
        if len(data) == size or not data:
            return data
        more = os.pread(self._fd, size - len(data), offset + len(data))
        return data + more if more else data

    def stat(self) -> os.stat_result:
        return os.fstat(self._fd)

    def close(self) -> None:
        os.close(self._fd)


class Packed:
    """The unpacked bytes of a gzip file; reading backwards starts the file again."""

    def __init__(self, fd: int) -> None:
        self._file = os.fdopen(fd, "rb", buffering=0)
        self.damage: Damage | None = None
        self._restart()

    def _restart(self) -> None:
        self._file.seek(0)
        self._gzip = gzip.GzipFile(fileobj=self._file, mode="rb")
        self._window, self._base, self._ended, self.damage = b"", 0, False, None

    def read_at(self, offset: int, size: int) -> bytes:
        if offset < self._base:
            self._restart()
        while not self._ended and self._base + len(self._window) < offset + size:
            self._unpack(offset)
        start = offset - self._base
        return self._window[start : start + size]

    def _unpack(self, offset: int) -> None:
        more = self._next()
        end = self._base + len(self._window) + len(more)
        keep = max(self._base, min(offset, end) - KEEP_BEHIND_BYTES)
        self._window = (self._window + more)[keep - self._base :]
        self._base = keep
        if end >= MAX_UNPACKED_BYTES:
            self.damage, self._ended = Damage.TOO_LARGE, True

    def _next(self) -> bytes:
        try:
            more = self._gzip.read1(UNPACK_BYTES)
        except EOFError:
            more, self.damage = b"", Damage.CUT_OFF
        except (gzip.BadGzipFile, zlib.error):
            more, self.damage = b"", Damage.BROKEN
        self._ended = not more
        if not more and self._file.tell() == 0:
            self.damage = Damage.CUT_OFF  # not even a header: gzip takes that for a whole archive
        return more

    def stat(self) -> os.stat_result:
        return os.fstat(self._file.fileno())

    def close(self) -> None:
        self._gzip.close()
        self._file.close()


def still_written(reader: Reader) -> bool:
    """True if what was read is not a whole archive, and the file changed a moment ago."""
    info = reader.stat()
    changed = time.time() - max(info.st_mtime, info.st_ctime)
    return changed < SETTLE_S and reader.damage is Damage.CUT_OFF


def is_packed(path: str) -> bool:
    """True if the name says gzip."""
    return path.endswith(".gz")


def open_reader(path: str, key: tuple[int, int]) -> Reader:
    """The file at `path`, if it is still the one of this device and inode.

    OSError if it cannot be opened, NotRegularError if it is no regular file, FileNotFoundError if
    the name was given to another file since it was looked at.
    """
    # A FIFO swapped in after the look at it must not block us.
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        os.close(fd)
        raise NotRegularError
    if (info.st_dev, info.st_ino) != key:
        os.close(fd)
        raise FileNotFoundError
    return Packed(fd) if is_packed(path) else Plain(fd)
