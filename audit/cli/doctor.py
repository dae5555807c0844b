"""`audit doctor`: what is wrong here, and what to do."""

from typing import Annotated

import typer

from audit.cli._options import Json

Format = Annotated[str, typer.Option("--format", help="text or json")]


def command(
    ctx: typer.Context,
    format: Format = "text",  # noqa: A002  the flag's name
    json: Json = False,
) -> int:
    """Look at every source, the store, keys, modes, clock and commands; 10 if something fails.

    Each failure comes with what to do about it.

    audit doctor
    sudo sandtrail doctor --json
    """
    from audit.doctor import doctor

    return doctor(ctx.obj, "json" if json else format)
