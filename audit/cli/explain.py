"""`audit explain`: one event, and what decided it."""

from typing import Annotated

import typer

from audit import wiring

Event = Annotated[str, typer.Argument(metavar="EVENT|last", help="a seq, an event id, or last")]
Utc = Annotated[bool, typer.Option("--utc", help="show times in UTC")]
Zone = Annotated[str | None, typer.Option("--tz", help="show times in this zone")]


def command(ctx: typer.Context, event: Event = "last", utc: Utc = False, tz: Zone = None) -> int:
    """Tell what is known of an event: who, what, when, by which rule; last is the newest deny.

    audit explain 4712
    audit explain last
    """
    from audit.explaining import explain

    return explain(ctx.obj, wiring.find_store(ctx.obj), event, utc=utc, tz=tz)
