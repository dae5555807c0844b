"""`audit serve`: the HTTP service and its page, and who may ask it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from audit.help import plain_command, plain_group
from audit_events.errors import Exit, UsageError

_PLAIN: Any = plain_command()
_GROUP: Any = plain_group()

command = typer.Typer(
    cls=_GROUP, invoke_without_command=True, add_completion=False, rich_markup_mode=None,
    pretty_exceptions_enable=False,
)  # fmt: skip
token = typer.Typer(
    cls=_GROUP, help="Make, list, revoke the tokens of programs.",
    add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
)  # fmt: skip
command.add_typer(token, name="token")

DEFAULT_PORT = 8484

Port = Annotated[
    int | None, typer.Option("--port", help=f"{DEFAULT_PORT} by default; 0 takes a free one")
]
Host = Annotated[
    str, typer.Option("--host", show_default=False, help="else 127.0.0.1; with TLS only")
]
Unix = Annotated[
    str | None, typer.Option("--unix", metavar="PATH", help="a socket file; --port serves both")
]
Cert = Annotated[
    str | None, typer.Option("--tls-cert", metavar="FILE", help="PEM; SIGHUP reads it again")
]
Key = Annotated[str | None, typer.Option("--tls-key", metavar="FILE", help="its key, PEM")]
AllowHost = Annotated[
    list[str] | None, typer.Option("--allow-host", metavar="NAME", help="another name of ours")
]
QueryTime = Annotated[
    int, typer.Option("--query-time", metavar="S", help="seconds a query may take")
]
QueryMemory = Annotated[int, typer.Option("--query-memory", metavar="MB", help="and its memory")]
LogRequests = Annotated[
    bool, typer.Option("--log-requests", help="a line each: who, route, status, time")
]
Log = Annotated[
    str | None, typer.Option("--log", metavar="FILE", help="instead of stderr, rotated")
]
Name = Annotated[str, typer.Option("--name", "-n", help="what you call it")]
TokenName = Annotated[str, typer.Argument(metavar="NAME", help="the token's name")]
Sandbox = Annotated[
    list[str] | None, typer.Option("--sandbox", "-s", help="only this; may be repeated")
]
Export = Annotated[bool, typer.Option("--export", help="whole results too: NDJSON, CSV, Arrow")]
Expires = Annotated[str, typer.Option("--expires", help="30d, 12h, never")]
Json = Annotated[bool, typer.Option("--json", help="as JSON")]
Url = Annotated[str | None, typer.Option("--url", help="as your browser reaches the service")]


@command.callback()
def serve(
    ctx: typer.Context, port: Port = None, host: Host = "127.0.0.1", unix: Unix = None,
    cert: Cert = None, key: Key = None, allow_host: AllowHost = None, query_time: QueryTime = 30,
    query_memory: QueryMemory = 512, log_requests: LogRequests = False, log: Log = None,
) -> int:  # fmt: skip
    """Serve the same questions over HTTP, and a page, until stopped.

    Everybody needs a token, on this machine too. A browser gets in by a link,
    printed at the start or by "serve link".

    audit serve
    audit serve --unix /run/user/1000/sandtrail.sock
    audit serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem
    audit serve token create --name siem --export
    """
    if ctx.invoked_subcommand is not None:
        return Exit.DONE
    if port is None and unix is None:
        port = DEFAULT_PORT
    _need_extra()
    from audit.serving.running import Wanted, serve
    from audit.serving.service import Limits
    from audit.serving.sockets import Place

    place = Place(
        host=host, port=port, unix=_path(unix), cert=_path(cert), key=_path(key),
        names=tuple(allow_host or ()),
    )  # fmt: skip
    limits = Limits(query_s=float(query_time), query_memory=f"{query_memory}MB")
    return serve(ctx.obj, Wanted(place, limits, log_requests, _path(log)))


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text).expanduser()


def _need_extra() -> None:
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"this installation has no HTTP service ({error.name} is missing)",
            hint='pip install "sandtrail[serve]"',
        ) from None


@command.command("link", cls=_PLAIN)
def link(ctx: typer.Context, sandbox: Sandbox = None, url: Url = None) -> int:
    """Print a link into the page: good once, for 60 s.

    audit serve link
    audit serve link --sandbox agent-demo
    """
    from audit.serving.access import link

    return link(ctx.obj, sandbox or (), url)


@token.command(cls=_PLAIN)
def create(
    ctx: typer.Context, name: Name, sandbox: Sandbox = None, export: Export = False,
    expires: Expires = "90d",
) -> int:  # fmt: skip
    """Make a token and print it, this once.

    Only its hash is kept. A program sends it as "Authorization: Bearer TOKEN".

    audit serve token create --name ci --sandbox agent-demo --expires 30d
    """
    from audit.serving.access import create

    return create(ctx.obj, name, sandbox or (), export, expires)


@token.command("list", cls=_PLAIN)
def list_(ctx: typer.Context, json: Json = False) -> int:
    """List tokens: what they may, until when.

    audit serve token list
    """
    from audit.serving.access import show

    return show(ctx.obj, json=json)


@token.command(cls=_PLAIN)
def revoke(
    ctx: typer.Context, name: Annotated[str, typer.Argument(help="the token's name")]
) -> int:
    """End a token at once.

    A stream that it opened ends within seconds.

    audit serve token revoke ci
    """
    from audit.serving.access import revoke

    return revoke(ctx.obj, name)
