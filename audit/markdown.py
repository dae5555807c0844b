"""Markdown for a ticket or a report: tables, and names in which nothing is a link or a mention."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from audit_events.text import terminal

_FENCES: Final = re.compile(r"`+")


def code(value: str) -> str:
    """A name in a code span, whatever it holds; `|` is escaped for tables."""
    shown = terminal(value).replace("|", "\\|") or " "
    longest = max((len(run) for run in _FENCES.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if longest or shown != shown.strip() else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def fenced(lines: Sequence[str]) -> list[str]:
    """Lines as they are, in a block that nothing in them can end."""
    shown = [terminal(line) for line in lines]
    longest = max((len(run) for line in shown for run in _FENCES.findall(line)), default=0)
    fence = "`" * max(longest + 1, 3)
    return [f"{fence}text", *shown, fence]


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], numbers: set[int]) -> list[str]:
    """A table of cells that are Markdown already; columns in `numbers` are flush right."""
    rules = ["---:" if place in numbers else "---" for place in range(len(headers))]
    return [_line(headers), _line(rules), *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
