"""Sandbox reports in every style, against what people read in the same lines."""

import json
from pathlib import Path
from typing import Any

import pytest
from decoding import NOW, by_line, feed

from collector.contracts import Filtered
from collector.decoders.seatbelt import SeatbeltDecoder, decoder
from collector.decoders.seatbelt_message import read
from collector.decoders.seatbelt_operations import operation

CORPUS = Path(__file__).parents[2] / "corpus" / "seatbelt"
SAMPLES = [json.loads(line) for line in (CORPUS / "samples.jsonl").read_text().splitlines()]
KEXT = "/System/Library/Extensions/Sandbox.kext/Contents/MacOS/Sandbox"
# Escapes that the author of the quoting page added.
QUOTED_BY_MARKDOWN = {"ms-13"}
LEFT_OUT = {
    "other-log", "repeat", "report-field", "header", "banner", "timesync", "boot", "noise",
    "fragment", "trailer", "blank",
}  # fmt: skip
NOTICES = {
    "forged", "sandbox-applied", "tool-error", "tcc-check", "tcc-forward", "tcc-result",
    "tcc-prompt", "tcc-ctx",
}  # fmt: skip
GAPS = {"loss", "suppressed"}
ENFORCERS = {"Sandbox": "seatbelt", "System Policy": "system-policy"}


def decode(*pieces: bytes):
    return feed(SeatbeltDecoder(lambda: NOW), pieces)


def objects(row: dict[str, Any]) -> set[str]:
    """Every way the object of an event could have been written in the log."""
    extra = json.loads(row.get("extra", "{}"))
    found = {row[name] for name in ("path", "dst", "target") if name in row}
    if "dst" in row:
        found |= {f"remote:{row['dst']}", f"local:{row['dst']}"}
    for key, value in extra.items():
        found |= {f"{end}:{row.get('path')} {key}:{value}" for end in ("path", "target")}
    return found


def check(row: dict[str, Any], expect: dict[str, Any]) -> None:
    """The mapping from the words of the samples to columns."""
    extra = json.loads(row.get("extra", "{}"))
    assert row["kind"] == "decision"
    assert row["enforcer"] == ENFORCERS[expect.get("policy", "Sandbox")]
    for word, column in (("process", "process"), ("pid", "pid"), ("operation", "syscall"),
                         ("decision", "decision"), ("count", "count"), ("uid", "uid")):  # fmt: skip
        if word in expect:
            assert row.get(column) == expect[word], word
    assert extra.get("tag") == expect.get("tag")
    assert ("duplicate" in extra) == expect.get("duplicate", False)
    if expect.get("code") and expect.get("decision") == "deny":
        assert row["error"] == {1: "EPERM"}[expect["code"]]
    if expect.get("target"):
        assert expect["target"] in objects(row)
    if "port" in expect:
        assert row["dst_port"] == expect["port"]
    if "parent" in expect:
        assert (extra["parent"], row["ppid"]) == (expect["parent"]["name"], expect["parent"]["pid"])
        assert extra["responsible"] == expect["responsible"]
    assert ("truncated" in row.get("flags", "")) == expect.get("truncated", False)


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample["id"] for sample in SAMPLES])
def test_a_line_is_read_as_a_person_reads_it(sample: dict[str, Any]) -> None:
    """Decisions, notices, gaps and lines left out, in every style people have published."""
    expect, record = sample["expect"], sample["expect"]["record"]
    answer = decode(sample["raw"].encode())
    if record in LEFT_OUT:
        assert (answer.rows, answer.rejects) == ([], [])
        return
    assert len(answer.rows) == 1
    row = answer.rows[0]
    if expect.get("ambiguous"):
        assert "ambiguous" in row["flags"]
        assert not {"process", "pid", "path", "syscall"} & row.keys()
    elif record in NOTICES:
        assert row["kind"] == "notice"
        assert ("forged" in row.get("flags", "")) == (record == "forged")
    elif record in GAPS:
        assert row["kind"] == "gap"
    elif sample["id"] not in QUOTED_BY_MARKDOWN:
        check(row, expect)


def test_the_real_capture_is_read_whole() -> None:
    """macOS 14.2: every report, with banner, blank line and trailer accounted for."""
    stream = (CORPUS / "macos-14.2-capture.ndjson").read_bytes()
    lines = (CORPUS / "macos-14.2-capture.expect.jsonl").read_text().splitlines()
    expected = [json.loads(line)["expect"] for line in lines]
    reports = [expect for expect in expected if expect["record"] == "violation"]
    answer = decode(stream)
    assert answer.filtered == {Filtered.BANNER: 1, Filtered.BLANK: 1, Filtered.TRAILER: 1}
    assert (answer.rejects, answer.seen) == ([], len(expected))
    for row, expect in zip(answer.rows, reports, strict=True):
        check(row, expect)
    assert answer.rows[0]["ts"] == "2026-09-13T17:08:36.525077+00:00"
    assert sum(row["count"] for row in answer.rows) == sum(e["count"] for e in reports)


