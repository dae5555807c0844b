"""`audit collect`: read logs into the store, once or until stopped."""

import signal
import threading
from pathlib import Path
from typing import Annotated, Any

import typer

from audit.call import Call
from audit.say import Voice
from audit_events.errors import StorageError


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
    log: Annotated[
        str | None, typer.Option(help="Say it in this file, rotated, instead of on stderr.")
    ] = None,
) -> None:
    """Read logs into the store, exactly once; without --once keep watching."""
    from audit.collecting import run_collector
    from audit.progress import file_progress

    call: Call = ctx.obj
    own_log = None if log is None else _own_log(log)
    voice = Voice(call.prog, call.environ, own_log)
    stop, renew = threading.Event(), threading.Event()
    _stop_on_signals(stop, renew, own_log)
    progress = file_progress(voice, files or (), quiet=quiet or not once)
    try:
        summary = run_collector(
            call, files or [], source or [], decoder,
            host=host, once=once, stop=stop, voice=voice, watch=progress.tell, renew=renew,
        )  # fmt: skip
    finally:
        progress.close()
    if not quiet:
        for line in summary:
            voice.line(line)


def _own_log(path: str) -> Any:
    from audit.own_log import OwnLog

    try:
        return OwnLog(Path(path).expanduser())
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from error


def _stop_on_signals(stop: threading.Event, renew: threading.Event, own_log: Any) -> None:
    """SIGTERM and Ctrl-C end the run in order; SIGHUP opens the log anew, reads the redaction rules
    again, and asks for new file names, which the source looks for by itself."""

    def end(_number: int, _frame: Any) -> None:
        stop.set()

    def hang_up(_number: int, _frame: Any) -> None:
        if own_log is not None:
            own_log.reopen()
        renew.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    signal.signal(signal.SIGHUP, hang_up)
