"""Which files the patterns name now, each file once however many names it has."""

# ruff: noqa: PTH116, PTH118, PTH120, PTH207
# Names stay strings here: thousands of them are looked at twice a second.

import errno
import glob
import os
import stat
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from collector.sources.file_readers import is_packed

MAX_SIBLINGS: Final = 256  # rotated names tried for one stream that is missing

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A regular file as stat saw it."""

    path: str
    dev: int
    ino: int
    size: int
    mtime_ns: int

    @property
    def key(self) -> Key:
        """Device and inode: one file as long as it stays where it is."""
        return self.dev, self.ino

    @property
    def packed(self) -> bool:
        """True if the name says gzip."""
        return is_packed(self.path)


@dataclass(slots=True)
class Found:
    """One look at the patterns."""

    files: dict[Key, Candidate] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)
    directories: set[str] = field(default_factory=set)


def scan(patterns: Sequence[str], known_paths: dict[Key, str]) -> Found:
    """All files of the patterns; of several names of one file the one we know it by."""
    found = Found()
    for pattern in patterns:
        found.directories.add(_static_part(pattern))
        hit = False
        for path in expand(pattern):
            hit = True
            found.directories.add(os.path.dirname(path) or ".")
            _look(path, found, known_paths)
        if not hit:
            found.unmatched.append(pattern)
    return found


def look(path: str) -> Candidate | None:
    """The regular file at `path`; OSError if there is none."""
    info = os.stat(path)
    if not stat.S_ISREG(info.st_mode):
        return None
    return Candidate(path, info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns)


def _look(path: str, found: Found, known_paths: dict[Key, str]) -> None:
    try:
        candidate = look(path)
    except OSError as error:
        if error.errno not in (errno.ENOENT, errno.ENOTDIR):
            found.unreadable[path] = os.strerror(error.errno or 0)
        return
    if candidate is None:
        found.skipped.append(path)
    elif candidate.key not in found.files or known_paths.get(candidate.key) == path:
        found.files[candidate.key] = candidate


def expand(pattern: str) -> Iterable[str]:
    """A name that exists is itself, even if it holds a glob's characters."""
    if not glob.has_magic(pattern) or os.path.lexists(pattern):
        return [pattern] if os.path.lexists(pattern) or _hidden(pattern) else []
    return glob.iglob(pattern, recursive=True)


def _hidden(path: str) -> bool:
    """True if we may not even ask whether the file is there."""
    try:
        os.lstat(path)
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _static_part(pattern: str) -> str:
    directory = os.path.dirname(pattern)
    while directory and glob.has_magic(directory):
        directory = os.path.dirname(directory)
    return directory or "."


class Beside:
    """Files near a missing one that may be it under a rotated name; one listing a directory."""

    def __init__(self) -> None:
        self._listed: dict[str, tuple[list[str], dict[int, str]]] = {}

    def of(self, path: str, ino: int) -> Iterator[Candidate]:
        """The file with the same inode, then those whose name starts with this one's."""
        directory, name = os.path.split(path)
        names, by_inode = self._list(directory or ".")
        stem = name.removesuffix(".gz")
        first = bisect_left(names, stem)
        near = [by_inode[ino]] if ino in by_inode else []
        for other in names[first : first + MAX_SIBLINGS]:
            if not other.startswith(stem):
                break
            near.append(other)
        for other in near:
            try:
                candidate = look(os.path.join(directory, other))
            except OSError:
                continue
            if candidate is not None:
                yield candidate

    def _list(self, directory: str) -> tuple[list[str], dict[int, str]]:
        if directory not in self._listed:
            try:
                with os.scandir(directory) as entries:
                    by_inode = {entry.inode(): entry.name for entry in entries}
            except OSError:
                by_inode = {}
            self._listed[directory] = sorted(by_inode.values()), by_inode
        return self._listed[directory]
