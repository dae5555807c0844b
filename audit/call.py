"""One call of the command: how we were called, from where, and what time it is."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


def wall_clock() -> int:
    """Now, in microseconds since 1970 UTC."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class Call:
    """What every command may need to know about its surroundings."""

    prog: str = "audit"
    store: str | None = None
    config: str | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    now: Callable[[], int] = wall_clock
