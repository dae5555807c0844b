"""`audit help`: the overview, a command's page, or a topic."""

import sys
from typing import Annotated

import typer

from audit import commands
from audit.help import overview
from audit.topics import topics
from audit_events.errors import UsageError

Topic = Annotated[str | None, typer.Argument(metavar="[TOPIC]", help=" ".join(topics()))]


def command(ctx: typer.Context, topic: Topic = None) -> int:
    """Explain filters, times, lines, exit codes, scripts or sudo; or a command."""
    from audit.main import call_command

    prog = ctx.obj.prog
    if topic is None:
        sys.stdout.write(overview(prog))
        return 0
    if (write := topics().get(topic)) is not None:
        sys.stdout.write(write(prog) + "\n")
        return 0
    if topic in commands.names():
        return call_command(commands.load(topic, prog), topic, ["--help"], ctx.obj)
    raise UsageError(f'no help on "{topic}"', hint=" ".join(topics()))
