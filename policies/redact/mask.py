"""Stage 2: confirm the hits in one text, settle overlaps, put the markers in."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from policies.redact.disguise import DISGUISES, open_disguises
from policies.redact.fingerprint import FingerprintKey, fingerprint, normalise
from policies.redact.generated import guessable
from policies.redact.rule import SECRET, Keep, Rule, Span
from policies.redact.scan import Hits, Scanner
from policies.redact.streams import OPENS_KEY, OPENS_VALUE
from policies.redact.view import View, plain

MARKER: Final = re.compile(r"\[REDACTED:[a-z0-9._-]{1,64}(?::[0-9a-f]{12})?\]")
OPENING: Final = "[REDACTED:"
# What an opening that came in with the data becomes, so that nobody can forge a marker.
ESCAPED_OPENING: Final = "[REDACTED%3A"
_MARKER_SEEN: Final = Rule("marker", "marker", "a marker came in", r"\[REDACTED:", hits=(OPENING,))
# Disguise in disguise: base64 of a percent-encoded URL is real, more is play.
MAX_DISGUISES: Final = 2
# A text longer than this is masked whole: a field's time stays bounded.
MAX_TEXT_CHARS: Final = 1 << 20
ERROR_MARKER: Final = "[REDACTED:redactor-error]"
TOO_LONG_MARKER: Final = "[REDACTED:too-long]"


@dataclass(frozen=True, slots=True)
class Patch:
    """Characters [start, end) become `marker`."""

    start: int
    end: int
    kind: str
    marker: str


class DroppedField(Exception):  # noqa: N818 - no error: what a rule asked for
    """A user's rule says that nothing of this field shall be stored."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.marker = f"{OPENING}{kind}]"


class Masker:
    """All rules over one text at a time; the column scan tells it which rules to try."""

    def __init__(
        self,
        rules: Sequence[Rule],
        key: FingerprintKey,
        *,
        engine: bool = True,
        keeps: Sequence[Keep] = (),
    ) -> None:
        """Raises SelfTestError if the matching engine cannot be trusted."""
        self._keeps = keeps
        self._rules = (*rules, *DISGUISES, OPENS_KEY, OPENS_VALUE, _MARKER_SEEN)
        self._real = len(rules)
        self._disguises = range(len(rules), len(rules) + len(DISGUISES))
        self.openers = {len(rules) + len(DISGUISES), len(rules) + len(DISGUISES) + 1}
        self._key = key
        self._lock = Lock()
        self.scanner = Scanner(self._rules, engine=engine)

    def patches(
        self,
        text: str,
        ids: Iterable[int] | None = None,
        known: Sequence[Span] = (),
        *,
        trusted: bool,
    ) -> list[Patch]:
        """What to mask, in order, without overlaps.

        `ids` are the rules that stage 1 saw, None if it was not asked; `known` are spans found by
        other means. Markers in a `trusted` text are no text to the rules.
        """
        return [self._patch(group) for group in self.groups(text, ids, known, trusted=trusted)]

    def groups(
        self,
        text: str,
        ids: Iterable[int] | None = None,
        known: Sequence[Span] = (),
        *,
        trusted: bool,
    ) -> list[list[Span]]:
        """What rules found, overlapping spans together; one mask each. Arguments as `patches`.

        Raises DroppedField if a user's rule wants all of the field gone.
        """
        seen = MARKER.sub(_blank, text) if trusted and OPENING in text else text
        view = plain(seen)
        spans = self._spans(view, ids, 0)
        if spans and self._keeps:
            spans = self._without_kept(view, spans)
        for span in spans:
            if span.rule.drops_field:
                raise DroppedField(span.rule.kind)
        return list(_groups([*known, *spans]))

    def _without_kept(self, view: View, spans: list[Span]) -> list[Span]:
        for keep in self._keeps:
            kept = [view.back(*span) for span in keep.covers(view.text)]
            spans = [
                span
                for span in spans
                if (keep.rules and span.rule.id not in keep.rules)
                or span.rule.user
                or not any(low <= span.start and span.end <= high for low, high in kept)
            ]
        return spans

    def scan_one(self, text: str) -> list[int]:
        """The rules that stage 1 sees in one ASCII text."""
        with self._lock:
            return self.scanner.scan([text]).get(0, [])

    def scan_joined(self, joined: bytes, ends: Any) -> Hits:
        """The rules that stage 1 sees in each of many ASCII texts joined by newlines."""
        with self._lock:
            return self.scanner.scan_bytes(joined, ends)

    def _spans(self, view: View, ids: Iterable[int] | None, depth: int) -> list[Span]:
        tried = self.scan_one(view.text) if ids is None else list(ids)
        spans: list[Span] = []
        for number in tried:
            if number < self._real:
                spans.extend(_confirmed(view, self._rules[number]))
        if depth < MAX_DISGUISES and any(number in self._disguises for number in tried):
            for opened in open_disguises(view):
                spans.extend(self._spans(opened, None, depth + 1))
        return spans

    def fingerprint_of(self, span: Span) -> str | None:
        """The name of the span's secret; None where it could be tried out."""
        secret = normalise(span.secret)
        if not span.rule.fingerprint or (span.rule.rank > 1 and guessable(secret)):
            return None
        return fingerprint(self._key, span.rule.kind, secret)

    def _patch(self, group: list[Span]) -> Patch:
        named = surest(group)
        kind = named.rule.kind
        mark = f"{OPENING}{kind}"
        if found := self.fingerprint_of(named):
            mark += f":{found}"
        start = min(span.start for span in group)
        return Patch(start, max(span.end for span in group), kind, f"{mark}]")


