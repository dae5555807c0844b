"""`audit decode`: what a decoder makes of a file, without a store; secrets are masked first."""

import gzip
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from audit import decoders, wiring
from audit import screen as output
from audit.call import Call
from audit.decoding_explained import explanation
from audit.masking import redactor
from audit.querying import Limit
from audit_events.errors import Exit, SourceError
from audit_events.schema import COMMIT_COLUMNS, MAX_LINE_BYTES
from collector.contracts import Block, Decoded, DecoderPlugin, Reason, Reject
from exporters.contracts import ALL_COLUMNS, EVENT_ID, load_format

SAMPLE: Final = "decode"
_READ_BYTES: Final = MAX_LINE_BYTES
_COLUMNS: Final = tuple(n for n in ALL_COLUMNS if n not in (EVENT_ID, *COMMIT_COLUMNS))


@dataclass(slots=True)
class Counts:
    """What became of the records."""

    seen: int = 0
    events: int = 0
    rejects: list[Reject] = field(default_factory=list)
    filtered: Counter[str] = field(default_factory=Counter)
    decided: Counter[str] = field(default_factory=Counter)

    def add(self, decoded: Decoded) -> None:
        """Count one block's outcome."""
        self.seen += decoded.tally.seen
        self.events += decoded.batch.num_rows
        self.rejects += decoded.rejects
        self.filtered.update({str(k): n for k, n in decoded.tally.filtered.items()})
        kinds = decoded.batch.column("kind").to_pylist()
        said = decoded.batch.column("decision").to_pylist()
        self.decided.update(word or kind for kind, word in zip(kinds, said, strict=True))


@dataclass(frozen=True, slots=True)
class Opened:
    """A log at its start, and who reads it."""

    file: BinaryIO | Any
    sample: bytes
    plugin: DecoderPlugin
    chosen: bool


def decode(call: Call, path: str, decoder: str | None, format_name: str, limit: Limit) -> Exit:
    """Print the events of a file as data, and say what was rejected and where."""
    screen = output.screen(call)
    encoder = load_format(format_name).make(_COLUMNS)
    masker = redactor(call)
    state, counts, left = masker.initial_state(), Counts(), limit.number
    with opened(call, path, decoder) as log:
        if log.chosen:
            screen.voice.line(f"read as {log.plugin.name}, as its first lines look")
        output.put_bytes(encoder.start())
        for decoded in _decoded(log):
            counts.add(decoded)
            batch, state = masker.redact(decoded.batch, state)
            shown = batch if left is None else batch.slice(0, left)
            left = None if left is None else left - shown.num_rows
            output.put_bytes(encoder.batch(shown))
        output.put_bytes(encoder.end())
    output.flush()
    for line in tally(counts):
        screen.voice.line(line)
    return Exit.DONE


def explain(call: Call, path: str, decoder: str | None, at: int) -> Exit:
    """Print how the record at byte `at` was read: grammar, columns, flags."""
    screen = output.screen(call)
    with opened(call, path, decoder) as log:
        _skip(log.file, len(log.sample), at)
        data = log.sample[at:] + log.file.read(_READ_BYTES)
        for line in explanation(log.plugin, data, at, redactor(call), chosen=log.chosen):
            output.put_bytes(line.encode() + b"\n")
    output.flush()
    del screen
    return Exit.DONE


def tally(counts: Counts) -> list[str]:
    """The rejects with reason and position, what was left out and why, and the sum."""
    lines = [f"rejected at byte {r.origin:,}: {r.reason}" for r in counts.rejects]
    left_out = sum(counts.filtered.values())
    lines.append(
        f"decoded {counts.seen:,} records: {counts.events:,} events + "
        f"{len(counts.rejects):,} rejected + {left_out:,} filtered"
    )
    for name, found in (("events", counts.decided), ("filtered", counts.filtered)):
        if found:
            parts = (f"{n:,} {word}" for word, n in sorted(found.items(), key=lambda i: -i[1]))
            lines.append(f"{name}: {', '.join(parts)}")
    return lines


@contextmanager
def opened(call: Call, path: str, decoder: str | None) -> Iterator[Opened]:
    """A file, `-` for stdin, unpacked if it is a .gz; SourceError if it cannot be read."""
    tables = wiring.load_settings(call).settings.decoders
    with ExitStack() as stack:
        file: Any = sys.stdin.buffer
        if path != "-":
            try:
                file = stack.enter_context(Path(path).open("rb"))
                packed = file.read(2) == b"\x1f\x8b"
                file.seek(0)
            except OSError as error:
                raise SourceError(f"{path}: {error.strerror}") from error
            file = stack.enter_context(gzip.GzipFile(fileobj=file)) if packed else file
        try:
            sample = file.read(decoders.SAMPLE_BYTES)
            plugin = decoders.named(decoder, tables) if decoder else decoders.detect([sample])
            yield Opened(file, sample, plugin, chosen=decoder is None)
        except (EOFError, gzip.BadGzipFile) as error:
            raise SourceError(f"{path}: the .gz is damaged") from error


def _skip(file: BinaryIO | Any, read: int, upto: int) -> None:
    while read < upto and (piece := file.read(min(_READ_BYTES, upto - read))):
        read += len(piece)


def _decoded(log: Opened) -> Iterator[Decoded]:
    decoder = log.plugin.make()
    for block in _blocks(log.file, log.sample):
        yield decoder.decode(block)
    yield decoder.flush(datetime.now(UTC))


def _blocks(file: BinaryIO | Any, rest: bytes) -> Iterator[Block]:
    """Whole lines, in order; a line that is too long is one reject."""
    start = 0
    while True:
        piece = file.read(_READ_BYTES)
        data = rest + piece
        cut = len(data) if not piece else data.rfind(b"\n") + 1
        if cut:
            yield Block(SAMPLE, SAMPLE, data[:cut], start, start + cut, final=not piece)
        start, rest = start + cut, data[cut:]
        if not piece:
            return
        if len(rest) > MAX_LINE_BYTES:
            end = start + len(rest)
            tail = file.readline()
            too_long = (Reject(start, Reason.TOO_LONG),)
            yield Block(SAMPLE, SAMPLE, b"", start, end + len(tail), rejects=too_long)
            start, rest = end + len(tail), b""
