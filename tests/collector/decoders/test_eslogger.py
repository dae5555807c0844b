"""eslogger's messages against what people read in them."""

import json
from pathlib import Path
from typing import Any

import pytest
from decoding import NOW, feed

from collector.decoders.eslogger import read
from collector.decoders.line_decoder import LineDecoder

CORPUS = Path(__file__).parents[2] / "corpus" / "eslogger"
SAMPLES = [json.loads(line) for line in (CORPUS / "samples.jsonl").read_text().splitlines()]
EXTRA = {
    "version": "version", "actor_pid": "actor_pid", "actor_pidversion": "actor_pidversion",
    "target_pidversion": "pidversion", "child_pidversion": "pidversion",
}  # fmt: skip
COLUMNS = {"event": "syscall", "target_pid": "pid", "child_pid": "pid", "target_path": "path"}


def decode(line: bytes) -> list[dict[str, Any]]:
    return feed(LineDecoder("eslogger", read, lambda: NOW), [line]).rows


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample["id"] for sample in SAMPLES])
def test_a_message_is_read_as_a_person_reads_it(sample: dict[str, Any]) -> None:
    """Who became what, with pid and pidversion, from tokens of either shape; never a decision."""
    expect = sample["expect"]
    (row,) = decode(sample["raw"].encode())
    extra = json.loads(row.get("extra", "{}"))
    assert row["kind"] == "notice"
    assert "decision" not in row
    for word, column in COLUMNS.items():
        if word in expect:
            assert row[column] == expect[word]
    for word, name in EXTRA.items():
        if word in expect:
            assert extra[name] == expect[word]
    if "args" in expect:
        assert json.loads(row["command"]) == expect["args"]


def test_the_environment_is_not_kept() -> None:
    """Variables hold secrets; none of them leaves the decoder."""
    message = json.loads(SAMPLES[0]["raw"])
    message["event"]["exec"]["env"] = ["TOKEN=sentinel-4711"]
    (row,) = decode(json.dumps(message).encode())
    assert "sentinel-4711" not in json.dumps(row)
