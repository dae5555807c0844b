"""What every decoder promises; a new one is tested as soon as its file and its corpus exist."""

import json
import time
from functools import cache
from pathlib import Path

import pytest
from decoding import NOW, by_line, feed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import collector.decoders
from audit_events import plugins, schema
from audit_events.arrow import EVENT_SCHEMA
from collector.contracts import Block, DecoderPlugin

CORPUS = Path(__file__).parents[2] / "corpus"
DECODERS: dict[str, DecoderPlugin] = plugins.find(collector.decoders, "decoder")
# The flow fills these; `host` and `sandbox` may be in the record.
FILLED_LATER = {*schema.COMMIT_COLUMNS, "source", "linked_seq", "link"}
CLOSED = {
    "kind": schema.KINDS, "decision": schema.DECISIONS, "resource": schema.RESOURCES,
    "access": schema.ACCESSES, "outcome": schema.OUTCOMES, "rule_origin": schema.RULE_ORIGINS,
}  # fmt: skip
# Ten times what the slowest takes on a slow core.
MAX_SECONDS = 3.0
every_decoder = pytest.mark.parametrize("name", DECODERS)


@cache
def streams(name: str) -> tuple[bytes, ...]:
    """The corpus of a decoder: files as they are, and the lines of samples."""
    found = []
    for path in sorted((CORPUS / name).iterdir()):
        if path.name.endswith("samples.jsonl"):
            samples = [json.loads(line)["raw"] for line in path.read_text().splitlines()]
            found += [sample.encode() for sample in samples]
            found.append("\n".join(samples).encode())
        elif not path.name.endswith(".expect.jsonl"):
            found.append(path.read_bytes())
    return tuple(found)


def decode(name: str, *pieces: bytes):
    decoder = DECODERS[name].make()
    decoder._clock = lambda: NOW
    return feed(decoder, pieces)


def check_rows(rows: list[dict]) -> None:
    """Every value typed, bounded, encodable and from its closed list."""
    for row in rows:
        assert not FILLED_LATER & row.keys()
        assert row["kind"] in schema.KINDS
        if row["kind"] == "decision":
            assert row["decision"] in schema.DECISIONS
        assert row["redactions"] == 0
        assert row.get("count", 1) >= 1
        assert row["kind"] == "gap" or "count" in row
        assert set(row.get("flags", "").split(",")) <= {*schema.FLAGS, ""}
        for column, words in CLOSED.items():
            assert row.get(column) in (*words, None), column
        for column, value in row.items():
            if isinstance(value, str) and column != "ts":
                dictionary = schema.BY_NAME[column].dictionary
                limit = schema.MAX_NAME_BYTES if dictionary else schema.MAX_TEXT_BYTES
                assert len(value.encode()) <= limit
        assert isinstance(json.loads(row.get("extra", "{}")), dict)


@every_decoder
def test_a_plugin_is_named_like_its_file_and_has_a_corpus(name: str) -> None:
    """No decoder without samples of what it reads, which it recognises."""
    assert DECODERS[name].name == name.replace("_", "-")
    assert streams(name)
    largest = max(streams(name), key=len)
    assert DECODERS[name].recognises(largest[:65_536])


@every_decoder
def test_the_corpus_gives_whole_events(name: str) -> None:
    """The batch has the schema, closed words are from their lists, the format is named."""
    for stream in streams(name):
        decoded = DECODERS[name].make().decode(Block("s", "f", stream, 0, len(stream), final=True))
        assert decoded.batch.schema == EVENT_SCHEMA
        answer = decode(name, stream)
        check_rows(answer.rows)
        assert {row["format"] for row in answer.rows} <= {DECODERS[name].name}
        assert all(0 <= row["source_position"] < len(stream) for row in answer.rows)


@every_decoder
def test_borders_do_not_change_the_answer(name: str) -> None:
    """One block or a block a line: the same events, rejects, tallies and positions."""
    for stream in streams(name):
        assert decode(name, *by_line(stream)) == decode(name, stream)


@every_decoder
def test_reading_goes_on_from_resume(name: str) -> None:
    """A new decoder that starts at `resume` and skips `done` gives what was still to come."""
    stream = max(streams(name), key=len)
    lines = by_line(stream)
    for cut in {1, len(lines) // 3, len(lines) // 2, len(lines) - 1}:
        first = b"".join(lines[:cut])
        decoder = DECODERS[name].make()
        decoder._clock = lambda: NOW
        before = decoder.decode(Block("s", "f", first, 0, len(first)))
        again = DECODERS[name].make()
        again._clock = lambda: NOW
        rest = stream[before.resume :]
        after = again.decode(Block("s", "f", rest, before.resume, len(stream), final=True))
        ended = again.flush(NOW)
        starts = [
            *before.batch.column("source_position").to_pylist(),
            *[at for part in (after, ended) for at in
              part.batch.column("source_position").to_pylist() if at not in before.done],
        ]  # fmt: skip
        assert sorted(starts) == [row["source_position"] for row in decode(name, stream).rows]


@every_decoder
@settings(
    max_examples=60, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
@given(data=st.data())
def test_damage_never_raises(name: str, data: st.DataObject) -> None:
    """Bytes changed, cut, doubled, lines swapped: an answer that balances, fields in bounds."""
    stream = data.draw(st.sampled_from(streams(name)))[:30_000]
    raw = bytearray(stream)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, max(len(raw) - 1, 0)))
        piece = data.draw(
            st.one_of(
                st.binary(max_size=6),
                st.sampled_from(
                    [b"\n", b'"', b"\\", b"(7) deny(1) x", b"null", b"[" * 200, b"9" * 40, b"\xff"]
                ),
                st.integers(0, max(len(raw) - 1, 0)).map(lambda start: bytes(raw[start:][:80])),
            )
        )
        raw[at : at + data.draw(st.integers(0, 8))] = piece
    check_rows(decode(name, bytes(raw)).rows)


@every_decoder
@pytest.mark.parametrize(
    "filler", [b"[", b"{", b"(", b"a=", b'"', b"\\", b" ", b"\xff", b"a(1) deny "]
)
def test_a_hostile_line_takes_no_time(name: str, filler: bytes) -> None:
    """The longest line of anything is read within a second."""
    line = (filler * schema.MAX_LINE_BYTES)[: schema.MAX_LINE_BYTES - 1] + b"\n"
    longest = max(streams(name), key=len).split(b"\n")[0]
    for stream in (
        line,
        longest[:40] + line,
        b'{"eventMessage":"' + line[:-3].strip(b'"\\') + b'"}\n',
    ):
        started = time.process_time()
        check_rows(decode(name, stream).rows)
        assert time.process_time() - started < MAX_SECONDS
