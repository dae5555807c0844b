"""What the store recorded of policies: their texts, and since when each was in force."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final, TypeVar

from audit_events.layout import StorePaths
from collector import policy_store

# A run under more policies than this is told without the lines of the others.
MAX_POLICIES: Final = 32

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Applied:
    """A policy's text, and since when (µs) and from which file it was in force, where known."""

    text: str
    since: int | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """The policy of an event, as it was then, and what is in force for its sandbox now."""

    then: Applied
    now: Applied | None = None


def texts_of(store: StorePaths, digests: Sequence[str]) -> dict[str, str]:
    """The texts of policies by digest, as far as they are recorded; at most MAX_POLICIES."""

    def read(con: sqlite3.Connection) -> dict[str, str]:
        found = {digest: _text(con, digest) for digest in digests[:MAX_POLICIES]}
        return {digest: text for digest, text in found.items() if text is not None}

    return _asked(store, read) or {} if digests else {}


def records_of(store: StorePaths, digest: str, sandbox: str, ts: int) -> Records | None:
    """What is known of a policy and a sandbox at `ts` (µs); None where its text is not recorded."""

    def read(con: sqlite3.Connection) -> Records | None:
        text = _text(con, digest)
        if text is None:
            return None
        since, path = policy_store.applied_before(con, sandbox, digest, ts) or (None, None)
        return Records(Applied(text, since, path), _now(con, sandbox))

    return _asked(store, read)


def _now(con: sqlite3.Connection, sandbox: str) -> Applied | None:
    newest = policy_store.newest(con, sandbox)
    text = None if newest is None else _text(con, newest[0])
    return None if newest is None or text is None else Applied(text, newest[1])


def _text(con: sqlite3.Connection, digest: str) -> str | None:
    """None where the text is not what its digest says: then it explains nothing."""
    policy = policy_store.text_of(con, digest)
    return None if policy is None else policy.text


def _asked(store: StorePaths, read: Callable[[sqlite3.Connection], T]) -> T | None:
    """None where control.db cannot be read: policies are a gift, the events are told without."""
    if not store.control.exists():
        return None
    uri = store.control.resolve().as_uri() + "?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as con:
            return read(con)
    except sqlite3.Error:
        return None
