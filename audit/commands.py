"""The commands: a module in audit/cli is a command of its file's name, imported only when called.

A command module defines `command`, a function for Typer whose first parameter is `ctx:
typer.Context` (`ctx.obj` is the `Call`); it returns an exit code or None. A module whose name
starts with an underscore is shared by commands and is none itself.
"""

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import audit.cli
from audit.call import Call
from audit_events.errors import UsageError

# Typer takes as long to import as everything else that these need together.
_PLAIN: Final = {"status": "audit.states", "gaps": "audit.states", "runs": "audit.running"}
# Words that people try, and what they may have meant (SCREENS T12).
_MEANT: Final = {
    "rotate": (
        ("secrets", "a leaked secret: {prog} secrets find -"),
        ("secrets", "the fingerprint key: {prog} secrets rotate-key"),
        ("serve", "an access token: {prog} serve token revoke NAME"),
        (None, "log files rotate by themselves"),
    ),
    "log": (("tail", "the newest events: {prog} tail"), ("query", "a question: {prog} query")),
    "logs": (("tail", "the newest events: {prog} tail"), ("query", "a question: {prog} query")),
    "search": (("query", "{prog} query -g WORD"),),
    "ls": (("query", "{prog} query"), ("runs", "{prog} runs")),
    "denied": (("query", "{prog} query --deny"),),
}


def names() -> frozenset[str]:
    """Every command there is."""
    files = (name for folder in audit.cli.__path__ for name in os.listdir(folder))  # noqa: PTH208
    return frozenset(f[:-3] for f in files if f.endswith(".py") and not f.startswith("_"))


def plain(verb: str) -> Callable[[Call], int] | None:
    """What a verb without any flag does, for those few that must answer at once: no flag parser."""
    if verb not in _PLAIN:
        return None
    function: Callable[[Call], int] = getattr(import_module(_PLAIN[verb]), verb)
    return function


def load(verb: str, prog: str) -> Callable[..., Any]:
    """The function behind a verb; UsageError with a guess for a word that is none."""
    known = names()
    if verb not in known:
        raise UsageError(f'no command "{verb}"', hint=_guess(verb, prog, known))
    command: Callable[..., Any] = import_module(f"audit.cli.{verb}").command
    return command


def _guess(verb: str, prog: str, known: frozenset[str]) -> str:
    if meant := [text for name, text in _MEANT.get(verb, ()) if name is None or name in known]:
        return "which one?  " + "  ·  ".join(text.format(prog=prog) for text in meant)
    import difflib

    close = difflib.get_close_matches(verb, known, n=1)
    return f"did you mean {prog} {close[0]}?" if close else f"{prog} --help"
