"""A policy file that somebody named: read, checked, and its faults told."""

import sys
from pathlib import Path

from audit import screen as output
from audit.call import Call
from audit_events.errors import SettingsError, UsageError
from collector.policy_store import read_policy_file
from policies.load import MAX_POLICY_BYTES, parse_policy
from policies.model import Policy
from policies.yaml_text import Problem, YamlError

FORMATS = ("text", "json")


def read_bytes(file: str) -> bytes:
    """The bytes of FILE or, for `-`, of stdin. Raises SourceError and SettingsError."""
    if file == "-":
        return sys.stdin.buffer.read(MAX_POLICY_BYTES + 1)
    path = Path(file).expanduser()
    if path.is_fifo():
        # What a shell makes of `-f <(…)`.
        with path.open("rb") as pipe:
            return pipe.read(MAX_POLICY_BYTES + 1)
    return read_policy_file(path)


def shown_name(file: str) -> str:
    """What a message calls the file."""
    return "stdin" if file == "-" else file


def read_policy(call: Call, file: str) -> Policy:
    """The policy of a file; its faults are told first, then SettingsError ends the call."""
    try:
        return parse_policy(read_bytes(file))
    except YamlError as error:
        tell(call, file, "error", error.problems)
        n = len(error.problems)
        raise SettingsError(
            f"{shown_name(file)}: {n} error{'s' * (n != 1)}; nothing was done",
            hint=f"{call.prog} policy validate -f {file}",
        ) from None


def tell(call: Call, file: str, severity: str, problems: tuple[Problem, ...]) -> None:
    """`FILE:LINE:COL: error: …` a line each, on stderr."""
    voice = output.screen(call).voice
    for problem in problems:
        voice.line(problem_line(shown_name(file), severity, problem))


def problem_line(name: str, severity: str, problem: Problem) -> str:
    """One fault as compilers say it."""
    more = f" (hint: {problem.hint})" if problem.hint else ""
    place = f"{name}:{problem.line}:{problem.column}"
    return f"{place}: {severity}: {problem.message}{more}"


def checked_format(name: str) -> str:
    """A format of these commands; UsageError for another."""
    if name not in FORMATS:
        raise UsageError(f"--format {name}: no such format", hint="text or json")
    return name
