"""The entry of `audit` and `sandtrail`: the only place where an error becomes an exit code."""

import gc
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from audit import commands
from audit.call import Call, wall_clock
from audit.say import Voice, use_devnull
from audit_events.errors import AuditError, Exit, UsageError

GC_THRESHOLD: Final = 50_000
PROGRAMS: Final = ("audit", "sandtrail")
_HOUSE: Final = Path(__file__).resolve().parents[1]
_TAKES_VALUE: Final = {"--store": "store", "--config": "config"}


def main() -> None:
    """Run the command line of this process and exit."""
    # Loading modules makes thousands of objects that stay; looking through them for garbage again
    # and again is a tenth of the start.
    gc.set_threshold(GC_THRESHOLD, 20, 20)
    sys.exit(run(sys.argv))


def run(argv: Sequence[str], now: Callable[[], int] = wall_clock) -> int:
    """Run one command line; every ending, a bug's too, is an exit code and at most a few lines."""
    try:
        return _run(argv, now)
    except KeyboardInterrupt:
        # Ctrl-C again while the first was being answered.
        return int(Exit.INTERRUPTED)


def _run(argv: Sequence[str], now: Callable[[], int]) -> int:
    name = Path(argv[0]).name
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115  closed by whoever started us
    prog = name if name in PROGRAMS else PROGRAMS[0]
    try:
        code = _dispatch(prog, list(argv[1:]), now)
        sys.stdout.flush()
    except BrokenPipeError:
        code = _quiet()
    except KeyboardInterrupt:
        code = Exit.INTERRUPTED
    except OSError as error:
        code = _system(prog, error)
    except AuditError as error:
        Voice(prog, os.environ).failure(error)
        code = error.code
    except Exception as error:  # noqa: BLE001  the boundary: a bug must not print a payload
        code = _bug(prog, error)
    return int(code)


def _dispatch(prog: str, words: list[str], now: Callable[[], int]) -> int:
    options, rest = split_options(words)
    call = Call(prog, options.get("store"), options.get("config"), os.environ, now)
    if rest and rest[0] in ("--help", "-h"):
        from audit.help import overview

        sys.stdout.write(overview(prog))
        return Exit.DONE
    if rest and rest[0] == "--version":
        rest = ["version"]
    if rest and rest[0].startswith("-"):
        raise UsageError(f"no option {rest[0]} before the command", hint=f"{prog} --help")
    verb, rest = (rest[0], rest[1:]) if rest else ("_situation", [])
    if verb == "_situation":
        from audit.cli._situation import situation

        return situation(call)
    if verb == "_complete":
        from audit.completing import complete

        return complete(call, rest)
    if not rest and (plain := commands.plain(verb)) is not None:
        return plain(call)
    return call_command(commands.load(verb, prog), verb, rest, call)


def split_options(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The options of every command, wherever they stand before `--`, and the other words."""
    found: dict[str, str] = {}
    rest: list[str] = []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        flag, equals, value = word.partition("=")
        if word == "--":
            return found, [*rest, word, *queue]
        if flag not in _TAKES_VALUE:
            rest.append(word)
        elif equals:
            found[_TAKES_VALUE[flag]] = value
        elif queue:
            found[_TAKES_VALUE[flag]] = queue.pop(0)
        else:
            raise UsageError(f"{flag} needs a value")
    return found, rest


def call_command(function: Callable[..., Any], verb: str, words: list[str], call: Call) -> int:
    """Parse a command's words with Typer and run it."""
    from typer._click.exceptions import Abort, ClickException  # the click that Typer carries
    from typer._click.exceptions import Exit as Leave

    from audit.help import build

    command = build(function, verb)
    try:
        # Not `command.main`: it turns a broken pipe and Ctrl-C into endings of its own.
        with command.make_context(f"{call.prog} {verb}", words, obj=call) as context:
            code = command.invoke(context)
    except Leave as leave:
        return int(leave.exit_code)
    except Abort:
        return Exit.INTERRUPTED
    except ClickException as error:
        hint = f"{call.prog} {verb} --help"
        raise UsageError(_as_ours(error.format_message()), hint=hint) from None
    return code if isinstance(code, int) else Exit.DONE


def _as_ours(message: str) -> str:
    text = " ".join(message.split()).rstrip(".")
    return text[:1].lower() + text[1:]


def _quiet() -> int:
    """`| head` has seen enough: no message, not from the interpreter's last flush either."""
    use_devnull()
    return Exit.DONE


def _system(prog: str, error: OSError) -> int:
    """The machine refused something (a full disk, a lost mount): no bug of ours."""
    place = f"{error.filename}: " if isinstance(error.filename, str) else ""
    Voice(prog, os.environ).error(f"{place}{error.strerror or type(error).__name__}")
    use_devnull()
    return Exit.STORAGE


def _bug(prog: str, error: Exception) -> int:
    import traceback

    if os.environ.get("AUDIT_DEBUG") == "1":
        traceback.print_exc()
        return Exit.BUG
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if _HOUSE in Path(frame.filename).parents]
    place = f"{Path(inside[-1].filename).name}:{inside[-1].lineno}" if inside else "start"
    Voice(prog, os.environ).error(
        f"internal error: {type(error).__name__} at {place}",
        "AUDIT_DEBUG=1 shows where it happened; please report it",
    )
    return Exit.BUG


if __name__ == "__main__":
    main()
