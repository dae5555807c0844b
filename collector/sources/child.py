"""A program that a source listens to: whose it must be, its bytes, its end, and no orphan."""

import contextlib
import os
import selectors
import stat
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit_events.errors import SourceError

READ_BYTES: Final = 64 * 1024
# Of what a program says is wrong only its beginning is looked at, and nothing is kept for long.
MAX_COMPLAINT_BYTES: Final = 4 * 1024
# The guard gives the program two seconds to end by itself.
STOP_S: Final = 4.0
BACK_OFF_FIRST_S: Final = 0.5
BACK_OFF_MOST_S: Final = 60.0
_GUARD: Final = Path(__file__).with_name("child_guard.py")
# A program under audit could set PATH or DYLD_… for us; `log` and `journalctl` need none of it.
_ENVIRONMENT: Final = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C"}


def trusted_command(path: str, *, any_owner: bool = False) -> str:
    """The program's path, if nobody but root can have put something else there.

    Raises SourceError: not absolute, not there, not root's, or writable by others; the folders
    above it count too. `any_owner` leaves the owners unchecked.
    """
    if not Path(path).is_absolute():
        raise SourceError(f"{path}: the command must be an absolute path", hint=f"/usr/bin/{path}")
    try:
        real = Path(path).resolve(strict=True)
        if not real.is_file() or not os.access(real, os.X_OK):
            raise SourceError(f"{path}: not a program")
        for place in () if any_owner else (real, *real.parents):
            _only_root_writes(place, path)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}", hint="set the command's path") from error
    return str(real)


def _only_root_writes(place: Path, path: str) -> None:
    found = place.stat()
    if found.st_uid != 0:
        raise SourceError(f"{path}: {place} does not belong to root")
    # In a sticky folder nobody can replace what is root's.
    open_to_all = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if open_to_all and not (place.is_dir() and found.st_mode & stat.S_ISVTX):
        raise SourceError(f"{path}: others than root can write {place}")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its code (128 + signal), and the first of what it complained of.

    `complaint` is foreign text: match known words in it, never keep or show it.
    """

    code: int
    complaint: bytes


class Child:
    """A running program. Use from one thread: on Linux it ends with that thread too."""

    def __init__(self, argv: Sequence[str]) -> None:
        """Start it; `argv[0]` is absolute. Raises SourceError."""
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_GUARD), *argv],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=_ENVIRONMENT, start_new_session=True, cwd="/", bufsize=0,
            )  # fmt: skip
        except OSError as error:
            raise SourceError(f"{argv[0]}: {error.strerror}") from error
        self._complaint = bytearray()
        self._complained = 0
        self._selector = selectors.DefaultSelector()
        for stream in (self._out, self._errors):
            os.set_blocking(stream, False)
            self._selector.register(stream, selectors.EVENT_READ)
        self._listening = True

    @property
    def _out(self) -> int:
        assert self._process.stdout is not None  # noqa: S101 - asked for above
        return self._process.stdout.fileno()

    @property
    def _errors(self) -> int:
        assert self._process.stderr is not None  # noqa: S101 - asked for above
        return self._process.stderr.fileno()

    @property
    def complaint(self) -> bytes:
        """The first of what it wrote to standard error; see `Ended`."""
        return bytes(self._complaint)

    def read(self, timeout_s: float) -> bytes | None:
        """What it wrote: b"" if nothing came in time, None if nothing will ever come."""
        ready = {key.fd for key, _ in self._selector.select(timeout_s)} if self._listening else {-1}
        if self._errors in ready:
            self._hear()
        if self._out not in ready:
            return b"" if self._listening else None
        data = os.read(self._out, READ_BYTES)
        if data:
            return data
        self._listening = False
        return None

    def _hear(self) -> None:
        data = os.read(self._errors, READ_BYTES)
        if not data:
            self._selector.unregister(self._errors)
        self._complaint += data[: MAX_COMPLAINT_BYTES - len(self._complaint)]

    def ended(self) -> Ended:
        """After the end of its output: wait for the program; one that goes on is ended."""
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.stop()
        with contextlib.suppress(BlockingIOError, ValueError, KeyError):
            self._hear()
        return Ended(self._process.returncode, self.complaint)

    def stop(self) -> None:
        """End it, if need be the hard way; nothing of it is left afterwards."""
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        self._process.stdin.close()
        try:
            # What it still has to say could hold it up: let go of the pipes first.
            self._let_go()
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _let_go(self) -> None:
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None  # noqa: S101 - asked for above
            stream.close()

    def close(self) -> None:
        """`stop`, and give back what is open; may be called twice."""
        self._listening = False
        self.stop()
        self._selector.close()


@dataclass(slots=True)
class BackOff:
    """How long to wait before a program is tried again: twice as long after each failure."""

    first_s: float = BACK_OFF_FIRST_S
    most_s: float = BACK_OFF_MOST_S
    _next_s: float = 0.0

    def next(self) -> float:
        """Seconds to wait now."""
        now = self._next_s or self.first_s
        self._next_s = min(now * 2, self.most_s)
        return now

    def reset(self) -> None:
        """It worked for a while."""
        self._next_s = 0.0
