"""The near end of a read socket: a store whose files this account may not open."""

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from audit_events.errors import StorageError

if TYPE_CHECKING:
    from query.views import Collector

PREFIX: Final = "unix:"
# A reader is a process at the other end, which takes a moment to start on a busy machine.
ANSWER_S: Final = 120.0
# Pauses between attempts to reach a collector that is away, and how long pages wait for it.
AGAIN_S: Final = 0.5
PATIENCE_S: Final = 15.0


class ReadSocket:
    """Asks through the socket at `path`: one connection for questions, one for each stream."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Who collects, as the last news said; None where nothing is followed.
        self.told: Collector | None = None
        self._talk: _Talk | None = None
        self._away_since: float | None = None

    def __str__(self) -> str:
        return f"{PREFIX}{self.path}"

    def ask(
        self, verb: str, words: Sequence[Any], kind: Any, named: Mapping[str, Any] | None = None
    ) -> Any:
        """The one value of a verb; raises what the other end raised, StorageError without one."""
        # The other end lets idle connections go, and a new collector knows nothing of the old ones.
        attempts = 1 if self._talk is None else 2
        for left in reversed(range(attempts)):
            try:
                self._talk = self._talk or _Talk(self.path)
                [value] = self._talk.values(verb, words, kind, named)
                return value
            except (OSError, EOFError) as error:
                self.close()
                if not left:
                    raise self._unreached(error) from error
        raise AssertionError  # pragma: no cover - the last attempt returns or raises

    def stream(self, verb: str, words: Sequence[Any], kind: Any) -> Iterator[Any]:
        """The values of a verb whose first word is the seq to go on after.

        Once a value has come a lost connection is opened again, and the stream goes on after the
        last one; None comes every AGAIN_S for as long as nobody answers.
        """
        self.close()
        after, begun = words[0], False
        while True:
            came = False
            try:
                with contextlib.closing(_Talk(self.path)) as talk:
                    for value in talk.values(verb, [after, *words[1:]], kind):
                        after, begun, came, self._away_since = value.upto, True, True, None
                        yield value
                return
            except (OSError, EOFError) as error:
                if not begun:
                    raise self._unreached(error) from error
            if not came:
                self._nobody()
                yield None
                time.sleep(AGAIN_S)

    def give_up(self) -> None:
        """StorageError once nobody has answered for PATIENCE_S."""
        if self._away_since is not None and time.monotonic() - self._away_since > PATIENCE_S:
            raise self._unreached(EOFError())

    def close(self) -> None:
        """End the connection for questions; the next one opens another."""
        if self._talk is not None:
            self._talk.close()
            self._talk = None

    def _nobody(self) -> None:
        """Whoever collected was last seen when we last heard from it."""
        if self._away_since is None:
            self._away_since = time.monotonic()
            if self.told is not None and self.told.state == "running":
                heard = time.time_ns() // 1000
                self.told = replace(self.told, state="dead", heartbeat=heard)

    def _unreached(self, error: OSError | EOFError) -> StorageError:
        if isinstance(error, PermissionError):
            return StorageError(
                f"{self}: this account may not use it",
                hint="its group is named in [read] of the collector's audit.toml",
            )
        if isinstance(error, FileNotFoundError | ConnectionRefusedError):
            return StorageError(f"{self}: nobody answers", hint="is the collector running?")
        return StorageError(
            f"{self}: the connection was cut in the midst of an answer",
            hint="the collector stopped, or the answer was not taken for some seconds; ask again",
        )


class _Talk:
    """One connection."""

    def __init__(self, path: Path) -> None:
        import socket

        from audit import reading_wire as wire

        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._sock.settimeout(ANSWER_S)
            self._sock.connect(str(path))
        except BaseException:
            self._sock.close()
            raise
        self._lines = wire.lines(self._sock, wire.MAX_LINE_BYTES)

    def values(
        self, verb: str, words: Sequence[Any], kind: Any, named: Mapping[str, Any] | None = None
    ) -> Iterator[Any]:
        """Ask, and take the answer; EOFError if it is cut off."""
        import msgspec

        from audit import reading_wire as wire

        # One that turns us away says why before it has heard anything.
        with contextlib.suppress(BrokenPipeError):
            self._sock.sendall(wire.encoded(wire.Ask(verb, list(words), dict(named or {}))))
        rows: list[dict[str, Any]] = []
        try:
            for line in self._lines:
                said = msgspec.json.decode(line, type=wire.Line)
                if said.error is not None:
                    raise wire.raised(said.error)
                rows += said.rows
                if said.value:
                    value = msgspec.json.decode(said.value, type=kind)
                    yield _with_rows(value, rows) if hasattr(value, "rows") else value
                    rows = []
                if said.end:
                    return
        except (msgspec.DecodeError, wire.TooLongError):
            raise StorageError(
                "the read socket speaks otherwise than this sandtrail",
                hint="restart the collector after an upgrade",
            ) from None
        raise EOFError

    def close(self) -> None:
        """Nothing more is asked."""
        self._sock.close()


def _with_rows(value: Any, rows: list[dict[str, Any]]) -> Any:
    """The value with its rows, which came before it, in the kind of sequence it holds them in."""
    return replace(value, rows=type(value.rows)(rows))
