"""Flags that several commands share, declared once."""

from typing import Annotated

import typer

_OUTPUT = "Output"
_EXIT = "Exit code"

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="[WORD]…", help="KEY:VALUE, deny, allow, a sandbox's name"),
]
FormatName = Annotated[
    str,
    typer.Option("--format", rich_help_panel=_OUTPUT, help="table json ndjson logfmt csv parquet"),
]
Json = Annotated[bool, typer.Option("--json", rich_help_panel=_OUTPUT, help="--format json")]
Columns = Annotated[
    str | None, typer.Option("--columns", rich_help_panel=_OUTPUT, help="these only, A,B,C")
]
Number = Annotated[
    str,
    typer.Option(
        "--limit", "-n", rich_help_panel=_OUTPUT, help="the newest N; +N the oldest; 0 all"
    ),
]
Order = Annotated[
    str, typer.Option("--order", rich_help_panel=_OUTPUT, help="asc or desc, for display only")
]
Count = Annotated[
    bool, typer.Option("--count", rich_help_panel=_OUTPUT, help="only how many match")
]
Merge = Annotated[
    bool | None,
    typer.Option("--merge/--no-merge", rich_help_panel=_OUTPUT, help="fold repeats and reports"),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", rich_help_panel=_OUTPUT, help="no header, no footer")
]
Color = Annotated[
    str, typer.Option("--color", rich_help_panel=_OUTPUT, help="auto, always or never")
]
FailIfAny = Annotated[
    bool, typer.Option("--fail-if-any", rich_help_panel=_EXIT, help="10 if something matches")
]
FailIfNone = Annotated[
    bool, typer.Option("--fail-if-none", rich_help_panel=_EXIT, help="10 if nothing matches")
]
Strict = Annotated[
    bool, typer.Option("--strict", rich_help_panel=_EXIT, help="8 if a gap lies in the window")
]
