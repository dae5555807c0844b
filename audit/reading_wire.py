"""The words of a read socket: one JSON line asks, JSON lines answer, each line bounded."""

import socket
from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from audit_events.errors import (
    AuditError,
    Exit,
    QueryError,
    SettingsError,
    StorageError,
    UsageError,
)

# A request is a few filters; one with a thousand paths still fits.
MAX_ASK_BYTES: Final = 64 << 10
# Rows go out in lines of about this size, so that neither end holds much at once.
ROWS_LINE_BYTES: Final = 128 << 10
# What a client takes as one line: the rows of one, and one more row of the greatest size.
MAX_LINE_BYTES: Final = 32 << 20
READ_BYTES: Final = 128 << 10

_ERRORS: Final = {
    error.code: error for error in (UsageError, SettingsError, StorageError, QueryError)
}


class Ask(Struct, frozen=True, forbid_unknown_fields=True):
    """A question: a verb of audit/reads.py and its words, in order and by name."""

    verb: str
    words: list[Any] = []
    named: dict[str, Any] = {}


class Trouble(Struct, frozen=True, omit_defaults=True):
    """An error as the other end raises it."""

    code: int
    message: str
    hint: str | None = None


class Line(Struct, frozen=True, omit_defaults=True):
    """One line of an answer: rows of the next value, a value, why there is none, or the end."""

    rows: list[dict[str, Any]] = []
    value: Raw = Raw(b"")
    error: Trouble | None = None
    end: bool = False


class TooLongError(Exception):
    """The other end sends a line without end."""


def encoded(line: Line | Ask) -> bytes:
    """A line on its way."""
    return msgspec.json.encode(line) + b"\n"


def trouble(error: AuditError) -> bytes:
    """An error on its way."""
    return encoded(Line(error=Trouble(int(error.code), error.message, error.hint)))


def raised(trouble: Trouble) -> AuditError:
    """The error that the other end met."""
    kind = _ERRORS.get(Exit(trouble.code), StorageError)
    return kind(trouble.message, hint=trouble.hint)


def lines(sock: socket.socket, most_bytes: int) -> Iterator[bytes]:
    """Whole lines until the other end closes; TooLongError, and what the socket raises."""
    held = bytearray()
    while data := sock.recv(READ_BYTES):
        held += data
        *whole, held[:] = held.split(b"\n") if b"\n" in data else [held[:]]
        for line in whole:
            if len(line) > most_bytes:
                raise TooLongError
            yield bytes(line)
        if len(held) > most_bytes:
            raise TooLongError
