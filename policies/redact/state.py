"""What the redactor remembers from one event to the next: flags, never text."""

import json
from dataclasses import dataclass, field
from typing import Final, Literal

# A stream of text: source and process.
Stream = tuple[str, int | None]
# In the middle of a private key, or behind a key whose value has not come.
Open = Literal["private-key", "awaiting"]

MAX_STREAMS: Final = 4096


@dataclass(frozen=True, slots=True)
class State:
    """Open streams. With `overflow` more were open than we keep: each stream counts as in a key."""

    streams: dict[Stream, Open] = field(default_factory=dict)
    overflow: bool = False

    @property
    def idle(self) -> bool:
        """Nothing is open."""
        return not self.streams and not self.overflow

    def of(self, stream: Stream) -> Open | None:
        """What is open in a stream."""
        found = self.streams.get(stream)
        return found or ("private-key" if self.overflow else None)

    def after(self, changes: dict[Stream, Open | None]) -> "State":
        """The state with streams opened and closed."""
        streams = dict(self.streams)
        for stream, opened in changes.items():
            streams.pop(stream, None)
            if opened:
                streams[stream] = opened
        if len(streams) > MAX_STREAMS:
            return State({}, overflow=True)
        return State(streams, self.overflow)


def dump_state(state: State) -> str:
    """The state as JSON, for the transaction that stores the batch."""
    rows = [[source, pid, opened] for (source, pid), opened in sorted(
        state.streams.items(), key=repr)]  # fmt: skip
    return json.dumps({"overflow": state.overflow, "streams": rows}, separators=(",", ":"))


def load_state(text: str) -> State:
    """The state of `dump_state`; anything else is taken as "everything may be open"."""
    try:
        data = json.loads(text) if text else {}
        streams: dict[Stream, Open] = {
            (str(source), None if pid is None else int(pid)): (
                "awaiting" if opened == "awaiting" else "private-key"
            )
            for source, pid, opened in data.get("streams", [])
        }
        return State(streams, bool(data.get("overflow", False)))
    except (ValueError, TypeError, AttributeError):
        return State({}, overflow=True)
