"""`audit stats`: counts by any columns and stretches of time."""

from typing import Annotated

import typer

from audit import tables
from audit.asking import Asked, takes_filters
from audit.cli import _options as o

_OUTPUT = "Output"

By = Annotated[
    str | None,
    typer.Option("--by", rich_help_panel=_OUTPUT, help="columns, day, hour, bucket; help lists"),
]
Bucket = Annotated[
    str | None, typer.Option("--bucket", rich_help_panel=_OUTPUT, help="stretches of 5m, 1h …")
]
Tools = Annotated[
    bool, typer.Option("--tools", rich_help_panel=_OUTPUT, help="tool calls: time-outs, p50 to p99")
]
Latency = Annotated[
    bool, typer.Option("--latency", rich_help_panel=_OUTPUT, help="how long decisions took")
]
Redactions = Annotated[
    bool, typer.Option("--redactions", rich_help_panel=_OUTPUT, help="how much was masked")
]
FormatName = Annotated[str, typer.Option("--format", rich_help_panel=_OUTPUT, help=tables.HELP)]
Number = Annotated[
    int | None,
    typer.Option("--limit", "-n", min=0, rich_help_panel=_OUTPUT, help="lines, 40; 0 all"),
]
Merge = Annotated[
    bool,
    typer.Option(
        "--merge/--no-merge", rich_help_panel=_OUTPUT, help="reports count once, or apart"
    ),
]


@takes_filters
def command(
    ctx: typer.Context,
    asked: Asked,
    words: o.Words = None,
    by: By = None,
    bucket: Bucket = None,
    tools: Tools = False,
    latency: Latency = False,
    redactions: Redactions = False,
    format: FormatName = "table",  # noqa: A002  the flag's name
    json: o.Json = False,
    limit: Number = None,
    merge: Merge = True,
    quiet: o.Quiet = False,
    fail_if_any: o.FailIfAny = False,
    fail_if_none: o.FailIfNone = False,
    strict: o.Strict = False,
) -> int:
    """Count: allow and deny side by side, by rule unless named; the last 24 hours.

    audit stats --deny --by rule,day --since 7d
    audit stats --path "**/.ssh" --by sandbox,process --since 1w
    audit stats --tools --since 7d
    """
    from audit.counting import DEFAULT_LINES, Wanted, count_up, one_measure
    from audit.querying import Verdict

    chosen = tables.chosen(format, json=json)
    measure = one_measure(tools=tools, latency=latency, redactions=redactions)
    lines = (DEFAULT_LINES if chosen == "table" else 0) if limit is None else limit
    wanted = Wanted(by, bucket, measure, chosen, lines or None, merge, quiet)
    verdict = Verdict(fail_if_any, fail_if_none, strict)
    return count_up(ctx.obj, asked, words or (), wanted, verdict)
