"""What was masked, and where a known secret was seen: its fingerprint stands in the masks."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from audit_events.layout import StorePaths
from audit_events.schema import COLUMNS
from query.contracts import Damaged, Request
from query.engine import with_snapshot
from query.filters import compile_request
from query.plan import prune
from query.predicates import Clause, all_of
from query.reader import Query, Reader
from query.snapshot import Snapshot

# Every column that a mask may stand in.
FIELDS: Final = tuple(
    column.name
    for column in COLUMNS
    if column.type == "string"
    and column.name not in ("store", "kind", "redaction_kinds", "redaction_digest")
)
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{12}")
_MASKED: Final = Clause("redactions > 0")
# `count` is null for a gap of unknown size, which is one record all the same.
_TIMES: Final = "sum(coalesce(count, 1))::BIGINT, epoch_us(min(ts)), epoch_us(max(ts))"


@dataclass(frozen=True, slots=True)
class Seen:
    """Events of one run in whose `field` a secret was masked; times in µs, `seq` the newest."""

    sandbox: str
    run: str
    field: str
    decision: str | None
    times: int
    first: int
    last: int
    seq: int


@dataclass(frozen=True, slots=True)
class Search:
    """What was found, in how much; `events` were searched, the oldest of them at `since` (µs).

    `times` and the bounds count an event once, in however many fields it holds the secret.
    """

    seen: tuple[Seen, ...]
    times: int
    events: int
    since: int | None
    damaged: tuple[Damaged, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """How often a kind was masked, in how many events; first and last in µs."""

    kind: str
    masks: int
    events: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Masked:
    """Masks by kind, the most frequent first; `keys` are events by the key's id that named them."""

    kinds: tuple[Kind, ...]
    keys: Mapping[str, int]
    damaged: tuple[Damaged, ...] = ()


def masked(store: StorePaths, request: Request | None = None) -> Masked:
    """What was masked in the events of a request (all events without one)."""
    where = all_of([_MASKED, *([compile_request(request)] if request else [])])
    return with_snapshot(store, lambda snapshot, final: _masked(snapshot, request, where, final))


def seen(store: StorePaths, fingerprints: Collection[str]) -> Search:
    """Where any of these fingerprints stands, in events of all kinds; the newest group first."""
    for fingerprint in fingerprints:
        if not _FINGERPRINT.fullmatch(fingerprint):
            raise ValueError("a fingerprint is 12 hex digits")
    return with_snapshot(store, lambda snapshot, final: _seen(snapshot, fingerprints, final))


def _masked(snapshot: Snapshot, request: Request | None, where: Clause, final: bool) -> Masked:
    texts = ", ".join(FIELDS)
    kinds = f"list_sort(regexp_extract_all(concat_ws(chr(10), {texts}), {_mark('')}, 1))"
    columns = (
        f"{kinds} AS kinds, string_split(redaction_digest, '-')[2] AS key, count(*),"
        " epoch_us(min(ts)), epoch_us(max(ts))"
    )
    parts = prune(snapshot.parts, request or Request())
    with Reader(snapshot, parts, final=final) as reader:
        rows = reader.rows(parts, Query(columns, where, Clause("GROUP BY ALL")))
        damaged = reader.damaged
    tallies: dict[str, Kind] = {}
    keys: Counter[str] = Counter()
    for found, key, events, first, last in rows:
        keys[key or ""] += events
        for kind, masks in Counter(found).items():
            old = tallies.get(kind) or Kind(kind, 0, 0, first, last)
            tallies[kind] = Kind(
                kind, old.masks + masks * events, old.events + events,
                min(old.first, first), max(old.last, last),
            )  # fmt: skip
    ordered = sorted(tallies.values(), key=lambda kind: (-kind.masks, kind.kind))
    return Masked(tuple(ordered), dict(keys), damaged)


def _mark(fingerprints: str) -> str:
    """A mask as a pattern in SQL; the group is its kind, or the fingerprint if some are asked."""
    if fingerprints:
        return rf"'\[REDACTED:[a-z0-9._-]+:({fingerprints})\]'"
    return r"'\[REDACTED:([a-z0-9._-]+)(?::[0-9a-f]+)?\]'"


def _seen(snapshot: Snapshot, fingerprints: Collection[str], final: bool) -> Search:
    parts = list(snapshot.parts)
    since = min((part.min_ts for part in parts), default=None)
    pattern = _mark("|".join(sorted(fingerprints)))
    fields = ", ".join(
        f"CASE WHEN regexp_matches({name}, {pattern}) THEN '{name}' END" for name in FIELDS
    )
    holds = Clause(" OR ".join(f"regexp_matches({name}, {pattern})" for name in FIELDS))
    columns = f"sandbox, correlation_id, decision, [{fields}] AS fields, {_TIMES}, arg_max(seq, ts)"
    with Reader(snapshot, parts, final=final) as reader:
        rows = [] if not fingerprints else reader.rows(
            parts, Query(columns, all_of([_MASKED, holds]), Clause("GROUP BY ALL"))
        )  # fmt: skip
        damaged = reader.damaged
    found: dict[tuple[str, str, str, str | None], Seen] = {}
    for sandbox, run, decision, names, times, first, last, seq in rows:
        for field in filter(None, names):
            key = (sandbox, run, field, decision)
            found[key] = _joined(
                found.get(key), Seen(sandbox, run, field, decision, times, first, last, seq)
            )
    ordered = sorted(found.values(), key=lambda one: (-one.last, one.field))
    events = sum(part.rows for part in parts) - sum(file.rows for file in damaged)
    return Search(tuple(ordered), sum(row[4] for row in rows), events, since, damaged)


def _joined(old: Seen | None, new: Seen) -> Seen:
    if old is None:
        return new
    newest = old if old.last > new.last else new
    return Seen(
        new.sandbox, new.run, new.field, new.decision, old.times + new.times,
        min(old.first, new.first), newest.last, newest.seq,
    )  # fmt: skip
