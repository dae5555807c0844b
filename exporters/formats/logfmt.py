"""`key=value` lines: bare where that is clear, else the value as a JSON string."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from exporters.contracts import Format
from exporters.formats import _text

if TYPE_CHECKING:
    import pyarrow as pa


class Encoder:
    """Lines; nothing before, nothing after."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)

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
            line_start="", line_end="\n", quote="", null=None,
            first=lambda name: f"{name}=", later=lambda name: f" {name}=",
            special=_text.LOGFMT_UNSAFE, text=_text.logfmt_text,
        )  # fmt: skip
        return lines(batch, self._columns, style)

    def end(self) -> bytes:
        """Nothing."""
        return b""

    def _line(self, row: Mapping[str, Any]) -> str:
        shown = [(name, _text.plain(name, row[name])) for name in self._columns if name in row]
        pairs = (f"{name}={_text.logfmt_text(str(value))}" for name, value in shown)
        return " ".join(pairs) + "\n"


format = Format("logfmt", text=True, make=Encoder)  # noqa: A001
