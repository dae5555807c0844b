"""`audit completion`: the Tab key."""

import sys
from typing import Annotated

import typer

from audit_events.errors import UsageError

Shell = Annotated[str, typer.Argument(metavar="zsh|bash|fish", help="your shell")]


def command(ctx: typer.Context, shell: Shell) -> int:
    """Print a completion script: verbs, flags, and values as they stand in the store now.

    eval "$(audit completion zsh)"
    audit completion fish | source
    """
    from audit.completion_scripts import NAMES, script

    if shell not in NAMES:
        raise UsageError(f"no completion for {shell}", hint=" ".join(NAMES))
    sys.stdout.write(script(shell, ctx.obj.prog))
    return 0
