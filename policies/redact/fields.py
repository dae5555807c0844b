"""How each shape of field is masked: plain text, paths by component, JSON token by token."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from policies.redact.mask import (
    ERROR_MARKER,
    MAX_TEXT_CHARS,
    OPENING,
    TOO_LONG_MARKER,
    DroppedField,
    Masker,
    Patch,
    apply,
    split_at,
)
from policies.redact.rule import Span
from policies.redact.view import BREAK

PATH_COLUMNS: Final = ("path", "path_to")
JSON_COLUMNS: Final = ("command", "extra")

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|[\[\]{}:,]|true|false|null|\s+')
_JSON_STARTS: Final = ("[", "{")
_JSON_ENDS: Final = ("]", "}")
_LETTER: Final = re.compile(r"\\u[0-9A-Fa-f]{4}|\\.|.", re.DOTALL)
_PAIR: Final = re.compile(r"(?i)\\ud[89a-f]")
_COLON: Final = re.compile(r"\s*:")
_OBJECT: Final = re.compile(r"\s*:\s*\{")
_FILLING: Final = frozenset("[]{}:,")


@dataclass(frozen=True, slots=True)
class Masked:
    """What a field became, how often each kind was masked, and whether it failed closed."""

    text: str
    kinds: Counter[str]
    failed: bool = False


@dataclass(frozen=True, slots=True)
class _Piece:
    """A JSON string or number: where it stands in the field and in the text made of all pieces."""

    token: slice
    shown: slice


def scanned_text(column: str, text: str) -> str:
    """What stage 1 looks at in a field of this column."""
    if not holds_json(column, text):
        return text
    quick = _quick_argv(text)
    return quick if quick is not None else _shown(text)[0]


def holds_json(column: str, text: str) -> bool:
    """Whether the field is an argv, an object, or a text that looks like one."""
    return column in JSON_COLUMNS or (
        column not in PATH_COLUMNS and text[:1] in _JSON_STARTS and text[-1:] in _JSON_ENDS
    )


def mask_field(
    masker: Masker,
    column: str,
    text: str,
    ids: Sequence[int] | None = None,
    *,
    trusted: bool,
    known: Sequence[Span] = (),
) -> Masked:
    """The field without its secrets; whatever goes wrong, nothing of it passes unseen.

    `ids` are the rules that stage 1 saw in `scanned_text` of it, None if it was not asked; `known`
    are spans of a plain text that were found by other means.
    """
    if len(text) > MAX_TEXT_CHARS:
        return _whole(column, text, TOO_LONG_MARKER)
    try:
        if known:
            return Masked(
                *apply(text, masker.patches(text, ids, known, trusted=trusted), trusted=trusted)
            )
        return _shape(column, text)(masker, text, ids, trusted)
    except DroppedField as dropped:
        return dropped_field(column, text, dropped.marker)
    except Exception:  # noqa: BLE001  # whatever a rule or a text did: the field must not pass
        return _whole(column, text, ERROR_MARKER)


def dropped_field(column: str, text: str, marker: str) -> Masked:
    """Nothing of the field but a marker in its shape; that is what was asked for, no failure."""
    return replace(_whole(column, text, marker), failed=False)


def mask_path_with(text: str, marker: str) -> str:
    """Every component replaced, so that the depth stays."""
    return "/".join(marker if component else "" for component in text.split("/"))


def _whole(column: str, text: str, marker: str) -> Masked:
    kinds = Counter({marker[len("[REDACTED:") : -1]: 1})
    if column in PATH_COLUMNS:
        return Masked(mask_path_with(text, marker), kinds, failed=True)
    if column in JSON_COLUMNS:
        return Masked(json.dumps([marker] if column == "command" else {marker: None}),
                      kinds, failed=True)  # fmt: skip
    return Masked(marker, kinds, failed=True)


def _mask_text(masker: Masker, text: str, ids: Sequence[int] | None, trusted: bool) -> Masked:
    return Masked(*apply(text, masker.patches(text, ids, trusted=trusted), trusted=trusted))


def _mask_path(masker: Masker, text: str, ids: Sequence[int] | None, trusted: bool) -> Masked:
    patches = masker.patches(text, ids, trusted=trusted)
    pieces = [piece for patch in patches for piece in split_at(patch, text, "/")]
    return Masked(*apply(text, pieces, trusted=trusted))


def _mask_json(masker: Masker, text: str, ids: Sequence[int] | None, trusted: bool) -> Masked:
    shown, pieces = _shown(text)
    if not pieces:
        return _mask_text(masker, text, ids, trusted)
    patches = masker.patches(shown, ids, trusted=trusted)
    out: list[str] = []
    kinds: Counter[str] = Counter()
    last = 0
    forged = OPENING in shown and not trusted
    for piece, own in _by_piece(pieces, patches):
        if not own and not forged:
            continue
        content = shown[piece.shown]
        masked, found = apply(content, own, trusted=trusted)
        kinds += found
        if masked != content:
            written = _as_written(text[piece.token], own) if not forged else None
            out += [text[last : piece.token.start], written or _quoted(masked)]
            last = piece.token.stop
    return Masked("".join([*out, text[last:]]), kinds)


def _by_piece(
    pieces: Sequence[_Piece], patches: Sequence[Patch]
) -> Iterator[tuple[_Piece, list[Patch]]]:
    """Each piece with what is to be masked in it, in its own coordinates."""
    first = 0
    for piece in pieces:
        start, stop = piece.shown.start, piece.shown.stop
        while first < len(patches) and patches[first].end <= start:
            first += 1
        own, at = [], first
        while at < len(patches) and patches[at].start < stop:
            patch = patches[at]
            low, high = max(patch.start, start) - start, min(patch.end, stop) - start
            own.append(Patch(low, high, patch.kind, patch.marker))
            at += 1
        yield piece, own


def _shown(text: str) -> tuple[str, list[_Piece]]:
    """The strings and numbers of a JSON value as one text: `key=BREAK value BREAK`.

    Without pieces, and the text as it is, if it is no JSON.
    """
    parts: list[str] = []
    pieces: list[_Piece] = []
    at = end = 0
    try:
        for match in _TOKEN.finditer(text):
            if match.start() != end:
                return text, []
            end = match.end()
            token = match[0]
            if token in _FILLING or token.isspace():
                continue
            if token[0] in "tfn":
                # It is the value of its key, so the next key must not be.
                parts.append(token + BREAK)
                at += len(token) + len(BREAK)
                continue
            value = _value(token)
            is_key = token[0] == '"' and _COLON.match(text, end)
            # The name of an object is no name of a value.
            border = "=" + BREAK if is_key and not _OBJECT.match(text, end) else BREAK
            parts += [value, border]
            pieces.append(_Piece(slice(*match.span()), slice(at, at + len(value))))
            at += len(value) + len(border)
    except ValueError:
        return text, []
    return ("".join(parts), pieces) if end == len(text) and pieces else (text, [])


def _value(token: str) -> str:
    if token[0] != '"':
        return token
    return str(json.loads(token)) if "\\" in token else token[1:-1]


def _quick_argv(text: str) -> str | None:
    """As `_shown` for the usual argv: strings only, none with an escape."""
    if "\\" in text or not (text.startswith('["') and text.endswith('"]')):
        return None
    inner = text[2:-2].replace('","', BREAK).replace('", "', BREAK)
    return None if '"' in inner else inner + BREAK


def _as_written(token: str, patches: Sequence[Patch]) -> str | None:
    """The masked string with its escapes as they came; None where one character takes two."""
    if "\\" not in token or _PAIR.search(token):
        return None
    letters = _LETTER.finditer(token, 1, len(token) - 1)
    origin = [*(match.start() for match in letters), len(token) - 1]
    masked, _ = apply(
        token,
        [Patch(origin[p.start], origin[p.end], p.kind, p.marker) for p in patches],
        trusted=True,
    )
    return masked


def _quoted(text: str) -> str:
    """A JSON string; characters that UTF-8 cannot hold stay escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)


_Shape = Callable[[Masker, str, Sequence[int] | None, bool], Masked]


def _shape(column: str, text: str) -> _Shape:
    if column in PATH_COLUMNS:
        return _mask_path
    return _mask_json if holds_json(column, text) else _mask_text
