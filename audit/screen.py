"""Where output goes: data to stdout, words to stderr, and what each of the two can show."""

import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import tzinfo
from typing import TYPE_CHECKING, Final

from audit.call import Call
from audit.render_flow import wrapped
from audit.render_style import ASCII, UNICODE, Glyphs
from audit.render_time import day
from audit.say import Voice, is_terminal, speaks_utf8, wants_colour
from audit_events.errors import UsageError
from audit_events.text import terminal as harmless

if TYPE_CHECKING:
    from audit.render import Look

MIN_COLUMNS: Final = 20
REMARK_HANG: Final = 2
COLOURS: Final = ("auto", "always", "never")


@dataclass(frozen=True, slots=True)
class Screen:
    """What stdout is and can show; `voice` speaks on stderr."""

    voice: Voice
    terminal: bool
    watched: bool
    columns: int
    glyphs: Glyphs
    colour: bool

    def look(self, zone: tzinfo, now: int, *, pinned: bool = False) -> "Look":
        """How lines are drawn here."""
        from audit.render import Look

        today = day(now, zone)
        return Look(self.columns, zone, self.glyphs, self.colour, pinned, today)

    def remark(self, text: str, *, quiet: bool = False) -> None:
        """A header or footer: for a person at the terminal only; narrow ones get it in pieces."""
        if self.terminal and self.watched and not quiet:
            for line in self.fitted(text):
                self.voice.line(line)

    def fitted(self, text: str) -> list[str]:
        """A sentence on stderr as lines that fit, where a person watches; else whole."""
        return wrapped(text, self.columns if self.watched else None, REMARK_HANG)


def screen(call: Call, color: str = "auto") -> Screen:
    """What this process writes to; UsageError for a `color` that is none."""
    if color not in COLOURS:
        raise UsageError(f"--color {color}: auto, always or never")
    terminal = is_terminal(sys.stdout)
    unicode = speaks_utf8(call.environ, getattr(sys.stdout, "encoding", None))
    return Screen(
        voice=Voice(call.prog, call.environ),
        terminal=terminal,
        watched=is_terminal(sys.stderr),
        columns=max(shutil.get_terminal_size((80, 24)).columns, MIN_COLUMNS),
        glyphs=UNICODE if unicode else ASCII,
        colour=wants_colour(call.environ, sys.stdout, color),
    )


def put(lines: Iterable[str]) -> None:
    """Lines to stdout, at once; escaped once more, should a page have forgotten to."""
    put_painted(harmless(line) for line in lines)


def put_painted(lines: Iterable[str]) -> None:
    """Lines that hold our own colours, and whose texts are escaped already."""
    for line in lines:
        put_bytes((line + "\n").encode(errors="backslashreplace"))
    flush()


def put_bytes(data: bytes) -> None:
    """Bytes to stdout, all of them; BrokenPipeError once nobody reads."""
    # PYTHONUNBUFFERED takes away the buffer that would go on after a write that took only a part.
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]


def put_document(data: bytes, *, terminal: bool) -> None:
    """A piece of a data format; on a terminal nothing in it can move the cursor."""
    if terminal:
        text = data.decode(errors="backslashreplace")
        data = "\n".join(harmless(line) for line in text.split("\n")).encode()
    put_bytes(data)


def flush() -> None:
    """What was put is on its way."""
    sys.stdout.buffer.flush()
