"""Memory that goes back to the system: a collector runs for months beside other people's work."""

import ctypes
import sys
from contextlib import suppress
from typing import Final

import pyarrow as pa

# Names of <malloc.h>. Left alone the threshold grows with the largest buffer ever freed, up to
# 32 MB; buffers of seals and reads then come from the heap, whose holes stay resident.
_MMAP_THRESHOLD: Final = -3
_THRESHOLD_BYTES: Final = 256 << 10
# A heap for each thread that allocates, each with holes of its own; the interpreter lets one thread
# run at a time anyway.
_ARENA_MAX: Final = -8
_ARENAS: Final = 2


def stay_level() -> None:
    """For a process that follows logs: what is freed leaves it at once, a tenth less at any time.

    Costs more calls to the system, so a large log that is read once goes without. Other C
    libraries than glibc do not know the calls, and have no such habits.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    if (libc := _glibc()) is not None:
        libc.mallopt(_MMAP_THRESHOLD, _THRESHOLD_BYTES)
        libc.mallopt(_ARENA_MAX, _ARENAS)


def stay_small() -> None:
    """For a large log: Arrow's own pool keeps what it freed, 390 MB at the peak; this one 290."""
    pa.set_memory_pool(pa.system_memory_pool())


def give_back() -> None:
    """Return what is free between what is not: after work that needed much for a moment."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    if sys.platform != "linux":
        return None
    with suppress(AttributeError, OSError):
        libc = ctypes.CDLL(None)
        if libc.malloc_trim and libc.mallopt:
            return libc
    return None
