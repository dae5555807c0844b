"""One JSON object a line: nulls left out, keys in a stable order, times as RFC 3339 UTC."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from exporters.contracts import Format
from exporters.formats import _text

if TYPE_CHECKING:
    import pyarrow as pa


class Encoder:
    """Lines; nothing before, nothing after. `end` closes each line."""

    def __init__(self, columns: Sequence[str], end: str = "\n") -> None:
        self._columns = tuple(columns)
        self._end = end

    def start(self) -> bytes:
        """Nothing."""
        return b""

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """A line each."""
        return "".join(self._line(row) for row in rows).encode()

    def batch(self, batch: "pa.RecordBatch") -> bytes:
        """A line each."""
        from exporters.formats._columns import Style, lines

        style = Style(
            line_start="{", line_end="}" + self._end, quote='"', null=None,
            first=lambda name: f'"{name}":', later=lambda name: f',"{name}":',
            special=_text.JSON_UNSAFE, text=_text.json_text,
        )  # fmt: skip
        return lines(batch, self._columns, style)

    def end(self) -> bytes:
        """Nothing."""
        return b""

    def _line(self, row: Mapping[str, Any]) -> str:
        shown = {name: _text.plain(name, row[name]) for name in self._columns if name in row}
        return _text.harmless(orjson.dumps(shown).decode()) + self._end


format = Format("ndjson", text=True, make=Encoder)  # noqa: A001
