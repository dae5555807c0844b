"""What the tests of the unified-log source share: a source over the stand-in, and what it said."""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import msgspec

from collector.contracts import Block, Emission, Idle, StreamPosition
from collector.sources.unified_log import UnifiedLogSource
from collector.sources.unified_log_reading import LogOptions
from tests.collector.fake_log import BOOT

KEY = b"k" * 32


class _Said(msgspec.Struct):
    eventMessage: str = ""  # noqa: N815


_DECODER = msgspec.json.Decoder(_Said)


@dataclass
class Heard:
    """What a source emitted; the position is that of the last block."""

    said: list[Emission] = field(default_factory=list)
    position: dict[str, StreamPosition] = field(default_factory=dict)
    arrived: queue.Queue[None] = field(default_factory=queue.Queue)

    def emit(self, emission: Emission) -> None:
        """For the source."""
        if isinstance(emission, Idle):
            return
        if isinstance(emission, Block):
            self.position = {
                emission.stream: StreamPosition(
                    emission.stream, emission.end, (), emission.end, emission.mark
                )
            }
        self.said.append(emission)

    def of(self, kind: type) -> list:
        """Emissions of a kind."""
        return [said for said in list(self.said) if isinstance(said, kind)]

    @property
    def data(self) -> bytes:
        """All bytes given on."""
        return b"".join(block.data for block in self.of(Block))

    @property
    def numbers(self) -> list[int]:
        """Of the stand-in's entries, in the order given."""
        return numbers(self.data)


def numbers(data: bytes) -> list[int]:
    """The pids in lines of the stand-in."""
    messages = [
        _DECODER.decode(line).eventMessage for line in data.splitlines() if line[:1] == b"{"
    ]
    return [int(said.partition("(")[2].partition(")")[0]) for said in messages if "sh(" in said]


def source_of(command: Path, **options: object) -> UnifiedLogSource:
    """A source that tries again soon."""
    words = {
        "any_owner": True, "ready_s": 2.0, "back_off_first_s": 0.05, "back_off_most_s": 0.2,
        "backfill": timedelta(hours=24),
    } | options  # fmt: skip
    log = LogOptions(command=str(command), **words)
    return UnifiedLogSource("oslog", log, key=KEY, session=lambda: BOOT)


@contextmanager
def following(
    source: UnifiedLogSource, heard: Heard | None = None, **_words: object
) -> Iterator[Heard]:
    """A source at work in its thread, from the position that was heard last."""
    heard = heard or Heard()
    stop = threading.Event()
    errors: list[BaseException] = []

    def work() -> None:
        try:
            source.run(heard.position, heard.emit, stop, once=False)
        except BaseException as error:  # noqa: BLE001 - told to the test below
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield heard
    finally:
        stop.set()
        thread.join(10)
        assert not thread.is_alive()
        assert not errors, errors


def until(true: Callable[[], object], timeout: float = 10) -> None:
    """Wait for what must come."""
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)
