"""What one native record becomes."""

import json

import pytest
from decoding import NOW, feed

from audit_events.schema import MAX_NAME_BYTES, MAX_TEXT_BYTES
from collector.contracts import Block, Filtered, Reason
from collector.decoders.native import NativeDecoder, decoder

TS = '"ts":"2026-07-28T09:03:12Z"'


def decode(*pieces: bytes | str):
    return feed(
        NativeDecoder(lambda: NOW), [p.encode() if isinstance(p, str) else p for p in pieces]
    )


def one(members: str) -> dict:
    """The only event of a JSON record with a time and these members."""
    answer = decode(f"{{{TS},{members}}}")
    assert not answer.rejects
    return answer.rows[0]


def test_the_documented_record_fills_every_column_it_names() -> None:
    """The record of the manual, whole."""
    row = one(
        '"sandbox":"agent-demo","syscall":"open","resource":"filesystem",'
        '"path":"/workspace/agent-entry.sh","access":"read","decision":"allow",'
        '"policy_rule":"filesystem.allow[0]","latency_us":34'
    )
    assert row == {
        "ts": "2026-07-28T09:03:12+00:00", "kind": "decision", "format": "native",
        "source_position": 0, "sandbox": "agent-demo", "syscall": "open",
        "resource": "filesystem", "access": "read", "decision": "allow",
        "path": "/workspace/agent-entry.sh", "policy_rule": "filesystem.allow[0]",
        "rule_section": "filesystem.allow", "rule_index": 0, "rule_origin": "reported",
        "latency_us": 34, "count": 1, "redactions": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "decision", "flags"),
    [
        ("allow", "allow", None),
        ("DENY", "deny", None),
        ("Denied", "deny", None),
        ("blocked", "deny", None),
        ("ask-granted", "allow", "asked"),
        ("ask_denied", "deny", "asked"),
        ("would-deny", "allow", "would-deny"),
        ("timeout", "deny", "timeout"),
        ("maybe", "unknown", "unknown-decision"),
        ("", "unknown", "no-decision"),
    ],
)
def test_decisions_are_normalised(word: str, decision: str, flags: str | None) -> None:
    """Any spelling of allow and deny is one word; anything else is unknown and says why."""
    row = one(f'"decision":"{word}"')
    assert (row["decision"], row.get("flags")) == (decision, flags)


def test_a_word_that_is_no_decision_is_kept() -> None:
    """What the source said is in extra when the column cannot hold it."""
    assert json.loads(one('"decision":"maybe"')["extra"]) == {"decision": "maybe"}


def test_a_timeout_has_an_error_unless_one_was_given() -> None:
    """The code of a time-out is set only where the record has none."""
    assert one('"decision":"timeout"')["error"] == "E_TIMEOUT"
    assert one('"decision":"timeout","error":"E_TIMEOUT: tool"')["error"] == "E_TIMEOUT: tool"


def test_a_call_without_decision_is_a_tool_call() -> None:
    """Tool, outcome or duration and no decision: the tool ran, nobody decided."""
    row = one('"tool":"bash","outcome":"success","duration_us":5')
    assert (row["kind"], row["resource"], row["outcome"]) == ("tool_call", "tool", "ok")
    assert "decision" not in row


@pytest.mark.parametrize(
    ("members", "resource"),
    [
        ('"path":"/a"', "filesystem"),
        ('"dst":"h:1"', "network"),
        ('"dst_port":1', "other"),
        ('"resource":"FS"', "filesystem"),
        ('"resource":"quantum"', "other"),
        ('"target":"x"', "other"),
    ],
)
def test_a_resource_is_always_there(members: str, resource: str) -> None:
    """A missing resource follows from what the record names."""
    assert one(members)["resource"] == resource


