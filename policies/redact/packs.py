"""Rules that a user adds, and exceptions from ours: read from YAML, checked, then rules like any.

A pack is `rules:`, a list of entries. `mask` and `hash` (mask with a fingerprint) and `drop_field`
(the whole field goes) take a `pattern`; `drop_field` may name `fields` instead; `keep` is the
exception: what its pattern covers is left alone by our rules, or by those in `unless_rule`.
"""

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

import regex

from policies.redact.mask import OPENING
from policies.redact.rule import SECRET, USER, Keep, Rule
from policies.redact.rules import ALL_RULES
from policies.redact.scan import pattern_error
from policies.yaml_text import Document, Loc, Problem, YamlError, load

ACTIONS: Final = ("mask", "hash", "drop_field", "keep")
# What an event cannot be explained without (rule, decision, sandbox, …) is no field to drop.
DROPPABLE: Final = (
    "path", "path_to", "dst", "dst_host", "target", "command", "process", "error", "tool",
    "message", "extra",
)  # fmt: skip
MAX_RULES: Final = 500
MAX_PATTERN_CHARS: Final = 2_000
_KEYS: Final = (
    "id", "action", "pattern", "kind", "description", "caseless", "fields", "unless_rule",
    "hits", "misses",
)  # fmt: skip
_FLAGS: Final = regex.ASCII | regex.MULTILINE
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{1,40}")
# Stage 1 sees many texts as one, so the start and the end of "the text" mean nothing there.
_TEXT_BORDERS: Final = re.compile(r"(?<!\\)(?:\\\\)*\\[AZzG]")


@dataclass(frozen=True, slots=True)
class Pack:
    """What a file adds; `drops` are columns that are masked whole, by name, with the kind."""

    name: str
    rules: tuple[Rule, ...] = ()
    keeps: tuple[Keep, ...] = ()
    drops: tuple[tuple[str, str], ...] = ()


class _Refused(Exception):  # noqa: N818 - a fault on its way to its place, never seen outside
    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.problem = problem


@dataclass(frozen=True, slots=True)
class _Entry:
    """One rule as written, and where it stands."""

    document: Document
    loc: Loc
    data: dict[str, Any]

    def refuse(
        self, key: str, message: str, hint: str | None = None, *, of_key: bool = False
    ) -> _Refused:
        """The fault of one of its keys."""
        return _Refused(self.document.problem((*self.loc, key), message, hint, key=of_key))

    def name(self, key: str, default: object = None) -> str:
        """A name for humans and markers."""
        value = self.data.get(key, default)
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            raise self.refuse(key, f"{key}: lower-case letters, digits and dashes, 2 to 41 of them")
        return value

    def one_of(self, key: str, known: Collection[str]) -> str:
        """A word of a closed list."""
        value = str(self.data.get(key))
        if value not in known:
            raise self.refuse(key, f"unknown {key} {value!r}", _near(value, known))
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, by default an empty one."""
        values = self.data.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise self.refuse(key, f"{key}: a list of texts")
        return tuple(values)

    def some_of(self, key: str, known: Collection[str]) -> tuple[str, ...]:
        """A list of words of a closed list, in order."""
        values = self.texts(key)
        for value in values:
            if value not in known:
                raise self.refuse(key, f"{key}: no {value!r}", _near(value, known))
        return tuple(sorted(values))

    @property
    def caseless(self) -> bool:
        """Whether letter case does not count."""
        value = self.data.get("caseless", False)
        if not isinstance(value, bool):
            raise self.refuse("caseless", "caseless: true or false")
        return value


def _near(word: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1)
    if near:
        return f"did you mean {near[0]!r}?"
    return ", ".join(known) if len(known) <= len(DROPPABLE) else "audit redact --explain names them"


def parse_pack(text: str, name: str) -> Pack:
    """The pack of a file's text. Raises YamlError with the first faults and their places."""
    document = load(text)
    data = document.data
    if not isinstance(data, dict) or not isinstance(data.get("rules"), list):
        raise YamlError([document.problem(("rules",), "a pack is `rules:` and a list below it")])
    problems = [
        document.problem((key,), f"unknown key {key!r}", "a pack has only rules", key=True)
        for key in data
        if key != "rules"
    ]
    if len(data["rules"]) > MAX_RULES:
        problems.append(document.problem(("rules", MAX_RULES), f"more than {MAX_RULES} rules"))
    taken = {rule.id for rule in ALL_RULES}
    parts: list[Rule | Keep | tuple[str, str]] = []
    for number, raw in enumerate(data["rules"][:MAX_RULES]):
        try:
            parts += _parts(document, ("rules", number), raw, taken)
        except _Refused as refused:
            problems.append(refused.problem)
    if problems:
        raise YamlError(problems)
    return Pack(
        name,
        tuple(part for part in parts if isinstance(part, Rule)),
        tuple(part for part in parts if isinstance(part, Keep)),
        tuple(part for part in parts if isinstance(part, tuple)),
    )


