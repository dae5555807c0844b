"""Secrets in the rows of a table, by the heading of their column."""

import re
from collections.abc import Iterator
from typing import Final

from policies.redact.generated import HEX, UUID, classes, random_looking, slug
from policies.redact.harmless.expressions import code
from policies.redact.harmless.names import names_a_secret
from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import GUESS, SECRET, Rule
from policies.redact.rules.grammar import LINE_END
from policies.redact.rules.samples import hexa, mix

_MAX_LINE_CHARS, _MAX_ROWS = 2_000, 500
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_. /()#-]{0,40}")
_NAMED: Final = re.compile(r"(?i)pass|pwd|secret|token|key|cred")
_PASSWORD: Final = re.compile(r"(?i)pass|pwd")
# `+----+`, `---|---`: what is drawn between the heading and the rows.
_RULER: Final = re.compile(r"[ \t|+:=-]*")
# Surest first: what cuts a line into cells.
_CUTS: Final = (
    re.compile(r"[ ]*\|[ ]*"), re.compile(r"\t|(?<!\\)\\{1,2}t"), re.compile(r"[ ]?;[ ]?"),
    re.compile(r"[ ]?,[ ]?"), re.compile(r"[ ]{2,}"),
)  # fmt: skip
_LEAST_PLAIN: Final = 6


def _cells(line: str, cut: re.Pattern[str], start: int) -> list[tuple[int, int]]:
    """Where each cell of a line stands; cuts inside of double quotes do not count."""
    cells: list[tuple[int, int]] = []
    first = 0
    for found in cut.finditer(line):
        if line.count('"', first, found.start()) % 2 == 0:
            cells.append((first, found.start()))
            first = found.end()
    cells.append((first, len(line)))
    return [_bare(line, begin, end, start) for begin, end in cells]


def _bare(line: str, begin: int, end: int, start: int) -> tuple[int, int]:
    """The cell without blanks, quotes and ticks around it."""
    text = line[begin:end]
    bare = text.strip(" \t\"'`*\\")
    begin += text.find(bare) if bare else 0
    return start + begin, start + begin + len(bare)


def _lines(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The lines from a place on, as many as a table may have."""
    for _ in range(_MAX_ROWS):
        end = LINE_END.search(text, start, start + _MAX_LINE_CHARS)
        yield start, end.start() if end else len(text)
        if end is None:
            return
        start = end.end()


def _start_of_line(text: str, place: int) -> int:
    ends = [found.end() for found in LINE_END.finditer(text, max(0, place - 400), place)]
    return ends[-1] if ends else max(0, place - 400)


def _holds_secret(name: str, value: str) -> bool:
    """A password, or of tokens and keys only what a generator writes."""
    if placeholder(value) or code(value) or " " in value:
        return False
    if _PASSWORD.search(name):
        return len(value) >= _LEAST_PLAIN and classes(value) > 1 and not re.match(r"/|\$", value)
    if HEX.fullmatch(value) or UUID.fullmatch(value):
        return True
    return random_looking(value) and not slug(value)


def _columns(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The cells under each heading that means a secret, to the end of the table."""
    text = match.string
    lines = _lines(text, _start_of_line(text, match.start(SECRET)))
    start, end = next(lines)
    heading = text[start:end]
    cut = next((cut for cut in _CUTS if cut.search(heading.strip(" |"))), None)
    if cut is None:
        return
    cells = _cells(heading, cut, start)
    names = [text[begin:stop] for begin, stop in cells]
    named = [
        number
        for number, name in enumerate(names)
        if _NAMED.search(name) and _NAME.fullmatch(name) and names_a_secret(name)
    ]
    if not named or not all(not name or _NAME.fullmatch(name) for name in names):
        return
    for begin, stop in lines:
        line = text[begin:stop]
        if _RULER.fullmatch(line):
            continue
        row = _cells(line, cut, begin)
        if len(row) != len(cells):
            return
        for number in named:
            first, last = row[number]
            if _holds_secret(names[number], text[first:last]):
                yield first, last


_WORDS: Final = r"(?:pass(?:w(?:or)?d|phrase|code)?|pwd|secret|token|[_ -]key|apikey|credential)s?"

RULES: Final[tuple[Rule, ...]] = (
    Rule("column", "secret", "the cells under a heading that means a secret",
         rf"(?:[,;|\t\"'`]|[ ]{{2}}|\\t|^)[ ]?(?P<secret>[A-Za-z0-9_ -]{{0,24}}{_WORDS}", r"[A-Za-z0-9_-]{0,12})[\"'`]?[ ]{0,40}(?:[,;|\t]|\\{1,2}[tnr]|\r?\n|[ ]{2})", parts=_columns, caseless=True, fingerprint=False, rank=GUESS,
         wide=rf"{_WORDS}[A-Za-z0-9_-]*[\"'`]?[ ]*(?:[,;|\t]|\\|\r?\n|[ ]{{2}})",
         hits=("host,user,password\ndb1,app,T1gerX9kk", "USER\tPASSWORD\tROLE\nsvc\tT1gerX9kk\tadmin", f"name;api_key;owner\nci;{mix(32)};bob",
               "| user | password |\n|------|----------|\n| bob  | T1gerX9kk |", f"NAME      TOKEN                              AGE\nci-bot    {hexa(32)}   4d", '"login","secret"\n"bob","q9Wm3Zx8Lk2V,7Tn4"'),
         misses=("field,type,token\nid,int,identifier", "user,password,role\nbob,********,admin", "model,tokens,cost\nx,4096128,0.2", "name,password_policy\nbob,strict-v2", "a, token, and more\nthe next-line2 x")),
)  # fmt: skip
