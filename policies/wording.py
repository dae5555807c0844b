"""The words of a fault in a policy: what a value is, how it is shown, what may have been meant."""

import difflib
import re
from collections.abc import Sequence
from typing import Final

MAX_SHOWN_CHARS: Final = 60
MAX_MESSAGE_CHARS: Final = 180


def path_problem(path: str) -> tuple[str, str | None] | None:
    """(what is wrong, hint) of a rule's path that can never be what the kernel compares."""
    first, *others = path.split("/")
    rest = others[:-1] if others and others[-1] == "" else others
    if not path.strip():
        return "empty path", None
    if "\n" in path or "\r" in path:
        return "a path with a line break", 'write it on one line: "/…"'
    if first not in ("", "**"):
        return f"relative path {shown(path)}", _absolute(path)
    if ".." in others:
        return f"'..' in {shown(path)}", "write the path that it leads to"
    if "." in others or "" in rest:
        kept = [part for part in path.split("/")[1:] if part not in ("", ".")]
        return f"{shown(path)} is not canonical", "/".join([first, *kept]) or "/"
    return None


def _absolute(path: str) -> str:
    if path.startswith("~"):
        return "~ is not expanded: write /Users/NAME/… or /home/NAME/…"
    if path.startswith("$"):
        return "variables are not expanded: write the path itself"
    if path.startswith("./"):
        path = path[2:]
    return f'anywhere: "**/{path}" · at the top: "/{path}"'


def clipped(text: str) -> str:
    """A message that fits a screen, whatever the policy holds."""
    return text if len(text) <= MAX_MESSAGE_CHARS else text[:MAX_MESSAGE_CHARS] + "…"


def close(word: object, known: Sequence[str]) -> list[str]:
    """The known word that may have been meant, if there is one."""
    if not isinstance(word, str):
        return []
    same = [name for name in known if name.lower() == word.lower()]
    # The matcher's time grows with the product of both lengths.
    return same or difflib.get_close_matches(word[:MAX_SHOWN_CHARS], known, n=1)


def near(word: object, known: Sequence[str]) -> str | None:
    """What may have been meant, as a hint."""
    found = close(word, known)
    return f"did you mean '{found[0]}'?" if found else None


def shown(value: object) -> str:
    """A value in quotes, cut."""
    text = str(value) if not isinstance(value, dict | list) else kind(value)
    return f"'{text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + '…'}'"


def quoted(text: str) -> str:
    """Text as YAML takes it."""
    plain = re.fullmatch(r"[A-Za-z0-9/._-]{1,60}", text)
    return text if plain else f'"{text[:MAX_SHOWN_CHARS]}"'


def kind(value: object) -> str:
    """What a value is, in words."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true or false"
    names = {dict: "a map", list: "a list", str: "text", int: "a number", float: "a number"}
    return names[type(value)]
