"""`audit status`: is everything at work, and is anything missing?"""

import json as jsonlib
from dataclasses import asdict
from typing import Annotated

import typer

from audit import page_status, wiring
from audit import render_time as times
from audit import screen as output
from audit.cli._options import Json
from audit.cli.version import own_version
from audit.page_situation import midnight
from audit.paper import Paper
from audit_events.errors import Exit
from query import views
from query.times import display_zone

Check = Annotated[bool, typer.Option("--check", help="10 if not all is well; prints nothing else")]


def command(ctx: typer.Context, check: Check = False, json: Json = False) -> int:
    """Show the state of collector, sources, store and exports, and completeness over 24 h."""
    call = ctx.obj
    store, screen = wiring.find_store(call), output.screen(call)
    zone, now = display_zone(), call.now()
    found = views.status(store, now, midnight(now, zone))
    verdict = Exit.DONE if page_status.healthy(found) else Exit.ANSWER_NO
    if json:
        output.put([jsonlib.dumps(asdict(found))])
    elif check:
        output.put([page_status.verdict(found)])
    else:
        dot = f" {screen.glyphs.dot} "
        parts = (wiring.host_name(call), f"store {found.store}", f"sandtrail {own_version()}")
        title = dot.join((*parts, times.full(now, zone)))
        paper = Paper(call.prog, now, zone, screen.glyphs)
        output.put(page_status.status_lines(found, store, title, paper))
    return verdict if check else Exit.DONE
