"""Mutated lines of every sample, in bulk: no exception, bounded time a line, flat memory."""

import os
import random
import time
import tracemalloc
from collections.abc import Iterator

import pytest
from decoding import NOW, plain
from test_decoder_contract import DECODERS, check_rows, streams

from audit_events.schema import MAX_LINE_BYTES
from collector.contracts import Block

QUICK_LINES = 2_000
TORTURE_LINES = 200_000
BATCH_LINES = 500
FRESH = 0.4
# Batches between two looks at the memory.
HELD_EVERY = 4
# A line of a few hundred bytes takes 50 µs; a grammar that backtracks takes seconds.
MAX_LINE_SECONDS = 0.5
# What a decoder may hold: 4 MiB of unfinished records as text and as Python objects.
MAX_HELD_BYTES = 48 << 20
PIECES = (
    b"\n", b'"', b"\\", b"(7) deny(1) x", b" allow ", b"null", b"[" * 60, b"9" * 40, b"\xff",
    b"\x00", b"\t",
    b"\x1d", b"|", b"=", b"'", b"{", b"}", b"<\xe2\x80\xa6>", b"\xed\xa0\x80", b"audit(1.1:1): ",
    b"type=SYSCALL msg=", b"Sandbox: ", b"action=EXEC|", b'"eventMessage":"', b"1e999", b"-1",
)  # fmt: skip


def mutated(lines: list[bytes], rng: random.Random) -> bytes:
    """One line with a few bytes, pieces or halves of other lines changed."""
    raw = bytearray(rng.choice(lines))
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(raw))
        match rng.randrange(5):
            case 0:
                raw[at:at] = rng.choice(PIECES)
            case 1:
                raw[at : at + rng.randint(1, 30)] = b""
            case 2:
                raw[at : at + 1] = rng.randbytes(1)
            case 3:
                raw[at:] = rng.choice(lines)[rng.randrange(200) :]
            case _:
                raw[at:at] = raw[rng.randint(0, len(raw)) :][: rng.randint(1, 200)]
    return bytes(raw[: MAX_LINE_BYTES - 1])


def batches(name: str, count: int, rng: random.Random) -> Iterator[bytes]:
    """`count` mutated lines of the decoder's samples."""
    found = [[line for line in s.split(b"\n") if line.strip()] for s in streams(name)]
    for _ in range(0, count, BATCH_LINES):
        # Few forms at a time, as in a log: else the first long record swallows all others.
        lines = [b"x"] + [
            line for stream in rng.sample(found, min(3, len(found))) for line in stream
        ]
        yield b"\n".join(mutated(lines, rng) for _ in range(BATCH_LINES)) + b"\n"


def fuzz(name: str, count: int, seed: int) -> int:
    """One decoder over one stream of mutations; the most bytes of Python objects it held."""
    print(f"seed {seed}, {name}, {count:,} lines")
    rng = random.Random(f"{seed} {name}")
    decoder = DECODERS[name].make()
    decoder._clock = lambda: NOW
    at = seen = 0
    held = [0]
    tracemalloc.start()
    try:
        for number, data in enumerate(batches(name, count, rng)):
            if rng.random() < FRESH:
                decoder, at = DECODERS[name].make(), 0
                decoder._clock = lambda: NOW
            started = time.process_time()
            answer = decoder.decode(Block("s", "f", data, at, at + len(data)))
            spent = time.process_time() - started
            assert spent < MAX_LINE_SECONDS * 20, f"{spent:.1f} s for a block"
            at += len(data)
            assert 0 <= answer.resume <= at
            seen += answer.tally.seen
            filtered = sum(answer.tally.filtered.values())
            assert answer.tally.seen == answer.batch.num_rows + len(answer.rejects) + filtered
            check_rows(plain(answer.batch))
            if number % HELD_EVERY == HELD_EVERY - 1:
                held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert seen > count // 100
    assert max(held) < MAX_HELD_BYTES, [size >> 20 for size in held]
    return max(held)


@pytest.mark.parametrize("name", DECODERS)
def test_mutated_lines_do_no_harm(name: str) -> None:
    """Two thousand a decoder, another seed each day."""
    fuzz(name, QUICK_LINES, int(os.environ.get("SANDTRAIL_SEED", "20261129")))


@pytest.mark.torture
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", DECODERS)
def test_two_hundred_thousand_mutated_lines_do_no_harm(name: str) -> None:
    """The full figure."""
    held = fuzz(name, TORTURE_LINES, int(os.environ.get("SANDTRAIL_SEED", "20261129")) + 1)
    print(f"held at most {held / (1 << 20):.1f} MiB")


@pytest.mark.parametrize("name", DECODERS)
def test_no_mutated_line_is_slow(name: str) -> None:
    """Each line on its own stays within the bound."""
    rng = random.Random(f"{os.environ.get('SANDTRAIL_SEED', '20261129')} {name} slow")
    for data in batches(name, 500, rng):
        for line in data.split(b"\n"):
            raw = (line * (1 + 4096 // max(len(line), 1)))[:8192] + b"\n"
            decoder = DECODERS[name].make()
            started = time.process_time()
            decoder.decode(Block("s", "f", raw, 0, len(raw), final=True))
            assert time.process_time() - started < MAX_LINE_SECONDS, line[:200]
