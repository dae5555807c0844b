"""YAML that a person wrote, as plain data with the place of every value; refused where ambiguous.

Events are judged before any tree is built, so that a bomb of aliases or a tower of brackets costs
nothing. Scalars follow the core schema of YAML 1.2: `no` is a word and `012` is twelve.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

MAX_YAML_CHARS: Final = 1 << 20
MAX_DEPTH: Final = 32
MAX_NODES: Final = 50_000
# A file with one fault often has hundreds; the first ones tell.
MAX_PROBLEMS: Final = 10

# Where a value stands: keys and list numbers from the top.
Loc = tuple[str | int, ...]
_NUMBER: Final = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")
_WORDS: Final = {
    "": None, "null": None, "Null": None, "NULL": None, "~": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_ALIAS: Final = "an unquoted * is read as an alias, and aliases are not taken"
_QUOTE_STAR: Final = 'a value that starts with "*" must be quoted: "**/.ssh/**"'
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One fault: line and column from 1, what is wrong, and what may help."""

    line: int
    column: int
    message: str
    hint: str | None = None

    def shown(self, name: str) -> str:
        """`NAME:LINE:COLUMN: message (hint: …)`."""
        more = f" (hint: {self.hint})" if self.hint else ""
        return f"{name}:{self.line}:{self.column}: {self.message}{more}"


class YamlError(ValueError):
    """The text cannot be taken; `problems` are the first faults in order, at most MAX_PROBLEMS."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems))[:MAX_PROBLEMS]
        super().__init__(f"{len(self.problems)} problems")


@dataclass(frozen=True, slots=True)
class Document:
    """Plain data, and where each value and each key stands."""

    data: Any
    values: dict[Loc, tuple[int, int]] = field(default_factory=dict)
    keys: dict[Loc, tuple[int, int]] = field(default_factory=dict)

    def problem(
        self, loc: Loc, message: str, hint: str | None = None, *, key: bool = False
    ) -> Problem:
        """A fault of the value (or key) at `loc`, or of the nearest one around it."""
        if key and loc in self.keys:
            return Problem(*self.keys[loc], message, hint)
        while loc not in self.values and loc:
            loc = loc[:-1]
        return Problem(*self.values.get(loc, (1, 1)), message, hint)


def load(text: str) -> Document:
    """The one document of a text. Raises YamlError."""
    if len(text) > MAX_YAML_CHARS:
        raise YamlError([Problem(1, 1, f"more than {MAX_YAML_CHARS} characters")])
    try:
        problems = list(_events_problems(text))
        if problems:
            raise YamlError(problems)
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise YamlError([_syntax(error, text)]) from None
    except yaml.YAMLError as error:
        raise YamlError([_bad_character(error, text)]) from None
    if root is None:
        raise YamlError([Problem(1, 1, "empty")])
    document = Document(None)
    found: list[Problem] = []
    data = _plain(root, (), document, found)
    if found:
        raise YamlError(found)
    return Document(data, document.values, document.keys)


def _events_problems(text: str) -> Iterator[Problem]:
    depth = nodes = documents = 0
    for event in yaml.parse(text, Loader=_LOADER):
        mark: Any = event.start_mark
        place = (mark.line + 1, mark.column + 1)
        if isinstance(event, yaml.AliasEvent):
            yield Problem(*place, _ALIAS, _QUOTE_STAR)
            return
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                yield Problem(*place, "a second document (---)")
                return
        if isinstance(event, yaml.NodeEvent):
            nodes += 1
            yield from _node_problems(event, place)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH or nodes > MAX_NODES:
            what = (
                f"more than {MAX_DEPTH} levels"
                if depth > MAX_DEPTH
                else f"more than {MAX_NODES} values"
            )
            yield Problem(*place, what)
            return


def _node_problems(event: Any, place: tuple[int, int]) -> Iterator[Problem]:
    if event.anchor is not None:
        yield Problem(*place, "anchors (&name) are not taken", 'quote a value that starts with "&"')
    if getattr(event, "tag", None) is not None:
        yield Problem(*place, "tags (!name) are not taken", 'quote a value that starts with "!"')


def _plain(node: Any, loc: Loc, document: Document, problems: list[Problem]) -> Any:
    document.values[loc] = (node.start_mark.line + 1, node.start_mark.column + 1)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(n, (*loc, i), document, problems) for i, n in enumerate(node.value)]
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        place = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
        if not isinstance(key_node, yaml.ScalarNode):
            problems.append(Problem(*place, "a key must be a word"))
            continue
        key = str(key_node.value)
        if key == "<<":
            problems.append(Problem(*place, "merge keys (<<) are not taken"))
        elif key in found:
            first = document.keys[*loc, key][0]
            problems.append(Problem(*place, f"duplicate key {key!r} (first on line {first})"))
        else:
            document.keys[*loc, key] = place
            found[key] = _plain(value_node, (*loc, key), document, problems)
    return found


def _scalar(node: Any) -> Any:
    value = str(node.value)
    if node.style:
        return value
    if value in _WORDS:
        return _WORDS[value]
    if _NUMBER.fullmatch(value):
        return int(value)
    return float(value) if _FLOAT.fullmatch(value) else value


def _bad_character(error: yaml.YAMLError, text: str) -> Problem:
    # Its position counts bytes.
    code = getattr(error, "character", None)
    before = text[: max(text.find(chr(code)), 0)] if isinstance(code, int) else ""
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    return Problem(*place, "not YAML: a character that may not stand there")


def _syntax(error: yaml.MarkedYAMLError, text: str) -> Problem:
    """The parser's complaint without its excerpt of the text."""
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    start = error.context_mark
    if start and "alias" in (error.context or ""):
        return Problem(start.line + 1, start.column + 1, _ALIAS, _QUOTE_STAR)
    lines = text.split("\n")
    source = lines[line - 1] if line <= len(lines) else ""
    hint = None
    if "\t" in source[: column + 1]:
        hint = "indent with blanks, not tabs"
    elif re.search(r":\s+[*&!%@`]", source):
        hint = "quote a value that starts with * & ! % @ or `"
    elif start and re.search("flow|quoted", error.context or ""):
        hint = f"what opens at {start.line + 1}:{start.column + 1} does not close"
    return Problem(line, column, f"not YAML: {error.problem or 'cannot be read'}", hint)
