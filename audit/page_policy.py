"""A rule as a person reads it: its lines with numbers, why it decides, what would change that."""

import os
import textwrap
from collections.abc import Iterator
from typing import Final

from audit.render_flow import wrapped as flow
from audit.render_style import Glyphs, safe
from audit.render_width import width
from audit.screen import Screen
from policies.decide import Operation
from policies.edit import destination
from policies.explain import Explanation, shown_lines
from policies.model import Lines, Policy

INDENT: Final = " " * 6
MAX_COLUMNS: Final = 80


def explanation_lines(
    policy: Policy, operation: Operation, found: Explanation, file: str, screen: Screen
) -> list[str]:
    """The page of `policy explain`."""
    glyphs, columns = screen.glyphs, min(screen.columns, MAX_COLUMNS)
    decision = "DENY" if found.verdict.decision == "deny" else "allow"
    what = operation.path or destination(operation)
    lines = [f"{decision:<5} {operation.access} {safe(what, glyphs)}", ""]
    lines += [f"rule  {found.verdict.rule}"]
    if found.verdict.lost:
        lines += wrapped("", f"matched too, and lost: {', '.join(found.verdict.lost)}", columns)
    lines += rule_lines(policy, found, file, glyphs, columns)
    return [*lines, "", *reason_lines(found, glyphs, columns)]


def rule_lines(
    policy: Policy, found: Explanation, file: str, glyphs: Glyphs, columns: int
) -> Iterator[str]:
    """The rule's lines and what stands around them; the file's name on the right of the first."""
    if found.lines is None:
        yield f"{INDENT}no line of {safe(_short(file), glyphs)} decides it"
        return
    # Where nothing allows, the lines are where one would stand: none is marked.
    marked = not found.verdict.rule.endswith("default-deny")
    yield from numbered(policy.text, found.lines, file, glyphs, columns, marked=marked)


def numbered(
    text: str, lines: Lines, file: str, glyphs: Glyphs, columns: int, *, marked: bool
) -> Iterator[str]:
    """Lines of a policy with their numbers, `>` before those of the rule; the file on the right."""
    name = safe(_short(file), glyphs)
    shown = shown_lines(text, lines)
    digits = len(str(shown[-1][0]))
    yield ""
    for number, line, ours in shown:
        sign = "> " if ours and marked else "  "
        row = f"    {sign}{number:>{digits}}  {safe(line, glyphs)}"
        if name and width(row) + 2 + width(name) <= columns:
            row += " " * (columns - width(row) - width(name)) + name
            name = ""
        yield from flow(row, columns, digits + 8)
    if name:
        yield from flow(" " * max(columns - width(name), 0) + name, columns)


def reason_lines(found: Explanation, glyphs: Glyphs, columns: int) -> Iterator[str]:
    """Why, and the smallest change that turns it over."""
    yield from wrapped("why", safe(found.why, glyphs), columns)
    edit = found.flip.edit
    if edit is None:
        yield from wrapped("flip", safe(f"{found.flip.words}.", glyphs), columns)
        if found.flip.advice:
            yield from wrapped("", safe(found.flip.advice, glyphs), columns)
        return
    yield f"flip  {edit.told()}"
    for line in edit.lines:
        yield f"{INDENT}  {safe(line, glyphs)}"


def wrapped(label: str, text: str, columns: int) -> list[str]:
    """Text behind a label of six columns."""
    room = max(columns - len(INDENT), 30)
    parts = textwrap.wrap(text, room, break_on_hyphens=False, break_long_words=False) or [""]
    return [f"{label:<6}{parts[0]}", *(INDENT + part for part in parts[1:])]


def _short(path: str) -> str:
    home = os.path.expanduser("~")  # noqa: PTH111 - a text is wanted, and it may not exist
    return f"~{path[len(home) :]}" if path.startswith(home + "/") else path
