"""`audit gaps`: when the record was incomplete."""

import json as jsonlib
from dataclasses import asdict
from typing import Annotated

import typer

from audit import page_gaps, wiring
from audit import screen as output
from audit.asking import Question
from audit.cli._options import Json, Quiet
from audit.querying import header
from audit_events.errors import Exit
from query import views
from query.times import display_zone, window

Since = Annotated[str | None, typer.Option("--since", help="30m, 02:00, yesterday …")]
Until = Annotated[str | None, typer.Option("--until", help="up to, without it")]
Source = Annotated[list[str] | None, typer.Option("--source", help="of this source only")]
Utc = Annotated[bool, typer.Option("--utc", help="show and read times in UTC")]
Zone = Annotated[str | None, typer.Option("--tz", help="show and read times in this zone")]


def command(
    ctx: typer.Context,
    since: Since = None,
    until: Until = None,
    source: Source = None,
    utc: Utc = False,
    tz: Zone = None,
    json: Json = False,
    quiet: Quiet = False,
) -> int:
    """List the stretches in which a source could not tell everything, oldest first."""
    call, now = ctx.obj, ctx.obj.now()
    store, screen, zone = wiring.find_store(call), output.screen(call), display_zone(tz, utc=utc)
    span, warnings = window(since, until, None, "event", (now, zone))
    for warning in warnings:
        screen.voice.warning(warning)
    gaps = [g for g in views.gaps(store, span) if not source or g.source in (*source, "all")]
    if json:
        elements = ",\n".join(jsonlib.dumps(asdict(gap)) for gap in gaps)
        output.put([f"[{elements}]"])
        return Exit.DONE
    asked = Question({"source": tuple(source)} if source else {}, span, zone)
    screen.remark(header(call, store, asked, "all gaps", zone=True), quiet=quiet)
    columns = screen.columns if screen.terminal else None
    output.put(page_gaps.gap_lines(gaps, now=now, zone=zone, glyphs=screen.glyphs, columns=columns))
    length = None if span.since is None else (span.until or now) - span.since
    nothing = "no gap"
    text = page_gaps.summary(gaps, now=now, span_us=length) if gaps else nothing
    screen.remark(text, quiet=quiet)
    return Exit.DONE
