"""One line of filters as a person types it, in the grammar of every command."""

import functools
import shlex
from collections.abc import Sequence
from typing import Any

import typer

from audit.asking import Asked, takes_filters
from audit.cli import _options as o
from audit_events.errors import UsageError

MAX_WORDS = 200


def parsed(text: str) -> tuple[Asked, list[str]]:
    """The filter flags of a line and its other words; UsageError as a command would have it."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        # shlex says what is missing; it quotes nothing.
        raise UsageError(f"filter: {str(error).lower()}", hint='path:"/workspace/my dir"') from None
    if len(words) > MAX_WORDS:
        raise UsageError(f"filter: more than {MAX_WORDS} words")
    return _read(words)


def _read(words: Sequence[str]) -> tuple[Asked, list[str]]:
    from typer._click.exceptions import ClickException  # the click that Typer carries

    command = _command()
    try:
        with command.make_context("filter", list(words)) as context:
            found: tuple[Asked, list[str]] = command.invoke(context)
    except ClickException as error:
        message = " ".join(error.format_message().split()).rstrip(".")
        raise UsageError(f"filter: {message[:1].lower()}{message[1:]}") from None
    return found


@functools.cache
def _command() -> Any:
    """A command that has every filter and does nothing."""

    @takes_filters
    def read(asked: Asked, words: o.Words = None) -> tuple[Asked, list[str]]:
        return asked, list(words or ())

    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(add_help_option=False)(read)
    return typer.main.get_command(app)
