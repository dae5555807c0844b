"""Policies in control.db: their texts, when each came into force, and notices for the trail."""

import os
import sqlite3
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit_events.errors import SettingsError, SourceError
from collector.sqlite import transaction
from policies.history import Applied
from policies.load import MAX_POLICY_BYTES, parse_policy
from policies.model import Policy, digest_of
from policies.yaml_text import YamlError

# A notice is one row of the trail; the collector takes at most so many in a turn.
MAX_NOTICES: Final = 100
# The id of the last notice in the trail, in the spool's `meta`.
LAST_NOTICE: Final = "control_notice"


@dataclass(frozen=True, slots=True)
class Application:
    """A policy about to be put in force; time in µs since 1970."""

    sandbox: str
    policy: Policy
    path: str
    by: str
    from_ts: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A notice that is not in the trail yet."""

    id: int
    at: int
    sandbox: str
    policy: str | None
    digest: str | None
    message: str


def read_policy_file(path: Path) -> bytes:
    """The bytes of a policy file, at most a little more than one may have.

    Raises SourceError if it cannot be read, SettingsError if anybody may write it.
    """
    try:
        # A pipe in its place must not hold us up.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MAX_POLICY_BYTES + 1) if stat.S_ISREG(mode) else b""
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        raise SourceError(f"{path}: no regular file")
    if mode & stat.S_IWOTH:
        raise SettingsError(f"{path}: anybody can write this file", hint=f"chmod o-w {path}")
    return data


def newest(connection: sqlite3.Connection, sandbox: str) -> tuple[str, int] | None:
    """(digest, from) of the policy in force for a sandbox now."""
    row = connection.execute(
        "SELECT digest, from_ts FROM policy_history WHERE sandbox = ?"
        " ORDER BY from_ts DESC, id DESC LIMIT 1",
        (sandbox,),
    ).fetchone()
    return (str(row[0]), int(row[1])) if row else None


def put_in_force(connection: sqlite3.Connection, new: Application) -> bool:
    """Text, history and notice in one transaction; False if that text is in force already."""
    with transaction(connection):
        last = newest(connection, new.sandbox)
        digest = new.policy.digest
        if last is not None and last[0] == digest:
            return False
        connection.execute(
            "INSERT OR REPLACE INTO policies VALUES(?, ?, ?)",
            (digest, new.policy.name, new.policy.text),
        )
        from_ts = max(new.from_ts, last[1] + 1) if last else new.from_ts
        connection.execute(
            "INSERT INTO policy_history(sandbox, from_ts, digest, path, applied_by)"
            " VALUES(?, ?, ?, ?, ?)",
            (new.sandbox, from_ts, digest, new.path, new.by),
        )
        before = f", in place of sha256:{last[0]}" if last else ""
        put_notice(
            connection, new.from_ts, new.sandbox,
            f"policy {new.policy.name} (sha256:{digest}) in force for {new.sandbox}{before};"
            f" by {new.by}, from {new.path}",
            new.policy,
        )  # fmt: skip
    return True


def put_notice(
    connection: sqlite3.Connection, at: int, sandbox: str, message: str, policy: Policy | None
) -> None:
    """Queue what the collector shall write into the trail, in the current transaction."""
    connection.execute(
        "INSERT INTO notices(at, sandbox, policy, policy_digest, message) VALUES(?, ?, ?, ?, ?)",
        (at, sandbox, policy and policy.name, policy and policy.digest, message),
    )


def waiting(connection: sqlite3.Connection, after: int) -> list[Waiting]:
    """The next notices behind the last one that is in the trail."""
    rows = connection.execute(
        "SELECT id, at, sandbox, policy, policy_digest, message FROM notices WHERE id > ?"
        " ORDER BY id LIMIT ?",
        (after, MAX_NOTICES),
    )
    return [Waiting(*row) for row in rows]


def forget_notices(connection: sqlite3.Connection, upto: int) -> None:
    """Drop what is in the trail."""
    with transaction(connection):
        connection.execute("DELETE FROM notices WHERE id <= ?", (upto,))


def history(connection: sqlite3.Connection) -> list[Applied]:
    """When each policy came into force."""
    rows = connection.execute("SELECT sandbox, from_ts, digest FROM policy_history ORDER BY id")
    return [Applied(*row) for row in rows]


def texts(connection: sqlite3.Connection, known: Mapping[str, Policy]) -> dict[str, Policy]:
    """Every policy by digest; one whose text does not have its digest is not believed.

    What is `known` already is not read again.
    """
    found = {}
    for (digest,) in connection.execute("SELECT digest FROM policies").fetchall():
        policy = known.get(digest) or text_of(connection, digest)
        if policy is not None:
            found[digest] = policy
    return found


def text_of(connection: sqlite3.Connection, digest: str) -> Policy | None:
    """The policy of a digest; None where its text is unknown or has another digest."""
    row = connection.execute("SELECT text FROM policies WHERE digest = ?", (digest,)).fetchone()
    text = row[0] if row else None
    if not isinstance(text, str):
        return None
    try:
        return parse_policy(text.encode()) if digest_of(text) == digest else None
    except (YamlError, UnicodeError):
        return None


def applied_before(
    connection: sqlite3.Connection, sandbox: str, digest: str, ts: int
) -> tuple[int, str] | None:
    """(since when, from which file) a policy was in force for a sandbox at a time."""
    row = connection.execute(
        "SELECT from_ts, path FROM policy_history WHERE sandbox = ? AND digest = ? AND from_ts <= ?"
        " ORDER BY from_ts DESC, id DESC LIMIT 1",
        (sandbox, digest, ts),
    ).fetchone()
    return (int(row[0]), str(row[1])) if row else None
