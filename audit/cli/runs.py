"""`audit runs`: what ran, and what was refused in it."""

from typing import Annotated

import typer

from audit import tables
from audit.asking import Asked, takes_filters
from audit.cli import _options as o
from audit.running import Wanted, runs

FormatName = Annotated[str, typer.Option("--format", rich_help_panel="Output", help=tables.HELP)]
Number = Annotated[
    int, typer.Option("--limit", "-n", min=0, rich_help_panel="Output", help="the newest N; 0 all")
]
All = Annotated[
    bool, typer.Option("--all", rich_help_panel="Output", help="processes outside any sandbox too")
]


@takes_filters
def command(
    ctx: typer.Context,
    asked: Asked,
    words: o.Words = None,
    format: FormatName = "table",  # noqa: A002  the flag's name
    json: o.Json = False,
    limit: Number = 20,
    all: All = False,  # noqa: A002  the flag's name
    quiet: o.Quiet = False,
) -> int:
    """List runs, newest last: when, how long, allowed and refused, most refused rule; 24 hours.

    audit runs
    audit runs agent-demo --deny --since 7d
    audit runs --path "**/.ssh"
    """
    chosen = tables.chosen(format, json=json)
    return runs(ctx.obj, asked, words or (), Wanted(chosen, limit or None, all, quiet))
