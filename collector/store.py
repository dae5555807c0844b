"""The store's house: its folder and modes, its name, its lock, and the last seq kept elsewhere."""

import errno
import fcntl
import json
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from audit_events.errors import StorageError
from audit_events.layout import FILE_MODE, STORE_MODE, StorePaths
from collector.lost_name import find_lost_name

# Crockford's base32, lower case: no i, l, o, u.
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
# delta-rs takes paths for URLs: it decodes %41, and a backslash becomes a slash.
_NOT_FOR_DELTA: Final = re.compile(r"\\|%[0-9A-Fa-f]{2}")
STORE_ID_LENGTH: Final = 5
# After a lost spool `seq` goes on at the next multiple of this, so that no id is given twice.
LEAP: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class Store:
    """An existing store: its paths and its id."""

    paths: StorePaths
    id: str


def new_store_id() -> str:
    """Five characters of Crockford base32: 33 million names."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(STORE_ID_LENGTH))


def read_store_id(paths: StorePaths) -> str | None:
    """The id in store.toml, or None where there is no store yet."""
    import tomllib

    try:
        text = paths.toml.read_text()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{paths.toml}: {error.strerror}") from error
    try:
        store = tomllib.loads(text)["store"]["id"]
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise StorageError(f"{paths.toml} is damaged", hint="restore it from a copy") from error
    return str(store)


def open_or_create(root: Path) -> Store:
    """The store at `root`, made with private modes if it is not there; modes are mended."""
    if _NOT_FOR_DELTA.search(str(root)):
        raise StorageError(f"{root}: a store's path may hold no backslash and no %XX")
    paths = StorePaths(root)
    try:
        for folder in (root, paths.tmp):
            folder.mkdir(mode=STORE_MODE, parents=True, exist_ok=True)
            folder.chmod(STORE_MODE)
        store_id = read_store_id(paths) or _write_store_id(paths)
        for path in (paths.notify, paths.lock):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE))
    except OSError as error:
        raise StorageError(f"{root}: {error.strerror}") from error
    return Store(paths, store_id)


def _write_store_id(paths: StorePaths) -> str:
    store_id = find_lost_name(paths) or new_store_id()
    text = f"# Made by sandtrail; the id is part of every event_id.\n[store]\nid = {store_id!r}\n"
    write_atomically(paths.toml, text.encode())
    return store_id


def write_atomically(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: temporary file, fsync, rename, fsync of the folder."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            sync_file(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_file(descriptor: int) -> None:
    """Down to the platter: macOS's fsync stops at the drive's cache, F_FULLFSYNC does not."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        fcntl.fcntl(descriptor, full)
    else:
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Make names in `folder` survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync_file(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def writer_lock(paths: StorePaths, version: str) -> Iterator[None]:
    """Hold the store for writing; StorageError naming the holder if somebody else does.

    The lock file is never unlinked: a second process could then lock a new file of the same name.
    The inode is compared after locking for the same reason.
    """
    descriptor = os.open(paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _held(paths, os.pread(descriptor, 4096, 0)) from None
        if os.fstat(descriptor).st_ino != paths.lock.stat().st_ino:
            raise StorageError(f"{paths.lock} was replaced while it was being locked")
        holder = {"pid": os.getpid(), "version": version, "since": int(time.time()),
                  "host": socket.gethostname()}  # fmt: skip
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _held(paths: StorePaths, raw: bytes) -> StorageError:
    try:
        holder = json.loads(raw)
        moment = datetime.fromtimestamp(holder["since"], UTC).astimezone()
        since = moment.isoformat(timespec="minutes")
        who = f"pid {holder['pid']} (sandtrail {holder['version']}, since {since})"
    except (ValueError, KeyError, TypeError):
        who = "another process"
    name = read_store_id(paths) or "?"
    return StorageError(
        f"store {name} is being written by {who}", hint="one collector a store: audit status"
    )


# delta-rs tells the system's error only in its text, which quotes paths too.
_OS_ERROR: Final = re.compile(r"\(os error (\d{1,3})\)")


# The second is what SQLite says when there is no room for the index of its -wal.
_NO_ROOM: Final = ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")


def reason_of(error: BaseException) -> str:
    """A foreign error without its text, which may hold paths or colour codes."""
    number = getattr(error, "errno", None)
    if number is None and (found := _OS_ERROR.search(str(error))):
        number = int(found[1])
    if getattr(error, "sqlite_errorname", None) in _NO_ROOM:
        number = errno.ENOSPC
    if isinstance(number, int):
        return os.strerror(number)
    return str(getattr(error, "sqlite_errorname", None) or type(error).__name__)


class Watermark:
    """The highest seq ever given, kept outside the store: it unmasks a rolled-back spool.db."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=STORE_MODE, parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)

    def read(self) -> int:
        """The highest seq known to have been given; 0 for a new store."""
        digits = os.pread(self._descriptor, 20, 0).strip(b"\0 \n")
        return int(digits) if digits.isdigit() else 0

    def write(self, seq: int) -> None:
        """Remember `seq`; without fsync, since SIGKILL does not lose the page cache."""
        os.pwrite(self._descriptor, b"%020d" % seq, 0)

    def close(self) -> None:
        """Make it durable."""
        os.fsync(self._descriptor)
        os.close(self._descriptor)
