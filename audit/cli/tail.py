"""`audit tail`: the newest events, and what follows."""

from typing import Annotated

import typer

from audit import tailing
from audit.asking import Asked, takes_filters
from audit.cli import _options as o
from audit.querying import Limit, Wanted, parse_columns, parse_limit
from audit.questions import trail_and_question
from audit_events.errors import UsageError

Follow = Annotated[
    bool, typer.Option("--follow", "-f", rich_help_panel="Output", help="go on with what follows")
]


@takes_filters
def command(
    ctx: typer.Context,
    asked: Asked,
    words: o.Words = None,
    follow: Follow = False,
    limit: o.Number = "20",
    format: o.FormatName = "table",  # noqa: A002  the flag's name
    json: o.Json = False,
    columns: o.Columns = None,
    merge: o.Merge = None,
    quiet: o.Quiet = False,
    color: o.Color = "auto",
) -> int:
    """Show the newest 20 events, newest last; -f goes on with everything that follows.

    audit tail -f --deny
    audit tail -f -n 0 --sandbox agent-demo
    audit tail -f --json | jq -r 'select(.decision=="deny").policy_rule'
    """
    store, ask = trail_and_question(ctx.obj, asked, words)
    number = parse_limit(limit)
    if number.oldest:
        raise UsageError("tail shows the newest", hint=f"{ctx.obj.prog} query -n {limit}")
    chosen = "ndjson" if json else format
    wanted = Wanted(
        chosen, parse_columns(columns), Limit(number.number), "asc", merge, quiet, color
    )
    return tailing.show(ctx.obj, store, ask, wanted, follow=follow)
