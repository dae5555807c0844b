"""`audit setup`: begin on this machine."""

from typing import Annotated

import typer

Host = Annotated[str | None, typer.Option("--host", help="name of this machine in the record")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="only say what would be done")]


def command(ctx: typer.Context, host: Host = None, dry_run: DryRun = False) -> int:
    """Make the store, find the logs in their usual places, and write audit.toml, each value told.

    audit setup --dry-run
    audit setup --host mini-osaka-03
    """
    from audit.setting_up import setup

    return setup(ctx.obj, host=host, dry_run=dry_run)
