"""Run a command that ends when whoever asked for it ends: a script, standard library only.

Our standard input is a pipe that nobody writes to. Its end says that the collector is gone, however
it went: macOS has no signal for that, and a quiet `log stream` would live on for ever.
"""

import ctypes
import os
import select
import signal
import sys
import time
from typing import Final

GRACE_S: Final = 2.0
_SET_PDEATHSIG: Final = 1


def main(argv: list[str]) -> int:
    """Run `argv` in a group of its own; its exit code, 128 + signal if one ended it, 127 if it
    cannot be run."""
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    child = os.fork()
    if child == 0:
        _become(argv)
    while True:
        ready, _, _ = select.select([0, woken], [], [])
        told = os.read(woken, 64) if woken in ready else b""
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return _code(status)
        if 0 in ready or set(told) - {signal.SIGCHLD}:
            return _end(child)


def _become(argv: list[str]) -> None:
    """Turn into the command; of what is open it gets the two outputs."""
    try:
        os.setpgid(0, 0)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        if sys.platform == "linux":
            # Should the guard itself be killed.
            ctypes.CDLL(None).prctl(_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.closerange(3, 256)
        os.execv(argv[0], argv)  # noqa: S606 - the caller checked whose program it is
    finally:
        os._exit(127)


def _end(child: int) -> int:
    deadline = time.monotonic() + GRACE_S
    _signal(child, signal.SIGTERM)
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return _code(status)
        time.sleep(0.01)
    _signal(child, signal.SIGKILL)
    return _code(os.waitpid(child, 0)[1])


def _signal(child: int, number: int) -> None:
    try:
        os.killpg(child, number)
    except OSError:
        os.kill(child, number)


def _code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
