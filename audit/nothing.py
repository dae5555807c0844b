"""An empty answer says why it is empty, and is never called empty over a gap (SCREENS T1)."""

import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from audit import reads
from audit.asking import Question
from audit.reads import Store
from audit.render_flow import wrapped
from audit.render_time import dated, moment, spoken
from audit.render_width import cell, width
from audit.screen import Screen
from audit_events.errors import Exit, QueryError
from audit_events.text import terminal
from query.contracts import Answer, Gap

# So long may the search for the filter that emptied the answer take.
MAX_SEARCH_S: Final = 0.3
MAX_GAPS_NAMED: Final = 3
MAX_SANDBOXES_NAMED: Final = 5
MAX_HOMES_NAMED: Final = 2
_HOME: Final = r"/(?:Users|home)/[^/]+"


def tell_nothing(
    store: Store,
    asked: Question,
    answer: Answer,
    screen: Screen,
    now: int,
    what: str = "event",
) -> Exit:
    """Say that nothing matches and which filter made it so; PARTIAL if the record has gaps."""
    if answer.gaps:
        for line in _over_a_gap(answer.gaps, asked, now, screen.voice.prog, what):
            _say(screen, line)
    stranger = _unknown_sandbox(store, asked) or _unknown_run(store, asked)
    if answer.gaps and stranger:
        _say(screen, stranger)
    if answer.gaps:
        return Exit.PARTIAL
    if stranger:
        _say(screen, stranger)
        return Exit.DONE
    since = moment(asked.window.since, asked.zone, now) if asked.window.since else "the beginning"
    until = moment(asked.window.until, asked.zone, now) if asked.window.until else "now"
    searched = f"{answer.searched:,} {what}{'s' * (answer.searched != 1)}"
    gap = _no_gap(store, asked, now)
    _say(screen, f"no {what} matches (searched {since} to {until}, {searched}, {gap})")
    if screen.watched and what == "event":
        for line in _what_emptied_it(store, asked, screen):
            screen.voice.line(line)
    return Exit.DONE


def _say(screen: Screen, text: str) -> None:
    for line in screen.fitted(text):
        screen.voice.line(line)


def _no_gap(store: Store, asked: Question, now: int) -> str:
    """No gap, as far as anybody collected: after that, silence says nothing about the sandbox."""
    collector = reads.collector(store, now)
    last = collector.stopped or collector.heartbeat
    if collector.state in ("running", "never") or last is None:
        return "no gap"
    if asked.window.until is not None and asked.window.until <= last:
        return "no gap"
    return f"no gap up to {moment(last, asked.zone, now)}; nothing was collected since"


def _over_a_gap(gaps: Sequence[Gap], asked: Question, now: int, prog: str, what: str) -> list[str]:
    names = ", ".join(sorted({gap.source for gap in gaps}))
    verb = "was" if all(gap.until is not None for gap in gaps) else "is"
    lines = [f"no {what} found, but the record is incomplete: {names} {verb} unavailable"]
    for gap in gaps[-MAX_GAPS_NAMED:]:
        since = dated(gap.since, asked.zone, now)
        until = "now" if gap.until is None else dated(gap.until, asked.zone, now)
        lasted = spoken((gap.until or now) - gap.since)
        lines.append(f"{since} to {until} ({lasted}): {gap.reason}")
    if len(gaps) > MAX_GAPS_NAMED:
        lines.append(f"{len(gaps) - MAX_GAPS_NAMED} more: {prog} gaps")
    return lines


def _unknown_sandbox(store: Store, asked: Question) -> str | None:
    """A sandbox that never was is probably a typing mistake."""
    names = [name for name in asked.values.get("sandbox", ()) if not re.search(r"^!|[*?\[]", name)]
    known = reads.known_sandboxes(store) if len(names) == 1 else []
    if not known or names[0] in known:
        return None
    import difflib

    near = difflib.get_close_matches(names[0], known, n=1)
    guess = f" (did you mean {near[0]}?)" if near else ""
    shown = ", ".join(known[:MAX_SANDBOXES_NAMED])
    more = ", …" if len(known) > MAX_SANDBOXES_NAMED else ""
    return f'no event from sandbox "{names[0]}", ever; known: {shown}{more}{guess}'


