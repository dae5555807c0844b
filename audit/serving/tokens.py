"""Access tokens in control.db: only their hashes, each with a scope and an end."""

import hashlib
import hmac
import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final

import msgspec

from audit_events.errors import StorageError, UsageError
from audit_events.layout import CONTROL_DDL, StorePaths
from audit_events.schema import MAX_NAME_BYTES
from collector.sqlite import control_connection, transaction
from collector.store import reason_of

PREFIX: Final = "sandtrail_"
# 256 bits; base64url makes 43 signs of them.
_BYTES: Final = 32
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# Every presented token is compared with every live row.
MAX_TOKENS: Final = 1_000
MAX_SANDBOXES: Final = 256
BUSY_TIMEOUT_S: Final = 5.0


class Scope(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a caller may see (None: every sandbox), and whether as exports too."""

    sandboxes: tuple[str, ...] | None = None
    export: bool = False


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept; times in µs."""

    name: str
    sha256: str
    scope: Scope
    created_at: int
    expires_at: int | None
    revoked_at: int | None

    def state(self, now: int) -> str:
        """live, expired or revoked."""
        if self.revoked_at is not None:
            return "revoked"
        return "live" if self.expires_at is None or now < self.expires_at else "expired"


def digest(secret: str) -> str:
    """What is kept of a secret that is random enough to need no salt."""
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()


def new_secret() -> str:
    """256 bits nobody can guess, in signs that a URL and a header take."""
    return secrets.token_urlsafe(_BYTES)


def scope_of(sandboxes: tuple[str, ...], *, export: bool = False) -> Scope:
    """A scope of named sandboxes, all if none is; UsageError for names that cannot be."""
    if len(sandboxes) > MAX_SANDBOXES:
        raise UsageError(f"--sandbox: at most {MAX_SANDBOXES}")
    for name in sandboxes:
        if not name or len(name.encode(errors="replace")) > MAX_NAME_BYTES:
            raise UsageError(f"--sandbox: a name of 1 to {MAX_NAME_BYTES} bytes")
    return Scope(sandboxes=tuple(dict.fromkeys(sandboxes)) or None, export=export)


def create(store: StorePaths, name: str, scope: Scope, now: int, expires_at: int | None) -> str:
    """Keep a new token's hash and give the token, which is nowhere else; UsageError for its name.

    The name of a revoked or expired token may be used again.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"--name {name!r}: 1 to 64 of A-Z a-z 0-9 . _ -")
    token = PREFIX + new_secret()
    row = (name, digest(token), encoded(scope), now, expires_at)
    with writing(store) as con:
        known = {held.name: held for held in _tokens(con)}
        if name in known and known[name].state(now) == "live":
            hint = f"another --name, or first: audit serve token revoke {name}"
            raise UsageError(f"there is a token {name} already", hint=hint)
        if len(known) >= MAX_TOKENS and name not in known:
            raise UsageError(f"{MAX_TOKENS} tokens are the most", hint="use an old name again")
        con.execute("INSERT OR REPLACE INTO tokens VALUES (?, ?, ?, ?, ?, NULL)", row)
    return token


def listed(store: StorePaths) -> list[Token]:
    """Every token, by name."""
    with reading(store) as con:
        return sorted(_tokens(con), key=lambda token: token.name)


def revoke(store: StorePaths, name: str, now: int) -> bool:
    """End a token at once; False if it was revoked before, UsageError if there is none."""
    with writing(store) as con:
        known = {held.name: held for held in _tokens(con)}
        if name not in known:
            hint = "audit serve token list"
            raise UsageError(f"no token {name}", hint=hint)
        con.execute(
            "UPDATE tokens SET revoked_at = ? WHERE name = ? AND revoked_at IS NULL", (now, name)
        )
    return known[name].revoked_at is None


def find(store: StorePaths, presented: str) -> Token | None:
    """The token that was presented, whatever its state."""
    sought = digest(presented)
    with reading(store) as con:
        return matching(sought, _tokens(con))


def matching(sought: str, held: list[Token]) -> Token | None:
    """The row with this hash. Every row is compared, so the time tells nothing of any."""
    found = None
    for token in held:
        if hmac.compare_digest(token.sha256, sought):
            found = token
    return found


def _tokens(con: sqlite3.Connection) -> list[Token]:
    rows = con.execute(
        "SELECT name, sha256, scope, created_at, expires_at, revoked_at FROM tokens"
    ).fetchall()
    return [Token(r[0], r[1], decoded(r[2]), r[3], r[4], r[5]) for r in rows]


def encoded(scope: Scope) -> str:
    """As control.db keeps it."""
    return msgspec.json.encode(scope).decode()


def decoded(text: str) -> Scope:
    """As `encoded` wrote it; StorageError for anything else, which gives nobody any right."""
    try:
        return msgspec.json.decode(text, type=Scope)
    except msgspec.DecodeError:
        raise StorageError("control.db holds a scope that cannot be read") from None


@contextmanager
def writing(store: StorePaths) -> Iterator[sqlite3.Connection]:
    """One transaction on control.db, which is made if there is none; StorageError."""
    con = control_connection(store.control, CONTROL_DDL)
    try:
        with transaction(con):
            yield con
    except sqlite3.Error as error:
        raise StorageError(f"{store.control}: {reason_of(error)}") from error
    finally:
        con.close()


@contextmanager
def reading(store: StorePaths) -> Iterator[sqlite3.Connection]:
    """control.db read-only; a file that is not there, or older than our tables, gets them first.

    Raises StorageError.
    """
    if not store.control.exists():
        _make_tables(store)
    try:
        with closing(_read_only(store)) as con:
            if not _has_tables(con):
                _make_tables(store)
            yield con
    except sqlite3.Error as error:
        raise StorageError(f"{store.control}: {reason_of(error)}") from error


def _read_only(store: StorePaths) -> sqlite3.Connection:
    uri = store.control.resolve().as_uri() + "?mode=ro"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT_S, isolation_level=None)


def _has_tables(con: sqlite3.Connection) -> bool:
    # `services` is the youngest.
    found = con.execute("SELECT count(*) FROM sqlite_master WHERE name = 'services'").fetchone()
    return bool(found[0])


def _make_tables(store: StorePaths) -> None:
    with writing(store):
        pass
