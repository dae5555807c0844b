"""Properties of the native decoder over generated and damaged streams."""

import json
from pathlib import Path

import numpy as np
from decoding import NOW, by_line, feed, plain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collector.decoders import native_logfmt
from collector.decoders.native import NativeDecoder
from collector.decoders.native_fields import Rough, merge
from collector.decoders.native_json import JsonLines
from collector.decoders.native_logfmt import Columns
from collector.decoders.native_normalise import normalise
from collector.decoders.times import micros

QUICK = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
CORPUS = Path(__file__).parents[2] / "corpus" / "native"

words = st.sampled_from([
    "ts", "time", "sandbox", "path", "decision", "policy_rule", "pid", "access", "dst", "command",
    "run_id", "trace_id", "kind", "extra", "seq", "store", "count", "dst_port", "dst_host", "flags",
    "rule_section", "rule_index", "latency", "tool", "outcome", "a:", "zz\\", "é",
])  # fmt: skip
texts = st.one_of(
    st.sampled_from([
        "2026-07-28T09:03:12.481Z", "2026-07-28 09:03:12", "1785229392", "deny", "DENIED", "allow",
        "", ":", ":x", "[::1]:443", "1.2.3.4:99999", "filesystem.allow[0]", "\\", '"', '\\":null',
        "a b", "a=b", "\udcff", "\U0010ffff", "\U0010ff80", "é\u2028", "null", "gap", "12", "-1",
        "99999999999999999999", '["a","b"]', "x" * 600, "\x00\x1b[2J",
    ]),
    st.text(max_size=12),
)  # fmt: skip
numbers = st.one_of(
    st.integers(-5, 70_000),
    st.sampled_from([10**30, 1785229392481, 1.5, 1e300, float("nan"), float("inf"), 3.0]),
)
scalars = st.one_of(texts, numbers, st.booleans(), st.none())
values = st.one_of(
    scalars, st.lists(scalars, max_size=3), st.dictionaries(words, scalars, max_size=3)
)
records = st.dictionaries(words, values, max_size=8)


@st.composite
def json_lines(draw: st.DrawFn) -> bytes:
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]))
    ascii_only = draw(st.booleans())
    line = json.dumps(draw(records), separators=separators, ensure_ascii=ascii_only)
    return line.encode("utf-8", "surrogatepass")


def quoted(value: str) -> str:
    plain = value and not set(value) & set(' \t\n\r"=')
    return value if plain else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


pairs = st.tuples(words, texts).map(lambda pair: f"{pair[0]}={quoted(pair[1])}")
logfmt_lines = st.lists(st.one_of(pairs, words), max_size=8).map(
    lambda found: " ".join(found).encode("utf-8", "surrogatepass").replace(b"\n", b" ")
)
block_lines = st.tuples(words, texts).map(
    lambda pair: f"{pair[0]}={pair[1]}".encode("utf-8", "surrogatepass").replace(b"\n", b" ")
)
damaged = st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b" "))
lines = st.one_of(json_lines(), logfmt_lines, block_lines, damaged, st.just(b""))
streams = st.lists(lines, max_size=30).map(b"\n".join)


def decode(*pieces: bytes):
    return feed(NativeDecoder(lambda: NOW), pieces)


@QUICK
@given(streams, st.data())
def test_the_answer_does_not_depend_on_block_borders(stream: bytes, data: st.DataObject) -> None:
    """One block, one line a block, any cut in between: the same events, rejects and tally."""
    whole = decode(stream)
    single = by_line(stream)
    cut = data.draw(st.integers(0, len(single)))
    assert decode(*single) == whole
    assert decode(b"".join(single[:cut]), b"".join(single[cut:])) == whole


@QUICK
@given(streams)
def test_crlf_reads_like_lf(stream: bytes) -> None:
    """A line end of two bytes changes positions only."""
    stream = stream.replace(b"\r", b"")
    unix, dos = decode(stream + b"\n"), decode(stream.replace(b"\n", b"\r\n") + b"\r\n")
    for row in (*unix.rows, *dos.rows):
        del row["source_position"]
    assert dos.rows == unix.rows
    assert dos.filtered == unix.filtered


@QUICK
@given(st.lists(st.one_of(logfmt_lines, damaged), min_size=1, max_size=40))
def test_columns_and_single_lines_read_logfmt_alike(lines: list[bytes]) -> None:
    """A line that the columns call clean means what the careful reader says it means."""
    data = b"\n".join(lines) + b"\n"
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10)
    starts = np.concatenate(([0], ends[:-1] + 1))
    columns = Columns(data, starts, ends)
    clean = np.flatnonzero(columns.clean)
    rough = columns.rough(clean, 0)
    for row, line in enumerate(clean):
        expected = dict(native_logfmt.pairs(lines[line].decode()) or [])
        for name, value in expected.items():
            if name not in native_logfmt.INT_FIELDS:
                assert rough.columns[name][row].as_py() == value
        found = {name for name, array in rough.columns.items() if array[row].is_valid}
        assert found <= expected.keys()


def test_a_big_block_of_logfmt_means_what_its_lines_mean(native_logfmt_block: bytes) -> None:
    """The vectorised path and the line path give the same events."""
    assert decode(native_logfmt_block) == decode(*by_line(native_logfmt_block))


@QUICK
@given(st.lists(json_lines(), min_size=1, max_size=12))
def test_every_object_is_an_event_or_a_counted_reject(lines: list[bytes]) -> None:
    """No JSON object disappears; a rejected one has a reason."""
    answer = decode(b"\n".join(lines))
    assert len(answer.rows) + len(answer.rejects) == len(lines)


@QUICK
@given(records)
def test_no_key_of_a_record_is_lost(record: dict) -> None:
    """A key that fills no column is found in extra."""
    record["novel"] = {"a": [1, "é"]}
    answer = decode(json.dumps(record).encode())
    for row in answer.rows:
        extra = json.loads(row["extra"])
        assert extra["novel"] == {"a": [1, "é"]}
        assert all(name in extra for name in {"store", "seq", "zz\\", "a:", "é"} & record.keys())


@settings(QUICK, max_examples=60)
@given(st.data())
def test_a_damaged_corpus_never_raises(data: st.DataObject) -> None:
    """Any bytes changed, cut out or doubled in real streams give an answer that balances."""
    files = sorted(CORPUS.glob("*"))
    raw = bytearray(data.draw(st.sampled_from(files)).read_bytes()[:20_000])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, max(len(raw) - 1, 0)))
        raw[at : at + data.draw(st.integers(0, 4))] = data.draw(st.binary(max_size=4))
    assert decode(bytes(raw)).seen >= 0


@QUICK
@given(st.lists(json_lines(), min_size=1, max_size=8))
def test_blocks_and_single_lines_read_json_alike(lines: list[bytes]) -> None:
    """What msgspec reads at once means what the careful reader says, numbers in extra included."""
    data = b"\n".join(lines) + b"\n"
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == 10)
    reader = JsonLines(data, np.concatenate(([0], ends[:-1] + 1)), ends)
    roughs, rejects = reader.read(0)
    careful, refused = reader._careful(list(range(len(lines))), 0)
    assert sorted(r.origin for r in rejects) == [r.origin for r in refused]
    fast = [rough for rough in roughs if len(rough)]
    if fast:
        assert events(merge(fast)) == events(careful)


def events(rough: Rough) -> list[dict]:
    rows = plain(normalise(rough, micros(NOW))[0])
    for row in rows:
        row["extra"] = json.loads(row.get("extra", "{}"))
    return sorted(rows, key=lambda row: row["source_position"])
