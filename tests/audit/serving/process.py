"""`audit serve` as a process of its own."""

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.audit.terminal import ROOT, environment

TIMEOUT_S = 30.0
_URL = re.compile(r"(https?://\S+:\d+)")


class Process:
    """The running command; what it says on stderr is kept."""

    def __init__(self, store: Path, words: Sequence[str] = ("--port", "0")) -> None:
        self.lines: list[str] = []
        self._news = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "audit.main", "serve", *words], env=environment(store), cwd=ROOT,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT_S)
        self._reader.join(TIMEOUT_S)
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._news:
                self.lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self.lines.append("")
            self._news.notify_all()

    def heard(self, word: str) -> str:
        """The first line with this word, waited for."""
        with self._news:
            found = self._news.wait_for(
                lambda: next((n for n in self.lines if word in n or not n), None), TIMEOUT_S
            )
        assert found, self.lines
        return found

    @property
    def url(self) -> str:
        """Where it serves."""
        match = _URL.search(self.heard("serving "))
        assert match is not None
        return match[1]

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and give the exit code."""
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT_S)
