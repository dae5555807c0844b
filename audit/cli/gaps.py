"""`audit gaps`: when the record was incomplete."""

from typing import Annotated

import typer

from audit.cli._options import Json, Quiet
from audit.states import gaps

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
    return gaps(
        ctx.obj,
        span=(since, until), source=source or (), zone_asked=(utc, tz), json=json, quiet=quiet,
    )  # fmt: skip
