"""Ways to feed a decoder, and its answer as plain values."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa

from collector.contracts import Block, Decoder, Filtered

NOW = datetime(2026, 7, 29, tzinfo=UTC)


class Answer(NamedTuple):
    """Everything a decoder said about a stream."""

    rows: list[dict[str, Any]]
    rejects: list[tuple[int, str]]
    seen: int
    filtered: dict[Filtered, int]


def feed(decoder: Decoder, pieces: Iterable[bytes], *, final: bool = True) -> Answer:
    """Decode the pieces as blocks of one stream, then flush; checks the tally on the way."""
    answers = []
    pieces, at = list(pieces), 0
    for number, piece in enumerate(pieces):
        last = final and number == len(pieces) - 1
        answers.append(decoder.decode(Block("s", "f", piece, at, at + len(piece), final=last)))
        at += len(piece)
    answers.append(decoder.flush(NOW))
    filtered: dict[Filtered, int] = {}
    for answer in answers:
        balance = answer.batch.num_rows + len(answer.rejects) + sum(answer.tally.filtered.values())
        assert answer.tally.seen == balance
        for reason, count in answer.tally.filtered.items():
            filtered[reason] = filtered.get(reason, 0) + count
    rows = [row for answer in answers for row in plain(answer.batch)]
    return Answer(
        sorted(rows, key=lambda row: row["source_position"]),
        sorted((r.origin, r.reason.value) for a in answers for r in a.rejects),
        sum(answer.tally.seen for answer in answers),
        filtered,
    )


def plain(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows without their nulls, times as RFC 3339 texts."""
    rows = batch.to_pylist()
    for row in rows:
        row["ts"] = row["ts"].isoformat()
    return [{k: v for k, v in row.items() if v is not None} for row in rows]


def by_line(data: bytes) -> list[bytes]:
    """The lines of a stream, each with its end."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
