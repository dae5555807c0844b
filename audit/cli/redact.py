"""`audit redact`: secrets out of a pipe."""

import sys
from typing import Annotated

import typer

from audit import screen as output

Field = Annotated[
    str | None, typer.Option("--field", help="of JSON lines, mask this field's text only")
]


def command(ctx: typer.Context, field: Field = None) -> None:
    """Read lines on stdin, write them with every secret masked; JSON lines stay JSON.

    some-command 2>&1 | audit redact
    audit redact --field text < records.jsonl
    """
    from audit.masking import masked_lines, redactor

    for line in masked_lines(sys.stdin.buffer, redactor(ctx.obj), field):
        output.put_bytes(line)
        output.flush()
