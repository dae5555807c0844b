"""`audit export`: files for elsewhere, with a manifest."""

from typing import Annotated

import typer

from audit.asking import Asked, takes_filters
from audit.cli import _options as o
from audit.questions import trail_and_question

_PANEL = "Output"
FormatName = Annotated[
    str | None,
    typer.Option("--format", rich_help_panel=_PANEL, help="json ndjson csv logfmt parquet"),
]
Output = Annotated[
    str | None, typer.Option("--output", "-o", rich_help_panel=_PANEL, help="file; - is stdout")
]
Limit = Annotated[
    str, typer.Option("--limit", "-n", rich_help_panel=_PANEL, help="the newest N; 0 all")
]
Cursor = Annotated[
    str | None,
    typer.Option("--cursor", rich_help_panel=_PANEL, help="only what this name has not had yet"),
]


@takes_filters
def command(
    ctx: typer.Context,
    asked: Asked,
    words: o.Words = None,
    output: Output = None,
    format: FormatName = None,  # noqa: A002  the flag's name
    columns: o.Columns = None,
    limit: Limit = "0",
    cursor: Cursor = None,
    quiet: o.Quiet = False,
) -> int:
    """Write everything that matches to a file, and a manifest beside it.

    audit export --since yesterday -o audit.json
    audit export --deny --format csv -o denied.csv
    audit export --cursor nightly -o night.parquet
    """
    from audit.exporting import export, order_of
    from audit.querying import parse_columns, parse_limit

    store, ask = trail_and_question(ctx.obj, asked, words)
    order = order_of(
        output, format, parse_columns(columns), parse_limit(limit), cursor, quiet=quiet
    )
    return export(ctx.obj, store, ask, order)
