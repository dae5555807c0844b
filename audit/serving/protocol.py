"""uvicorn's HTTP/1.1 with deadlines for what it waits for, and refusals in our own shape."""

import asyncio
import sys
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from audit.serving.errors import JSON_TYPE, RefusedError, busy
from audit.serving.guards import HEADERS, head_too_large
from audit.serving.service import Service

# A reader that takes less than this in `reader_s` is one that only holds us.
MIN_PROGRESS_BYTES: Final = 16 << 10


def protocol_with(service: Service) -> type[H11Protocol]:
    """The protocol class of one service."""

    class Bounded(BoundedProtocol):
        """One connection to it."""

        def __init__(self, *words: Any, **named: Any) -> None:
            super().__init__(*words, **named)
            self.service = service

    return Bounded


class BoundedProtocol(H11Protocol):
    """One connection: its request's head, and its reader, must come on."""

    service: Service
    _head: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.service.limits.connections:
            self.refuse(busy("too many connections"))
            return
        self._watch_head(begun=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head()
        if self._reader is not None:
            self._reader.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._watch_head()

    def _watch_head(self, *, begun: bool = False) -> None:
        """A head that has begun has `head_s`, however many pieces it comes in."""
        half = self.conn.their_state is h11.IDLE and (begun or bool(self.conn.trailing_data[0]))
        if not half:
            self._cancel_head()
        elif self._head is None:
            self._head = self.loop.call_later(self.service.limits.head_s, self._head_late)

    def _cancel_head(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _head_late(self) -> None:
        self._head = None
        if self.conn.trailing_data[0]:
            self.refuse(RefusedError(408, "E_SLOW", "the request's head took too long to arrive"))
        else:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  uvicorn's words
        """What is no HTTP, or too large to be a head; called while h11's error is handled."""
        hint = getattr(sys.exc_info()[1], "error_status_hint", 400)
        if hint != 431:
            self.refuse(RefusedError(400, "E_USAGE", "this is no HTTP request"))
        elif b"\n" in self.conn.trailing_data[0]:
            self.refuse(head_too_large(self.service.limits.head_bytes))
        else:
            most = self.service.limits.url_bytes
            self.refuse(RefusedError(414, "E_TOO_LARGE", f"the URL is longer than {most} bytes"))

    def refuse(self, refused: RefusedError) -> None:
        """Answer, where an answer has not begun, and close."""
        self.service.metrics.request("other", "other", refused.status, 0.0)
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE) or self._answers():
            self.transport.abort()
            return
        body = refused.body()
        headers = [*HEADERS.items(), *refused.headers.items(), ("Content-Type", JSON_TYPE)]
        headers += [("Content-Length", str(len(body))), ("Cache-Control", "no-store")]
        plain = [(name.lower().encode(), value.encode()) for name, value in headers]
        plain += [*self.server_state.default_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=refused.status, headers=plain),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _answers(self) -> bool:
        """Whether a request of this connection is being answered."""
        return self.cycle is not None and not self.cycle.response_complete

    def on_response_complete(self) -> None:
        if self.conn.their_state is h11.SEND_BODY:
            # Who gets an answer before the end of the body could send the rest for ever.
            self.server_state.total_requests += 1
            self.transport.close()
            return
        super().on_response_complete()
        self._watch_head()
        if self._reader is None:
            self._watch_reader()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None
        super().resume_writing()

    def _watch_reader(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
        held = self.transport.get_write_buffer_size()
        wait_s = self.service.limits.reader_s
        self._reader = self.loop.call_later(wait_s, self._reader_late, held) if held else None

    def _reader_late(self, before: int) -> None:
        """Let go of a reader that took next to nothing since."""
        self._reader = None
        held = self.transport.get_write_buffer_size()
        if held and before - held < min(MIN_PROGRESS_BYTES, before):
            self.transport.abort()
        elif held:
            self._watch_reader()