def _unknown_run(store: Store, asked: Question) -> str | None:
    """So is a run that never was."""
    ids = [name for name in asked.values.get("run", ()) if name and not name.startswith("!")]
    if len(ids) != 1 or ids[0].startswith("last"):
        return None
    if reads.runs_by_prefix(store, ids[0]):
        return None
    return f'no run begins with "{ids[0]}"; {reads.newest_runs_named(store)}'


def _what_emptied_it(store: Store, asked: Question, screen: Screen) -> list[str]:
    """How many events would match without each filter, as far as the time goes."""
    counts = [(terminal(name), f"{number:,}") for name, number in _shares(store, asked)]
    numbers = max((len(number) for _, number in counts), default=0)
    # The number is what one reads; a long filter gives way.
    room = max(screen.columns - len("  without ") - len("   ") - numbers, 1)
    wide = min(max((width(name) for name, _ in counts), default=0), room)
    lines = [f"  without {cell(name, wide)}   {number:>{numbers}}" for name, number in counts]
    return [*lines, *_about_home(store, asked, screen)]


def _shares(store: Store, asked: Question) -> Iterator[tuple[str, int]]:
    deadline = time.monotonic() + MAX_SEARCH_S
    for name, without in _weaker(asked):
        left = deadline - time.monotonic()
        if left <= 0:
            return
        try:
            yield name, reads.count(store, without.request(None), left).records
        except QueryError:
            return


def _about_home(store: Store, asked: Question, screen: Screen) -> list[str]:
    """The shell wrote our home for `~`; the agents have another."""
    home = str(Path.home())
    ours = [path for path in asked.values.get("path", ()) if _under(path, home)]
    if not ours:
        return []
    homes = sorted(
        {
            found[0]
            for row in _refused(store)
            if (found := re.match(_HOME, row)) and found[0] != home
        }
    )
    theirs = f"agents here use {', '.join(homes[:MAX_HOMES_NAMED])}" if homes else ""
    note = f"  note: ~ is your home ({home}); {theirs or 'agents may have another'}"
    lines = wrapped(note, screen.columns, len("  note: "))
    if "*" not in ours[0] and ours[0] != home:
        # Never broken by us: it is there to be pasted.
        lines.append(f"  try:  {screen.voice.prog} query {_flags(asked, ours[0])}")
    return lines


def _under(path: str, home: str) -> bool:
    return path == home or path.startswith(f"{home}/")


def _refused(store: Store) -> list[str]:
    return [row["path"] for row in reads.hot_denies(store) if row.get("path")]


def _flags(asked: Question, path: str) -> str:
    """The same question, the path below any folder."""
    words = []
    for flag, values in asked.values.items():
        for value in values:
            meant = f"**/{Path(path).name}" if (flag, value) == ("path", path) else value
            words.append(_flag(flag, _quoted(meant)))
    return " ".join(words)


def _flag(flag: str, value: str) -> str:
    short = flag == "decision" and value in ("deny", "allow")
    return f"--{value}" if short else f"--{flag} {value}"


def _quoted(value: str) -> str:
    """As one would write it: double quotes where they are enough."""
    if value == shlex.quote(value):
        return value
    return shlex.quote(value) if re.search(r'["\\$`!]', value) else f'"{value}"'


def _weaker(asked: Question) -> list[tuple[str, Question]]:
    found = []
    for flag, values in asked.values.items():
        rest = {name: given for name, given in asked.values.items() if name != flag}
        found.append((_flag(flag, " ".join(values)), replace(asked, values=rest)))
    window = asked.window
    if window.since is not None:
        without = replace(asked, window=replace(window, since=None))
        found.append((f"--since {asked.typed.get('since', '')}".rstrip(), without))
    if window.until is not None:
        without = replace(asked, window=replace(window, until=None))
        found.append((f"--until {asked.typed.get('until', '')}".rstrip(), without))
    return found
