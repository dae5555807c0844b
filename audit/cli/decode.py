"""`audit decode`: a decoder tried on a file."""

from typing import Annotated

import typer

File = Annotated[str, typer.Argument(metavar="FILE|-", help="a log file, or - for stdin")]
DecoderName = Annotated[str, typer.Option("--decoder", help="its name, such as native")]
FormatName = Annotated[str, typer.Option("--format", help="ndjson json csv logfmt")]
Number = Annotated[str, typer.Option("--limit", "-n", help="print the first N; 0 all")]


def command(
    ctx: typer.Context,
    file: File = "-",
    decoder: DecoderName = "native",
    format: FormatName = "ndjson",  # noqa: A002  the flag's name
    limit: Number = "0",
) -> int:
    """Show what a decoder makes of a file, secrets masked; nothing is stored.

    audit decode decisions.jsonl --decoder native -n 5
    """
    from audit.decoding import decode
    from audit.querying import parse_limit

    return decode(ctx.obj, file, decoder, format, parse_limit(limit))
