"""A command run in a terminal of its own, its stdout and stderr apart, as a person would see it."""

import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import forked

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Seen:
    """What came out."""

    out: str
    err: str
    code: int

    @property
    def lines(self) -> list[str]:
        """The lines of stdout."""
        return self.out.splitlines()


def environment(store: Path | None, **more: str) -> dict[str, str]:
    """A clean environment: no colour, Tokyo, UTF-8."""
    base = {
        "PATH": os.environ["PATH"],
        "HOME": str(store.parent if store else ROOT / "nowhere"),
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "NO_COLOR": "1",
        "TZ": "Asia/Tokyo",
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "error::ResourceWarning",
    }
    if store:
        base["AUDIT_STORE"] = str(store)
    return {name: value for name, value in {**base, **more}.items() if value}


def command(words: Sequence[str]) -> list[str]:
    """The command line that runs our command with the story's clock, as a script like `audit`.

    With `-m` the interpreter dies of SIGINT at its end if Ctrl-C came inside of an `exec()`, as
    dataclasses call it, although the command had answered it with 130 (CPython's pythonrun.c).
    """
    return [sys.executable, "-P", str(ROOT / "tests/audit/launch.py"), *words]


def piped(words: Sequence[str], env: Mapping[str, str], stdin: bytes = b"") -> Seen:
    """Run with pipes."""
    done = forked.run("tests.audit.launch", *words, env=env, stdin=stdin, timeout=TIMEOUT_S)
    return Seen(done.stdout, done.stderr, done.returncode)


class Terminal:
    """A running command on two pseudo-terminals."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str], columns: int = 80) -> None:
        self.out, self.err = bytearray(), bytearray()
        out, err = _terminal(columns), _terminal(columns)
        self.process = forked.start(
            "tests.audit.launch", *words, env=env, stdout=out[1], stderr=err[1]
        )
        os.close(out[1])
        os.close(err[1])
        self._readers = [
            threading.Thread(target=_drain, args=pair)
            for pair in ((out[0], self.out), (err[0], self.err))
        ]
        for reader in self._readers:
            reader.start()

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)

    def finish(self) -> Seen:
        """Wait for the end and read everything."""
        try:
            code = self.process.wait(TIMEOUT_S)
        finally:
            if self.process.poll() is None:
                self.process.kill()
        for reader in self._readers:
            reader.join()
        return Seen(self.out.decode(), self.err.decode(), code)


def watched(words: Sequence[str], env: Mapping[str, str], columns: int = 80) -> Seen:
    """Run to the end on a terminal."""
    return Terminal(words, env, columns).finish()


def _terminal(columns: int) -> tuple[int, int]:
    master, slave = pty.openpty()
    attributes = termios.tcgetattr(slave)
    attributes[1] &= ~termios.OPOST
    termios.tcsetattr(slave, termios.TCSANOW, attributes)
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    return master, slave


def _drain(fd: int, into: bytearray) -> None:
    try:
        while piece := os.read(fd, 65536):
            into += piece
    except OSError:
        pass  # Linux says EIO when the other side is gone.
    finally:
        os.close(fd)
