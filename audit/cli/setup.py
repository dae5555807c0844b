"""`audit setup`: begin on this machine."""

from typing import Annotated

import typer

Host = Annotated[str | None, typer.Option("--host", help="name of this machine in the record")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="only say what would be done")]

Start = Annotated[
    bool, typer.Option("--start/--no-start", help="start the collector as a service of yours")
]


def command(
    ctx: typer.Context, host: Host = None, dry_run: DryRun = False, start: Start = True
) -> int:
    """Make the store, find logs and policies, write audit.toml with each value told, and collect.

    audit setup --dry-run
    audit setup --host mini-osaka-03
    """
    from audit.setting_up import Wanted, setup

    return setup(ctx.obj, Wanted(host, dry_run, start))
