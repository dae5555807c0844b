"""`audit runs`: the newest runs of the last day, from SQLite alone unless a filter asks events."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from audit import page_runs, questions, reads, wiring
from audit import screen as output
from audit.asking import Asked, Question, described
from audit.call import Call
from audit.render_time import clock, count
from audit.screen import Screen
from audit_events.errors import Exit
from query.contracts import Answer, Window
from query.run_list import RunList

DEFAULT_RUNS: Final = 20
DEFAULT_SPAN_US: Final = 24 * 3600 * 1_000_000
DEFAULT_SPAN: Final = "24 h"
NOTHING_ASKED: Final = Asked()


@dataclass(frozen=True, slots=True)
class Wanted:
    """How the list is wanted; `outside` adds processes of no sandbox."""

    format: str = "table"
    limit: int | None = DEFAULT_RUNS
    outside: bool = False
    quiet: bool = False


def runs(
    call: Call,
    asked: Asked = NOTHING_ASKED,
    words: Sequence[str] = (),
    wanted: Wanted | None = None,
) -> Exit:
    """Print the runs; PARTIAL if there is none and the record has gaps."""
    wanted = wanted or Wanted()
    store, screen, now = wiring.find_trail(call), output.screen(call), call.now()
    ask, typed = with_default_window(questions.ask(call, store, asked, list(words)), now)
    for warning in ask.warnings:
        screen.voice.warning(warning)
    found = reads.newest_runs(store, ask.request(wanted.limit), now, outside=wanted.outside)
    if wanted.format != "table":
        from audit import tables

        rows = [page_runs.run_data(item) for item in found.runs]
        tables.put_rows(screen, wanted.format, page_runs.DATA_COLUMNS, rows)
    else:
        screen.remark(_header(call, store, ask, wanted, typed=typed), quiet=wanted.quiet)
        columns = screen.columns if screen.terminal else None
        output.put(
            page_runs.run_lines(found.runs, zone=ask.zone, glyphs=screen.glyphs, columns=columns)
        )
    return _concluded(call, store, ask, found, screen, wanted)


def with_default_window(ask: Question, now: int) -> tuple[Question, bool]:
    """The question over the last day unless a window was typed, and whether one was."""
    if ask.window.since is not None or ask.window.until is not None or ask.values.get("seq"):
        return ask, True
    window = Window(now - DEFAULT_SPAN_US, None, ask.window.clock)
    return replace(ask, window=window), False


def _header(call: Call, store: reads.Store, ask: Question, wanted: Wanted, *, typed: bool) -> str:
    newest = "all" if wanted.limit is None else f"newest {count(wanted.limit)}"
    if typed:
        parts = [*described(ask, call.now()), newest]
    else:
        bare = replace(ask, window=Window())
        parts = [*described(bare, call.now()), f"{newest} of the last {DEFAULT_SPAN}"]
    parts.append(f"times {clock(call.now(), ask.zone)[8:]}")
    return " · ".join([*parts, wiring.host_name(call), reads.store_id(store)])


def _concluded(
    call: Call, store: reads.Store, ask: Question, found: RunList, screen: Screen, wanted: Wanted
) -> Exit:
    if found.runs:
        screen.remark(page_runs.summary(found, call.prog, screen.glyphs), quiet=wanted.quiet)
    if found.outside:
        processes = f"{count(found.outside)} process{'es' * (found.outside != 1)}"
        screen.remark(f"{processes} outside any sandbox left out; --all", quiet=wanted.quiet)
    if found.runs:
        return Exit.DONE
    from audit.nothing import tell_nothing

    answer = Answer([], False, found.searched, 0, found.gaps)
    return tell_nothing(store, ask, answer, screen, call.now(), "run")
