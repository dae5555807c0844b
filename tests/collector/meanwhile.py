"""Lets others change files between any two system calls of the code under test."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

Step = Callable[[], object]
CALLS = ("open", "pread", "fstat", "stat", "lstat", "scandir")


class Meanwhile:
    """Counts the system calls that look at files, and takes steps before chosen ones."""

    def __init__(self) -> None:
        self.calls = 0
        self._due: list[tuple[int, Step]] = []
        self._busy = False

    def before(self, call: int, step: Step) -> None:
        """Take the step before that call, counted from 0; `rest` takes those not reached."""
        self._due.append((call, step))

    def rest(self) -> None:
        """Take all steps whose call never came."""
        while self._due:
            self._due.pop(0)[1]()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within this the calls of this process are counted."""
        with pytest.MonkeyPatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, self._wrapped(getattr(os, name)))
            yield

    def _wrapped(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **named: Any) -> Any:
            if not self._busy:
                self._busy = True
                while self._due and self._due[0][0] <= self.calls:
                    self._due.pop(0)[1]()
                self.calls += 1
                self._busy = False
            return call(*args, **named)

        return watched
