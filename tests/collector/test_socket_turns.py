"""Writers take turns: who says much, or many tiny things, delays the others by a share of it."""

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest

from collector.contracts import Block, Closed, Emission
from collector.service import TURN_LINES
from collector.sources.socket_share import (
    FEWEST_LINES,
    READ_BYTES,
    READ_LINES,
    ROUND_LINES,
    first_lines,
    share_of,
)
from tests.collector.socketkit import (
    EVENT,
    Ledger,
    collect,
    connect,
    said_by,
    serving,
    until,
    wait_until_up,
)
from tests.collector.storekit import House
from tests.collector.trail_check import line

TINY = b"x\n"
HONEST_LINES = 3
# What is on its way when an honest line comes: what is being stored, what the queue holds and the
# server has in hand; and the same again, since the answer finds the next turn at work.
TURNS = 4


class Slow(Ledger):
    """A flow that takes one block each time it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.may = threading.Semaphore(0)
        self.asked = 0

    def take(self, said: Emission) -> None:
        """Waits as the source's `emit` does while the queue is full."""
        if isinstance(said, Block):
            self.asked += 1
            self.may.acquire()
        super().take(said)


def test_a_flood_of_tiny_lines_is_taken_by_shares_and_each_of_them_once(tmp_path: Path) -> None:
    """All that was sent comes out in order, cut into shares, though the writer is gone already."""
    path, ledger, sent = (
        tmp_path / "in.sock",
        Ledger(),
        b"".join(b"%d\n" % n for n in range(20_000)),
    )
    with serving(path, ledger):
        with connect(path) as sock:
            sock.sendall(sent + b"half")
        until(lambda: any(isinstance(said, Closed) for said in ledger.said))
    assert b"".join(block.data for block in ledger.blocks) == sent + b"half"
    assert max(block.data.count(b"\n") for block in ledger.blocks) == READ_LINES


def test_an_honest_line_waits_for_one_share_of_a_flood(tmp_path: Path) -> None:
    """It comes while the flood is being taken, with far more of it waiting."""
    path, ledger = tmp_path / "in.sock", Slow()
    with serving(path, ledger), connect(path) as flood, connect(path) as honest:
        ledger.may.release()
        flood.sendall(TINY * (READ_BYTES // len(TINY)))
        until(lambda: ledger.asked == 2)
        honest.sendall(EVENT)
        # The source is held in the flood's first share until now.
        ledger.may.release(1000)
        until(lambda: len(b"".join(b.data for b in ledger.blocks)) == READ_BYTES + len(EVENT))
    order = [block.data for block in ledger.blocks]
    before = b"".join(order[: order.index(EVENT)])
    assert before.count(b"\n") <= 2 * READ_LINES


def test_a_counted_writer_that_comes_again_is_taken_from_where_it_was(tmp_path: Path) -> None:
    """What its first connection had not been given yet is not given twice."""
    path, ledger, lines = tmp_path / "in.sock", Slow(), [b"%d\n" % n for n in range(1, 5_001)]
    with serving(path, ledger), connect(path) as first, connect(path) as again:
        first.sendall(b"ack 1 w\n" + b"".join(lines))
        until(lambda: ledger.asked == 1)
        again.sendall(b"ack 1 w\n")
        ledger.may.release(1000)
        number = int(said_by(again, b"\n").split()[1])
        again.sendall(b"".join(lines[number - 1 :]))
        said_by(again, b"ok 5000\n")
    assert 1 < number < 5_000
    assert b"".join(block.data for block in ledger.blocks) == b"".join(lines)


def test_the_share_shrinks_with_the_writers_to_a_least() -> None:
    """Few may say as much as before; hundreds leave one another something."""
    assert share_of(0) == share_of(1) == share_of(ROUND_LINES // READ_LINES) == READ_LINES
    assert share_of(ROUND_LINES // READ_LINES * 2) == READ_LINES // 2
    assert share_of(4_096) == FEWEST_LINES


@pytest.mark.parametrize(
    ("data", "first", "rest"),
    [
        (b"", b"", b""), (b"half", b"half", b""), (b"a\nb\n", b"a\nb\n", b""),
        (b"a\nb\nhalf", b"a\nb\nhalf", b""), (b"a\nb\nc\n", b"a\nb\n", b"c\n"),
        (b"\n\n\n\n", b"\n\n", b"\n\n"), (b"a\nb\nc\nd", b"a\nb\n", b"c\nd"),
    ],
)  # fmt: skip
def test_lines_are_cut_where_a_line_ends(data: bytes, first: bytes, rest: bytes) -> None:
    """Nothing is lost in between."""
    assert first_lines(data, 2) == (first, rest)


@contextmanager
def flooded(path: Path, writers: int) -> Iterator[None]:
    """Tiny lines that are no events, as fast as they are taken."""
    over = threading.Event()

    def pour() -> None:
        with connect(path) as sock, suppress(OSError):
            while not over.is_set():
                with suppress(TimeoutError):
                    sock.send(TINY * 32_768)

    threads = [threading.Thread(target=pour) for _ in range(writers)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(60)


@pytest.mark.timeout(240)
def test_an_honest_writer_is_answered_within_a_few_turns_of_a_flood(tmp_path: Path) -> None:
    """What was stored between its lines is counted, each sent when the one before it was in."""
    path, collector = tmp_path / "run" / "in.sock", collect(tmp_path)
    try:
        wait_until_up(tmp_path, collector)
        with flooded(path, 2), connect(path) as sock:
            sock.settimeout(100)
            sock.sendall(b"ack 1 honest\n")
            said_by(sock, b"next 1\n")
            for number in range(1, HONEST_LINES + 1):
                sock.sendall(line(number))
                said_by(sock, b"ok %d\n" % number)
        collector.terminate()
        assert collector.wait(60) == 0
    finally:
        stop(collector)
    mine = sorted(seq for seq, pid in House(tmp_path).identities().items() if pid)
    assert len(mine) == HONEST_LINES
    between = [after - before for before, after in pairwise(mine)]
    print(f"{between} rows between honest lines")
    assert max(between) <= TURNS * TURN_LINES


def stop(collector: "subprocess.Popen[bytes]") -> None:
    """Whatever happened."""
    collector.kill()
    collector.wait()
