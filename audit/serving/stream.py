"""Server-sent events: each client one follower in a thread, and a hand-over that holds little."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from audit.serving import answers
from audit.serving.callers import Caller, still_may_later
from audit.serving.errors import busy
from audit.serving.service import Service
from audit_events.errors import AuditError
from exporters.contracts import ALL_COLUMNS
from query import trail
from query.contracts import Request, Row
from query.scoping import seen_upto
from query.snapshot import open_snapshot
from query.trail import News

# What a follower far behind takes at once, and what waits for a slow reader.
NEWS_ROWS: Final = 2_000
PIECE_BYTES: Final = 64 << 10
MAX_PIECES: Final = 4
QUIET_S: Final = 1.0
_STEP_S: Final = 0.2
# A browser that lost us comes back after a second.
HELLO: Final = b"retry: 1000\n\n"


class Teller:
    """News as messages. `id` is what a client gives back as Last-Event-ID: all up to it was told.

    Of a scope only the seqs of its own events are told: how much others did meanwhile is not.
    """

    def __init__(self, after: int, request: Request, columns: Sequence[str] = ALL_COLUMNS) -> None:
        self._upto = after
        self._scoped = request.scope is not None
        self._columns = columns

    def messages(self, news: News) -> Iterator[bytes]:
        """The events in seq order, then gaps; where there are no events, how far we looked."""
        for row in news.rows:
            self._upto = row["seq"]
            yield self._event(row)
        for gap in news.gaps:
            yield b"event: gap\ndata: " + answers.encoded(answers.gap(gap)) + b"\n\n"
        if not news.rows:
            self._upto = self._upto if self._scoped else max(news.upto, self._upto)
            yield b'id: %d\nevent: upto\ndata: {"upto":%d}\n\n' % (self._upto, self._upto)

    def _event(self, row: Row) -> bytes:
        data = answers.event(row, self._columns)
        return b"id: %d\nevent: event\ndata: " % row["seq"] + data + b"\n\n"


def pieces(messages: Iterable[bytes]) -> Iterator[bytes]:
    """Messages together, in pieces of about PIECE_BYTES."""
    held, size = [], 0
    for message in messages:
        held.append(message)
        size += len(message)
        if size >= PIECE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


@dataclass
class Feed:
    """A follower in a thread of its own, read by one task. `close` ends it."""

    service: Service
    request: Request
    after: int
    columns: Sequence[str]
    _stop: threading.Event = field(default_factory=threading.Event)
    _room: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(MAX_PIECES))
    _queue: "asyncio.Queue[bytes | AuditError | None]" = field(default_factory=asyncio.Queue)

    def start(self) -> None:
        """Begin to follow; call it in the event loop."""
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._follow, args=(loop,), name="stream", daemon=True).start()

    async def next(self) -> bytes | None:
        """The next piece; None at the end. Errors of the follower come as they are."""
        item = await self._queue.get()
        self._room.release()
        if isinstance(item, AuditError):
            raise item
        return item

    def close(self) -> None:
        """The thread ends within a moment."""
        self._stop.set()

    def _follow(self, loop: asyncio.AbstractEventLoop) -> None:
        teller = Teller(self.after, self.request, self.columns)
        try:
            for news in trail.follow(
                self.service.store, self.after, self.request, self._stop,
                quiet_s=QUIET_S, news_rows=NEWS_ROWS,
            ):  # fmt: skip
                for piece in pieces(teller.messages(news)):
                    if not self._give(loop, piece):
                        return
        except AuditError as error:
            self._give(loop, error)
        else:
            self._give(loop, None)

    def _give(self, loop: asyncio.AbstractEventLoop, item: bytes | AuditError | None) -> bool:
        """Hand over when there is room; False if nobody reads any more."""
        while not self._room.acquire(timeout=_STEP_S):
            if self._stop.is_set():
                return False
        try:
            loop.call_soon_threadsafe(self._queue.put_nowait, item)
        except RuntimeError:  # the loop is closed: the process ends
            return False
        return True


def newest(service: Service, request: Request) -> int:
    """Where a stream from now on begins."""
    with open_snapshot(service.store) as snapshot:
        return seen_upto(snapshot, request.scope)


async def stream(
    service: Service, who: Caller, request: Request, after: int, columns: Sequence[str]
) -> AsyncIterator[bytes]:
    """What a client is sent, until it goes, may no longer ask, or the service stops.

    The first item comes when the follower has begun. Refused (503) if too many streams are open.
    """
    metrics = service.metrics
    if metrics.streams >= service.limits.streams:
        raise busy("too many live streams are open", after_s=10)
    metrics.streams += 1
    feed = Feed(service, request, after, columns)
    ends = asyncio.ensure_future(_end(service, who))
    try:
        feed.start()
        yield HELLO + (await feed.next() or b"")
        while piece := await _or_end(feed, ends):
            yield piece
    finally:
        metrics.streams -= 1
        ends.cancel()
        feed.close()


async def _end(service: Service, who: Caller) -> None:
    """Returns when the service stops or the caller may no longer ask."""
    while not service.stopping.is_set():
        try:
            async with asyncio.timeout(service.limits.recheck_s):
                await service.stopping.wait()
        except TimeoutError:
            if not await still_may_later(service, who):
                return


async def _or_end(feed: Feed, ends: "asyncio.Future[None]") -> bytes | None:
    """The next piece, or None if it is time to end."""
    piece = asyncio.ensure_future(feed.next())
    await asyncio.wait((piece, ends), return_when=asyncio.FIRST_COMPLETED)
    if piece.done():
        return piece.result()
    piece.cancel()
    return None
