"""Linux audit events against what the frameworks' own tools read in the same records."""

import json
from datetime import UTC, datetime
from errno import errorcode
from pathlib import Path
from typing import Any

import pytest
from decoding import NOW, by_line, feed

from collector.contracts import Block
from collector.decoders.linux_audit import MAX_PENDING_EVENTS, LinuxAuditDecoder

CORPUS = Path(__file__).parents[2] / "corpus" / "linux_audit"
SAMPLES = [json.loads(line) for line in (CORPUS / "samples.jsonl").read_text().splitlines()]
DECISIONS = {
    "deny": ("decision", "deny"), "allow": ("decision", "allow"),
    "would-deny": ("decision", "allow"),
    "status": ("notice", None), "failed": ("notice", None),
}  # fmt: skip
# Words of the samples that stand in a column, and those that stand in extra under a name.
COLUMNS = {"process": "process", "pid": "pid", "ppid": "ppid", "framework": "enforcer",
           "syscall": "syscall", "port": "dst_port"}  # fmt: skip
EXTRA = {
    "serial": "serial", "exe": "exe", "exit": "exit", "domain": "domain", "blockers": "blockers",
    "action": "action", "arch": "arch", "cwd": "cwd", "scontext": "scontext", "info": "info",
    "tcontext": "tcontext", "sandboxer": "sandboxer", "class": "class", "family": "family",
    "paths": "paths", "target_process": "ocomm", "capname": "capname",
}  # fmt: skip


def decode(*pieces: bytes):
    return feed(LinuxAuditDecoder(lambda: NOW), pieces)


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample["id"] for sample in SAMPLES])
def test_an_event_is_read_as_its_own_tools_read_it(sample: dict[str, Any]) -> None:
    """Decision, who, what and where, whatever the framework and the prefix."""
    expect = sample["expect"]
    (row,) = decode(sample["raw"].encode()).rows
    extra = json.loads(row["extra"])
    kind, decision = DECISIONS[expect["decision"]]
    assert (row["kind"], row.get("decision")) == (kind, decision)
    assert ("would-deny" in row.get("flags", "")) == (expect["decision"] == "would-deny")
    assert row["ts"].startswith(ts_of(expect["ts"]))
    for word, column in COLUMNS.items():
        if word in expect:
            assert row.get(column) == expect[word], word
    for word, name in EXTRA.items():
        if word in expect:
            assert extra.get(name) == expect[word], word
    check_object(row, extra, expect)
    if "argv" in expect:
        assert json.loads(row["command"]) == expect["argv"]
    elif "proctitle" in expect:
        assert " ".join(json.loads(row["command"])) == expect["proctitle"]
    if decision == "deny" and expect.get("exit", 0) < 0:
        assert row["error"] == errorcode[-expect["exit"]]


def check_object(row: dict[str, Any], extra: dict[str, Any], expect: dict[str, Any]) -> None:
    """Path, destination, target and access."""
    if "path" in expect:
        assert row["path"] == expect["path"]
    if "profile" in expect:
        assert row["policy"] == expect["profile"]
    if "dest" in expect:
        assert (row["dst_host"], row["dst_port"]) == (expect["dest"]["ip"], expect["dest"]["port"])
    if "target" in expect:
        assert expect["target"] in (row.get("path_to"), row.get("target"))
    if "peer" in expect:
        assert expect["peer"] in (row.get("target"), extra.get("peer"))
    if "access" in expect:
        assert expect["access"] in (extra.get("mask"), extra.get("permissions"))


def ts_of(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:23].rstrip("0.")


def landlock(serial: int, second: int = 0) -> list[bytes]:
    """An event of three records."""
    stamp = f"audit({1795962376 + second}.915:{serial}):"
    return [line.encode() + b"\n" for line in (
        f'type=LANDLOCK_ACCESS msg={stamp} domain=1 blockers=fs.read_file path="/p{serial}"',
        f'type=SYSCALL msg={stamp} arch=c000003e syscall=257 success=no exit=-13 pid={serial}',
        f"type=PROCTITLE msg={stamp} proctitle=6361740061",
    )]  # fmt: skip


