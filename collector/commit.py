"""What one turn of the flow commits: rows, positions, tallies and gaps, all or nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from collector.contracts import Filtered, Reason
from collector.known_runs import RunChanges
from policies.redact.types import Redacted


@dataclass(frozen=True, slots=True)
class StreamUpdate:
    """Where a stream stands once this commit is in; `closed` forgets the stream."""

    source: str
    stream: str
    resume: int
    done: tuple[int, ...]
    read_to: int
    mark: bytes
    closed: bool = False


@dataclass(frozen=True, slots=True)
class SourceUpdate:
    """What `status` shows of a source; times in µs since 1970."""

    source: str
    kind: str
    format: str
    location: str
    state: str = "healthy"
    note: str = ""
    last_read_at: int | None = None
    last_event_ts: int | None = None
    behind_bytes: int | None = None
    redactor_state: str = "{}"


@dataclass(frozen=True, slots=True)
class GapChange:
    """A gap that opens (`until` None), or is known whole; a closing one names its `id`."""

    source: str
    since: int
    until: int | None
    reason: str
    count: int | None = None
    id: int | None = None


@dataclass(slots=True)
class Counts:
    """Records of one source in one commit; seen = stored + rejected + filtered."""

    seen: int = 0
    stored: int = 0
    rejected: dict[Reason, int] = field(default_factory=dict)
    filtered: dict[Filtered, int] = field(default_factory=dict)

    def add(
        self, rows: int, rejects: Mapping[Reason, int], left_out: Mapping[Filtered, int]
    ) -> None:
        """Count one block's records."""
        self.stored += rows
        for reason, n in rejects.items():
            self.rejected[reason] = self.rejected.get(reason, 0) + n
        for why, n in left_out.items():
            self.filtered[why] = self.filtered.get(why, 0) + n
        self.seen += rows + sum(rejects.values()) + sum(left_out.values())


@dataclass(frozen=True, slots=True)
class Link:
    """Row `row` of a commit is a `report` or a `repeat` of an event: of the event `seq`, or of the
    row `partner` of the same commit, whose seq is given with it."""

    row: int
    kind: str
    seq: int | None = None
    partner: int | None = None


@dataclass(slots=True)
class Commit:
    """One transaction of the spool."""

    batches: list[Redacted] = field(default_factory=list)
    streams: list[StreamUpdate] = field(default_factory=list)
    sources: list[SourceUpdate] = field(default_factory=list)
    counts: dict[str, Counts] = field(default_factory=dict)
    gaps: list[GapChange] = field(default_factory=list)
    runs: RunChanges = field(default_factory=RunChanges)
    links: list[Link] = field(default_factory=list)
    # Where streams stand that were read in this turn, also where their rows still wait.
    read: list[StreamUpdate] = field(default_factory=list)
    # Written to the spool's `meta` with the rest.
    meta: dict[str, int] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """How many rows there are so far."""
        return sum(batch.num_rows for batch in self.batches)

    @property
    def empty(self) -> bool:
        """True if there is nothing to write."""
        return not (self.batches or self.streams or self.sources or self.counts or self.gaps)
