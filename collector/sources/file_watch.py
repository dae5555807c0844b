"""Wakes the file source when something changes in a directory; the poll is the backstop."""

# ruff: noqa: PTH116
# Names stay strings here: thousands of them are looked at twice a second.

import errno
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event, Lock
from typing import Final

from watchdog.events import (
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

MAX_WATCHED_DIRS: Final = 64  # each costs a thread
MAX_DIRTY_PATHS: Final = 1024  # beyond it, a whole look is cheaper
# Opening and closing for reading is what we do ourselves: it must not wake us.
_EVENTS: Final[list[type[FileSystemEvent]]] = [
    FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent,
]  # fmt: skip
_LIMIT_ERRORS: Final = {errno.ENOSPC, errno.EMFILE, errno.ENFILE}


class _Handler(FileSystemEventHandler):
    def __init__(self, note: Callable[[str | None], None]) -> None:
        self._note = note

    def on_any_event(self, event: FileSystemEvent) -> None:
        modified = isinstance(event, FileModifiedEvent)
        self._note(os.fsdecode(event.src_path) if modified else None)


class Watcher:
    """Directories under watch; `wait` returns the changed paths, or None for "look at all"."""

    def __init__(self, *, enabled: bool = True) -> None:
        self._observer: BaseObserver | None = None
        self._enabled = enabled
        self._watched: dict[str, tuple[ObservedWatch, int]] = {}
        self._wake, self._lock = Event(), Lock()
        self._dirty: set[str] = set()
        self._all = False

    def watch(self, directories: Iterable[str]) -> str | None:
        """Watch more directories; a sentence the first time the system's limit stops that."""
        for directory in directories:
            try:
                inode = os.stat(directory).st_ino
                if self._follows(directory, inode):
                    continue
                if not self._enabled or len(self._watched) >= MAX_WATCHED_DIRS:
                    return None
                self._watched[directory] = self._schedule(directory), inode
            except OSError as error:
                if error.errno not in _LIMIT_ERRORS:
                    continue
                self._enabled = False
                return "the system's limit of file watches is reached; polling instead"
        return None

    def _follows(self, directory: str, inode: int) -> bool:
        """True if it is watched; the watch of a directory that was replaced is given up."""
        watch, watched_inode = self._watched.get(directory, (None, 0))
        if watch is None or watched_inode == inode:
            return watch is not None
        del self._watched[directory]
        if self._observer is not None:
            with suppress(OSError, KeyError):
                self._observer.unschedule(watch)
        return False

    def _schedule(self, directory: str) -> ObservedWatch:
        if self._observer is None:
            observer = Observer()
            observer.daemon = True
            observer.start()
            self._observer = observer
        return self._observer.schedule(_Handler(self.note), directory, event_filter=_EVENTS)

    def note(self, path: str | None) -> None:
        """Called from the observer's threads (and by whoever wants the source to look)."""
        with self._lock:
            if path is None or len(self._dirty) >= MAX_DIRTY_PATHS:
                self._all = True
            else:
                self._dirty.add(path)
        self._wake.set()

    def wait(self, seconds: float) -> set[str] | None:
        """Paths that changed within the time, None if names changed too."""
        self._wake.wait(seconds)
        with self._lock:
            self._wake.clear()
            dirty, every = self._dirty, self._all
            self._dirty, self._all = set(), False
        return None if every else dirty

    def poke(self) -> None:
        """End a `wait` without naming a change."""
        self._wake.set()

    def close(self) -> None:
        """Stop the observer and wait for its threads."""
        if self._observer is not None:
            self._observer.stop()
            self._observer.join(timeout=5)
            self._observer = None
