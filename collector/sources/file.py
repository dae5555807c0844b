"""The file source: follows files through growth, rotation, truncation and compression."""

# ruff: noqa: PTH100, PTH111
# Names stay strings here: thousands of them are looked at twice a second.

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

from audit_events.errors import SourceError
from collector.contracts import Emission, SourcePlugin, SourceSettings, StreamPosition

if TYPE_CHECKING:  # what reads and watches files is imported when files are read
    from collector.sources.file_round import FileOptions, Round
    from collector.sources.file_watch import Watcher

# Bytes of a file's start that tell its format.
SAMPLE_BYTES: Final = 64 * 1024
MAX_WAIT_S: Final = 0.1  # how late a stop may be noticed
# A look at 5,000 names costs tens of milliseconds: looking takes at most this part of the time.
MAX_POLL_SHARE: Final = 0.05
MAX_POLL_S: Final = 5.0


class FileSource:
    """Files named by paths and globs; `**` spans directories."""

    kind = "file"
    rereadable = True

    def __init__(
        self,
        name: str,
        patterns: Sequence[str],
        *,
        key: bytes,
        options: "FileOptions | None" = None,
    ) -> None:
        """`key` (at least 16 bytes) keys the fingerprints stored with a position."""
        from collector.sources.file_identity import Fingerprinter
        from collector.sources.file_round import FileOptions

        self.name = name
        self.location = ", ".join(patterns)
        self._patterns = [os.path.abspath(os.path.expanduser(p)) for p in patterns]
        self._prints = Fingerprinter(key)
        self._options = options or FileOptions()
        self._watcher: Watcher | None = None
        self._consumed: deque[tuple[str, int, int | None]] = deque()

    def consumed(self, stream: str, resume: int, read_to: int | None = None) -> None:
        """Called by the flow after every commit that holds a block of the stream, in any thread.

        It must be called for each block with `tail`, also if nothing came of it: the stream waits
        for that to know whether the unfinished line was taken (`resume` at its end) or must be sent
        again when it is finished. `read_to` is the end of the last block that was committed.
        """
        self._consumed.append((stream, resume, read_to))
        if self._watcher is not None:
            self._watcher.poke()

    def run(
        self,
        positions: Mapping[str, StreamPosition],
        emit: Callable[[Emission], None],
        stop: Event,
        *,
        once: bool,
    ) -> None:
        """Emit what follows the positions until `stop`, or to the present end with `once`."""
        from collector.sources.file_round import Round
        from collector.sources.file_watch import Watcher

        watcher = Watcher(enabled=self._options.use_events and not once)
        self._watcher = watcher
        self._consumed.clear()
        work = Round(self.name, self._patterns, self._prints, self._options, emit, stop)
        try:
            work.begin(positions)
            if once:
                self._once(work, stop)
            else:
                self._follow(work, watcher, stop)
        finally:
            self._watcher = None
            watcher.close()
            work.close()

    def _once(self, work: "Round", stop: Event) -> None:
        work.look()
        while work.waits() and not stop.is_set():
            stop.wait(MAX_WAIT_S)
            work.look()
        work.tails(everything=True)
        if not stop.is_set():
            work.idle()

    def _follow(self, work: "Round", watcher: "Watcher", stop: Event) -> None:
        next_look = not_before = 0.0
        changed: set[str] | None = None
        while not stop.is_set():
            self._acknowledge(work)
            if changed is None or not work.touch(changed):
                next_look = min(next_look, not_before)
            if time.monotonic() >= next_look:
                # Watch first: what happens while we look then wakes us again.
                started = time.monotonic()
                work.warn_once(watcher.watch(work.directories()))
                work.look()
                cost = time.monotonic() - started
                # Neighbours that come and go all the time must not keep us looking all the time.
                not_before = started + 2 * cost
                rest = min(cost / MAX_POLL_SHARE, MAX_POLL_S)
                next_look = started + max(self._options.poll_interval_s, rest)
                work.idle()
            work.tails()
            if work.emitted:
                work.idle()
            changed = watcher.wait(min(MAX_WAIT_S, self._options.poll_interval_s))

    def _acknowledge(self, work: "Round") -> None:
        while self._consumed:
            work.consumed(*self._consumed.popleft())


class FileSettings(SourceSettings, frozen=True, kw_only=True):
    """[sources.NAME] of kind file: paths and globs."""

    paths: tuple[str, ...] = ()


def _existing(patterns: Sequence[str]) -> list[Path]:
    from collector.sources.file_scan import expand

    return [Path(path) for pattern in patterns for path in sorted(expand(pattern))]


def _samples(settings: FileSettings) -> Iterator[bytes]:
    for path in _existing(settings.paths):
        try:
            with path.open("rb") as file:
                yield file.read(SAMPLE_BYTES)
        except OSError:
            continue


def _check(settings: FileSettings) -> None:
    """A pattern that names nothing is a mistake; raises SourceError (exit 4)."""
    for pattern in settings.paths:
        found = _existing([pattern])
        if not found:
            raise SourceError(f"{pattern}: no such file", hint="check the name, and quote a glob")
        for path in found:
            try:
                path.open("rb").close()
            except IsADirectoryError:
                raise SourceError(f"{path} is a folder", hint=f"{path}/*.jsonl") from None
            except OSError as error:
                raise SourceError(f"{path}: {error.strerror}") from error


def _parse(argument: str) -> FileSettings:
    if not argument:
        raise ValueError("no path")
    return FileSettings(paths=(argument,))


source = SourcePlugin(
    kind="file",
    settings=FileSettings,
    parse=_parse,
    make=lambda name, settings, key: FileSource(name, settings.paths, key=key),
    usage="file:PATH",
    samples=_samples,
    check=_check,
)
