"""`audit service`: always on."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from audit.help import plain_command

if TYPE_CHECKING:
    from audit.service import Ground

command = typer.Typer(
    help="Run the collector as a service of launchd or systemd: install, status, restart, logs.",
    add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
)  # fmt: skip

_PLAIN: Any = plain_command()
System = Annotated[bool, typer.Option("--system", help="the machine's, run by root; else yours")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="print the file, change nothing")]
Number = Annotated[int, typer.Option("-n", min=1, max=100_000, help="the newest N lines")]


@command.command(cls=_PLAIN)
def install(ctx: typer.Context, system: System = False, dry_run: DryRun = False) -> int:
    """Install and start the collector; again after the settings moved.

    The service runs what audit.toml names. Other settings take force with a restart.

    sandtrail service install
    sudo sandtrail service install --system
    sandtrail service install --dry-run
    """
    from audit.service import install

    return install(_ground(ctx, system=system), dry_run=dry_run)


@command.command(cls=_PLAIN)
def status(ctx: typer.Context, system: System = False) -> int:
    """Show whether it runs, with which version; 10 if it does not.

    sandtrail service status
    """
    from audit.service import status

    return status(_ground(ctx, system=system))


@command.command(cls=_PLAIN)
def restart(ctx: typer.Context, system: System = False) -> int:
    """Stop and start it: for a new version, or other settings; nothing is lost or doubled.

    sandtrail service restart
    """
    from audit.service import restart

    return restart(_ground(ctx, system=system))


@command.command(cls=_PLAIN)
def logs(ctx: typer.Context, system: System = False, number: Number = 50) -> int:
    """Print what the collector said of itself; it never says what a record holds.

    sandtrail service logs -n 200
    """
    from audit.service import logs

    return logs(_ground(ctx, system=system), number)


@command.command(cls=_PLAIN)
def remove(ctx: typer.Context, system: System = False) -> int:
    """Stop it and take its file away; the store stays.

    sandtrail service remove
    """
    from audit.service import remove

    return remove(_ground(ctx, system=system))


def _ground(ctx: typer.Context, *, system: bool) -> "Ground":
    from audit.service import Ground

    return Ground(ctx.obj, system)
