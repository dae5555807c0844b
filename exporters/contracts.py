"""What a format is: an encoder of event rows, found by its module's name in exporters/formats."""

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import exporters.formats
from audit_events import plugins
from audit_events.errors import UsageError
from audit_events.schema import COLUMN_NAMES

if TYPE_CHECKING:
    import pyarrow as pa

EVENT_ID: Final = "event_id"
ALL_COLUMNS: Final = (EVENT_ID, *COLUMN_NAMES)


class Encoder(Protocol):
    """Encodes one document: `start`, then rows or batches in order, then `end`.

    `rows` takes dictionaries of column values with nulls left out and times in µs since 1970 UTC;
    `batch` takes Arrow rows of the event schema. Both give the same bytes for the same events.
    """

    def start(self) -> bytes:
        """What stands before the first row."""
        ...

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """Some rows."""
        ...

    def batch(self, batch: "pa.RecordBatch") -> bytes:
        """Some rows, column-wise."""
        ...

    def end(self) -> bytes:
        """What stands after the last row."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """What a module in exporters/formats exports as `format`.

    `make` takes the columns to write, in order. `text` says that a person may look at it.
    """

    name: str
    text: bool
    make: Callable[[Sequence[str]], Encoder]


def format_names() -> list[str]:
    """Every format there is."""
    modules = pkgutil.iter_modules(exporters.formats.__path__)
    return sorted(module.name for module in modules if not module.name.startswith("_"))


def load_format(name: str) -> Format:
    """The format of a name; UsageError lists those there are."""
    try:
        return plugins.load(exporters.formats, "format", name)  # type: ignore[return-value]
    except KeyError:
        hint = " ".join(format_names())
        raise UsageError(f"--format {name}: no such format", hint=hint) from None
