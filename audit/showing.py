"""`audit show`: a run as a story, or an event with its neighbours."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from audit import commands, questions, reads, tables, wiring
from audit import screen as output
from audit.asking import Asked, Question, described
from audit.call import Call
from audit.page_story import Telling, story_lines
from audit.querying import tell_damaged, tell_gaps
from audit.render import Renderer
from audit.render_fold import line_of
from audit.render_pipe import pipe_line
from audit.render_time import clock, count
from audit.screen import Screen
from audit.story_rules import RuleOf, rules_of
from audit_events.errors import Exit, UsageError
from query.story import Neighbours, Story

FORMATS: Final = ("table", "json", "markdown")
DEFAULT_CONTEXT: Final = 10
MAX_CONTEXT: Final = 10_000
_EVENT: Final = re.compile(r"[0-9a-z]{5}-[0-9]{1,18}|[0-9][0-9,]{0,23}")
_MARK: Final = "> "


@dataclass(frozen=True, slots=True)
class Wanted:
    """How it is wanted; `context` None where -C was not typed."""

    format: str = "table"
    context: int | None = None
    quiet: bool = False
    strict: bool = False
    color: str = "auto"


def show(call: Call, word: str | None, asked: Asked, words: Sequence[str], wanted: Wanted) -> Exit:
    """Print a run or an event; PARTIAL for damaged files, and with --strict over a gap."""
    store = wiring.find_trail(call)
    ask = questions.ask(call, store, asked, list(words))
    screen = output.screen(call, wanted.color)
    for warning in ask.warnings:
        screen.voice.warning(warning)
    runs = ask.values.get("run", ())
    word = word or (runs[0] if len(runs) == 1 else "last")
    kind, _, rest = word.partition(":")
    if (kind == "event" and rest) or (kind != "run" and _is_event(store, word)):
        return _event(call, store, rest if kind == "event" else word, ask, wanted, screen)
    if word in reads.known_sandboxes(store):
        ask = replace(ask, values={**ask.values, "sandbox": (word,)})
        word = "last"
    if wanted.context is not None:
        raise UsageError(
            "-C goes with an event, not with a run", hint=f"{call.prog} show 4712 -C 10"
        )
    return _run(call, store, rest if kind == "run" else word, ask, wanted, screen)


def _is_event(store: reads.Store, word: str) -> bool:
    """A number is an event, unless there is none of it and a run's id begins so."""
    if not _EVENT.fullmatch(word):
        return False
    if not word.isdecimal():
        return True
    return int(word) <= reads.newest_seq(store) or not reads.runs_by_prefix(store, word)


def _run(
    call: Call, store: reads.Store, word: str, ask: Question, wanted: Wanted, screen: Screen
) -> Exit:
    names = ask.values.get("sandbox", ())
    plain = names[0] if len(names) == 1 and not re.search(r"^!|[*?\[]", names[0]) else None
    left = ("run",) if plain is None else ("run", "sandbox")
    values = {flag: given for flag, given in ask.values.items() if flag not in left}
    request = replace(ask, values=values).request(None)
    found = reads.story(store, word, request, plain)
    filtered = bool(values) or ask.window.since is not None or ask.window.until is not None
    rules = rules_of(store, (digest for _, digest in found.policies))
    telling = replace(_telling(call, store, ask, screen), rule_of=rules)
    if wanted.format == "json":
        _put_json(screen, found, rules)
    elif wanted.format == "markdown":
        from audit.story_data import story_markdown

        output.put(story_markdown(found, telling, filtered=filtered))
    else:
        if filtered:
            only = " · ".join(described(replace(ask, values=values), call.now()))
            screen.remark(f"only {only}", quiet=wanted.quiet)
        output.put(story_lines(found, telling, filtered=filtered))
    return _partial(call, found, ask, wanted, screen)


def _put_json(screen: Screen, found: Story, rules: RuleOf) -> None:
    import orjson

    from audit.story_data import story_data

    text = orjson.dumps(story_data(found, rules), option=orjson.OPT_INDENT_2).decode()
    output.put_document(tables.harmless(text).encode() + b"\n", terminal=screen.terminal)
    output.flush()


def _telling(call: Call, store: reads.Store, ask: Question, screen: Screen) -> Telling:
    now = call.now()
    collector = reads.collector(store, now)
    ended = None if collector.state == "running" else collector.stopped or collector.heartbeat
    return Telling(
        prog=call.prog,
        now=now,
        zone=ask.zone,
        glyphs=screen.glyphs,
        columns=screen.columns if screen.terminal else None,
        ended=ended,
        known=commands.names(),
    )


def _event(
    call: Call, store: reads.Store, word: str, ask: Question, wanted: Wanted, screen: Screen
) -> Exit:
    from audit.explaining import event_of

    seq = event_of(store, word)["seq"]
    context = DEFAULT_CONTEXT if wanted.context is None else wanted.context
    found = reads.neighbours(store, seq, ask.request(None), context)
    if wanted.format == "json":
        from exporters.contracts import ALL_COLUMNS

        tables.put_rows(screen, "json", ALL_COLUMNS, found.rows)
    elif wanted.format == "markdown":
        from audit.story_data import event_markdown

        output.put(event_markdown(found.rows, seq, _telling(call, store, ask, screen)))
    else:
        screen.remark(_event_header(call, store, ask, seq), quiet=wanted.quiet)
        _put_lines(found, seq, ask, call.now(), screen)
        screen.remark(_event_footer(call, found, seq), quiet=wanted.quiet)
    return _partial(call, found, ask, wanted, screen)


def _put_lines(found: Neighbours, seq: int, ask: Question, now: int, screen: Screen) -> None:
    if not screen.terminal:
        output.put(pipe_line(row, screen.glyphs) for row in found.rows)
        return
    look = screen.look(ask.zone, now, pinned=ask.pins_run())
    renderer = Renderer(replace(look, columns=look.columns - len(_MARK)))
    for row in found.rows:
        headings, (first, *rest) = renderer.parts(line_of(row))
        blank = " " * len(_MARK)
        mark = _MARK if row["seq"] == seq else blank
        output.put_painted([*headings, mark + first, *(blank + text for text in rest)])


def _event_header(call: Call, store: reads.Store, ask: Question, seq: int) -> str:
    zone = f"times {clock(call.now(), ask.zone)[8:]}"
    parts = [f"event {seq} and its neighbours", *described(ask, call.now()), zone]
    return " · ".join([*parts, wiring.host_name(call), reads.store_id(store)])


def _event_footer(call: Call, found: Neighbours, seq: int) -> str:
    before = sum(row["seq"] < seq for row in found.rows)
    after = sum(row["seq"] > seq for row in found.rows)
    gaps = (
        f", {len(found.gaps)} gap{'s' * (len(found.gaps) > 1)} in this time" if found.gaps else ""
    )
    return f"{count(before)} before, {count(after)} after{gaps}; {call.prog} explain {seq}"


def _partial(
    call: Call, found: Story | Neighbours, ask: Question, wanted: Wanted, screen: Screen
) -> Exit:
    tell_damaged(screen, found.damaged)
    if wanted.strict and found.gaps:
        tell_gaps(screen, found.gaps, ask, call.now())
        return Exit.PARTIAL
    return Exit.PARTIAL if found.damaged else Exit.DONE
