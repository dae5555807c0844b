"""`--help`: the overview of the verbs that exist, and a plain page for each command."""

import inspect
import textwrap
from typing import Any, Final

from audit import commands

_VERBS: Final = (
    ("Look", (
        ("tail", "newest events; -f keeps watching"),
        ("query", "ask: by decision, path, rule, run, time …"),
        ("runs", "what ran and what was refused in it"),
        ("show", "one run as a story, or an event with its neighbours"),
        ("explain", "which rule decided an event, and what else is known of it"),
        ("stats", "counts by rule, sandbox, day …; time-outs and p95 of tools"),
        ("gaps", "when the record was incomplete, and why"),
        ("sql", "read-only SQL over the same events"),
    )),
    ("Collect", ("setup", "collect", "service", "status", "doctor", "upkeep")),
    ("Policy", (
        ("policy", "validate, explain, apply a policy file; its schema"),
    )),
    ("Send", (
        ("export", "files with a manifest; each event once with --cursor"),
        ("serve", "HTTP service and page"),
    )),
    ("Prove", (
        ("verify", "the store, an export, a receiver"),
        ("secrets", "what was masked; find a leaked secret"),
    )),
    ("Run", (("sandbox", "create, exec, stop: an enforcement layer to try"),)),
    ("Debug", ("decode", "redact", "config", "completion", "version", "demo")),
)  # fmt: skip
_FIRST: Final = (
    ("tail", "{prog} tail -f --deny"),
    ("show", "{prog} show last"),
    ("explain", "{prog} explain last"),
)
_GROUPS: Final = ("Filters", "Output", "Exit code")
_NAME_WIDTH: Final = 11
_OPTION_WIDTH: Final = 26
_WIDTH: Final = 79


def overview(prog: str) -> str:
    """The page of `audit --help`, naming only commands that exist."""
    known = commands.names()
    lines = [
        f"Usage: {prog} [--store DIR] [--config FILE] COMMAND …",
        "",
        "What did the sandbox allow and refuse, by which line of which policy, in which",
        "run, and is anything missing? Without a command: the situation now.",
        "",
    ]
    for title, verbs in _VERBS:
        if block := _block(verbs, known):
            lines += [title, *block]
    first = [text.format(prog=prog) for verb, text in _FIRST if verb in known]
    more = f"{prog} COMMAND --help"
    if "help" in known:
        more += f" · {prog} help filters|times|lines|exit|scripts"
    lines += ["", *(["First:    " + "        ".join(first)] if first else []), f"More:     {more}"]
    lines.append('With sudo use "sandtrail": /usr/sbin/audit is Apple\'s.')
    return "\n".join(lines) + "\n"


def _block(verbs: Any, known: frozenset[str]) -> list[str]:
    if isinstance(verbs[0], str):
        present = [verb for verb in verbs if verb in known]
        return ["  " + " · ".join(present)] if present else []
    return [f"  {verb:<{_NAME_WIDTH - 2}}  {text}" for verb, text in verbs if verb in known]


def build(function: Any, verb: str) -> Any:
    """A Typer command of one function (or the Typer app of a command with commands of its own)."""
    import typer

    app = function
    if not isinstance(function, typer.Typer):
        app = typer.Typer(
            add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False
        )
        app.command(name=verb, cls=plain_command())(function)
    return typer.main.get_command(app)


def plain_command() -> Any:
    """The class of a command whose help is our own page; typer is imported only here."""
    from typer.core import TyperCommand

    class PlainCommand(TyperCommand):
        """A command whose help is our own page."""

        def get_help(self, ctx: Any) -> str:
            return page(self, ctx)

    return PlainCommand


def plain_group() -> Any:
    """The class of a command that does something itself and has commands under it."""
    from typer.core import TyperGroup

    class PlainGroup(TyperGroup):
        """A group whose help is our own page."""

        def get_help(self, ctx: Any) -> str:
            return page(self, ctx)

    return PlainGroup


def page(command: Any, ctx: Any) -> str:
    """Usage, promise and examples, then the options in groups, one line each."""
    usage = " ".join(command.collect_usage_pieces(ctx))
    promise, *examples = inspect.cleandoc(command.help or "").splitlines()
    lines = [f"Usage: {ctx.command_path} {usage}", "", *textwrap.wrap(promise, _WIDTH)]
    lines += [piece for line in examples for piece in textwrap.wrap(line, _WIDTH) or [""]] + [""]
    groups: dict[str, list[str]] = {}
    for param in command.get_params(ctx):
        record = None if getattr(param, "hidden", False) else param.get_help_record(ctx)
        if record:
            title = getattr(param, "rich_help_panel", None) or "Options"
            groups.setdefault(title, []).append(_option_line(param, *record))
    for title in sorted(groups, key=_group_order):
        lines += [title, *groups[title]]
    if below := getattr(command, "commands", {}):
        lines += ["Commands", *(_command_line(name, sub) for name, sub in below.items())]
    return "\n".join(lines)


def _command_line(name: str, command: Any) -> str:
    promise = inspect.cleandoc(command.help or "").partition("\n")[0]
    return f"  {name:<{_OPTION_WIDTH}}  {promise}".rstrip()[:_WIDTH]


def _group_order(title: str) -> int:
    return _GROUPS.index(title) if title in _GROUPS else len(_GROUPS)


def _option_line(param: Any, _flags: str, text: str) -> str:
    flags = [*param.opts, *param.secondary_opts]
    flags.sort(key=lambda flag: flag.startswith("--"))
    metavar = "" if getattr(param, "is_flag", False) else f" {param.metavar or 'VALUE'}"
    if not flags[0].startswith("-"):
        flags, metavar = [str(param.metavar or param.name).upper()], ""
    head = ", ".join(flags) + metavar
    return f"  {head:<{_OPTION_WIDTH}}  {text}".rstrip()[:_WIDTH]
