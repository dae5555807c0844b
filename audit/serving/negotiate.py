"""Which form of an answer the caller takes, and events streamed in it at any size."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from audit.serving.errors import not_acceptable
from audit_events.layout import StorePaths
from exporters.contracts import Encoder, load_format
from query import engine
from query.contracts import Damaged, Request
from query.engine import Page

if TYPE_CHECKING:
    import pyarrow as pa

JSON: Final = "application/json"
ARROW: Final = "application/vnd.apache.arrow.stream"
# A stream holds one page at a time, a few megabytes.
PAGE_ROWS: Final = 8_192


@dataclass(frozen=True, slots=True)
class Form:
    """A media type and what writes it; `make` None is the JSON answer of one page."""

    media: str
    make: Callable[[Sequence[str]], Encoder] | None


class ArrowStream:
    """The streaming IPC format, with the types that files have."""

    def __init__(self, columns: Sequence[str]) -> None:
        import pyarrow as pa

        from exporters.formats._arrow import Sink, field

        self._schema = pa.schema([field(name) for name in columns])
        self._sink = Sink()
        self._writer = pa.ipc.new_stream(self._sink, self._schema)

    def start(self) -> bytes:
        """The schema."""
        return self._sink.take()

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """One record batch."""
        import pyarrow as pa

        arrays = [pa.array([row.get(f.name) for row in rows], f.type) for f in self._schema]
        return self._put(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def batch(self, batch: "pa.RecordBatch") -> bytes:
        """One record batch."""
        import pyarrow as pa

        from exporters.formats._arrow import column

        arrays = [column(batch, f.name).cast(f.type) for f in self._schema]
        return self._put(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def end(self) -> bytes:
        """The end of the stream."""
        self._writer.close()
        return self._sink.take()

    def _put(self, batch: "pa.RecordBatch") -> bytes:
        if batch.num_rows:
            self._writer.write_batch(batch)
        return self._sink.take()


def _of_format(name: str) -> Callable[[Sequence[str]], Encoder]:
    return lambda columns: load_format(name).make(columns)


FORMS: Final = (
    Form(JSON, None),
    Form("application/x-ndjson", _of_format("ndjson")),
    Form("text/csv", _of_format("csv")),
    Form(ARROW, ArrowStream),
)


def chosen(accept: str | None) -> Form:
    """The form that an Accept header prefers; Refused (406) if it takes none of ours."""
    wanted = _weights(accept or "*/*")
    best, most = FORMS[0], 0.0
    for form in FORMS:
        weight = _weight(form.media, wanted)
        if weight > most:
            best, most = form, weight
    if most <= 0:
        raise not_acceptable(
            "no form of the answer is accepted", hint=", ".join(form.media for form in FORMS)
        )
    return best


def _weights(accept: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in accept.split(","):
        media, *parameters = (piece.strip() for piece in part.lower().split(";"))
        quality = next((p[2:] for p in parameters if p.startswith("q=")), "1")
        try:
            found[media] = min(max(float(quality), 0.0), 1.0)
        except ValueError:
            found[media] = 0.0
    return found


def _weight(media: str, wanted: Mapping[str, float]) -> float:
    for pattern in (media, media.partition("/")[0] + "/*", "*/*"):
        if pattern in wanted:
            return wanted[pattern]
    return 0.0


class DamagedError(Exception):
    """A stream has given all that can be read; files that cannot be are named in our own log."""

    def __init__(self, files: Sequence[Damaged]) -> None:
        super().__init__(f"{len(files)} damaged files")
        self.files = tuple(files)


def streamed(
    store: StorePaths, request: Request, encoder: Encoder, after: int, limit: int | None
) -> Iterator[bytes]:
    """The document in pieces: all matches after a seq, or the first `limit` of them.

    DamagedError at its end if files could not be read: then the document is not closed, so nobody
    takes it for whole.
    """
    yield encoder.start()
    left, bad = limit, dict[str, Damaged]()
    for page in engine.pages(store, request, after, PAGE_ROWS):
        bad.update({file.path: file for file in page.damaged})
        for batch in _batches(page, left):
            left = None if left is None else left - batch.num_rows
            yield encoder.batch(batch)
        if left == 0:
            break
    if bad:
        raise DamagedError(tuple(bad.values()))
    yield encoder.end()


def _batches(page: Page, left: int | None) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa

    table = pa.table(page.table)
    yield from (table if left is None else table.slice(0, left)).to_batches()
