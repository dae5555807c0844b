"""`audit decode`: what a decoder makes of a file, without a store; secrets are masked first."""

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

from audit import screen as output
from audit.call import Call
from audit.collecting import decoder_named
from audit.masking import redactor
from audit.querying import Limit
from audit_events.errors import Exit, SourceError
from audit_events.schema import COMMIT_COLUMNS, MAX_LINE_BYTES
from collector.contracts import Block, Decoded, Reason, Reject
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

    def add(self, decoded: Decoded) -> None:
        """Count one block's outcome."""
        self.seen += decoded.tally.seen
        self.events += decoded.batch.num_rows
        self.rejects += decoded.rejects
        self.filtered.update({str(k): n for k, n in decoded.tally.filtered.items()})


def decode(call: Call, path: str, decoder: str, format_name: str, limit: Limit) -> Exit:
    """Print the events of a file as data, and say what was rejected and where."""
    screen = output.screen(call)
    encoder = load_format(format_name).make(_COLUMNS)
    masker = redactor(call)
    state, counts, left = masker.initial_state(), Counts(), limit.number
    output.put_bytes(encoder.start())
    for decoded in _decoded(path, decoder):
        counts.add(decoded)
        batch, state = masker.redact(decoded.batch, state)
        shown = batch if left is None else batch.slice(0, left)
        left = None if left is None else left - shown.num_rows
        output.put_bytes(encoder.batch(shown))
    output.put_bytes(encoder.end())
    output.flush()
    for reject in counts.rejects:
        screen.voice.line(f"rejected at byte {reject.origin:,}: {reject.reason}")
    filtered = sum(counts.filtered.values())
    screen.voice.line(
        f"decoded {counts.seen:,} records: {counts.events:,} events + "
        f"{len(counts.rejects):,} rejected + {filtered:,} filtered"
    )
    return Exit.DONE


def _decoded(path: str, name: str) -> Iterator[Decoded]:
    decoder = decoder_named(name).make()
    with ExitStack() as stack:
        file: Any = sys.stdin.buffer
        if path != "-":
            try:
                file = stack.enter_context(Path(path).open("rb"))
            except OSError as error:
                raise SourceError(f"{path}: {error.strerror}") from error
        for block in _blocks(file):
            yield decoder.decode(block)
    yield decoder.flush(datetime.now(UTC))


def _blocks(file: BinaryIO | Any) -> Iterator[Block]:
    """Whole lines, in order; a line that is too long is one reject."""
    start, rest = 0, b""
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
