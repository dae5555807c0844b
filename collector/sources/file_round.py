"""One look at all files and one turn at each that changed, older before newer."""

# ruff: noqa: PTH116, PTH120
# Names stay strings here: thousands of them are looked at twice a second.

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from glob import has_magic
from threading import Event
from typing import Final

from collector.contracts import Closed, Emission, Idle, Lost, StreamPosition, Warned
from collector.sources.file_framing import line_start
from collector.sources.file_identity import Fingerprinter, ReplacedError
from collector.sources.file_pool import IDLE_CLOSE_S, MAX_OPEN_FILES, Pool
from collector.sources.file_readers import NotRegularError, Reader, open_reader
from collector.sources.file_registry import Registry, UnsettledError
from collector.sources.file_scan import Candidate, Found, scan
from collector.sources.file_stream import Drain, Stream, too_long_to_take
from collector.sources.file_trouble import Trouble, why

MAX_PASSES: Final = 8  # a rotation needs two: the truncation is seen, then its copy is found
MAX_DOUBT_S: Final = 1.0  # a commit takes milliseconds
MAX_MISSING: Final = 10_000  # streams without a file that are remembered
POLL_INTERVAL_S: Final = 0.5
FORGET_AFTER_S: Final = 24 * 3600.0
TAIL_AFTER_S: Final = 1.0  # a writer that stops inside a line for this long has probably died


@dataclass(frozen=True, slots=True)
class FileOptions:
    """What may be set; times in seconds.

    `forget_after_s`: how long a vanished file's position is kept. `tail_after_s`: how long a line
    must be left unfinished to be offered as it is. `start_at_end`: files that exist at the very
    first start are read from their end; all later ones from their start.
    """

    poll_interval_s: float = POLL_INTERVAL_S
    forget_after_s: float = FORGET_AFTER_S
    tail_after_s: float = TAIL_AFTER_S
    start_at_end: bool = False
    use_events: bool = True
    max_open_files: int = MAX_OPEN_FILES


