"""`audit sql`: read-only SQL over the events."""

from typing import Annotated

import typer

from audit import wiring
from audit.cli import _options as o

Statement = Annotated[
    list[str], typer.Argument(metavar="SELECT…|-", help="one SELECT, quoted; - reads stdin")
]
FormatName = Annotated[
    str,
    typer.Option("--format", rich_help_panel="Output", help="table json ndjson csv markdown"),
]
Utc = Annotated[bool, typer.Option("--utc", rich_help_panel="Output", help="show times in UTC")]
Zone = Annotated[
    str | None, typer.Option("--tz", rich_help_panel="Output", help="show times in this zone")
]


def command(
    ctx: typer.Context,
    statement: Statement,
    format: FormatName = "table",  # noqa: A002  the flag's name
    json: o.Json = False,
    utc: Utc = False,
    tz: Zone = None,
    quiet: o.Quiet = False,
) -> int:
    """Run one SELECT over the view `events`; nothing can be changed, no other file be read.

    audit sql "SELECT policy_rule, count(*) FROM events GROUP BY ALL"
    audit sql "FROM events WHERE path LIKE '%.pem' LIMIT 20" --json
    audit sql - < question.sql
    """
    from audit.sqling import sql, statement_of
    from query.times import display_zone

    zone, store = display_zone(tz, utc=utc), wiring.find_store(ctx.obj)
    chosen = "json" if json else format
    return sql(ctx.obj, store, statement_of(statement), chosen, zone, quiet=quiet)
