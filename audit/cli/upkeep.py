"""`audit upkeep`: compaction and retention by hand, for a store that no collector keeps."""

from typing import Annotated

import typer

from audit_events.errors import Exit

Keep = Annotated[str | None, typer.Option("--keep", help="remove days older than this: 30d")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="only say what would be done")]
Now = Annotated[bool, typer.Option("--now", help="join even the few small files of a quiet day")]


def command(
    ctx: typer.Context, keep: Keep = None, dry_run: DryRun = False, now: Now = False
) -> int:
    """Join small files of the archive, and remove days past their time.

    A running collector does both by itself. Without --keep the settings decide; a day that an
    export has not got yet stays.

    audit upkeep --keep 30d --dry-run
    audit upkeep --now
    """
    from audit.upkeeping import look, work

    look(ctx.obj, keep, at_once=now) if dry_run else work(ctx.obj, keep, at_once=now)
    return Exit.DONE
