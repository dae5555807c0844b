"""`audit query`: yesterday's questions."""

from typing import Annotated

import typer

from audit import questions
from audit.asking import Asked, takes_filters
from audit.cli import _options as o
from audit.querying import (
    Verdict,
    Wanted,
    number_of,
    parse_columns,
    parse_limit,
    show,
    store_or_export,
)

File = Annotated[
    str | None,
    typer.Option("--from", rich_help_panel="Output", help="an export instead of the store"),
]


@takes_filters
def command(
    ctx: typer.Context,
    asked: Asked,
    words: o.Words = None,
    format: o.FormatName = "table",  # noqa: A002  the flag's name
    json: o.Json = False,
    columns: o.Columns = None,
    limit: o.Number = "100",
    order: o.Order = "asc",
    count: o.Count = False,
    merge: o.Merge = None,
    quiet: o.Quiet = False,
    color: o.Color = "auto",
    fail_if_any: o.FailIfAny = False,
    fail_if_none: o.FailIfNone = False,
    strict: o.Strict = False,
    file: File = None,
) -> int:
    """Ask: by decision, path, rule, run, time and more; the newest 100, oldest first.

    audit query --deny --since 1h
    audit query --path "**/.ssh/**" --run last --json
    audit query --rule filesystem.deny.1 --since yesterday --count
    audit query --from denials.json --path "**/.ssh"
    """
    verdict = Verdict(fail_if_any, fail_if_none, strict)
    chosen = "json" if json else format
    wanted = Wanted(chosen, parse_columns(columns), parse_limit(limit), order, merge, quiet, color)
    with store_or_export(ctx.obj, file) as store:
        ask = questions.ask(ctx.obj, store, asked, words)
        if count:
            return number_of(ctx.obj, store, ask, verdict, merged=bool(merge))
        return show(ctx.obj, store, ask, wanted, verdict)
