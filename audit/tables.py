"""Tables that are no events (runs, counts) as data: the encoders of `query`, other columns."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from audit import markdown
from audit import screen as output
from audit.screen import Screen
from audit_events.errors import UsageError

FORMATS: Final = ("table", "json", "ndjson", "csv", "markdown")
HELP: Final = " ".join(FORMATS)


def chosen(name: str, *, json: bool, among: Sequence[str] = FORMATS) -> str:
    """The format of `--format` and `--json`; UsageError for one that is none."""
    if json:
        return "json"
    if name not in among:
        raise UsageError(f"--format {name}: no such format", hint=" ".join(among))
    return name


def put_rows(
    screen: Screen, name: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Rows in a data format; a null is left out, in CSV it is an empty field."""
    if name == "markdown":
        output.put(_markdown(columns, rows))
        return
    from exporters.contracts import load_format

    encoder = load_format(name).make(columns)
    for piece in (encoder.start(), encoder.rows(rows), encoder.end()):
        output.put_document(piece, terminal=screen.terminal)
    output.flush()


def harmless(document: str) -> str:
    """JSON text with characters that move a cursor, hide or reorder as escapes; same meaning."""
    from exporters.formats import _text

    return _text.harmless(document)


def _markdown(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    shown = [[_cell(row.get(name)) for name in columns] for row in rows]
    numbers = {
        place
        for place, name in enumerate(columns)
        if any(type(row.get(name)) in (int, float) for row in rows)
    }
    return markdown.table([name.replace("_", " ") for name in columns], shown, numbers)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return markdown.code(value) if isinstance(value, str) else str(value)
