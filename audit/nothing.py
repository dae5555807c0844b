"""An empty answer says why it is empty, and is never called empty over a gap (SCREENS T1)."""

import difflib
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from audit.asking import Question
from audit.render_time import clock, moment, spoken
from audit.screen import Screen
from audit_events.errors import Exit
from audit_events.layout import StorePaths
from query.contracts import Answer, Gap

# So long may the search for the filter that emptied the answer take.
MAX_SEARCH_S: Final = 0.3
MAX_GAPS_NAMED: Final = 3
MAX_SANDBOXES_NAMED: Final = 5


def tell_nothing(
    store: StorePaths,
    asked: Question,
    answer: Answer,
    screen: Screen,
    now: int,
    what: str = "event",
) -> Exit:
    """Say that nothing matches and which filter made it so; PARTIAL if the record has gaps."""
    if answer.gaps:
        for line in _over_a_gap(answer.gaps, asked, now, screen.voice.prog, what):
            screen.voice.line(line)
        return Exit.PARTIAL
    if stranger := _unknown_sandbox(store, asked):
        screen.voice.line(stranger)
        return Exit.DONE
    since = moment(asked.window.since, asked.zone, now) if asked.window.since else "the beginning"
    until = moment(asked.window.until, asked.zone, now) if asked.window.until else "now"
    screen.voice.line(
        f"no {what} matches (searched {since} to {until}, {answer.searched:,} {what}s, no gap)"
    )
    if screen.watched and what == "event":
        for line in _what_emptied_it(store, asked):
            screen.voice.line(line)
    return Exit.DONE


def _over_a_gap(gaps: Sequence[Gap], asked: Question, now: int, prog: str, what: str) -> list[str]:
    names = ", ".join(sorted({gap.source for gap in gaps}))
    verb = "was" if all(gap.until is not None for gap in gaps) else "is"
    lines = [f"no {what} found, but the record is incomplete: {names} {verb} unavailable"]
    for gap in gaps[-MAX_GAPS_NAMED:]:
        since = clock(gap.since, asked.zone)
        until = "now" if gap.until is None else clock(gap.until, asked.zone)
        lasted = spoken((gap.until or now) - gap.since)
        lines.append(f"{since} to {until} ({lasted}): {gap.reason}")
    if len(gaps) > MAX_GAPS_NAMED:
        lines.append(f"{len(gaps) - MAX_GAPS_NAMED} more: {prog} gaps")
    return lines


def _unknown_sandbox(store: StorePaths, asked: Question) -> str | None:
    """A sandbox that never was is probably a typing mistake."""
    from query import views

    names = [name for name in asked.values.get("sandbox", ()) if not re.search(r"^!|[*?\[]", name)]
    known = views.known_sandboxes(store) if len(names) == 1 else []
    if not known or names[0] in known:
        return None
    near = difflib.get_close_matches(names[0], known, n=1)
    guess = f" (did you mean {near[0]}?)" if near else ""
    shown = ", ".join(known[:MAX_SANDBOXES_NAMED])
    more = ", …" if len(known) > MAX_SANDBOXES_NAMED else ""
    return f'no event from sandbox "{names[0]}", ever; known: {shown}{more}{guess}'


def _what_emptied_it(store: StorePaths, asked: Question) -> list[str]:
    """How many events would match without each filter, as far as the time goes."""
    from query import engine

    counts: list[tuple[str, int]] = []
    deadline = time.monotonic() + MAX_SEARCH_S
    for name, without in _weaker(asked):
        if time.monotonic() > deadline:
            break
        counts.append((name, engine.count(store, without.request(None)).records))
    wide = max((len(name) for name, _ in counts), default=0)
    numbers = max((len(f"{number:,}") for _, number in counts), default=0)
    lines = [f"  without {name:<{wide}}   {number:>{numbers},}" for name, number in counts]
    home = str(Path.home())
    if any(value.startswith(home) for value in asked.values.get("path", ())):
        lines.append(f"  note: ~ is your home ({home}); agents may have another")
    return lines if len(lines) > 1 or asked.values else []


def _weaker(asked: Question) -> list[tuple[str, Question]]:
    found = []
    for flag, values in asked.values.items():
        rest = {name: given for name, given in asked.values.items() if name != flag}
        found.append((f"--{flag} {' '.join(values)}", replace(asked, values=rest)))
    if asked.window.since is not None:
        found.append(("--since", replace(asked, window=replace(asked.window, since=None))))
    if asked.window.until is not None:
        found.append(("--until", replace(asked, window=replace(asked.window, until=None))))
    return found
