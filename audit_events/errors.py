"""The few errors a person can meet, each with what happened, a hint and an exit code.

AuditError
├── UsageError      2   a flag, a time, a column that is none
├── SettingsError   3   settings or policy invalid (file:line:col in the message)
├── SourceError     4   a source cannot be read
├── StorageError    5   no store, not ours, full, damaged beyond recovery
├── QueryError      6   a query refused by the engine or its limits
├── DeliveryError   7   a receiver refused
└── VerifyError     9   proof failed
"""

from enum import IntEnum


class Exit(IntEnum):
    """Documented exit codes (DESIGN.md section 7)."""

    DONE = 0
    BUG = 1
    USAGE = 2
    SETTINGS = 3
    SOURCE = 4
    STORAGE = 5
    QUERY = 6
    DELIVERY = 7
    PARTIAL = 8
    VERIFY = 9
    ANSWER_NO = 10
    INTERRUPTED = 130


class AuditError(Exception):
    """What went wrong, in one sentence without payload, and what to do about it."""

    code: Exit = Exit.BUG

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(AuditError):
    """The call's words are off."""

    code = Exit.USAGE


class SettingsError(AuditError):
    """Settings or policy invalid; the message starts with file:line:col where there is one."""

    code = Exit.SETTINGS


class SourceError(AuditError):
    """A source cannot be read."""

    code = Exit.SOURCE


class StorageError(AuditError):
    """The store cannot be opened, read or written."""

    code = Exit.STORAGE


class QueryError(AuditError):
    """The engine refused a query."""

    code = Exit.QUERY


class DeliveryError(AuditError):
    """A receiver refused."""

    code = Exit.DELIVERY


class VerifyError(AuditError):
    """A proof failed."""

    code = Exit.VERIFY
