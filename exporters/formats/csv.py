"""CSV with a header: a null is an empty field, an empty text is `""`, formulas are disarmed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from audit_events.schema import BY_NAME
from exporters.contracts import Format
from exporters.formats import _text

if TYPE_CHECKING:
    import pyarrow as pa


class Encoder:
    """RFC 4180 with LF; every row has every column."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = tuple(columns)

    def start(self) -> bytes:
        """The header."""
        return (",".join(self._columns) + "\n").encode()

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """A record each."""
        return "".join(
            ",".join(_field(name, row.get(name)) for name in self._columns) + "\n" for row in rows
        ).encode()

    def batch(self, batch: "pa.RecordBatch") -> bytes:
        """A record each."""
        from exporters.formats._columns import Style, lines

        style = Style(
            line_start="", line_end="\n", quote="", null="",
            first=lambda _name: "", later=lambda _name: ",",
            special=_text.CSV_SPECIAL, text=_text.csv_text,
        )  # fmt: skip
        return lines(batch, self._columns, style)

    def end(self) -> bytes:
        """Nothing."""
        return b""


def _field(name: str, value: Any) -> str:
    if value is None:
        return ""
    shown = str(_text.plain(name, value))
    is_text = name not in BY_NAME or BY_NAME[name].type == "string"
    return _text.csv_text(shown) if is_text else shown


format = Format("csv", text=True, make=Encoder)  # noqa: A001
