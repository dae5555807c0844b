"""What we say on stderr: errors, warnings, notes, and header and footer lines of an answer."""

import os
import re
import sys
from collections.abc import Mapping
from typing import Final, TextIO

from audit_events.errors import AuditError
from audit_events.text import terminal

_RED: Final = "\x1b[31m"
_YELLOW: Final = "\x1b[33m"
_PLAIN: Final = "\x1b[0m"
# To the start of the line, and nothing is left on it.
_CLEARED: Final = "\r\x1b[K"
# What a terminal without UTF-8 shows for the signs of our own texts.
_ASCII: Final = str.maketrans(
    {"…": "...", "×": "x", "·": "|", "→": "->", "–": "-"}
    | dict.fromkeys("─╸", "-")
    | dict.fromkeys("━█", "#")
    | {"░": "."}
)

_OWN_NAME: Final = re.compile(r"(?<![\w/.])audit(?= [a-z-])")


def speaks_utf8(environ: Mapping[str, str], encoding: str | None) -> bool:
    """Whether the reader of our output can be expected to show more than ASCII.

    Python answers UTF-8 even under LC_ALL=C, and sets LC_CTYPE=C.UTF-8 by itself when there is no
    locale; so the locale's own variables decide. Over SSH they are often lost.
    """
    if environ.get("PYTHONIOENCODING") or environ.get("PYTHONUTF8") == "1":
        return _is_utf8(encoding or "")
    locale = environ.get("LC_ALL") or environ.get("LC_CTYPE") or environ.get("LANG") or ""
    coerced = locale == "C.UTF-8" and not (environ.get("LC_ALL") or environ.get("LANG"))
    return _is_utf8(encoding or "") and _is_utf8(locale) and not coerced


def _is_utf8(name: str) -> bool:
    return "utf8" in name.lower().replace("-", "")


def wants_colour(environ: Mapping[str, str], stream: TextIO, choice: str = "auto") -> bool:
    """The rule of NO_COLOR, TERM=dumb and --color."""
    if choice != "auto":
        return choice == "always"
    plain = environ.get("NO_COLOR") or environ.get("TERM") == "dumb"
    return not plain and is_terminal(stream)


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person watches this stream; a closed one is none."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def use_devnull() -> None:
    """Nobody reads stdout any more: later writes, the interpreter's last one too, go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class Voice:
    """Speaks to the person at the terminal, on stderr only; never fails because nobody listens."""

    def __init__(self, prog: str, environ: Mapping[str, str], stream: TextIO | None = None) -> None:
        self.prog = prog
        self.stream = stream or sys.stderr
        self._unicode = speaks_utf8(environ, getattr(self.stream, "encoding", None))
        self._colour = wants_colour(environ, self.stream)
        self.dumb = environ.get("TERM") == "dumb"
        self._passing = False

    def error(self, message: str, hint: str | None = None) -> None:
        """`PROG: error: message`, and below it what to do."""
        self._labelled("error", _RED, message, hint)

    def failure(self, error: AuditError) -> None:
        """An error that ends the call; lower floors say `audit`, we say how we were called."""
        hint = error.hint and _OWN_NAME.sub(self.prog, error.hint)
        self.error(error.message, hint)

    def warning(self, message: str, hint: str | None = None) -> None:
        """Something is off, and the work goes on."""
        self._labelled("warning", _YELLOW, message, hint)

    def note(self, message: str) -> None:
        """A fact worth knowing."""
        self._labelled("note", "", message, None)

    def line(self, text: str) -> None:
        """A plain line."""
        self._write(self._safe(text))

    def passing(self, text: str) -> None:
        """A line that the next one replaces; an empty one takes it away."""
        self._passing = bool(text)
        try:
            self.stream.write(_CLEARED + self._safe(text))
            self.stream.flush()
        except (OSError, ValueError):
            return

    def _labelled(self, word: str, colour: str, message: str, hint: str | None) -> None:
        shown = f"{colour}{word}{_PLAIN}" if colour and self._colour else word
        self._write(f"{self.prog}: {shown}: {self._safe(message)}")
        if hint:
            first, *rest = hint.splitlines()
            self._write(self._safe(f"  hint: {first}"))
            for line in rest:
                self._write(self._safe(f"        {line}"))

    def _safe(self, text: str) -> str:
        lines = text.split("\n")
        if not self._unicode:
            lines = [line.translate(_ASCII) for line in lines]
        return "\n".join(terminal(line, unicode=self._unicode) for line in lines)

    def _write(self, text: str) -> None:
        cleared = _CLEARED if self._passing else ""
        self._passing = False
        try:
            self.stream.write(f"{cleared}{text}\n")
            self.stream.flush()
        except (OSError, ValueError):
            return
