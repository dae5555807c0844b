"""What the tests of reported faults have in common."""

import sqlite3
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from tests.asks.conftest import Sandbox


def wait_until(happened: Callable[[], object], timeout: float = 60) -> None:
    """Until it is true, or fail."""
    deadline = time.monotonic() + timeout
    while not happened():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.03)


def numbered(first: int, last: int) -> list[dict]:
    """Events whose pid is their number."""
    return [{"pid": n, "path": f"/workspace/{n}"} for n in range(first, last + 1)]


def now_text(**ago: float) -> str:
    """A recent time as the layer writes it."""
    return (datetime.now(UTC) - timedelta(**ago)).isoformat().replace("+00:00", "Z")


def pids(sandbox: Sandbox) -> int:
    """How many events arrived; none while the store is being made."""
    try:
        return len(sandbox.house.seen().pids)
    except (sqlite3.OperationalError, KeyError):
        return 0


def sandbox_event() -> dict:
    """A whole event."""
    from tests.asks.conftest import COMMON

    return dict(COMMON)
