"""`audit redact`: secrets out of a pipe."""

import sys
from typing import Annotated

import typer

from audit import screen as output

Field = Annotated[
    str | None, typer.Option("--field", help="of JSON lines, mask this field's text only")
]
Explain = Annotated[
    bool, typer.Option("--explain", help="name the rule behind each mask, on stderr")
]
Packs = Annotated[
    list[str] | None, typer.Option("--pack", help="more rules: a file, or a shipped pack's name")
]


def command(
    ctx: typer.Context, field: Field = None, pack: Packs = None, explain: Explain = False
) -> None:
    """Read lines on stdin, write them with every secret masked; JSON lines stay JSON.

    some-command 2>&1 | audit redact
    audit redact --field text < records.jsonl
    """
    from audit.masking import Explained, masked_lines, redactor

    masker = redactor(ctx.obj, pack or ())
    told = Explained(masker, output.screen(ctx.obj).voice.line) if explain else None
    for line in masked_lines(sys.stdin.buffer, told or masker, field):
        output.put_bytes(line)
        output.flush()
        if told:
            told.line_done()
