"""`audit secrets find`: a secret that leaked, looked for by its fingerprints (G16)."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TYPE_CHECKING, Final

from audit import wiring
from audit.call import Call
from audit.render_time import clock, count, day
from audit_events.errors import UsageError
from audit_events.layout import StorePaths
from audit_events.text import from_bytes
from query.secrets import Search, Seen

if TYPE_CHECKING:
    from policies.redact.engine import Redactor
    from policies.redact.explain import Finding
    from policies.redact.fingerprint import FingerprintKey

# A key file or a page of output; nobody pastes more to find one secret.
MAX_SECRET_BYTES: Final = 1 << 20
MAX_SECRETS: Final = 100
_WIDTH: Final = 79
NO_PROOF: Final = "This is no proof that it was not read: a record names files, not their contents"
_HEAD: Final = ("SANDBOX", "RUN", "FIELD", "DECISION", "TIMES", "LAST", "SEQ")


@dataclass(frozen=True, slots=True)
class Sought:
    """A secret that was handed in: `kind` None if no rule knows it without its surroundings."""

    kind: str | None
    fingerprint: str | None
    secret: str = field(repr=False)


def read_sought(raw: bytes, masker: "Redactor") -> list[Sought]:
    """The secrets in what was handed in, as rules find them, else each line as one.

    Raises UsageError if there is none, or none that has a fingerprint.
    """
    if len(raw) > MAX_SECRET_BYTES:
        raise UsageError(f"more than {count(MAX_SECRET_BYTES)} bytes: hand in the secret alone")
    text = from_bytes(raw).strip()
    if not text:
        raise UsageError("nothing to find: no secret read", hint="audit secrets find FILE, or -")
    findings = masker.findings(text)
    named = [f for f in findings if f.fingerprint is not None]
    sought = [Sought(f.kind, f.fingerprint, f.secret) for f in named]
    sought += [Sought(None, None, line) for line in _unknown_lines(text, findings)]
    if not sought:
        raise _unsearchable(findings[0].kind if findings else "password")
    return list(dict.fromkeys(sought))[:MAX_SECRETS]


def _unknown_lines(text: str, findings: Sequence["Finding"]) -> list[str]:
    """Lines in which no rule found anything, and that a generator may have written."""
    from policies.redact.generated import guessable

    if findings:
        return []
    lines = [line.strip().strip("\"'") for line in text.splitlines()]
    return [line for line in lines if line and not guessable(line) and " " not in line]


def _unsearchable(kind: str) -> UsageError:
    article = "an" if kind[0] in "aeiou" else "a"
    return UsageError(
        f"that looks like {article} {kind}; it is masked without a fingerprint and cannot be"
        " searched",
        hint=f"rotate it; to see where any was masked: audit query --secret {kind}",
    )


def fingerprints(
    sought: Sequence[Sought], kinds: Sequence[str], keys: Sequence["FingerprintKey"]
) -> set[str]:
    """Every fingerprint that the secrets can have in this store.

    The same secret is masked under another kind where other words stand around it, so each kind
    that the store has masked is tried, and each key that it ever had.
    """
    from policies.redact.fingerprint import fingerprint

    return {
        fingerprint(key, kind, one.secret)
        for one in sought
        for key in keys
        for kind in {*kinds, *([one.kind] if one.kind else [])}
    }


def other_names(call: Call, kind: str, secret: str) -> list[str]:
    """The fingerprints of a secret under the keys that were in force before."""
    from policies.redact.fingerprint import fingerprint

    store = wiring.existing_store(call)
    return [] if store is None else [fingerprint(k, kind, secret) for k in keys_of(call, store)[1:]]


def keys_of(call: Call, store: StorePaths) -> tuple["FingerprintKey", ...]:
    """Every fingerprint key of a store, the one in force first."""
    from audit.keys import every_key

    place = wiring.key_dir(wiring.load_settings(call).settings.keys)
    return every_key(place, wiring.store_id(store))


def read_lines(sought: Sequence[Sought], origin: str) -> list[str]:
    """What was read, without showing it."""
    number = f"{len(sought)} secret{'s' * (len(sought) != 1)} read from {origin}: "
    names = [
        f"{one.kind}, fingerprint {one.fingerprint}"
        if one.fingerprint
        else "of no known kind; searched under every kind"
        for one in sought
    ]
    return [number + names[0], *(f"  {name}" for name in names[1:])]


def seen_lines(search: Search, zone: tzinfo) -> list[str]:
    """How often, when, and a table of where, the newest first."""
    first, last = min(s.first for s in search.seen), max(s.last for s in search.seen)
    times = "once" if search.times == 1 else f"{count(search.times)} times"
    rows = [_HEAD, *(_row(seen, zone) for seen in search.seen)]
    wide = [max(len(row[i]) for row in rows) for i in range(len(_HEAD))]
    # Numbers stand flush right.
    table = [
        "  " + "  ".join(
            f"{text:>{width}}" if i in (4, 6) else f"{text:<{width}}"
            for i, (text, width) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in rows
    ]  # fmt: skip
    return [f"seen {times}, first {_moment(first, zone)}, last {_moment(last, zone)}",
            "", *table, ""]  # fmt: skip


def _row(seen: Seen, zone: tzinfo) -> tuple[str, ...]:
    moment = f"{day(seen.last, zone)[5:]} {_minute(seen.last, zone)}"
    return (seen.sandbox, seen.run[:8], seen.field, seen.decision or "-", count(seen.times),
            moment, str(seen.seq))  # fmt: skip


def _moment(micros: int, zone: tzinfo) -> str:
    return f"{day(micros, zone)}T{clock(micros, zone)}"


def _minute(micros: int, zone: tzinfo) -> str:
    text = clock(micros, zone)
    return text[:5] + text[8:]


@dataclass(frozen=True, slots=True)
class Scope:
    """In what was searched: keys at hand, ids of keys that are missing, gaps, exports."""

    keys: int
    missing: tuple[str, ...]
    gaps: int
    exports: tuple[str, ...]


def closing(search: Search, scope: Scope, zone: tzinfo) -> list[str]:
    """How much was searched and what follows; the sentence that absence proves nothing."""
    since = "" if search.since is None else f"since {day(search.since, zone)}"
    events, keys, gaps = count(search.events), _many(scope.keys, "key"), _many(scope.gaps, "gap")
    if not search.seen:
        where = ", ".join(filter(None, (since, keys, gaps)))
        return [*_wrapped(f"not seen in {events} events ({where}). {NO_PROOF}"), *_missing(scope)]
    searched = f"searched all {events} events" + (f" ({since})" if since else "")
    sent = f"sent to {', '.join(scope.exports)}, masked; " if scope.exports else ""
    return [
        f"{searched}, {keys}; {gaps} in that time",
        *_wrapped(f"{sent}never stored or sent in clear by us. Rotate it at its issuer"),
        *_missing(scope),
    ]


def _missing(scope: Scope) -> list[str]:
    if not scope.missing:
        return []
    names = ", ".join(scope.missing)
    return _wrapped(f"some events were masked under a key that is not here ({names}): in these "
                    "nothing can be found; restore the key files from a backup")  # fmt: skip


def _many(number: int, word: str) -> str:
    return f"{count(number)} {word}{'s' * (number != 1)}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH)
