"""`audit explain`: one event, and what decided it."""

from typing import Annotated

import typer

from audit import wiring

Event = Annotated[
    str, typer.Argument(metavar="EVENT|last|-", help="a seq, an event id, last, or a line of stdin")
]
Utc = Annotated[bool, typer.Option("--utc", help="show times in UTC")]
Zone = Annotated[str | None, typer.Option("--tz", help="show times in this zone")]


FormatName = Annotated[str, typer.Option("--format", help="text, or markdown for a ticket")]


def command(
    ctx: typer.Context,
    event: Event = "last",
    format: FormatName = "text",  # noqa: A002  the flag's name
    utc: Utc = False,
    tz: Zone = None,
) -> int:
    """Tell which rule decided an event, by which lines, why, and what would change it.

    audit explain 4712
    audit explain last          the newest refusal
    audit tail --deny --json -n 1 | audit explain -
    """
    from audit.explaining import explain

    return explain(ctx.obj, wiring.find_trail(ctx.obj), event, utc=utc, tz=tz, as_=format)
