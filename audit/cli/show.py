"""`audit show`: a run as a story, or an event with its neighbours."""

from typing import Annotated

import typer

from audit import tables
from audit.asking import Asked, takes_filters
from audit.cli import _options as o

What = Annotated[
    str | None,
    typer.Argument(metavar="[last|RUN|EVENT]", help="last, last~N, the beginning of a run, a seq"),
]
FormatName = Annotated[
    str, typer.Option("--format", rich_help_panel="Output", help="table json markdown")
]
Context = Annotated[
    int | None,
    typer.Option("-C", min=0, max=10_000, rich_help_panel="Output", help="events on each side, 10"),
]


@takes_filters
def command(
    ctx: typer.Context,
    asked: Asked,
    what: What = None,
    words: o.Words = None,
    format: FormatName = "table",  # noqa: A002  the flag's name
    json: o.Json = False,
    context: Context = None,
    quiet: o.Quiet = False,
    color: o.Color = "auto",
    strict: o.Strict = False,
) -> int:
    """Tell a run as a story, the last one unless named, or show an event with its neighbours.

    audit show last -s agent-demo
    audit show 7f3a91c2 --format markdown
    audit show 4712 -C 5
    """
    from audit.showing import FORMATS, Wanted, show

    chosen = tables.chosen(format, json=json, among=FORMATS)
    return show(ctx.obj, what, asked, words or (), Wanted(chosen, context, quiet, strict, color))
