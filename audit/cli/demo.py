"""`audit demo`: see it work."""

import typer

from audit.cli._options import Quiet


def command(ctx: typer.Context, quiet: Quiet = False) -> int:
    """Collect a shipped example into a throw-away store, and show what it holds; 5 seconds.

    audit demo
    """
    from audit.demo import demo

    return demo(ctx.obj, quiet=quiet)
