"""JSON: one array, one element a line, so that `jq`, `grep` and `wc -l` all work."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from exporters.contracts import Format
from exporters.formats.ndjson import Encoder as LineEncoder

if TYPE_CHECKING:
    import pyarrow as pa

_BETWEEN: Final = b",\n"


class Encoder:
    """Always a valid document: no event gives `[]`."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._lines = LineEncoder(columns, end=_BETWEEN.decode())
        self._empty = True

    def start(self) -> bytes:
        """The opening bracket."""
        return b"["

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """Elements with what parts them from those before."""
        return self._elements(self._lines.rows(rows))

    def batch(self, batch: "pa.RecordBatch") -> bytes:
        """Elements with what parts them from those before."""
        return self._elements(self._lines.batch(batch))

    def end(self) -> bytes:
        """The closing bracket."""
        return b"]\n"

    def _elements(self, lines: bytes) -> bytes:
        if not lines:
            return b""
        before = b"" if self._empty else _BETWEEN
        self._empty = False
        return before + lines[: -len(_BETWEEN)]


format = Format("json", text=True, make=Encoder)  # noqa: A001
