"""Secrets that are spread over events: a private key line by line, a key and then its value."""

import re
from typing import Final

from policies.redact.rule import SHAPE, Rule, Span
from policies.redact.rules.grammar import PASSWORD_WORDS, TOKEN_WORDS
from policies.redact.state import Open

_ARMOUR = (
    r"[ ](?:(?:[A-Z0-9]{1,12}[ ]){0,4}PRIVATE[ ]KEY(?:[ ]BLOCK)?|OpenVPN[ ]Static[ ]key[ ]V1)-{4,5}"
)
_KEY_WORDS = rf"(?:{PASSWORD_WORDS}|{TOKEN_WORDS})[\"']?[ \t]*[:=][ \t]*[\"']?"

# Seen by stage 1: a text that this module must look at. It masks nothing by itself.
OPENS_KEY: Final = Rule(
    "opens-key", "private-key", "a private key begins", rf"-{{4,5}}[ ]?BEGIN{_ARMOUR}",
    rank=SHAPE, fingerprint=False, hits=("-----BEGIN EC PRIVATE KEY-----",),
)  # fmt: skip
OPENS_VALUE: Final = Rule(
    "opens-value", "password", "a key whose value may be the next event", rf"{_KEY_WORDS}$",
    caseless=True, rank=SHAPE, fingerprint=False, hits=("Password: ", "api_key="),
)  # fmt: skip

_END: Final = re.compile(rf"-{{4,5}}END{_ARMOUR}")
_AWAITS: Final = re.compile(rf"{_KEY_WORDS}\Z", re.IGNORECASE)
_HEADER: Final = re.compile(
    r"\s*(?:(?:Proc-Type|DEK-Info|Comment|Version|Charset|Hash|X-[A-Za-z-]{1,24}):[ ].{0,128})?\Z"
)
# No line of an armour but its last is shorter than this.
_RUN: Final = re.compile(r"[A-Za-z0-9+/=]{40,}")
_LAST_LINE: Final = re.compile(r"\s*([A-Za-z0-9+/=]{1,128})\s*\Z")
_ONE_WORD: Final = re.compile(r"\s*(\S{3,512})\s*\Z")


def opens(text: str) -> Open | None:
    """What the text leaves open at its end; `text` is the plain view of it."""
    begins = [match.end() for match in OPENS_KEY.confirm().finditer(text)]
    if begins and not _END.search(text, begins[-1]):
        return "private-key"
    return "awaiting" if _AWAITS.search(text[-128:]) else None


def continues(text: str, opened: Open) -> tuple[list[Span], Open | None]:
    """What to mask in a text that follows in an open stream, and what stays open after it."""
    if opened == "awaiting":
        word = _ONE_WORD.match(text)
        return ([_span(word, 1, OPENS_VALUE)] if word else []), opens(text)
    spans = [_span(run, 0, OPENS_KEY) for run in _RUN.finditer(text)]
    if _END.search(text):
        return spans, opens(text)
    if spans or _HEADER.match(text):
        return spans, opens(text) or "private-key"
    last = _LAST_LINE.match(text)
    return ([_span(last, 1, OPENS_KEY)] if last else []), opens(text)


def _span(match: re.Match[str], group: int, rule: Rule) -> Span:
    return Span(match.start(group), match.end(group), rule, match[group])
