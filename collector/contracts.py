"""What the stages hand to each other: blocks in, batches and rejects out, positions beside them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from threading import Event
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:  # settings of sources are checked by commands that must not import pyarrow
    import pyarrow as pa


class Reason(StrEnum):
    """Why a record was rejected: closed, so that no text of the record can slip in."""

    TOO_LONG = "line-too-long"
    NOT_A_RECORD = "not-json-or-logfmt"
    NOT_AN_OBJECT = "not-an-object"
    TOO_DEEP = "too-deep"
    DUPLICATE_KEY = "duplicate-key"
    BAD_TIME = "bad-time"
    BAD_TYPE = "bad-type"
    BAD_NUMBER = "bad-number"
    DAMAGED_ARCHIVE = "damaged-gz"
    DECODER_ERROR = "decoder-error"
    FOREIGN_SANDBOX = "foreign-sandbox"


class Filtered(StrEnum):
    """Why a record was left out on purpose."""

    BLANK = "blank"
    BANNER = "banner"
    TRAILER = "trailer"
    NOT_ENFORCEMENT = "not-enforcement"


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that could not be read: where it starts in its stream, and why."""

    origin: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Tally:
    """Records framed, and those left out by reason; seen = rows + rejects + sum(filtered)."""

    seen: int = 0
    filtered: Mapping[Filtered, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Peer:
    """Who wrote, as the system says: a writer cannot choose it.

    Every event of the peer gets `uid`; a record that claims a sandbox outside `sandboxes` (None:
    any) is a reject.
    """

    uid: int
    sandboxes: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of one stream: bytes [start, end) of it.

    `stream` names one file (or connection) of the source. `tail` says that the last line has no
    newline yet: a decoder may take it only if it cannot go on (a closed JSON object), else it
    leaves `resume` at its start. `final` says that nothing will ever follow (a finished .gz), so a
    last line without newline is whole. `mark` is what the source needs to find the stream again
    when it stands at `end`; it is stored with the position and is opaque to everybody else; an
    empty one says that a restart cannot read the stream again. `peer` is the same for all of it.
    `rejects` are lines that never reach a decoder (too long).
    """

    source: str
    stream: str
    data: bytes
    start: int
    end: int
    mark: bytes = b""
    tail: bool = False
    final: bool = False
    rejects: tuple[Reject, ...] = ()
    peer: Peer | None = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a decoder made of a block.

    `batch` has the event schema with store, seq, observed_at, source, correlation_id null and
    source_position set to the record's first byte in the stream. `resume` is where reading must go
    on after a restart: the start of the oldest unfinished record, else the block's end. `done` are
    the starts of records at or after `resume` that are already out.
    """

    batch: "pa.RecordBatch"
    rejects: tuple[Reject, ...]
    tally: Tally
    resume: int
    done: tuple[int, ...] = ()


class Decoder(Protocol):
    """One decoder instance serves one stream."""

    def decode(self, block: Block) -> Decoded:
        """Blocks of one stream in order."""
        ...

    def flush(self, now: datetime) -> Decoded:
        """Give out what waits for more lines; called when the stream was idle, and at its end."""
        ...


@dataclass(frozen=True, slots=True)
class DecoderPlugin:
    """What a module in collector/decoders exports as `decoder`."""

    name: str
    make: Callable[[], Decoder]
    # True if a sample (first lines of a file) looks like this format; for auto-detection.
    recognises: Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """Where a stream stands, as committed."""

    stream: str
    resume: int
    done: tuple[int, ...]
    read_to: int
    mark: bytes


@dataclass(frozen=True, slots=True)
class Idle:
    """The source has nothing more to read now; `behind_bytes` is 0 unless files cannot be read."""

    source: str
    behind_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Closed:
    """A stream is finished for ever: its position may be forgotten."""

    source: str
    stream: str


@dataclass(frozen=True, slots=True)
class GapOpened:
    """The source cannot tell what happens from `since` on; `reason` is our own words."""

    source: str
    since: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class GapClosed:
    """The source is whole again; `count` lost events, None if unknown."""

    source: str
    until: datetime
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """A loss that is over when it is noticed."""

    source: str
    since: datetime
    until: datetime
    reason: str
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Warned:
    """Something an operator should know; counted in the source's status."""

    source: str
    text: str


Emission = Block | Idle | Closed | GapOpened | GapClosed | Lost | Warned


class Source(Protocol):
    """Runs in its own thread; `emit` blocks when the collector is busy (back-pressure)."""

    name: str
    kind: str
    # False: a stream that was left open without a mark cannot be read again after a restart, so
    # the collector writes a gap, reason `restart`.
    rereadable: bool

    @property
    def location(self) -> str:
        """Where it reads, as `status` shows it; may say more while it runs."""
        ...

    def run(
        self,
        positions: Mapping[str, StreamPosition],
        emit: Callable[[Emission], None],
        stop: Event,
        *,
        once: bool,
    ) -> None:
        """Emit blocks from the committed positions on until `stop`, or to the end with `once`."""
        ...

    def consumed(self, stream: str, resume: int, read_to: int) -> None:
        """Told after each commit how far a stream is stored, and for each `tail` block also when
        nothing came of it (`resume` at its start): the source waits for that to know whether the
        unfinished line was taken or is to be sent again."""
        ...


class SourceSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[sources.NAME]: the kind of source and who decodes; each kind adds its own keys."""

    kind: str = "file"
    decoder: str = "auto"


def no_samples(_settings: Any) -> Iterator[bytes]:
    """A source that cannot be looked into before it is read."""
    return iter(())


def nothing_to_check(_settings: Any) -> None:
    """A source that says by itself, when it runs, what is wrong."""


@dataclass(frozen=True, slots=True)
class SourcePlugin:
    """What a module in collector/sources exports as `source`.

    The module imports nothing heavy: commands that start fast check settings with it.
    """

    kind: str
    settings: type[SourceSettings]
    # Settings from the ARG of `--source NAME=KIND:ARG`; ValueError says what is wrong with it.
    parse: Callable[[str], Any]
    # (name, settings, key of at least 16 bytes)
    make: Callable[[str, Any, bytes], Source]
    # KIND:ARG as help shows it.
    usage: str
    # First bytes, to tell the decoder by.
    samples: Callable[[Any], Iterator[bytes]] = no_samples
    # Before a `--once`: raises SourceError where nothing could be read.
    check: Callable[[Any], None] = nothing_to_check
