"""What a service keeps between its questions: engines, and batches that are decoded already."""

from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Final

from query.decoded import Decoded
from query.engines import Engines
from query.memo import Memo


@dataclass(frozen=True, slots=True)
class Kept:
    """One for a service; every thread of it may use it."""

    engines: Engines
    spool: Decoded = field(default_factory=Decoded)
    counts: Memo = field(default_factory=Memo)


# A variable of the context, because engines are opened many calls below whoever keeps them.
_KEPT: Final[ContextVar[Kept | None]] = ContextVar("kept", default=None)


def keep(what: Kept) -> Token[Kept | None]:
    """From here on this context's questions use what is kept here."""
    return _KEPT.set(what)


def kept() -> Kept | None:
    """What this context's questions may use; None where nobody keeps anything."""
    return _KEPT.get()
