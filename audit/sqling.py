"""`audit sql`: the rows of one SELECT, as a table or as data."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from typing import Any, Final

from audit import screen as output
from audit import tables
from audit.call import Call
from audit.querying import tell_damaged
from audit.render_cells import NOTHING
from audit.render_style import safe
from audit.render_time import count, full
from audit.render_width import keep_start, pad, width
from audit.screen import Screen
from audit_events.errors import Exit, UsageError
from audit_events.layout import StorePaths
from audit_events.schema import BY_NAME
from query.sql import MAX_SQL_CHARS, Selected, select

FORMATS: Final = ("table", "json", "ndjson", "csv", "markdown")
MAX_CELLS: Final = 48
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
Rows = list[tuple[Any, ...]]


def statement_of(words: Sequence[str]) -> str:
    """The statement as typed, or what stdin holds for `-`."""
    if list(words) == ["-"]:
        return sys.stdin.read(MAX_SQL_CHARS + 1)
    return " ".join(words)


def sql(
    call: Call, store: StorePaths, text: str, format_: str, zone: tzinfo, *, quiet: bool
) -> Exit:
    """Print the result; PARTIAL if files had to be left out."""
    if format_ not in FORMATS:
        raise UsageError(f"--format {format_}: no such format", hint=" ".join(FORMATS))
    screen = output.screen(call)
    with select(store, text) as found:
        table = format_ == "table"
        number = _table(found, screen, zone) if table else _data(found, screen, format_)
        tell_damaged(screen, found.damaged)
        rows = f"{count(number)} row{'s' * (number != 1)}"
        if found.gaps:
            rows += f" · the record has {len(found.gaps)} gap{'s' * (len(found.gaps) != 1)}"
            rows += f": {call.prog} gaps"
        screen.remark(rows, quiet=quiet)
        return Exit.PARTIAL if found.damaged else Exit.DONE


def _table(found: Selected, screen: Screen, zone: tzinfo) -> int:
    number, wide = 0, [0] * len(found.columns)
    for chunk in found.chunks:
        lines = [[_cell(value, screen, zone) for value in row] for row in chunk]
        right = [all(_is_number(row[n]) for row in chunk) for n in range(len(wide))]
        if not number:
            # Later chunks keep the widths of the first: nobody waits for the last row.
            lines.insert(0, _names(found, screen))
            wide = [max(map(width, texts)) for texts in zip(*lines, strict=True)]
        output.put(_line(line, wide, right) for line in lines)
        number += len(chunk)
    return number


def _names(found: Selected, screen: Screen) -> list[str]:
    return [safe(name, screen.glyphs) for name in found.columns]


def _line(texts: Sequence[str], wide: Sequence[int], right: Sequence[bool]) -> str:
    cells = (
        f"{text:>{cells}}" if flush else pad(text, cells)
        for text, cells, flush in zip(texts, wide, right, strict=True)
    )
    return "  ".join(cells).rstrip()


def _cell(value: Any, screen: Screen, zone: tzinfo) -> str:
    if value is None or value == "":
        return NOTHING
    if isinstance(value, datetime) and value.tzinfo and screen.terminal:
        return full(_micros(value), zone, millis=True)[4:]
    text = safe(str(_plain(value)), screen.glyphs)
    return keep_start(text, MAX_CELLS, screen.glyphs.ellipsis) if screen.terminal else text


def _is_number(value: Any) -> bool:
    return value is None or type(value) in (int, float, Decimal)


def _data(found: Selected, screen: Screen, name: str) -> int:
    columns, rows = _renamed(found)
    if name == "markdown":
        held = list(rows)
        tables.put_rows(screen, name, columns, held)
        return len(held)
    from exporters.contracts import load_format

    encoder, number = load_format(name).make(columns), 0
    output.put_document(encoder.start(), terminal=screen.terminal)
    for chunk in _chunked(rows):
        output.put_document(encoder.rows(chunk), terminal=screen.terminal)
        number += len(chunk)
    output.put_document(encoder.end(), terminal=screen.terminal)
    output.flush()
    return number


def _chunked(rows: Iterator[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    from itertools import islice

    while chunk := list(islice(rows, 2_000)):
        yield chunk


def _renamed(found: Selected) -> tuple[list[str], Iterator[Mapping[str, Any]]]:
    """Names for data formats: what is called like a time of the schema but is none gets a `_1`."""
    first = next(found.chunks, [])
    names = [
        f"{name}_1" if _is_time(name) and not _all_times(first, place) else name
        for place, name in enumerate(found.columns)
    ]

    def rows() -> Iterator[Mapping[str, Any]]:
        for chunk in _with(first, found.chunks):
            for values in chunk:
                yield {
                    name: _micros(value) if _is_time(name) else _plain(value)
                    for name, value in zip(names, values, strict=True)
                    if value is not None
                }

    return names, rows()


def _with(first: Rows, rest: Iterator[Rows]) -> Iterator[Rows]:
    yield first
    yield from rest


def _is_time(name: str) -> bool:
    return name in BY_NAME and BY_NAME[name].type == "timestamp"


def _all_times(rows: Rows, place: int) -> bool:
    return all(row[place] is None or isinstance(row[place], datetime) for row in rows)


def _micros(value: datetime) -> int:
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _plain(value: Any) -> Any:
    """A value of the engine as JSON has it; times are RFC 3339, in UTC where they have a zone."""
    if isinstance(value, datetime):
        moment = value.astimezone(UTC) if value.tzinfo else value
        return f"{moment:%Y-%m-%dT%H:%M:%S.%f}" + ("Z" if value.tzinfo else "")
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, date | time):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)
