"""`audit policy`: check a policy file, put it in force, ask what it says."""

from typing import Annotated, Any

import typer

from audit.help import plain_command

command = typer.Typer(
    help="Check a policy file, put it in force for a sandbox, ask what it says.",
    add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
)  # fmt: skip

_PLAIN: Any = plain_command()
File = Annotated[str, typer.Option("--file", "-f", metavar="FILE", help="the policy; - is stdin")]
Format = Annotated[str, typer.Option("--format", help="text or json")]
Json = Annotated[bool, typer.Option("--json", help="--format json")]
Sandbox = Annotated[str, typer.Option("--sandbox", "-s", help="whose policy it is")]
Strict = Annotated[bool, typer.Option("--strict", help="10 if there are warnings")]
Path = Annotated[str | None, typer.Option("--path", help="a path, and --access")]
Access = Annotated[
    str | None, typer.Option("--access", help="read (default), write, create, delete …")
]
Dst = Annotated[str | None, typer.Option("--dst", metavar="HOST:PORT", help="a destination")]
Process = Annotated[str | None, typer.Option("--process", help="a program that starts")]
Macos = Annotated[
    bool | None, typer.Option("--macos/--linux", help="whose paths; this machine's by default")
]


@command.command(cls=_PLAIN)
def validate(
    ctx: typer.Context, file: File, form: Format = "text", json: Json = False,
    strict: Strict = False,
) -> int:  # fmt: skip
    """Check a policy: errors and warnings with line, column and what was probably meant.

    audit policy validate -f agent-readonly.yaml
    """
    from audit.policy_check import validate

    return validate(ctx.obj, file, "json" if json else form, strict=strict)


@command.command(cls=_PLAIN)
def apply(ctx: typer.Context, file: File, sandbox: Sandbox) -> int:
    """Put a policy in force for a sandbox from now on; events before keep the old text.

    audit policy apply -f agent-readonly.yaml --sandbox agent-demo
    """
    from audit.policy_apply import apply

    return apply(ctx.obj, file, sandbox)


@command.command(cls=_PLAIN)
def explain(
    ctx: typer.Context, file: File, path: Path = None, access: Access = None, dst: Dst = None,
    process: Process = None, macos: Macos = None, form: Format = "text", json: Json = False,
) -> int:  # fmt: skip
    """Tell what a policy says of one operation, by which line, and what would change it.

    audit policy explain -f p.yaml --path /workspace/.ssh/id --access read
    audit policy explain -f p.yaml --dst github.com:443
    """
    from audit.policy_explain import Asked, explain

    asked = Asked(path, access, dst, process, macos)
    return explain(ctx.obj, file, asked, "json" if json else form)


@command.command(cls=_PLAIN)
def schema(ctx: typer.Context) -> None:
    """Print the JSON Schema of a policy, for editors.

    audit policy schema > policy.schema.json
    """
    from audit.policy_check import print_schema

    print_schema(ctx.obj)
