"""One reader of a read socket, a process of its own: `python -m audit.reading_worker STORE SLOW_S`.

Its standard input is the connection. What it costs, and what goes wrong in it, is not the
collector's; it ends with the connection, with the collector, or when nothing is asked.
"""

import contextlib
import os
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Raw

from audit import reading_wire as wire
from audit import reads
from audit.reading_forms import FORMS
from audit.reading_streams import STREAMS
from audit_events.errors import AuditError, QueryError, UsageError
from audit_events.layout import StorePaths

IDLE_S: Final = 60.0
# A client that takes nothing for so long is let go; it can ask again from the last seq it has.
SLOW_S: Final = 5.0
# How the collector learns of it.
SLOW_EXIT: Final = 3
_VERBS: Final[Mapping[str, Callable[..., Any]]] = {**reads.VERBS, **STREAMS, **FORMS}
# Recording comes first.
NICENESS: Final = 10


def main() -> int:
    """Answer until the other end goes."""
    os.nice(NICENESS)
    collector = os.getppid()
    with socket.socket(fileno=0) as sock, contextlib.suppress(ConnectionError):
        try:
            store, slow_s = StorePaths(Path(sys.argv[1])), float(sys.argv[2])
            serve(sock, store, slow_s, lambda: os.getppid() == collector)
        except TimeoutError:
            return SLOW_EXIT
    return 0


def serve(
    sock: socket.socket, store: StorePaths, slow_s: float, wanted: Callable[[], bool]
) -> None:
    """Answer each line; TimeoutError if the other end does not take its answer."""
    sock.settimeout(IDLE_S)
    asked = wire.lines(sock, wire.MAX_ASK_BYTES)
    while True:
        try:
            line = next(asked, None)
        except TimeoutError:
            return None
        except wire.TooLongError:
            return _send(sock, wire.trouble(UsageError("the request is too long")), slow_s)
        if line is None:
            return None
        for piece in _answer(line, store):
            if not wanted():
                return None
            _send(sock, piece, slow_s)


def _send(sock: socket.socket, data: bytes, slow_s: float) -> None:
    sock.settimeout(slow_s)
    sock.sendall(data)
    sock.settimeout(IDLE_S)


def _answer(line: bytes, store: StorePaths) -> Iterator[bytes]:
    try:
        function, words = _understood(line)
        yield from _pieces(function(store, **words))
        yield wire.encoded(wire.Line(end=True))
    except AuditError as error:
        yield wire.trouble(error)
    except Exception as error:  # noqa: BLE001 - the process's boundary: its words may hold a row
        yield wire.trouble(QueryError(f"the reader failed: {type(error).__name__}"))


def _understood(line: bytes) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The verb and its words, each of the type that it takes; UsageError quotes neither."""
    try:
        asked = msgspec.json.decode(line, type=wire.Ask)
        function = _VERBS[asked.verb]
        kinds, needed = reads.word_types(function)
        given = {**dict(zip(kinds, asked.words, strict=False)), **asked.named}
        if not needed <= given.keys() <= kinds.keys():
            raise ValueError
        if len(given) != len(asked.words) + len(asked.named):
            raise ValueError
        words = {name: msgspec.convert(word, kinds[name]) for name, word in given.items()}
    except KeyError:
        raise UsageError("no such question", hint=" ".join(sorted(_VERBS))) from None
    except (ValueError, RecursionError):
        raise UsageError("the request is not understood") from None
    if asked.verb == "answer":
        reads.refuse_large(words["request"])
    return function, words


def _pieces(given: Any) -> Iterator[bytes]:
    for value in given if isinstance(given, Iterator) else (given,):
        if hasattr(value, "rows"):
            yield from _rows(value.rows)
            value = replace(value, rows=type(value.rows)())
        yield _bounded(wire.encoded(wire.Line(value=Raw(msgspec.json.encode(value)))))


def _bounded(line: bytes) -> bytes:
    """QueryError for a line that the other end would not take."""
    if len(line) > wire.MAX_LINE_BYTES:
        raise QueryError(
            f"a part of the answer is larger than {wire.MAX_LINE_BYTES:,} bytes, which is more than"
            " a read socket carries",
            hint="ask for less: one run, a filter, --since",
        )
    return line


def _rows(rows: Iterable[Any]) -> Iterator[bytes]:
    """Lines of rows, each as soon as it is large enough."""
    held: list[bytes] = []
    size = 0
    for row in rows:
        held.append(msgspec.json.encode(row))
        size += len(held[-1])
        if size >= wire.ROWS_LINE_BYTES:
            yield _bounded(b'{"rows":[%b]}\n' % b",".join(held))
            held, size = [], 0
    if held:
        yield _bounded(b'{"rows":[%b]}\n' % b",".join(held))


if __name__ == "__main__":
    sys.exit(main())
