"""`audit decode`: a decoder tried on a file."""

from typing import Annotated

import typer

File = Annotated[str, typer.Argument(metavar="FILE|-", help="a log file, or - for stdin")]
DecoderName = Annotated[
    str | None, typer.Option("--decoder", help="its name; without it the first lines decide")
]
FormatName = Annotated[str, typer.Option("--format", help="ndjson json csv logfmt")]
Number = Annotated[str, typer.Option("--limit", "-n", help="print the first N; 0 all")]
Explain = Annotated[bool, typer.Option("--explain", help="say how one record was read")]
At = Annotated[int, typer.Option("--at", min=0, help="with --explain: the record at this byte")]


def command(
    ctx: typer.Context,
    file: File = "-",
    decoder: DecoderName = None,
    format: FormatName = "ndjson",  # noqa: A002  the flag's name
    limit: Number = "0",
    explain: Explain = False,
    at: At = 0,
) -> int:
    """Show what a decoder makes of a file, secrets masked; nothing is stored.

    audit decode system.log --explain --at 4711
    """
    from audit import decoding
    from audit.querying import parse_limit

    if explain:
        return decoding.explain(ctx.obj, file, decoder, at)
    return decoding.decode(ctx.obj, file, decoder, format, parse_limit(limit))