@pytest.mark.parametrize("forged", [
    {"processID": 4711, "senderImagePath": KEXT},
    {"processID": 0, "senderImagePath": "/tmp/Sandbox"},
    {"processID": 4711, "senderImagePath": "/usr/lib/x", "processImagePath": "/tmp/sandboxd",
     "subsystem": "com.apple.sandbox.reporting"},
    {"processImagePath": "/tmp/kernel"},
    {"senderImagePath": KEXT},
])  # fmt: skip
def test_only_the_kernel_extension_is_believed(forged: dict[str, Any]) -> None:
    """The same text from any process is a notice, flagged, and no decision."""
    entry = {"eventMessage": "Sandbox: sh(1) allow process-exec* /bin/sh",
             "timestamp": "2026-07-28 09:00:00.000000+0000", **forged}  # fmt: skip
    (row,) = decode(json.dumps(entry).encode()).rows
    assert (row["kind"], row["flags"]) == ("notice", "forged")
    assert "decision" not in row


def test_a_forged_text_line_is_a_notice() -> None:
    """The compact style names the process that wrote the line."""
    line = b"2026-07-28 09:00:00.000 E  evil[77:1] (libx) Sandbox: sh(1) allow signal\n"
    (row,) = decode(line).rows
    assert (row["kind"], row["flags"], row["pid"]) == ("notice", "forged,no-zone", 77)


def test_a_text_with_two_readings_names_nobody() -> None:
    """Name and target are the agent's choice: what could be either is said to be ambiguous."""
    report = read("Sandbox: sh(5) deny(1) file-read-data /tmp/a(77) deny(1) mach-lookup b")
    assert report is not None
    assert (report.ambiguous, report.process, report.pid, report.decision) == (
        True,
        None,
        None,
        "deny",
    )
    report = read("Sandbox: sh(5) deny(1) file-read-data /tmp/a(77) allow mach-lookup b")
    assert report is not None
    assert report.decision is None


def test_a_long_report_spans_lines_and_blocks() -> None:
    """A report of sandboxd is one record whatever the borders, and the next line ends it."""
    report = next(sample["raw"] for sample in SAMPLES if sample["id"] == "md-01")
    after = b"2026-07-28 09:00:00.000 E  kernel[0:1] (Sandbox) Sandbox: cat(5) deny(1) signal\n"
    stream = report.encode() + b"\n" + after
    assert decode(stream) == decode(*by_line(stream))
    assert [row["process"] for row in decode(stream).rows] == ["mpv", "cat"]


def test_pretty_json_is_read() -> None:
    """`log show --style json` prints one array over many lines."""
    entries = [
        {"eventMessage": f"Sandbox: cat({pid}) deny(1) file-read-data /etc/hosts", "processID": 0,
         "timestamp": "2026-07-28 09:00:00.000000+0200", "backtrace": {"frames": [{"a": 1}]}}
        for pid in (1, 2, 3)
    ]  # fmt: skip
    body = ",".join(json.dumps(entry, indent=2) for entry in entries)
    stream = b"Skipping info and debug messages, pass --info and/or --debug to include.\n["
    stream += body.encode() + b"]\n"
    answer = decode(stream)
    assert [row["pid"] for row in answer.rows] == [1, 2, 3]
    assert answer.rejects == []
    assert answer == decode(*by_line(stream))


def test_a_broken_entry_does_not_swallow_the_next() -> None:
    """Half an object is one reject; the line after it is read."""
    good = (CORPUS / "macos-14.2-capture.ndjson").read_bytes().split(b"\n")[1] + b"\n"
    answer = decode(good[:200] + b"\n" + good)
    assert (len(answer.rows), answer.rejects) == (1, [(0, "not-json-or-logfmt")])


def test_dropped_messages_leave_a_gap() -> None:
    """What the stream says it lost is a gap of unknown size."""
    line = b"=== Messages dropped during live streaming (use `log show` to see what they were)\n"
    (row,) = decode(line).rows
    assert row["kind"] == "gap"
    assert "count" not in row


def test_a_line_folded_by_syslogd_counts_again() -> None:
    """`last message repeated` stands for so many more of the report before it."""
    line = b"Jul  1 09:32:13 host-a kernel[0]: Sandbox: a(1) deny(1) network-outbound /var/run/x\n"
    answer = decode(line + b"Jul  1 09:33:13 --- last message repeated 4 times ---\n")
    assert [(row["process"], row["count"]) for row in answer.rows] == [("a", 1), ("a", 4)]
    assert answer.rows[0]["ts"].startswith("2026-07-01T09:32:13")


@pytest.mark.parametrize(
    ("name", "filed"),
    [
        ("file-read-data", ("filesystem", "read")),
        ("file-write-unlink", ("filesystem", "delete")),
        ("file-write*", ("filesystem", "write")),
        ("forbidden-link-priv<file-read*>", ("filesystem", "link")),
        ("process-exec*", ("process", "exec")),
        ("ipc-posix-shm-write-create", ("ipc", "create")),
        ("sysctl-read", ("sysctl", "read")),
        ("mach-priv-task-port", ("mach", "open")),
        ("an-operation-of-tomorrow", ("system", "other")),
    ],
)
def test_operations_are_filed(name: str, filed: tuple[str, str]) -> None:
    """One table says what an operation acts on; a new one is not lost."""
    assert operation(name) == filed


def test_the_format_is_recognised() -> None:
    """Captures and pasted reports are."""
    assert decoder.recognises((CORPUS / "macos-14.2-capture.ndjson").read_bytes()[:4096])
    assert not decoder.recognises(b'{"decision":"deny"}\n')
