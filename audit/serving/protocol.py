"""uvicorn's HTTP/1.1 with deadlines, and refusals in our own shape."""

from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from audit.serving.service import Limits


def protocol_with(limits: Limits) -> type[H11Protocol]:
    """The protocol class for these limits."""

    class Bounded(H11Protocol):
        """One connection."""

        def __init__(self, *words: Any, **named: Any) -> None:
            super().__init__(*words, **named)
            self.limits = limits

    return Bounded