def surest(group: Sequence[Span]) -> Span:
    """The span whose rule names the mask of a group."""
    return min(group, key=lambda span: (span.rule.rank, span.start, -span.end))


def apply(text: str, patches: Sequence[Patch], *, trusted: bool) -> tuple[str, Counter[str]]:
    """The masked text and how often each kind was masked.

    Markers that are in the text already are kept if they are `trusted` (our own, redacted before)
    and escaped if not (input: whoever wrote it may want to forge one).
    """
    kept = [match.span() for match in MARKER.finditer(text)] if trusted else []
    pieces: list[str] = []
    kinds: Counter[str] = Counter()
    last = 0
    for patch in patches:
        for start, end in _around(patch, kept):
            pieces += [_untouched(text[last:start], trusted=trusted), patch.marker]
            kinds[patch.kind] += 1
            last = end
    pieces.append(_untouched(text[last:], trusted=trusted))
    return "".join(pieces), kinds


def split_at(patch: Patch, text: str, border: str) -> Iterator[Patch]:
    """The patch cut where `border` stands in the text, which stays as it is."""
    start = patch.start
    for piece in text[patch.start : patch.end].split(border):
        if piece:
            yield Patch(start, start + len(piece), patch.kind, patch.marker)
        start += len(piece) + len(border)


def _around(patch: Patch, kept: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The parts of a patch that lie outside of the markers to keep."""
    start = patch.start
    for low, high in kept:
        if high <= start or low >= patch.end:
            continue
        if low > start:
            yield start, low
        start = high
    if start < patch.end:
        yield start, patch.end


def _blank(match: re.Match[str]) -> str:
    """As long as the marker, and a stand-in to every rule."""
    return "x" * len(match[0])


def _untouched(text: str, *, trusted: bool) -> str:
    return text if trusted else text.replace(OPENING, ESCAPED_OPENING)


def _confirmed(view: View, rule: Rule) -> Iterator[Span]:
    for match in rule.matches(view.text):
        if rule.check is not None and not rule.check(match):
            continue
        for start, end in rule.parts(match) if rule.parts else (match.span(SECRET),):
            if start < end:
                yield Span(*view.back(start, end), rule, view.text[start:end])


def _groups(spans: list[Span]) -> Iterator[list[Span]]:
    """Overlapping spans together: their union is masked, under the name of the surest rule."""
    group: list[Span] = []
    end = -1
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if group and span.start >= end:
            yield group
            group = []
        group.append(span)
        end = max(end, span.end) if len(group) > 1 else span.end
    if group:
        yield group
