"""Man pages from the same text as `--help` and `audit help`: `python -m audit.manual FOLDER`."""

import inspect
import sys
from pathlib import Path
from typing import Any, Final

from audit import commands
from audit.help import build, overview
from audit.topics import topics
from audit_events.version import VERSION

PROG: Final = "sandtrail"


def pages() -> dict[str, str]:
    """Each page by its file's name: one of the whole, one a command."""
    found = {f"{PROG}.1": _whole()}
    for verb in sorted(commands.names()):
        found |= _command(build(commands.load(verb, PROG), verb), verb)
    return found


def _whole() -> str:
    lines = [*_head(PROG, "the audit trail of AI-agent sandboxes"), ".SH SYNOPSIS"]
    lines += [*_plain(overview(PROG))]
    for name, write in topics().items():
        lines += [f".SH {name.upper()}", *_plain(write(PROG))]
    see = ", ".join(f"\\fB{PROG}-{verb}\\fR(1)" for verb in sorted(commands.names()))
    return "\n".join([*lines, ".SH SEE ALSO", see]) + "\n"


def _command(command: Any, verb: str) -> dict[str, str]:
    """The page of a command; those under it stand in it, in sections of their own."""
    below = getattr(command, "commands", {})
    promise, *examples = inspect.cleandoc(command.help or verb).splitlines()
    lines = [*_head(f"{PROG}-{verb}", promise.rstrip(".")), ".SH SYNOPSIS"]
    lines.append(f".B {PROG} {verb}\n" + escape(" ".join(_usage(command, verb))))
    if any(examples):
        lines += [".SH EXAMPLES", *_plain("\n".join(examples).strip("\n"))]
    lines += [".SH OPTIONS", *_options(command, verb)]
    for name, sub in below.items():
        lines += [f".SH {name.upper()}", *_below(sub, f"{verb} {name}")]
    lines += [".SH SEE ALSO", f"\\fB{PROG}\\fR(1)"]
    return {f"{PROG}-{verb}.1": "\n".join(lines) + "\n"}


def _below(command: Any, verb: str) -> list[str]:
    lines = [escape(inspect.cleandoc(command.help or verb).split("\n")[0])]
    lines += _options(command, verb)
    for name, sub in getattr(command, "commands", {}).items():
        lines += [f".SS {verb.partition(' ')[2]} {name}", *_below(sub, f"{verb} {name}")]
    return lines


def _head(name: str, promise: str) -> list[str]:
    title = f'.TH "{name.upper()}" 1 "" "sandtrail {VERSION}"'
    return [title, ".SH NAME", f"{escape(name)} \\- {escape(promise)}"]


def _usage(command: Any, verb: str) -> list[str]:
    with command.make_context(f"{PROG} {verb}", [], resilient_parsing=True) as context:
        return list(command.collect_usage_pieces(context))


def _options(command: Any, verb: str) -> list[str]:
    lines: list[str] = []
    with command.make_context(f"{PROG} {verb}", [], resilient_parsing=True) as context:
        for param in command.get_params(context):
            record = param.get_help_record(context)
            if getattr(param, "hidden", False):
                lines += [".TP", f".B {escape(', '.join(param.opts))}", "leaves out what it names"]
            elif record:
                flags = ", ".join([*param.opts, *param.secondary_opts])
                lines += [".TP", f".B {escape(flags)}", escape(record[1])]
    return lines


def _plain(text: str) -> list[str]:
    return [".nf", *(escape(line) for line in text.rstrip("\n").split("\n")), ".fi"]


def escape(text: str) -> str:
    """Text that troff takes as it stands."""
    safe = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + safe if safe.startswith((".", "'")) else safe


def main() -> None:
    """Write every page into the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