@pytest.mark.parametrize(
    ("members", "dst", "host", "port"),
    [
        ('"dst":"140.82.113.4:443"', "140.82.113.4:443", "140.82.113.4", 443),
        ('"dst":"[2001:db8::1]:443"', "[2001:db8::1]:443", "2001:db8::1", 443),
        ('"dst":"2001:db8::1"', "2001:db8::1", "2001:db8::1", None),
        ('"dst":"*:443"', "*:443", None, 443),
        ('"dst":"example.com"', "example.com", "example.com", None),
        ('"dst":"h:99999"', "h:99999", "h:99999", None),
        ('"dst_host":"2001:db8::1","dst_port":443', "[2001:db8::1]:443", "2001:db8::1", 443),
        ('"dst_port":53', "*:53", None, 53),
    ],
)
def test_destinations_have_two_parts(
    members: str, dst: str, host: str | None, port: int | None
) -> None:
    """Host and port are split from dst, or dst is joined from them."""
    row = one(members)
    assert (row["dst"], row.get("dst_host"), row.get("dst_port")) == (dst, host, port)


def test_the_run_is_taken_from_the_name_that_says_most() -> None:
    """correlation_id wins over run_id, that over the trace; what loses is kept."""
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    assert one(f'"traceparent":"00-{trace}-00f067aa0ba902b7-01"')["correlation_id"] == trace
    row = one('"trace_id":"t","run_id":"r"')
    assert (row["correlation_id"], row["extra"]) == ("r", '{"trace_id":"t"}')


@pytest.mark.parametrize(
    "member",
    ['"seq":7', '"store":"abcde"', '"source":"x"', '"linked_seq":1', '"kind":"gap"', '"count":0',
     '"redactions":5', '"observed_at":"2026-01-01T00:00:00Z"', '"rule_origin":"tagged"'],
)  # fmt: skip
def test_a_record_cannot_set_what_the_trail_sets(member: str) -> None:
    """Columns of our own keep our value, the record's word goes to extra."""
    row = one(member)
    assert row["extra"] == "{" + member + "}"
    assert (row["kind"], row["count"], row["redactions"]) == ("decision", 1, 0)
    assert not {"seq", "store", "source", "linked_seq", "observed_at", "rule_origin"} & row.keys()


@pytest.mark.parametrize(
    "member", ['"pid":-1', '"pid":true', '"pid":1.5', '"pid":99999999999999999999', '"pid":NaN',
               '"pid":"x"', '"dst_port":70000', '"path":["a"]', '"sandbox":7'],
)  # fmt: skip
def test_a_value_that_does_not_fit_stays_visible(member: str) -> None:
    """The event stands, flagged, with the value as it was written."""
    row = one(member)
    assert "unknown-value" in row["flags"]
    assert row["extra"].replace('"NaN"', "NaN") == "{" + member + "}"


def test_numbers_may_be_written_as_text() -> None:
    """Digits and integral decimals are numbers."""
    row = one('"pid":"12","uid":501.0')
    assert (row["pid"], row["uid"]) == (12, 501)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"a":1,"a":2}', "duplicate-key"),
        ('{"ts":"2026-07-28T09:03:12Z","ts":"2026-07-28T09:03:12Z"}', "duplicate-key"),
        ("[1]", "not-an-object"),
        ('"text"', "not-an-object"),
        ("null", "not-an-object"),
        ("{", "not-json-or-logfmt"),
        ('{"a":1} decision=deny', "not-json-or-logfmt"),
        ('decision=deny {"a":1}', "not-json-or-logfmt"),
        ("hello world", "not-json-or-logfmt"),
        ('path="open decision=deny', "not-json-or-logfmt"),
        ("a=1 b=2", "not-json-or-logfmt"),
        ("decision=deny decision=allow", "duplicate-key"),
        ('{"ts":"soon"}', "bad-time"),
        ('{"a":' + "[" * 65 + "]" * 65 + "}", "too-deep"),
        ("[" * 1_000_000, "too-deep"),
        ('{"a":' * 200_000, "too-deep"),
    ],
)  # fmt: skip
def test_what_is_no_record_is_rejected_with_its_place(line: str, reason: str) -> None:
    """The reason is one of a closed list; the lines around it are read."""
    good = f'{{{TS},"decision":"deny"}}\n'
    answer = decode(good + line + "\n" + good)
    assert answer.rejects == [(len(good), reason)]
    assert len(answer.rows) == 2


def test_brackets_inside_texts_are_no_depth() -> None:
    """A path full of brackets is a path."""
    assert one('"path":"' + "[{" * 200 + '"')["path"] == "[{" * 200


