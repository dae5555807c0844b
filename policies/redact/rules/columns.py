"""Secrets in the rows of a table, by the heading of their column."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from policies.redact.generated import HEX, UUID, classes, random_looking, slug
from policies.redact.harmless.expressions import code
from policies.redact.harmless.names import names_a_secret
from policies.redact.harmless.placeholders import placeholder
from policies.redact.rule import GUESS, Rule
from policies.redact.rules.grammar import LINE_END
from policies.redact.rules.samples import hexa, mix

# An argument's end is one, too.
_END: Final = re.compile(rf"\f|{LINE_END.pattern}")
_MAX_LINE_CHARS: Final = 2_000
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_. /()#-]{0,40}")
_WORDS: Final = r"(?:pass(?:w(?:or)?d|phrase|code)?|pwd|secret|token|[_ -]key|apikey|credential)s?"
_WORD: Final = re.compile(_WORDS, re.IGNORECASE)
_PASSWORD: Final = re.compile(r"(?i)pass|pwd")
# `+----+`, `---|---`: what is drawn between the heading and the rows.
_RULER: Final = re.compile(r"[ \t|+:=-]*")
# Surest first: what cuts a line into cells.
_CUTS: Final = (
    re.compile(r"[ ]*\|[ ]*"), re.compile(r"\t|(?<!\\)\\{1,2}t"), re.compile(r"[ ]?;[ ]?"),
    re.compile(r"[ ]?,[ ]?"), re.compile(r"[ ]{2,}"),
)  # fmt: skip
_SECRET: Final = re.compile(r"(?i)secret|cred")
_LEAST_PLAIN, _LEAST_STRONG, _MANY_KINDS = 6, 8, 2
_HEADING_CHARS: Final = 400


@dataclass(frozen=True, slots=True)
class _Heading:
    """How its lines are cut, into how many cells, and which of them hold secrets."""

    cut: re.Pattern[str]
    cells: int
    named: dict[int, str]


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
    """The lines from a place to the end; one that is too long for a table is left out."""
    while start < len(text):
        found = _END.search(text, start)
        end, after = found.span() if found else (len(text), len(text))
        if end - start <= _MAX_LINE_CHARS:
            yield start, end
        start = after


def _start_of_line(text: str, place: int) -> int:
    first = max(0, place - _HEADING_CHARS)
    ends = [found.end() for found in _END.finditer(text, first, place)]
    return ends[-1] if ends else first


def _holds_secret(name: str, value: str) -> bool:
    """A password, or of tokens and keys only what a generator writes."""
    if placeholder(value) or code(value) or " " in value:
        return False
    if _PASSWORD.search(name):
        return len(value) >= _LEAST_PLAIN and classes(value) > 1 and not re.match(r"/|\$", value)
    if HEX.fullmatch(value) or UUID.fullmatch(value):
        return True
    # A secret may be a password; a token of few letters is a word of a text.
    strong = _SECRET.search(name) and classes(value) > _MANY_KINDS and len(value) >= _LEAST_STRONG
    return (random_looking(value) or bool(strong)) and not slug(value)


def _heading(line: str) -> _Heading | None:
    """The line as a heading, if it consists of names and one of them means a secret."""
    cut = next((cut for cut in _CUTS if cut.search(line.strip(" |"))), None)
    if cut is None or not _WORD.search(line):
        return None
    names = [line[begin:end] for begin, end in _cells(line, cut, 0)]
    if not all(not name or _NAME.fullmatch(name) for name in names):
        return None
    named = {
        number: name
        for number, name in enumerate(names)
        if _WORD.search(name) and names_a_secret(name)
    }
    return _Heading(cut, len(names), named) if named else None


def _columns(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """The cells under each heading that means a secret, in all tables from the match on."""
    text = match.string
    table: _Heading | None = None
    for begin, end in _lines(text, _start_of_line(text, match.start())):
        line = text[begin:end]
        if table is not None and _RULER.fullmatch(line):
            continue
        row = _cells(line, table.cut, begin) if table else []
        found = []
        if table is not None and len(row) == table.cells:
            cells = [(row[number], name) for number, name in table.named.items()]
            found = [cell for cell, name in cells if _holds_secret(name, text[slice(*cell)])]
        yield from found
        if not found and (table is None or len(row) != table.cells or _WORD.search(line)):
            # A row may hold such a word as well; a heading of the next table has names only.
            table = _heading(line) or (table if table and len(row) == table.cells else None)


RULES: Final[tuple[Rule, ...]] = (
    Rule("column", "secret", "the cells under a heading that means a secret",
         rf"(?:[,;|\t\"'`]|[ ]{{2}}|\\t|^)[ ]?[A-Za-z0-9_ -]{{0,24}}{_WORDS}[A-Za-z0-9_-]{{0,12}}[\"'`]?[ ]{{0,40}}(?:[,;|\t]|\\{{1,2}}[tnr]|\r?\n|[ ]{{2}})", r"[\s\S]{0,1048576}", parts=_columns, caseless=True, fingerprint=False, rank=GUESS,
         wide=r"(?:^|[,;|\t\"'` t])[A-Za-z0-9_ -]*(?:passw|passphrase|passcode|pwd|secret|token|key|credential|pass)[A-Za-z0-9_-]*[\"'`]?[ ]*(?:[,;|\t]|\\[\\tnr]|\r?\n|[ ]{2})",
         hits=("host,user,password\ndb1,app,T1gerX9kk", "USER\tPASSWORD\tROLE\nsvc\tT1gerX9kk\tadmin", f"name;api_key;owner\nci;{mix(32)};bob",
               "| user | password |\n|------|----------|\n| bob  | T1gerX9kk |", f"NAME      TOKEN                              AGE\nci-bot    {hexa(32)}   4d"),
         misses=("field,type,token\nid,int,identifier", "user,password,role\nbob,********,admin", "model,tokens,cost\nx,4096128,0.2", "name,password_policy\nbob,strict-v2", "a, token, and more\nthe next-line2 x")),
)  # fmt: skip