def test_events_that_interleave_are_told_apart() -> None:
    """Records of two events in turn are two events, whole."""
    first, second = landlock(1), landlock(2)
    stream = [line for pair in zip(first, second, strict=True) for line in pair]
    rows = decode(*stream).rows
    assert [(row["path"], row["pid"]) for row in rows] == [("/p1", 1), ("/p2", 2)]


def test_a_restart_between_records_repeats_nothing() -> None:
    """After `resume`, what was out already is named in `done`, tails of events included."""
    one, two, three = landlock(1), landlock(2), landlock(3)
    stream = [one[0], two[0], one[1], one[2], two[1], three[0], three[1], three[2], two[2]]
    whole = decode(*stream).rows
    for cut in range(1, len(stream)):
        first, rest = b"".join(stream[:cut]), b"".join(stream)
        before = LinuxAuditDecoder(lambda: NOW).decode(Block("s", "f", first, 0, len(first)))
        again = LinuxAuditDecoder(lambda: NOW)
        tail = Block("s", "f", rest[before.resume :], before.resume, len(rest), final=True)
        parts = [before, again.decode(tail), again.flush(NOW)]
        starts = parts[0].batch.column("source_position").to_pylist()
        for part in parts[1:]:
            found = part.batch.column("source_position").to_pylist()
            starts += [start for start in found if start not in before.done]
        assert sorted(starts) == [row["source_position"] for row in whole]


def test_events_expire_by_their_own_time() -> None:
    """An event without an end is out once the log is five seconds further."""
    decoder = LinuxAuditDecoder(lambda: NOW)
    head = landlock(1)[0]
    late = landlock(9, second=6)[0]
    assert decoder.decode(Block("s", "f", head, 0, len(head))).batch.num_rows == 0
    answer = decoder.decode(Block("s", "f", late, len(head), len(head) + len(late)))
    assert answer.batch.column("path").to_pylist() == ["/p1"]
    assert answer.resume == len(head)


def test_unfinished_events_are_bounded() -> None:
    """Beyond the bound the oldest goes out, flagged."""
    heads = [landlock(serial)[0] for serial in range(MAX_PENDING_EVENTS + 3)]
    decoder = LinuxAuditDecoder(lambda: NOW)
    data = b"".join(heads)
    answer = decoder.decode(Block("s", "f", data, 0, len(data)))
    assert answer.batch.column("flags").to_pylist() == ["incomplete,skewed"] * 3


def test_a_process_cannot_speak_for_the_kernel() -> None:
    """A record behind any other name in syslog is a notice, flagged."""
    line = (
        b'Aug 23 17:29:45 h app[7]: type=1400 audit(1795962376.1:7): apparmor="ALLOWED" name="/x"'
    )
    (row,) = decode(line).rows
    assert (row["kind"], row["flags"]) == ("notice", "forged,no-time")


def test_the_journal_is_read() -> None:
    """`journalctl -o json` wraps the line; text that is no UTF-8 comes as numbers."""
    line = 'audit: type=1400 audit(1795962376.1:7): apparmor="DENIED" operation="open" name="/x"'
    plain = {"MESSAGE": line, "SYSLOG_IDENTIFIER": "kernel", "_HOSTNAME": "h1"}
    numbers = {**plain, "MESSAGE": list(line.encode().replace(b"/x", b"/\xff"))}
    forged = {**plain, "SYSLOG_IDENTIFIER": "app", "_TRANSPORT": "syslog"}
    for entry, path in ((plain, "/x"), (numbers, "/\U0010ffff")):
        (row,) = decode(json.dumps(entry).encode()).rows
        assert (row["path"], row["host"], row["decision"]) == (path, "h1", "deny")
    (row,) = decode(json.dumps(forged).encode()).rows
    assert row["kind"] == "notice"


def test_lost_records_leave_a_gap() -> None:
    """The kernel says how many records it lost since boot, not since when."""
    (row,) = decode(b"Aug 23 17:29:45 h kernel: audit: audit_lost=8 audit_rate_limit=0\n").rows
    assert row["kind"] == "gap"


def test_all_samples_in_one_log_are_told_apart() -> None:
    """Events do not lend each other records."""
    stream = "\n".join(sample["raw"] for sample in SAMPLES).encode()
    assert len(decode(stream).rows) == len(SAMPLES)
    assert decode(*by_line(stream)) == decode(stream)