def test_bytes_that_are_no_utf8_are_kept_apart() -> None:
    """Two different raw paths are two different events, and neither is lost."""
    rows = decode(b'{"path":"/w/\xff"}\n{"path":"/w/\xfe"}\npath=/w/\xff decision=deny\n').rows
    assert [row["path"] for row in rows] == ["/w/\U0010ffff", "/w/\U0010fffe", "/w/\U0010ffff"]


def test_escapes_cannot_imitate_a_raw_byte() -> None:
    """The character that stands for byte 0xFF, spelled out, is told from the byte."""
    rows = decode(b'{"path":"\xff"}\n{"path":"\\udbff\\udfff"}\n{"path":"\xf4\x8f\xbf\xbf"}\n').rows
    assert rows[0]["path"] != rows[1]["path"] == rows[2]["path"]
    assert decode(b'path="\\udbff\\udfff" decision=deny').rows[0]["path"] == rows[1]["path"]


def test_fields_are_bounded() -> None:
    """A long name, text, command or extra is cut and flagged; the event stays."""
    huge = "/x" * MAX_TEXT_BYTES
    row = one(f'"path":"{huge}","sandbox":"{huge}","command":["ls","{huge}"],"novel":"{huge}"')
    assert row["flags"] == "no-decision,truncated"
    assert len(row["path"]) <= MAX_TEXT_BYTES
    assert len(row["sandbox"]) <= MAX_NAME_BYTES
    assert json.loads(row["command"])[0] == "ls"
    assert json.loads(row["extra"]) == {"members_left_out": 1}


def test_unknown_numbers_keep_their_digits() -> None:
    """A number beyond 2^53 or with zeros behind is not rounded."""
    members = '"id":12345678901234567890,"x":1.10,"n":{"y":[1e400]}'
    assert one(members)["extra"] == "{" + members + "}"
    assert one(members + ',"pid":"7"')["extra"] == "{" + members + "}"


def test_rare_keys_find_their_column() -> None:
    """Durations with a unit, a rule in parts, a yes or no, flags of the layer."""
    row = one(
        '"latency_ms":1.5,"rule_section":"a.b","rule_index":3,"allowed":false,"flags":"asked"'
    )
    assert (row["latency_us"], row["policy_rule"], row["rule_index"]) == (1500, "a.b[3]", 3)
    assert (row["decision"], row["flags"]) == ("deny", "asked")
    assert one('"duration":"1.2ms","tool":"x"')["duration_us"] == 1200
    assert one('"duration":12')["extra"] == '{"duration":12}'


def test_a_record_without_time_happened_when_it_was_read() -> None:
    """It is flagged, and so is a time far off."""
    assert decode('{"decision":"deny"}').rows[0]["ts"] == NOW.isoformat()
    assert decode('{"decision":"deny"}').rows[0]["flags"] == "no-time"
    assert decode('{"ts":1,"decision":"deny"}').rows[0]["flags"] == "skewed"
    assert decode('{"ts":"2026-07-30T00:00:01Z","decision":"deny"}').rows[0]["flags"] == "skewed"
    assert decode('{"ts":"2026-07-28 09:00:00","decision":"deny"}').rows[0]["flags"] == "no-zone"


def test_a_block_of_lines_is_one_record_across_blocks() -> None:
    """Reading resumes at its first byte until its end is seen."""
    reader = NativeDecoder(lambda: NOW)
    first = b"\nts=2026-07-28T09:03:12Z\ncommand=a b=c  d\n"
    answer = reader.decode(Block("s", "f", first, 0, len(first)))
    assert (answer.batch.num_rows, answer.resume) == (0, 1)
    end = len(first)
    answer = reader.decode(Block("s", "f", b"decision=deny\n\n", end, end + 15))
    assert answer.batch.column("command").to_pylist() == ['["a b=c  d"]']
    assert answer.batch.column("source_position").to_pylist() == [1]
    assert answer.resume == end + 15


