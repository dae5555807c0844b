"""The browser's way in: a code of one use from a link, exchanged for a cookie of some hours."""

import hmac
import sqlite3
from dataclasses import dataclass
from typing import Final

from audit.serving.tokens import Scope, decoded, digest, encoded, new_secret, reading, writing
from audit_events.layout import StorePaths

CODE_S: Final = 60
SESSION_S: Final = 12 * 3600
# The oldest go first; every presented one is compared with all.
MAX_CODES: Final = 100
MAX_SESSIONS: Final = 1_000
_S: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Session:
    """A cookie as it is kept; time in µs."""

    sha256: str
    scope: Scope
    expires_at: int


def new_code(store: StorePaths, scope: Scope, now: int) -> str:
    """A code that gives one session of this scope, within CODE_S."""
    code = new_secret()
    with writing(store) as con:
        con.execute("DELETE FROM codes WHERE expires_at <= ?", (now,))
        _make_room(con, "codes", MAX_CODES)
        row = (digest(code), encoded(scope), now + CODE_S * _S)
        con.execute("INSERT INTO codes VALUES (?, ?, ?)", row)
    return code


def spend(store: StorePaths, code: str, now: int) -> str | None:
    """The value of a new session's cookie for a live code, which is then gone; else None."""
    sought = digest(code)
    with writing(store) as con:
        rows = con.execute(
            "SELECT sha256, scope, expires_at FROM codes WHERE expires_at > ?", (now,)
        ).fetchall()
        found = matching(sought, [Session(row[0], decoded(row[1]), row[2]) for row in rows])
        if found is None:
            return None
        con.execute("DELETE FROM codes WHERE sha256 = ?", (found.sha256,))
        con.execute("DELETE FROM sessions WHERE expires_at <= ?", (now,))
        _make_room(con, "sessions", MAX_SESSIONS)
        cookie = new_secret()
        # A page looks; it never takes whole results away, whatever the code's scope says.
        scope = Scope(sandboxes=found.scope.sandboxes)
        row = (digest(cookie), encoded(scope), now, now + SESSION_S * _S)
        con.execute("INSERT INTO sessions VALUES (?, ?, ?, ?)", row)
    return cookie


def find(store: StorePaths, cookie: str, now: int) -> Session | None:
    """The live session of a cookie."""
    return by_hash(store, digest(cookie), now)


def by_hash(store: StorePaths, sha256: str, now: int) -> Session | None:
    """The live session with this hash."""
    with reading(store) as con:
        rows = con.execute(
            "SELECT sha256, scope, expires_at FROM sessions WHERE expires_at > ?", (now,)
        ).fetchall()
    return matching(sha256, [Session(row[0], decoded(row[1]), row[2]) for row in rows])


def end(store: StorePaths, sha256: str) -> None:
    """Log out."""
    with writing(store) as con:
        con.execute("DELETE FROM sessions WHERE sha256 = ?", (sha256,))


def matching(sought: str, held: list[Session]) -> Session | None:
    """The one with this hash. Every one is compared, so the time tells nothing of any."""
    found = None
    for session in held:
        if hmac.compare_digest(session.sha256, sought):
            found = session
    return found


def _make_room(con: sqlite3.Connection, table: str, most: int) -> None:
    con.execute(
        f"DELETE FROM {table} WHERE sha256 IN (SELECT sha256 FROM {table}"  # noqa: S608
        " ORDER BY expires_at DESC LIMIT -1 OFFSET ?)",
        (most - 1,),
    )
