"""Santa's log against what people read in the same lines."""

import json
from pathlib import Path
from typing import Any

import pytest
from decoding import NOW, feed

from collector.decoders.line_decoder import LineDecoder
from collector.decoders.santa import read

CORPUS = Path(__file__).parents[2] / "corpus" / "santa"
SAMPLES = [json.loads(line) for line in (CORPUS / "samples.jsonl").read_text().splitlines()]
DECISIONS = {
    "ALLOW": ("allow", None), "DENY": ("deny", None), "UNKNOWN": ("unknown", "unknown-decision"),
    "ALLOWED": ("allow", None), "DENIED": ("deny", None), "AUDIT_ONLY": ("allow", "would-deny"),
}  # fmt: skip
COLUMNS = {
    "action": "syscall", "path": "path", "newpath": "path_to", "pid": "pid", "ppid": "ppid",
    "uid": "uid", "policy_name": "policy", "process": "process", "mount": "target",
}  # fmt: skip


def decode(line: str) -> list[dict[str, Any]]:
    return feed(LineDecoder("santa", read, lambda: NOW), [line.encode()]).rows


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample["id"] for sample in SAMPLES])
def test_a_line_is_read_as_a_person_reads_it(sample: dict[str, Any]) -> None:
    """Decisions are events, actions without one are notices, no field is lost."""
    expect = sample["expect"]
    (row,) = decode(sample["raw"])
    extra = json.loads(row.get("extra", "{}"))
    if expect.get("decision"):
        decision, flag = DECISIONS[expect["decision"]]
        assert (row["kind"], row["decision"]) == ("decision", decision)
        assert flag is None or flag in row["flags"]
    elif "decision" in expect:
        assert row["kind"] == "notice"
    for word, column in COLUMNS.items():
        if expect.get(word) is not None:
            assert row[column] == expect[word]
    for word in ("reason", "explain", "args", "mode", "teamid", "machineid", "fs", "bus", "volume"):
        if expect.get(word):
            assert extra[word] == expect[word]


def test_a_name_that_imitates_the_fields_is_ambiguous() -> None:
    """A file name that repeats the whole tail of the line decides nothing."""
    name = "/x|access_type=OPEN|decision=ALLOWED|operation_id=1|pid=1"
    line = f"action=FILE_ACCESS|policy_version=1|policy_name=P|path={name}"
    (row,) = decode(line + "|access_type=OPEN|decision=DENIED|operation_id=2|pid=9|ppid=1|uid=5")
    assert "ambiguous" in row["flags"]
    assert row["decision"] == "unknown"
    assert "path" not in row


def test_dropped_messages_leave_a_gap() -> None:
    """The old kernel extension said when it lost lines."""
    (row,) = decode("W santa-driver: Dropping log queue messages")
    assert row["kind"] == "gap"
