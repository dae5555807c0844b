"""Which file is which stream: by inode while it stays, by content when it moves."""

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from collector.contracts import StreamPosition
from collector.sources.file_alike import PREFIX_BYTES, endings, length, same_head, shared
from collector.sources.file_framing import line_start
from collector.sources.file_identity import HEAD_BYTES, Fingerprinter
from collector.sources.file_pool import Pool
from collector.sources.file_readers import NotRegularError, Reader, open_reader, still_written
from collector.sources.file_scan import Beside, Candidate, Found, Key, look
from collector.sources.file_stream import Stream, new_stream, restored, take_up

MAX_ALIKE: Final = 256  # streams compared with one new file
MAX_NAMESAKES: Final = 16  # files of a missing one's name, elsewhere, compared with it
ROTATED: Final = re.compile(r"[.-]\d[\dTZ._-]*(\.gz)?$")  # .1 .2.gz -20260728 -2026-07-28T09.gz
RESCUES: Final = 8  # looks under rotated names for a stream whose file is gone


class UnsettledError(Exception):
    """Too little of a file is written yet to tell what it is."""


@dataclass(slots=True)
class Copy:
    """A file whose every byte is in another one that we read: it is not read again."""

    original: str
    size: int
    mtime_ns: int
    shared: int


@dataclass(slots=True)
class Registry:
    """All streams of one source: bound to a file, or missing one."""

    prints: Fingerprinter
    pool: Pool
    warn: Callable[[str], None]
    streams: dict[str, Stream] = field(default_factory=dict)
    by_key: dict[Key, Stream] = field(default_factory=dict)
    by_path: dict[str, Stream] = field(default_factory=dict)
    missing: dict[str, Stream] = field(default_factory=dict)
    copies: dict[Key, Copy] = field(default_factory=dict)
    former: dict[Key, Copy] = field(default_factory=dict)
    empty: dict[Key, str] = field(default_factory=dict)
    asleep: dict[str, Stream] = field(default_factory=dict)
    alike: dict[bytes, list[Stream]] = field(default_factory=dict)
    again: bool = False

    def restore(self, positions: Mapping[str, StreamPosition]) -> list[str]:
        """Take committed positions; the streams whose mark is none of ours are returned."""
        unknown = []
        for position in positions.values():
            stream = restored(position, self.prints)
            if stream is None:
                unknown.append(position.stream)
                continue
            stream.rescues = RESCUES
            self.streams[stream.id] = self.missing[stream.id] = stream
        return unknown

    def refresh(self, found: Found, horizon: Mapping[str, int]) -> list[Candidate]:
        """Follow known files to their present names; what is left is new or moved by content.

        `horizon` holds patterns without wildcards: what was rotated away from them since then is
        looked for too.
        """
        beside = Beside()
        self._follow_empty(found, beside)
        for stream in list(self.by_key.values()):
            candidate = found.files.get(stream.key) or self._elsewhere(stream, beside)
            if candidate is None:
                self._lose(stream)
            else:
                self._place(stream, candidate)
        self._check_copies(found)
        free = [c for c in found.files.values() if self._is_free(c)]
        if self.missing:
            self._reunite(free, beside)
        free += [
            c for name, since in horizon.items() for c in self._generations(name, since, beside)
        ]
        return [c for c in {c.key: c for c in free}.values() if self._is_free(c)]

    def _follow_empty(self, found: Found, beside: Beside) -> None:
        """A file may be written and renamed between two looks: its inode is all we know of it."""
        for key, path in self.empty.items():
            if key not in found.files:
                for candidate in beside.of(path, key[1]):
                    if candidate.key == key:
                        found.files[key] = candidate
        self.empty = {key: c.path for key, c in found.files.items() if c.size == 0}

    def horizon(self, names: Iterable[str]) -> dict[str, int]:
        """Until when (mtime in ns) each name, and what was rotated away from it, has been read."""
        wanted = set(names)
        until: dict[str, int] = {}
        for stream in self.streams.values() if wanted else ():
            name = ROTATED.sub("", stream.path)
            if name in wanted:
                until[name] = max(until.get(name, 0), stream.read_until_ns)
        return until

    def _generations(self, name: str, since: int, beside: Beside) -> Iterator[Candidate]:
        """Rotated files of one name, written after those that are known: rotated unseen."""
        for candidate in beside.of(name, 0):
            suffix = candidate.path[len(name) :]
            if candidate.mtime_ns >= since and ROTATED.fullmatch(suffix):
                yield candidate

    def _is_free(self, candidate: Candidate) -> bool:
        return candidate.key not in self.by_key and candidate.key not in self.copies

    def _place(self, stream: Stream, candidate: Candidate) -> None:
        if stream.path != candidate.path:
            self._unname(stream)
        stream.found_at(candidate)
        for path in (candidate.path, stream.real_path):
            self.by_path[path] = stream

    def _unname(self, stream: Stream) -> None:
        for path in (stream.path, stream.real_path):
            if self.by_path.get(path) is stream:
                del self.by_path[path]

    def _elsewhere(self, stream: Stream, beside: Beside) -> Candidate | None:
        """The stream's own file under a name that no pattern matches."""
        try:
            candidate = look(stream.real_path)
        except OSError:
            candidate = None
        if candidate is not None and candidate.key == stream.key:
            return candidate
        near = beside.of(stream.real_path, stream.key[1])
        return next((c for c in near if c.key == stream.key), None)

    def _lose(self, stream: Stream) -> None:
        self.by_key.pop(stream.key, None)
        self._unname(stream)
        self.missing[stream.id] = stream
        stream.missing_since, stream.rescues, stream.rotated = time.time(), RESCUES, True

    def orphan(self, stream: Stream) -> None:
        """The stream's file no longer holds what was read of it; its content may live elsewhere."""
        self._lose(stream)
        self.pool.drop(stream.id)
        stream.read_size = -1
        self.again = True

    def bind(self, stream: Stream, candidate: Candidate, reader: Reader) -> None:
        """From now on the file is the stream's."""
        self.missing.pop(stream.id, None)
        self.streams[stream.id] = stream
        stream.real_path = ""
        self._place(stream, candidate)
        self.by_key[candidate.key] = stream
        self.note_beginning(stream)
        if stream.stored is not None:
            self.asleep[stream.id] = stream
        self.pool.adopt(stream, reader)

    def note_beginning(self, stream: Stream) -> None:
        """Make the stream findable by its first bytes, once it has enough of them."""
        prefix = stream.trace.head_raw[:PREFIX_BYTES]
        if not stream.indexed and len(prefix) == PREFIX_BYTES:
            stream.indexed = True
            self.alike.setdefault(prefix, []).append(stream)

    def forget(self, stream: Stream) -> None:
        """Drop all that is known of a stream."""
        self.pool.drop(stream.id)
        self.streams.pop(stream.id, None)
        self.missing.pop(stream.id, None)
        self.asleep.pop(stream.id, None)
        prefix = stream.trace.head_raw[:PREFIX_BYTES]
        known = [other for other in self.alike.get(prefix, []) if other is not stream]
        if known:
            self.alike[prefix] = known
        else:
            self.alike.pop(prefix, None)

    def _reunite(self, free: list[Candidate], beside: Beside) -> None:
        """Give missing streams their file back: same file, same inode, same path, near names."""
        by_key = {c.key: c for c in free}
        by_inode = {c.ino: c for c in free}
        by_path = {c.path: c for c in free}
        for stream in list(self.missing.values()):
            likely = (
                by_key.get(stream.key), by_inode.get(stream.key[1]), by_path.get(stream.path),
            )  # fmt: skip
            self._first_match(stream, [c for c in likely if c is not None])
        self._reunite_moved(free)
        for stream in list(self.missing.values()):
            if stream.rescues:
                stream.rescues -= 1
                near = beside.of(stream.real_path or stream.path, stream.key[1])
                self._first_match(stream, near)

    def _reunite_moved(self, free: list[Candidate]) -> None:
        """A folder copied elsewhere: the configured file is read on, not the one left behind."""
        named: dict[str, list[Candidate]] = {}
        for candidate in free:
            for ending in endings(candidate.path):
                named.setdefault(ending, []).append(candidate)
        for stream in list(self.missing.values()):
            if stream.stored is not None and stream.rescues and stream.known.end:
                alike = (named.get(ending, [])[:MAX_NAMESAKES] for ending in endings(stream.path))
                self._first_match(stream, chain.from_iterable(alike))

    def say_what_is_gone(self) -> None:
        """Warn of committed streams whose file nowhere continues them."""
        for stream in self.missing.values():
            there = stream.path in self.by_path
            what = "was truncated or replaced" if there else "was not found again"
            self.warn(f"{stream.path}: {what} since it was last read; unread lines may be lost")

    def _first_match(self, stream: Stream, candidates: Iterable[Candidate]) -> None:
        for candidate in candidates:
            if self._is_free(candidate) and self._continues(stream, candidate):
                return

    def _continues(self, stream: Stream, candidate: Candidate) -> bool:
        if not candidate.packed and candidate.size < stream.known.end:
            return False
        try:
            reader = open_reader(candidate.path, candidate.key)
        except FileNotFoundError:
            self.again = True
            return False
        except OSError:
            return False
        try:
            found = take_up(stream, candidate, reader)
        except OSError:
            found = False
        if found:
            self.bind(stream, candidate, reader)
        else:
            reader.close()
        return found

    def _check_copies(self, found: Found) -> None:
        self.former = {key: copy for key, copy in self.former.items() if key in found.files}
        for key, copy in list(self.copies.items()):
            candidate = found.files.get(key)
            original = self.streams.get(copy.original)
            lost = original is None or original.id in self.missing
            changed = candidate and (candidate.size, candidate.mtime_ns) != (
                copy.size, copy.mtime_ns,
            )  # fmt: skip
            if candidate is None or lost or changed:
                self.former[key] = self.copies.pop(key)

    def admit(self, candidate: Candidate, reader: Reader) -> Stream | None:
        """The stream that a new file is or continues; None if it is a copy of another one.

        UnsettledError if it cannot be told yet; FileNotFoundError or NotRegularError if a file to
        compare with has another name by now, ReplacedError if this one has other content.
        """
        if len(reader.read_at(0, PREFIX_BYTES)) < PREFIX_BYTES and still_written(reader):
            raise UnsettledError
        stream = self._missing_one(candidate, reader)
        if stream is None:
            self._wake(reader)
            if self._is_copy(candidate, reader):
                return None
        # Looking for its original may have shown that a truncated file lives on in this one.
        stream = stream or self._missing_one(candidate, reader) or self._adopted(candidate, reader)
        if stream is None:
            stream = new_stream(candidate, self.prints)
        self.former.pop(candidate.key, None)
        self.bind(stream, candidate, reader)
        return stream

    def _missing_one(self, candidate: Candidate, reader: Reader) -> Stream | None:
        heads: dict[int, bytes] = {}
        # A copy may have grown to its end since the names were looked at.
        most = sys.maxsize if candidate.packed else reader.stat().st_size
        for stream in list(self.missing.values()):
            known = stream.known
            if not 0 < known.end <= most:
                continue
            size = min(HEAD_BYTES, known.end)
            if size not in heads:
                heads[size] = self.prints.digest(reader.read_at(0, size))
            if heads[size] == known.head and take_up(stream, candidate, reader):
                return stream
        return None

    def _wake(self, reader: Reader) -> None:
        """Unpack archives that begin like a new file: only then is it known that it is a copy."""
        heads: dict[int, bytes] = {}
        for stream in list(self.asleep.values()):
            if stream.stored is None or stream.id in self.missing:
                del self.asleep[stream.id]
                continue
            size = min(HEAD_BYTES, stream.stored.end)
            if size not in heads:
                heads[size] = self.prints.digest(reader.read_at(0, size))
            if heads[size] == stream.stored.head:
                self._wake_one(stream)

    def _wake_one(self, stream: Stream) -> None:
        try:
            read_at = self.pool.get(stream).read_at
            if stream.stored is None:
                return
            trace = stream.trace.recalled(read_at, stream.stored, stream.trace.end)
        except (FileNotFoundError, NotRegularError):
            raise
        except OSError:
            return
        if trace is None:
            return
        stream.trace, stream.stored = trace, None
        del self.asleep[stream.id]
        self.note_beginning(stream)

    def _is_copy(self, candidate: Candidate, reader: Reader) -> bool:
        beginning = reader.read_at(0, HEAD_BYTES)
        known = self.alike.get(beginning[:PREFIX_BYTES], [])[:MAX_ALIKE]
        for stream in known:
            if not same_head(stream, beginning) or not self._intact(stream, candidate):
                continue
            former = self.former.get(candidate.key)
            start = former.shared if former and former.original == stream.id else 0
            common = shared(reader, self.pool.get(stream), start)
            if common is None:
                # A truncation while we compared looks like a difference. It does not come undone:
                # a file that is whole now was whole then, and another one is orphaned by this look.
                self._intact(stream, candidate)
                continue
            if former is None:
                self.warn(f"{candidate.path}: is a copy of {stream.path}; not read twice")
            self.former.pop(candidate.key, None)
            self.copies[candidate.key] = Copy(stream.id, candidate.size, candidate.mtime_ns, common)
            return True
        return False

    def _intact(self, stream: Stream, candidate: Candidate) -> bool:
        """True if the stream has a file of its own that still holds what was read."""
        # A file that took the name of a renamed one is what came after it, however it begins.
        if stream.id in self.missing or stream.previous_path == candidate.path:
            return False
        try:
            reader = self.pool.get(stream)
            if stream.trace.matches(reader.read_at):
                return True
        except (FileNotFoundError, NotRegularError):
            raise
        except OSError:
            return False
        self.orphan(stream)
        return False

    def _adopted(self, candidate: Candidate, reader: Reader) -> Stream | None:
        """A new stream at the end of a copy that is shorter than what we read of its original.

        copytruncate makes such a copy when a line comes between the copy and the truncation.
        """
        beginning = reader.read_at(0, HEAD_BYTES)
        former = self.former.get(candidate.key)
        for other in self.alike.get(beginning[:PREFIX_BYTES], [])[:MAX_ALIKE]:
            if other.id not in self.missing or not same_head(other, beginning):
                continue
            size = length(reader)
            seen = former is not None and former.original == other.id
            older = [p for p in other.trace.checkpoints if PREFIX_BYTES <= p.end <= size]
            if size >= other.trace.end or not (seen or older):
                continue
            if still_written(reader):
                raise UnsettledError
            if seen or self.prints.fits(reader.read_at, older[-1]):
                stream = new_stream(candidate, self.prints)
                stream.trace = stream.trace.at(reader.read_at, line_start(reader.read_at, size))
                stream.consumed, stream.announce = stream.trace.end, True
                self.warn(f"{candidate.path}: is a copy of {other.path}; not read twice")
                return stream
        return None
