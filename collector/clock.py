"""Whether the wall clock was set, or the machine slept: times around it are not what they seem.

All waiting in the collector goes by the steady clock; this only tells.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

# NTP slews by at most half a millisecond a second; between two looks that is nothing.
TELL_FROM_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Clocks:
    """One reading in seconds: the wall's, one that never stops, one that stops in sleep."""

    wall: float
    steady: float
    awake: float


def read_clocks() -> Clocks:
    """Now."""
    if sys.platform == "linux":
        return Clocks(time.time(), time.clock_gettime(time.CLOCK_BOOTTIME), time.monotonic())
    # On macOS CLOCK_MONOTONIC runs through sleep, and what Python calls monotonic does not.
    return Clocks(time.time(), time.clock_gettime(time.CLOCK_MONOTONIC), time.monotonic())


@dataclass(slots=True)
class ClockWatch:
    """Compares each look with the one before it."""

    read: Callable[[], Clocks] = read_clocks
    _last: Clocks = field(init=False)

    def __post_init__(self) -> None:
        self._last = self.read()

    def look(self) -> list[str]:
        """What happened to the clocks since the last look, as sentences; mostly nothing."""
        before, now = self._last, self.read()
        self._last = now
        passed = now.steady - before.steady
        asleep = passed - (now.awake - before.awake)
        moved = now.wall - before.wall - passed
        said = []
        if asleep >= TELL_FROM_S:
            said.append(f"the machine slept for {asleep:,.0f} s")
        if abs(moved) >= TELL_FROM_S:
            how = "forward" if moved > 0 else "back"
            said.append(
                f"the clock was set {how} by {abs(moved):,.0f} s:"
                " times before and after it do not compare, seq does"
            )
        return said
