"""`audit status`: is everything at work, and is anything missing?"""

from typing import Annotated

import typer

from audit.cli._options import Json
from audit.states import status

Check = Annotated[bool, typer.Option("--check", help="10 if not all is well; prints nothing else")]


def command(ctx: typer.Context, check: Check = False, json: Json = False) -> int:
    """Show the state of collector, sources, store and exports, and completeness over 24 h."""
    return status(ctx.obj, check=check, json=json)
