"""The bounds of a question that another program asked: when it must end, how much it may take."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from threading import Event, Lock
from typing import Any, Final

from audit_events.errors import QueryError
from query.engines import Engines

# SQLite looks whether it shall stop after so many of its steps: some hundred microseconds of them.
SQLITE_STEPS: Final = 10_000


class Watch:
    """Ends what one question runs in the engines, from any thread; it cannot be taken back."""

    def __init__(self, memory: str | None = None, engines: Engines | None = None) -> None:
        self.memory = memory
        # Where engines come from and go to, if they are kept between questions.
        self.engines = engines
        self._stopped = Event()
        self._lock = Lock()
        self._engines: list[Any] = []

    @property
    def stopped(self) -> bool:
        """Whether the question is over."""
        return self._stopped.is_set()

    def stop(self) -> None:
        """Interrupt every engine at work, and let none begin.

        An interrupt between two statements is lost: ask again until the question has ended.
        """
        self._stopped.set()
        with self._lock:
            for engine in self._engines:
                # One that was closed meanwhile says so, in a class of its own library.
                with contextlib.suppress(Exception):
                    engine.interrupt()

    def take(self, engine: Any) -> None:
        """An engine was opened; QueryError if the question is over."""
        with self._lock:
            self._engines.append(engine)
        self.check()

    def let_go(self, engine: Any) -> None:
        """An engine is about to be closed."""
        with self._lock:
            self._engines = [held for held in self._engines if held is not engine]

    def check(self) -> None:
        """QueryError if the question is over: for loops that run in no engine."""
        if self.stopped:
            raise QueryError("the query was ended")


# A variable of the context, because the engines are opened many calls below whoever sets bounds.
_WATCH: Final[ContextVar[Watch | None]] = ContextVar("watch", default=None)


def current() -> Watch | None:
    """The watch over the question that this thread works at, None where nobody set one."""
    return _WATCH.get()


@contextlib.contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """Engines opened in this block heed `watch`."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)
