"""Bare `audit`: the situation now."""

from audit import commands, page_situation, reads, wiring
from audit import screen as output
from audit.call import Call
from audit.paper import Paper
from audit_events.errors import Exit
from query.times import display_zone


def situation(call: Call) -> Exit:
    """Print the situation, or how to begin where nothing was ever collected."""
    screen = output.screen(call)
    if wiring.is_new_here(call):
        output.put(page_situation.welcome(call.prog, commands.names()))
        return Exit.DONE
    store = wiring.find_trail(call)
    zone, now = display_zone(), call.now()
    found = reads.situation(store, now, page_situation.midnight(now, zone))
    columns = screen.columns if screen.terminal else None
    paper = Paper(call.prog, now, zone, screen.glyphs, columns)
    output.put(page_situation.situation_lines(found, wiring.host_name(call), paper))
    output.put(["", *page_situation.next_lines(found, call.prog, commands.names(), paper)])
    return Exit.DONE
