"""`audit status` and `audit gaps`: SQLite only, no flag parser where nothing is to be parsed.

Each loads its own page only: loading is most of what they take.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from audit import reads, wiring
from audit import render_time as times
from audit import screen as output
from audit.call import Call
from audit_events.errors import Exit
from audit_events.layout import StorePaths
from query.times import display_zone, window


def status(call: Call, *, check: bool = False, json: bool = False) -> Exit:
    """Print the state of every part; with `check` only the verdict, which is the exit code too."""
    from audit import page_status
    from audit.page_situation import midnight
    from audit.paper import Paper
    from audit_events.version import VERSION

    store, screen = wiring.find_trail(call), output.screen(call)
    zone, now = display_zone(), call.now()
    found = reads.status(store, now, midnight(now, zone))
    free = reads.disk_free(store)
    verdict = Exit.DONE if page_status.healthy(found, free) else Exit.ANSWER_NO
    if json:
        output.put(_as_json([found]))
    elif check:
        output.put([page_status.verdict(found, free)])
    else:
        dot = f" {screen.glyphs.dot} "
        parts = (wiring.host_name(call), f"store {found.store}", f"sandtrail {VERSION}")
        title = dot.join((*parts, times.full(now, zone)))
        columns = screen.columns if screen.terminal else None
        paper = Paper(call.prog, now, zone, screen.glyphs, columns)
        log = _log_command(call.prog, store)
        output.put(page_status.status_lines(found, free, title, paper, log))
    return verdict if check else Exit.DONE


def _log_command(prog: str, store: "reads.Store") -> str | None:
    """What shows the collector's log, where a service is installed for this store's owner."""
    from pathlib import Path

    from audit.service_place import log_command

    if not isinstance(store, StorePaths):
        return None
    return log_command(prog, Path.home(), system=store.root == wiring.system_data())


def gaps(
    call: Call,
    *,
    span: tuple[str | None, str | None] = (None, None),
    source: Sequence[str] = (),
    zone_asked: tuple[bool, str | None] = (False, None),
    json: bool = False,
    quiet: bool = False,
) -> Exit:
    """Print the gaps of `span` = (since, until); `zone_asked` = (--utc, --tz)."""
    from audit import page_gaps
    from audit.asking import Question
    from audit.heading import header

    now, zone = call.now(), display_zone(zone_asked[1], utc=zone_asked[0])
    store, screen = wiring.find_trail(call), output.screen(call)
    found, warnings = window(*span, None, "event", (now, zone))
    for warning in warnings:
        screen.voice.warning(warning)
    listed = [g for g in reads.gaps(store, found) if not source or g.source in (*source, "all")]
    if json:
        output.put(("[" + ",\n".join(_as_json(listed)) + "]").split("\n"))
        return Exit.DONE
    asked = Question({"source": tuple(source)} if source else {}, found, zone)
    screen.remark(header(call, store, asked, "all gaps", zone=True), quiet=quiet)
    columns = screen.columns if screen.terminal else None
    lines = page_gaps.gap_lines(listed, now=now, zone=zone, glyphs=screen.glyphs, columns=columns)
    output.put(lines)
    length = None if found.since is None else (found.until or now) - found.since
    text = page_gaps.summary(listed, now=now, span_us=length) if listed else "no gap"
    screen.remark(text, quiet=quiet)
    return Exit.DONE


def _as_json(found: Iterable[Any]) -> Iterable[str]:
    import json

    return (json.dumps(asdict(item)) for item in found)
