"""What was counted before: kept while it is used, up to a weight."""

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

# A group, a run's id in it and a report kept apart weigh 1 each, some 200 bytes.
MAX_WEIGHT: Final = 600_000
# What weighs more than this is counted anew each time: by paths, say.
MAX_ENTRY_WEIGHT: Final = 100_000


# Whoever waits longer for another thread's counts counts by itself.
MAX_TURN_S: Final = 10.0


class Memo:
    """Partials of files and where linked events lie; those used last, up to a weight."""

    def __init__(self, most: int = MAX_WEIGHT) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, tuple[int, Any]] = OrderedDict()
        self._weight = 0
        self._lock = Lock()
        self._turns: dict[Hashable, tuple[Lock, int]] = {}

    @contextmanager
    def turn(self, key: Hashable) -> Iterator[None]:
        """One thread at a time with this key: who comes second finds what the first has counted."""
        with self._lock:
            turn, waiting = self._turns.get(key, (Lock(), 0))
            self._turns[key] = turn, waiting + 1
        mine = turn.acquire(timeout=MAX_TURN_S)
        try:
            yield
        finally:
            if mine:
                turn.release()
            with self._lock:
                turn, waiting = self._turns.pop(key)
                if waiting > 1:
                    self._turns[key] = turn, waiting - 1

    def get(self, key: Hashable) -> Any | None:
        """What was put there, if it is still held."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][1]

    def put(self, key: Hashable, value: Any, weight: int) -> None:
        """Hold it, unless it is too heavy."""
        if weight > MAX_ENTRY_WEIGHT:
            return
        with self._lock:
            self._weight += weight - self._held.pop(key, (0, None))[0]
            self._held[key] = (weight, value)
            while self._weight > self._most:
                _, (gone, _) = self._held.popitem(last=False)
                self._weight -= gone
