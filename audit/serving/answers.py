"""Answers as JSON: events as the exports write them, times in RFC 3339 UTC, nothing that moves a
cursor."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson
from fastapi import Response

from audit.render_time import utc
from audit.story_data import gap_data
from audit.tables import harmless
from exporters.contracts import ALL_COLUMNS, load_format
from query.contracts import Damaged, Gap, Row, Scope

JSON: Final = "application/json"


def answer(value: Any) -> Response:
    """Plain values as a JSON answer."""
    return Response(encoded(value), media_type=JSON)


def encoded(value: Any) -> bytes:
    """JSON with characters that hide or reorder text as escapes."""
    return harmless(orjson.dumps(value).decode()).encode()


def with_events(
    key: str, rows: Sequence[Row], columns: Sequence[str], rest: Mapping[str, Any]
) -> Response:
    """A JSON object with the events under `key`, and the rest."""
    body = b'{"' + key.encode() + b'":' + events(rows, columns) + b"," + encoded(rest)[1:]
    return Response(body, media_type=JSON)


def events(rows: Sequence[Row], columns: Sequence[str] = ALL_COLUMNS) -> bytes:
    """A JSON array."""
    encoder = load_format("json").make(columns)
    return encoder.start() + encoder.rows(rows) + encoder.end().rstrip(b"\n")


def event(row: Row, columns: Sequence[str] = ALL_COLUMNS) -> bytes:
    """One JSON object."""
    return load_format("ndjson").make(columns).rows([row]).rstrip(b"\n")


def gaps(found: Iterable[Gap]) -> list[dict[str, Any]]:
    """Gaps as a story tells them, with their number and event."""
    return [gap(one) for one in found]


def gap(one: Gap) -> dict[str, Any]:
    """A gap; an open one has no `until`, one that is no event yet no `seq`."""
    seq = {} if one.seq is None else {"seq": one.seq}
    return {"id": one.id, **gap_data(one), **seq}


def damaged(found: Iterable[Damaged], scope: Scope) -> list[dict[str, Any]]:
    """Files that were left out; how many rows they hold is told to who may see all of them."""
    return [{"path": one.path, **({"rows": one.rows} if scope is None else {})} for one in found]


def seen(scope: Scope, **numbers: int) -> dict[str, int]:
    """Numbers about the whole store: for who may see the whole store."""
    return numbers if scope is None else {}


def time(us: int | None) -> str | None:
    """RFC 3339 UTC."""
    return None if us is None else utc(us)


def without_nulls(values: Mapping[str, Any]) -> dict[str, Any]:
    """Only what is known."""
    return {name: value for name, value in values.items() if value is not None}
