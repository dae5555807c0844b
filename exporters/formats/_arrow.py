"""What the formats of columns share: their types, the event's id, and a file that is bytes."""

import pyarrow as pa
import pyarrow.compute as pc

from audit_events.arrow import FILE_SCHEMA
from audit_events.schema import BY_NAME
from exporters.contracts import EVENT_ID


class Sink:
    """A file that only remembers what was written since the last look."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._position = 0
        self.closed = False

    def write(self, data: bytes) -> int:
        """Keep it."""
        self._pieces.append(bytes(data))
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        """How much was written."""
        return self._position

    def flush(self) -> None:
        """Nothing."""
        return

    def close(self) -> None:
        """Nothing comes any more."""
        self.closed = True

    def writable(self) -> bool:
        """Yes."""
        return True

    def readable(self) -> bool:
        """No."""
        return False

    def seekable(self) -> bool:
        """No."""
        return False

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


def field(name: str) -> pa.Field:
    """A column as files have it."""
    return pa.field(
        name, pa.string() if name == EVENT_ID else FILE_SCHEMA.field(BY_NAME[name].name).type
    )


def column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """A column of a batch; the event's id is made of two."""
    if name != EVENT_ID:
        return batch.column(name)
    seq = batch.column("seq").cast(pa.string())
    return pc.binary_join_element_wise(batch.column("store").cast(pa.string()), seq, "-")