def test_the_next_time_ends_a_block() -> None:
    """Blocks may follow each other without a blank line, also one-line records and JSON."""
    answer = decode(
        "ts=1785229392\ndecision=deny\nts=1785229393\ndecision=allow\n{}\nts=1785229394\n"
    )
    assert [row["decision"] for row in answer.rows] == ["deny", "allow", "unknown", "unknown"]


def test_a_block_that_just_stops_is_given_out_by_flush() -> None:
    """Nothing waits for ever; one without a decision says that it may be half."""
    assert decode("ts=1785229392\ndecision=deny\n").rows[0].get("flags") is None
    assert "incomplete" in decode("ts=1785229392\npath=/a\n").rows[0]["flags"]


def test_a_block_is_bounded() -> None:
    """Lines without end do not fill the memory."""
    lines = "".join(f"x{number}=1\n" for number in range(2000))
    answer = decode("ts=1785229392\n" + lines)
    assert answer.seen > 1


def test_an_unfinished_last_line_waits() -> None:
    """A closed object is taken without its newline; anything else is left and not counted."""
    reader = NativeDecoder(lambda: NOW)
    half = b'{"decision":"de'
    answer = reader.decode(Block("s", "f", half, 0, len(half), tail=True))
    assert (answer.tally.seen, answer.resume) == (0, 0)
    whole = b'{"decision":"deny"}'
    answer = reader.decode(Block("s", "f", whole, 0, len(whole), tail=True))
    assert (answer.tally.seen, answer.resume) == (1, len(whole))
    answer = reader.decode(Block("s", "f", b"\n\n", len(whole), len(whole) + 2))
    assert answer.tally.filtered == {Filtered.BLANK: 1}


def test_bytes_sent_again_are_not_read_again() -> None:
    """A source may repeat a tail from its start; the record is out once."""
    reader = NativeDecoder(lambda: NOW)
    line = b'{"decision":"deny"}'
    assert reader.decode(Block("s", "f", line, 0, len(line), tail=True)).batch.num_rows == 1
    answer = reader.decode(Block("s", "f", line + b"\n" + line + b"\n", 0, 2 * len(line) + 2))
    assert answer.batch.column("source_position").to_pylist() == [len(line) + 1]


BOM = b"\xef\xbb\xbf"
# Of so many lines whole columns are read, once the names of their fields are known.
MANY = [b'{%s,"decision":"deny","pid":%d}\n' % (TS.encode(), pid) for pid in range(1, 401)]


@pytest.mark.parametrize("known", [set(), {"ts", "decision", "pid"}])
@pytest.mark.parametrize("lines", [MANY[:1], MANY])
def test_a_byte_order_mark_at_the_start_is_no_text(lines: list[bytes], known: set[str]) -> None:
    """A file that begins with one is read like any other, and it is counted nowhere."""
    reader = NativeDecoder(lambda: NOW)
    reader._columns.learn(known)
    answer = feed(reader, [BOM + b"".join(lines)])
    assert (answer.rejects, answer.rows[0]["source_position"]) == ([], 3)
    assert [row["pid"] for row in answer.rows] == list(range(1, len(lines) + 1))
    assert (answer.seen, answer.filtered) == (len(lines), {})


@pytest.mark.parametrize("many", [MANY[:2], MANY])
def test_a_byte_order_mark_further_on_is_no_json(many: list[bytes]) -> None:
    """What a tool glued together is told, line by line; whatever stands beside it is read."""
    first, second = b"".join(MANY), b"".join([*many[:-1], BOM + many[-1], many[0]])
    reader = NativeDecoder(lambda: NOW)
    answer = feed(reader, [first, second])
    (told,) = answer.rejects
    assert told == (len(first + b"".join(many[:-1])), Reason.NOT_A_RECORD)
    assert len(answer.rows) == len(MANY) + len(many)


def test_the_format_is_recognised() -> None:
    """Native samples are, others are not."""
    assert decoder.recognises(b'{"ts":1,"decision": "deny"}\n{"ts":2,"decision":"allow"}\n')
    assert decoder.recognises(b"ts=1 sandbox=a decision=deny\n")
    assert not decoder.recognises(b"Jul  1 09:32:13 host kernel[0]: hello\n")
    assert not decoder.recognises(b"")
