"""One line about long work: it moves and goes away on a terminal, comes rarely elsewhere."""

import glob
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from audit.render_time import count
from audit.render_width import keep_end, width
from audit.say import Voice, is_terminal

# Work that is over by then needs no word.
SHOWN_AFTER_S: Final = 0.5
REDRAWN_S: Final = 0.1
# A log of cron stays short, and still shows a hang.
PLAIN_EVERY_S: Final = 30.0
COLUMNS: Final = 79
BAR_CELLS: Final = 26
MIN_BAR_CELLS: Final = 4
LABEL_CELLS: Final = 20


class Progress:
    """Told how much is done, it decides whether and how to say so; `close` takes the line away."""

    def __init__(
        self,
        voice: Voice,
        verb: str,
        *,
        label: str = "",
        unit: str = "lines",
        total: int | None = None,
        quiet: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._voice = voice
        name = keep_end(label, LABEL_CELLS)
        self._head = f"{verb:<7}  {name}" if name else f"{verb:<7}"
        self._unit = unit
        self._total = total
        self._quiet = quiet
        self._clock = clock
        self._started = clock()
        # A terminal that cannot take a line back gets the plain ones.
        self._terminal = is_terminal(voice.stream) and not voice.dumb
        self._due = self._started + (SHOWN_AFTER_S if self._terminal else PLAIN_EVERY_S)
        self._shown = False

    def tell(self, done: int, number: int) -> None:
        """`done` of the total (bytes, a range of seq), and the number of things that came of it."""
        now = self._clock()
        if self._quiet or now < self._due:
            return
        facts = self._facts(done, number, now - self._started)
        if self._terminal:
            self._voice.passing(self._line(done, facts))
            self._due, self._shown = now + REDRAWN_S, True
        else:
            self._voice.line("  ".join([self._head, *facts]))
            self._due = now + PLAIN_EVERY_S

    def close(self) -> None:
        """Nothing of it is left on a terminal."""
        if self._shown:
            self._voice.passing("")
            self._shown = False

    def _facts(self, done: int, number: int, seconds: float) -> list[str]:
        share = self._share(done)
        facts = [] if share is None else [f"{int(share * 100)}%"]
        facts += [f"{short(number)} {self._unit}", f"{short(int(number / max(seconds, 0.001)))}/s"]
        if share:
            left = int(seconds / share - seconds)
            facts.append(f"{left // 60}:{left % 60:02}")
        return facts

    def _share(self, done: int) -> float | None:
        return None if not self._total else min(done / self._total, 1.0)

    def _line(self, done: int, facts: list[str]) -> str:
        share = self._share(done)
        rest = "  ".join(facts)
        room = min(BAR_CELLS, COLUMNS - width(self._head) - width(rest) - 4)
        if share is None or room < MIN_BAR_CELLS:
            return f"{self._head}  {rest}"
        return f"{self._head}  {bar(share, room)}  {rest}"


def bar(share: float, cells: int) -> str:
    """`━━━━╸────`: done, the step under way, the rest."""
    full = min(int(share * cells), cells)
    return "━" * full + ("╸" + "─" * (cells - full - 1) if full < cells else "")


def short(number: int) -> str:
    """`612k`, `9.4M`; below ten thousand every digit."""
    if number < 10_000:
        return count(number)
    if number < 1_000_000:
        return f"{number // 1000}k"
    return f"{number / 1_000_000:.1f}M"


def file_progress(voice: Voice, patterns: Sequence[str], *, quiet: bool) -> Progress:
    """About reading these files to their end; their sizes as they are now are the whole."""
    paths = [path for pattern in patterns for path in glob.glob(pattern)]  # noqa: PTH207  absolute
    label = Path(paths[0]).name if len(paths) == 1 else f"{len(paths)} files" if paths else ""
    try:
        total = sum(Path(path).stat().st_size for path in paths)
    except OSError:
        total = 0
    return Progress(voice, "collect", label=label, total=total or None, quiet=quiet)
