"""Lines written from the grammars, not from captures, and what must be read in each of them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from decoding import by_line, feed

import collector.decoders
from audit_events import plugins

CORPUS = Path(__file__).parents[2] / "corpus"
DECODERS = plugins.find(collector.decoders, "decoder")
# After every time in the samples.
LATER = datetime(2026, 12, 1, tzinfo=UTC)
ANYTHING = "<any>"
SAMPLES = [
    pytest.param(path.parent.name, json.loads(line), id=f"{path.parent.name}-{number}")
    for path in sorted(CORPUS.glob("*/variants.samples.jsonl"))
    for number, line in enumerate(path.read_text().splitlines(), 1)
]


def decode(name: str, *pieces: bytes):
    decoder = DECODERS[name].make()
    decoder._clock = lambda: LATER
    return feed(decoder, pieces)


def differences(row: dict[str, Any], expect: dict[str, Any]) -> list[str]:
    """Named columns that are not as expected; of flags and extra only what is named counts."""
    extra = json.loads(row.get("extra", "{}"))
    wrong = []
    for column, value in expect.items():
        if column == "extra":
            wrong += [f"extra.{k}: {extra.get(k)!r}" for k, v in value.items() if extra.get(k) != v]
        elif column == "flags":
            held = set(row.get("flags", "").split(","))
            wrong += [f"flags: {held}"] if value and not set(value.split(",")) <= held else []
        elif value == ANYTHING:
            wrong += [] if column in row else [f"{column} is missing"]
        elif row.get(column) != value:
            wrong.append(f"{column}: {row.get(column)!r}")
    return wrong


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_the_grammar_is_read_not_the_list(name: str, sample: dict[str, Any]) -> None:
    """Every named column, extra and flag; what is left out or rejected, and nothing besides."""
    answer = decode(name, sample["raw"].encode())
    assert len(answer.rows) == len(sample["rows"])
    for row, expect in zip(answer.rows, sample["rows"], strict=True):
        assert differences(row, expect) == []
    assert {str(k): n for k, n in answer.filtered.items()} == sample.get("left_out", {})
    assert [reason for _, reason in answer.rejects] == sample.get("rejects", [])
    assert decode(name, *by_line(sample["raw"].encode())) == answer
