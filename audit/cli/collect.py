"""`audit collect`: read logs into the store, once or until stopped."""

import signal
import threading
from typing import Annotated, Any

import typer

from audit.call import Call
from audit.say import Voice


def command(
    ctx: typer.Context,
    files: Annotated[
        list[str] | None, typer.Argument(help="Log files or quoted globs; - is stdin.")
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="NAME=KIND:ARG[,decoder=NAME]; may be repeated.")
    ] = None,
    decoder: Annotated[
        str | None, typer.Option(help="How FILE is read; without it the first lines decide.")
    ] = None,
    once: Annotated[bool, typer.Option(help="Read to the end and stop.")] = False,
    host: Annotated[str | None, typer.Option(help="Name of this machine in the record.")] = None,
    quiet: Annotated[bool, typer.Option("-q", help="Say nothing on success.")] = False,
) -> None:
    """Read logs into the store, exactly once; without --once keep watching."""
    from audit.collecting import run_collector
    from audit.progress import file_progress

    call: Call = ctx.obj
    voice = Voice(call.prog, call.environ)
    stop = threading.Event()
    _stop_on_signals(stop)
    progress = file_progress(voice, files or (), quiet=quiet or not once)
    try:
        summary = run_collector(
            call, files or [], source or [], decoder,
            host=host, once=once, stop=stop, voice=voice, watch=progress.tell,
        )  # fmt: skip
    finally:
        progress.close()
    if not quiet:
        for line in summary:
            voice.line(line)


def _stop_on_signals(stop: threading.Event) -> None:
    """SIGTERM and Ctrl-C end the run in order; SIGHUP asks for new file names, which the source
    looks for by itself."""

    def end(_number: int, _frame: Any) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)