def _parts(
    document: Document, loc: Loc, raw: Any, taken: set[str]
) -> list[Rule | Keep | tuple[str, str]]:
    if not isinstance(raw, dict):
        raise _Refused(document.problem(loc, "a rule is a map: id, action, pattern"))
    entry = _Entry(document, loc, raw)
    for key in raw:
        if key not in _KEYS:
            raise entry.refuse(key, f"unknown key {key!r}", _near(key, _KEYS), of_key=True)
    name, action = entry.name("id"), entry.one_of("action", ACTIONS)
    if name in taken:
        raise entry.refuse("id", f"id {name!r} is taken")
    taken.add(name)
    fields = entry.some_of("fields", DROPPABLE)
    only = entry.some_of("unless_rule", {rule.id for rule in ALL_RULES})
    if fields and (action != "drop_field" or "pattern" in raw):
        raise entry.refuse("fields", "fields go with drop_field without a pattern", of_key=True)
    if only and action != "keep":
        raise entry.refuse("unless_rule", "unless_rule goes with keep", of_key=True)
    if fields:
        kind = entry.name("kind", name)
        return [(column, kind) for column in fields]
    pattern = _pattern(entry)
    if action == "keep":
        return [Keep(name, raw["pattern"], entry.caseless, only)]
    return [_rule(entry, pattern)]


def _pattern(entry: _Entry) -> Any:
    """The compiled pattern, once both engines take it and its examples agree with it."""
    source = entry.data.get("pattern")
    if not isinstance(source, str) or not 0 < len(source) <= MAX_PATTERN_CHARS:
        what = f"a regular expression of 1 to {MAX_PATTERN_CHARS} characters"
        raise entry.refuse("pattern", f"pattern: {what}")
    if not source.isascii():
        raise entry.refuse("pattern", "pattern: ASCII only, as what it is compared with")
    if _TEXT_BORDERS.search(source):
        hint = "^ and $ are the borders of a line"
        raise entry.refuse("pattern", r"pattern: \A \Z \z \G are not taken", hint)
    try:
        pattern = regex.compile(source, _FLAGS | (regex.IGNORECASE if entry.caseless else 0))
    except regex.error as error:
        # Its message quotes nothing but the pattern's own signs.
        why = str(error).partition(" at position ")[0]
        raise entry.refuse("pattern", f"pattern: {why}") from None
    hint = "no look-around, no back-references, nothing that matches the empty text"
    if pattern.search(""):
        raise entry.refuse("pattern", "pattern: matches the empty text", hint)
    if why_not := pattern_error(Rule("x", "x", "", source, user=True)):
        raise entry.refuse("pattern", f"pattern: {why_not}", hint)
    _examples(entry, pattern)
    return pattern


def _examples(entry: _Entry, pattern: Any) -> None:
    for number, text in enumerate(entry.texts("hits"), 1):
        if not text.isascii() or "\n" in text:
            raise entry.refuse("hits", f"hits: text {number} is not one line of ASCII")
        if not pattern.search(text):
            raise entry.refuse("hits", f"hits: text {number} is not matched")
    for number, text in enumerate(entry.texts("misses"), 1):
        if pattern.search(text):
            raise entry.refuse("misses", f"misses: text {number} is matched")


def _rule(entry: _Entry, pattern: Any) -> Rule:
    data, kind = entry.data, entry.name("kind", entry.data["id"])
    drops = data["action"] == "drop_field"
    if pattern.groups and SECRET not in pattern.groupindex and not drops:
        hint = "(?P<secret>…) is what is masked; write other groups as (?:…)"
        raise entry.refuse("pattern", "pattern: a group, but none named secret", hint)
    if pattern.search(f"{OPENING}{kind}]"):
        raise entry.refuse("pattern", "pattern: matches its own mask")
    return Rule(
        data["id"], kind, str(data.get("description") or "a rule of this site"), data["pattern"],
        caseless=entry.caseless, fingerprint=data["action"] == "hash", rank=USER, user=True,
        drops_field=drops, hits=entry.texts("hits"),
    )  # fmt: skip


def combined(packs: Sequence[Pack]) -> Pack:
    """All packs as one. Raises ValueError naming an id that two of them use."""
    seen: dict[str, str] = {}
    for pack in packs:
        for name in [rule.id for rule in pack.rules] + [keep.id for keep in pack.keeps]:
            if name in seen:
                raise ValueError(f"rule {name} stands in {seen[name]} and in {pack.name}")
            seen[name] = pack.name
    return Pack(
        "+".join(pack.name for pack in packs),
        tuple(rule for pack in packs for rule in pack.rules),
        tuple(keep for pack in packs for keep in pack.keeps),
        tuple(drop for pack in packs for drop in pack.drops),
    )
