"""`audit secrets`: what was masked, where a leaked secret was seen, the key, old rows."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from audit import secrets
from audit.asking import Asked, takes_filters
from audit.cli._options import Json, Words
from audit.help import plain_command
from audit.questions import store_and_question
from audit_events.errors import UsageError

command = typer.Typer(
    help="What was masked; find a leaked secret; the key of fingerprints; mask old rows anew.",
    add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
)  # fmt: skip

_PLAIN: Any = plain_command()
File = Annotated[str, typer.Argument(metavar="FILE|-", help="the secret; - reads it from stdin")]
Since = Annotated[str | None, typer.Option("--since", help="events from this time on")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="only say what would be rewritten")]


@command.command(cls=_PLAIN)
def find(ctx: typer.Context, file: File, json: Json = False) -> int:
    """Say how often and where a known secret was seen, by fingerprint under every key.

    pbpaste | audit secrets find -
    """
    try:
        raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    return secrets.find(ctx.obj, raw, "stdin" if file == "-" else file, as_json=json)


@command.command("list", cls=_PLAIN)
@takes_filters
def list_(ctx: typer.Context, asked: Asked, words: Words = None, json: Json = False) -> int:
    """List what was masked: kinds, how often, when.

    audit secrets list --since 7d
    """
    store, question = store_and_question(ctx.obj, asked, words)
    return secrets.show_kinds(ctx.obj, store, question, as_json=json)


@command.command(cls=_PLAIN)
def purge(ctx: typer.Context, since: Since = None, dry_run: DryRun = False) -> int:
    """Mask stored events anew by today's rules; old files are gone at once, seqs stay.

    audit secrets purge --since 7d --dry-run
    audit secrets purge --since 7d
    """
    from audit import purging

    if dry_run:
        return purging.foresee(ctx.obj, since)
    return purging.purge(ctx.obj, since)


@command.command("rotate-key", cls=_PLAIN)
def rotate_key(ctx: typer.Context) -> int:
    """Give the store a new fingerprint key; old ones are kept beside it, so that find finds.

    audit secrets rotate-key
    """
    return secrets.rotate_key(ctx.obj)
