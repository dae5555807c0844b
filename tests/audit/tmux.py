"""A command in a pane of a real tmux, in a server of its own: what a person over SSH looks at."""

import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, Self

from tests.audit.terminal import ROOT, TIMEOUT_S, command

PROGRAM: Final = shutil.which("tmux")
MISSING: Final = "no tmux here: apt-get install tmux"
ROWS: Final = 60
# How often a pane that something is awaited in is looked at.
LOOK_S: Final = 0.05
_SERVER: Final = "set -g status off ; set -g history-limit 5000 ; set -g default-terminal screen"
# The end goes through the screen itself, as its title: by then tmux has drawn what came before.
# SIGCHLD is no such sign, and `#{pane_dead}` comes late or, on some kernels, never.
_RUN: Final = "trap : INT; {line}; printf '\\033]2;over %d\\007' $?; exec cat"
_OVER: Final = "over "


@dataclass(frozen=True)
class Picture:
    """What the pane shows, scrolled-off lines included; `joined` has wrapped lines as one."""

    lines: list[str]
    joined: list[str]
    code: int | None

    @property
    def text(self) -> str:
        """All of it."""
        return "".join(f"{line}\n" for line in self.lines)


class Pane:
    """A running command; its stdout and stderr are the same terminal, as a person's are."""

    def __init__(
        self, program: Sequence[str], env: Mapping[str, str], columns: int, rows: int = ROWS
    ) -> None:
        # Short: the path of a socket has at most about a hundred characters.
        self._folder = tempfile.mkdtemp(prefix="tmux")
        self._env = {**env, "TMUX_TMPDIR": self._folder}
        line = shlex.join(program)
        if env.get("TERM") == "dumb":
            line = f"TERM=dumb {line}"
        line = _RUN.format(line=line)
        size = ("-x", str(columns), "-y", str(rows))
        start = [";", "new-session", "-d", "-s", "seen", *size, "-c", str(ROOT), line]
        self._tmux("start-server", ";", *shlex.split(_SERVER), *start)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._tmux("kill-server")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            [PROGRAM or "tmux", "-L", "audit", "-f", os.devnull, *words], env=self._env, cwd=ROOT,
            capture_output=True, text=True, timeout=TIMEOUT_S, check=True,
        )  # fmt: skip
        return done.stdout

    def keys(self, *names: str) -> None:
        """Typed by the person: `C-c`."""
        self._tmux("send-keys", "-t", "seen", *names)

    def over(self) -> Picture:
        """Wait for the end of the command, and take the picture."""
        return self._awaited(lambda seen: seen.code is not None, "the end")

    def until(self, text: str) -> Picture:
        """Look until a text is on the screen."""
        return self._awaited(lambda seen: text in seen.text, repr(text))

    def _awaited(self, enough: Callable[[Picture], bool], what: str) -> Picture:
        end = time.monotonic() + TIMEOUT_S
        while time.monotonic() < end:
            if enough(found := self.picture()):
                return found
            time.sleep(LOOK_S)
        raise AssertionError(f"never saw {what} in\n{self.picture().text}")

    def picture(self) -> Picture:
        """What is there now."""
        title = self._tmux("display-message", "-p", "-t", "seen", "#{pane_title}").strip()
        code = int(title.removeprefix(_OVER)) if title.startswith(_OVER) else None
        return Picture(self._captured(), self._captured("-J"), code)

    def painted(self) -> list[str]:
        """The lines with their colours."""
        return self._captured("-e")

    def _captured(self, *flags: str) -> list[str]:
        text = self._tmux("capture-pane", "-p", *flags, "-t", "seen", "-S", "-")
        lines = [line.rstrip() for line in text.splitlines()]
        while lines and not lines[-1]:
            lines.pop()
        return lines


def seen(words: Sequence[str], env: Mapping[str, str], columns: int) -> Picture:
    """Run to the end in a pane of so many columns."""
    with Pane(command(words), env, columns) as pane:
        return pane.over()
