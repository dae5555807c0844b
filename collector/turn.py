"""One configured source at work, and what it said in one turn of the flow."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from collector.commit import Counts, StreamUpdate
from collector.contracts import DecoderPlugin, Reason, Reject, Source, StreamPosition
from collector.link_index import Told
from collector.stream import Stream, Taken


@dataclass(slots=True)
class SourceState:
    """One configured source at work."""

    source: Source
    plugin: DecoderPlugin
    redactor_state: Any
    positions: Mapping[str, StreamPosition]
    streams: dict[str, Stream] = field(default_factory=dict)
    state: str = "healthy"
    note: str = ""
    last_read_at: int | None = None
    last_event_ts: int | None = None
    behind_bytes: int = 0
    # Turns whose rows wait for a layer's, the oldest first.
    held: "deque[Turn]" = field(default_factory=deque)


@dataclass(slots=True)
class Turn:
    """What one source said in one turn."""

    batches: list[pa.RecordBatch] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    streams: dict[str, StreamUpdate] = field(default_factory=dict)
    told: Sequence[Told] = ()
    held_at: float = 0.0

    @property
    def rows(self) -> int:
        """Events so far."""
        return sum(batch.num_rows for batch in self.batches)

    def add(self, taken: Taken) -> None:
        """Count and keep what a block gave."""
        if taken.batch.num_rows:
            self.batches.append(taken.batch)
        self.rejects += taken.rejects
        reasons: dict[Reason, int] = {}
        for reject in taken.rejects:
            reasons[reject.reason] = reasons.get(reject.reason, 0) + 1
        self.counts.add(taken.batch.num_rows, reasons, taken.filtered)
