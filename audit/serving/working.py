"""Queries in worker threads: so many at once, so many waiting, each with an end."""

import asyncio
import contextlib
import contextvars
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final, ParamSpec, TypeVar

from fastapi import Request

from audit.serving.errors import RefusedError, busy
from audit.serving.metrics import Metrics
from audit.serving.service import Limits, Service
from query.watch import Watch, watched

P = ParamSpec("P")
T = TypeVar("T")

# An interrupt between two statements is lost, so it is said again.
_AGAIN_S: Final = 0.05
# Python that runs in no engine cannot be ended: after this the caller is told, and the thread goes
# on alone. It keeps its place among those at work.
_PATIENCE_S: Final = 2.0


class Workers:
    """The threads that ask, and who waits for one. Belongs to one event loop."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._free = asyncio.Semaphore(limits.queries)
        self._waiting = 0
        self._threads = ThreadPoolExecutor(limits.queries, thread_name_prefix="query")
        self._at_work: dict[Future[Any], Watch] = {}

    @contextlib.asynccontextmanager
    async def place(self) -> AsyncIterator[Callable[[Future[Any]], None]]:
        """A place at work; Refused (503) where too many wait. What is kept holds the place on."""
        if self._free.locked() and self._waiting >= self._limits.waiting:
            self._metrics.query("refused")
            raise busy("too many queries are waiting")
        self._wait(1)
        try:
            async with asyncio.timeout(self._limits.query_s):
                await self._free.acquire()
        except TimeoutError:
            self._metrics.query("refused")
            raise busy("other queries take too long") from None
        finally:
            self._wait(-1)
        self._metrics.running += 1
        loop, kept = asyncio.get_running_loop(), list[Future[Any]]()
        try:
            yield kept.append
        finally:
            if kept and not kept[0].done():
                kept[0].add_done_callback(lambda _: self._leave_from(loop))
            else:
                self._leave()

    def _wait(self, more: int) -> None:
        self._waiting += more
        self._metrics.waiting = self._waiting

    def _leave(self) -> None:
        self._metrics.running -= 1
        self._free.release()

    def _leave_from(self, loop: asyncio.AbstractEventLoop) -> None:
        """`_leave` said by another thread; a loop that is closed counts nothing any more."""
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._leave)

    def start(self, ask: Callable[[], T], watch: Watch) -> Future[T]:
        """Run it in a thread, under a watch."""

        def work() -> T:
            with watched(watch):
                return ask()

        started = self._threads.submit(contextvars.copy_context().run, work)
        self._at_work[started] = watch
        started.add_done_callback(lambda done: self._at_work.pop(done, None))
        return started

    def end(self, work: Future[Any]) -> None:
        """Interrupt a question until it has ended, whatever becomes of the loop."""
        watch = self._at_work.get(work)
        if watch is not None:
            threading.Thread(target=_interrupt, args=(work, watch), daemon=True).start()

    def close(self) -> None:
        """No query begins any more; those at work are ended."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for work in list(self._at_work):
            self.end(work)

    def ended(self, within_s: float) -> bool:
        """Whether all threads are done, waited for; after `close`."""
        return not wait(list(self._at_work), within_s).not_done


def _interrupt(work: Future[Any], watch: Watch) -> None:
    while not work.done():
        watch.stop()
        wait([work], _AGAIN_S)


async def run(
    service: Service,
    request: Request,
    function: Callable[P, T],
    *words: P.args,
    **named: P.kwargs,
) -> T:
    """What `function` gives, run in a thread within the limits.

    Refused: 503 where too many wait, 504 at the time limit, when the engine is interrupted; a
    client that goes away interrupts it too (499, which nobody hears). Errors of the function come
    as they are.
    """
    async with _gone(request) as gone:
        return await _bounded(service, gone, lambda: function(*words, **named))


async def steps(
    service: Service,
    function: Callable[P, Iterator[T]],
    *words: P.args,
    **named: P.kwargs,
) -> AsyncIterator[T]:
    """The items of `function`'s iterator, each step run as `run` does, with a limit of its own.

    Between steps nobody holds a place, so a slow reader keeps no other from asking. Whoever
    streams these as an answer need not look for the client: the answer's task is cancelled.
    """
    iterator = function(*words, **named)
    never = asyncio.Event()
    end = object()
    try:
        while (item := await _bounded(service, never, lambda: next(iterator, end))) is not end:
            yield item  # type: ignore[misc]
    finally:
        if close := getattr(iterator, "close", None):
            with contextlib.suppress(ValueError):  # still at work in its thread
                close()


async def _bounded(service: Service, gone: asyncio.Event, ask: Callable[[], T]) -> T:
    limits, metrics, workers = service.limits, service.metrics, service.workers
    async with workers.place() as keep:
        began = time.monotonic()
        work = workers.start(ask, Watch(limits.query_memory))
        keep(work)
        answer = asyncio.wrap_future(work)
        left = asyncio.ensure_future(gone.wait())
        try:
            await asyncio.wait(
                (answer, left), timeout=limits.query_s, return_when=asyncio.FIRST_COMPLETED
            )
            if answer.done():
                metrics.query("answered")
                return answer.result()
            metrics.query("interrupted")
            raise _left() if left.done() else _too_long(limits.query_s)
        finally:
            left.cancel()
            if not answer.done():
                workers.end(work)
                await asyncio.wait((answer,), timeout=_PATIENCE_S)
                answer.add_done_callback(lambda done: done.cancelled() or done.exception())
            metrics.query_s += time.monotonic() - began


def _too_long(seconds: float) -> RefusedError:
    return RefusedError(
        504, "E_QUERY_TIME", f"the query took longer than {seconds:g} s", hint="narrow it: since=1h"
    )


def _left() -> RefusedError:
    return RefusedError(499, "E_GONE", "the client went away")


@contextlib.asynccontextmanager
async def _gone(request: Request) -> AsyncIterator[asyncio.Event]:
    """An event that is set when the client goes away."""
    gone = asyncio.Event()

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone.set()

    task = asyncio.ensure_future(watch())
    try:
        yield gone
    finally:
        task.cancel()