class Round:
    """The source at work, in its one thread."""

    def __init__(
        self,
        name: str,
        patterns: Sequence[str],
        prints: Fingerprinter,
        options: FileOptions,
        emit: Callable[[Emission], None],
        stop: Event,
    ) -> None:
        self._name, self._patterns, self._options = name, patterns, options
        self._emit, self._stop = emit, stop
        self._names = [p for p in patterns if not has_magic(p)]
        self.emitted = False
        self._warned: set[str] = set()
        self._pool = Pool(options.max_open_files, min(IDLE_CLOSE_S, options.forget_after_s))
        self._drain = Drain(name, self._say, stop)
        self._registry = Registry(prints, self._pool, self.warn)
        self._trouble = Trouble(name, self._say)
        self._directories: set[str] = set()
        self._unfinished: dict[str, Stream] = {}
        self._lost: dict[str, tuple[Stream, datetime]] = {}
        self._named: set[str] = set()
        self._unsettled = False
        self._first = True
        self._from_end = False

    def _say(self, emission: Emission) -> None:
        self.emitted = True
        self._emit(emission)

    def warn(self, text: str) -> None:
        """Tell an operator."""
        self._say(Warned(self._name, text))

    def warn_once(self, text: str | None) -> None:
        """Tell an operator, if there is anything to tell that was not told before."""
        if text and text not in self._warned:
            self._warned.add(text)
            self.warn(text)

    def begin(self, positions: Mapping[str, StreamPosition]) -> None:
        """Start where the positions say."""
        self._from_end = self._options.start_at_end and not positions
        for stream in self._registry.restore(positions):
            self.warn("a stored position is damaged; its file is taken as new")
            self._say(Closed(self._name, stream))
        self._directories = scan(self._patterns, {}).directories

    def directories(self) -> set[str]:
        """Where files were found, or may come."""
        followed = {os.path.dirname(s.real_path) for s in self._registry.by_key.values()}
        return self._directories | followed

    def idle(self) -> None:
        """Say that everything is read."""
        self._say(Idle(self._name, self._trouble.behind_bytes))
        self.emitted = False

    def close(self) -> None:
        """Give all descriptors back."""
        self._pool.close()

    def look(self) -> None:
        """Read whatever is new in any file."""
        self._drain.looked_at = time.time()
        self._unsettled = False
        horizon = self._registry.horizon(self._names)
        for _ in range(MAX_PASSES):
            self._registry.again = False
            found = scan(self._patterns, {k: s.path for k, s in self._registry.by_key.items()})
            self._note(found)
            self._work(self._registry.refresh(found, horizon))
            if not self._registry.again or self._stop.is_set():
                break
        if self._first:
            self._registry.say_what_is_gone()
        self._first = False
        self._tell_losses()
        self._forget()

    def touch(self, paths: set[str]) -> bool:
        """Read on in files that changed; False if names may have changed too."""
        for path in paths:
            stream = self._registry.by_path.get(path)
            if stream is None:
                if path in self._named:
                    return False
                continue  # a neighbour that no pattern names
            try:
                info = os.stat(path)
            except OSError:
                return False
            if (info.st_dev, info.st_ino) != stream.key:
                return False
            stream.size, stream.mtime_ns = info.st_size, info.st_mtime_ns
            self._turn(stream)
        return not self._registry.again

    def waits(self) -> bool:
        """True while an archive is still being written."""
        return self._unsettled or any(s.retry_at for s in self._registry.by_key.values())

    def _note(self, found: Found) -> None:
        self._directories = found.directories
        self._named = {c.path for c in found.files.values()} | found.unreadable.keys()
        for path in found.skipped:
            self.warn_once(f"{path}: skipped, it is not a regular file")
        if self._first:
            for pattern in found.unmatched:
                self.warn_once(f"{pattern}: no such file yet")
        for path, reason in found.unreadable.items():
            self._trouble.add(path, reason)
        names = self._named | self._registry.by_path.keys()
        self._trouble.keep(lambda path: path in names)

    def _work(self, free: list[Candidate]) -> None:
        """Rotated files first, then by the time of their last line."""
        registry = self._registry
        todo: list[tuple[bool, int, str, Stream | Candidate]] = [
            (not s.rotated, s.mtime_ns, s.path, s)
            for s in registry.by_key.values()
            if (s.size, s.mtime_ns) != (s.read_size, s.read_mtime_ns)
            or 0 < s.retry_at <= time.monotonic()
        ]
        gone = [s for s in registry.missing.values() if self._grew_unseen(s)]
        todo += [(False, s.mtime_ns, s.path, s) for s in gone]
        todo += [(True, c.mtime_ns, c.path, c) for c in free]
        for *_, item in sorted(todo, key=lambda entry: entry[:3]):
            if self._stop.is_set():
                return
            if isinstance(item, Stream):
                self._turn(item)
            else:
                self._admit(item)

    def _grew_unseen(self, stream: Stream) -> bool:
        """True if a file without a name, still open here and with its writer, has more."""
        reader = self._pool.peek(stream)
        return reader is not None and reader.stat().st_size != stream.read_size

    def _admit(self, candidate: Candidate) -> None:
        if candidate.size == 0:
            return
        try:
            reader = open_reader(candidate.path, candidate.key)
        except (FileNotFoundError, NotRegularError):
            self._registry.again = True
            return
        except OSError as error:
            self._trouble.add(candidate.path, why(error), candidate.size)
            return
        try:
            stream = self._registry.admit(candidate, reader)
        except UnsettledError:
            reader.close()
            self._unsettled = True
            return
        except (FileNotFoundError, NotRegularError, ReplacedError):
            reader.close()
            self._registry.again = True
            return
        except OSError as error:
            reader.close()
            self._trouble.add(candidate.path, why(error), candidate.size)
            return
        if stream is None:
            reader.close()
            self._trouble.clear(candidate.path)
            return
        self._turn(stream, skip=self._first and self._from_end and not candidate.packed)

    def _turn(self, stream: Stream, *, skip: bool = False) -> None:
        """Read on, with `skip` from the file's last line."""
        if stream.tail is not None:
            return
        behind = max(0, stream.size - stream.trace.end)
        try:
            reader = self._pool.get(stream)
            if skip:
                _to_end(stream, reader, stream.size)
            self._read(stream, reader)
        except (FileNotFoundError, NotRegularError):
            self._registry.again = True
        except ReplacedError:
            self._replaced(stream)
        except OSError as error:
            self._pool.drop(stream.id)
            self._trouble.add(stream.path, why(error), behind)
        else:
            self._trouble.clear(stream.path)

    def _read(self, stream: Stream, reader: Reader) -> None:
        info, rest_before = reader.stat(), stream.rest_end
        if stream.packed:
            if stream.packed_done != (info.st_size, info.st_mtime_ns, info.st_ino):
                self._drain.packed(stream, reader)
                self._pool.drop(stream.id)
        else:
            stream.packed_done = None
            self._drain.plain(stream, reader, info.st_size)
        if self._stop.is_set():
            return
        stream.read_size, stream.read_mtime_ns = info.st_size, info.st_mtime_ns
        self._registry.note_beginning(stream)
        if stream.unfinished and not stream.packed:
            if stream.rest_end != rest_before:
                stream.rest_since = time.monotonic()
            self._unfinished[stream.id] = stream
        else:
            self._unfinished.pop(stream.id, None)

    def _replaced(self, stream: Stream) -> None:
        if stream.id in self._registry.missing:
            self._pool.drop(stream.id)
            return
        self.warn(f"{stream.path}: truncated or replaced; its present content is read as new")
        self._unfinished.pop(stream.id, None)
        if max(stream.rest_end, stream.read_size) > stream.trace.end:
            self._lost[stream.id] = stream, datetime.now(UTC)
        self._registry.orphan(stream)

    def _tell_losses(self) -> None:
        for stream, since in self._lost.values():
            if stream.id in self._registry.missing:
                text = "a file was truncated before it was read to its end"
                self._say(Lost(self._name, since, datetime.now(UTC), text))
        self._lost.clear()

    def consumed(self, name: str, resume: int, read_to: int | None) -> None:
        """The flow committed a stream up to `resume`."""
        stream = self._registry.streams.get(name)
        if stream is None:
            return
        stream.consumed = resume
        if stream.tail is None:
            return
        offered = stream.tail.trace
        if resume >= offered.end:
            stream.trace, stream.after_tail, stream.stored = offered, True, None
            self._unfinished.pop(name, None)
        elif read_to is not None and read_to < offered.end:
            # Of an earlier block, or of a flow that keeps no position for what it refuses.
            stream.tail.doubted_at = stream.tail.doubted_at or time.monotonic()
            return
        else:
            stream.refused_end = offered.end
        stream.tail = None
        self._turn(stream)

    def _end_doubt(self, stream: Stream) -> None:
        """An answer that may have meant the offered line meant it, if no better one comes."""
        doubted_at = stream.tail.doubted_at if stream.tail else 0.0
        if stream.tail and 0 < doubted_at <= time.monotonic() - MAX_DOUBT_S:
            stream.refused_end, stream.tail = stream.tail.trace.end, None
            self._turn(stream)

    def tails(self, *, everything: bool = False) -> None:
        """Offer unfinished last lines that were left alone for a while, or all of them."""
        quiet = time.monotonic() - self._options.tail_after_s
        for stream in list(self._unfinished.values()):
            self._end_doubt(stream)
            settled = stream.consumed == stream.trace.end and stream.rest_since <= quiet
            new = stream.tail is None and stream.refused_end != stream.rest_end
            if not new or too_long_to_take(stream) or not (settled or everything):
                continue
            try:
                self._drain.tail(stream, self._pool.get(stream), keep=not everything)
            except OSError:
                # The next look finds out what became of the file.
                self._unfinished.pop(stream.id, None)

    def _forget(self) -> None:
        """Close what nobody used; forget streams whose file stayed away."""
        for name in self._pool.idle():
            stream = self._registry.missing.get(name)
            if stream is not None and stream.tail is None and stream.unfinished:
                self._drain.last_line(stream, self._pool.get(stream))
                self._unfinished.pop(name, None)
            self._pool.drop(name)
        oldest = time.time() - self._options.forget_after_s
        surplus = len(self._registry.missing) - MAX_MISSING
        for rank, stream in enumerate(list(self._registry.missing.values())):
            late = stream.missing_since < oldest or rank < surplus
            if late and not self._pool.holds(stream):
                self._registry.forget(stream)
                self._unfinished.pop(stream.id, None)
                self._say(Closed(self._name, stream.id))


def _to_end(stream: Stream, reader: Reader, size: int) -> None:
    """Stand at the last line's start; the block that says so makes a restart keep to it."""
    stream.trace = stream.trace.at(reader.read_at, line_start(reader.read_at, size))
    stream.consumed, stream.announce = stream.trace.end, True
