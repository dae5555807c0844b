"""`audit export`: everything that matches, in a file that is whole, with a manifest beside it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol

from audit import reads, wiring
from audit import screen as output
from audit.asking import Question
from audit.call import Call
from audit.nothing import tell_nothing
from audit.progress import Progress
from audit.querying import Limit, arrow_batches, searched_by, tell_damaged
from audit.read_socket import ReadSocket
from audit.reads import Store
from audit.render_time import count, size
from audit.screen import Screen
from audit_events.errors import Exit, UsageError
from exporters import cursor as cursors
from exporters.contracts import ALL_COLUMNS, Format, load_format
from exporters.files import AtomicFile
from exporters.manifest import (
    SUFFIX,
    Content,
    Cursor,
    Manifest,
    MissingFile,
    exported_gap,
    to_json,
)
from query.contracts import Answer, Damaged, Gap

DEFAULT_FORMAT: Final = "json"
_BY_SUFFIX: Final = {".jsonl": "ndjson", ".log": "logfmt"}
# More than this on a terminal is a mistake.
MAX_TERMINAL_EVENTS: Final = 1000
STDOUT: Final = "-"
ALL: Final = Limit(None)


@dataclass(frozen=True, slots=True)
class Order:
    """What to export, how, and where to; `path` None is stdout."""

    format: Format
    path: Path | None = None
    columns: tuple[str, ...] = ALL_COLUMNS
    limit: Limit = ALL
    cursor: str | None = None
    quiet: bool = False
    progress: Progress | None = None

    def tell(self, done: int, rows: int) -> None:
        """So far: seqs looked at, and events written."""
        if self.progress is not None:
            self.progress.tell(done, rows)

    def close(self) -> None:
        """No more is to be told."""
        if self.progress is not None:
            self.progress.close()


@dataclass(slots=True)
class Result:
    """What was written, and what a reader must know."""

    content: Content = field(default_factory=Content)
    upto: int = 0
    more: bool = False
    searched: int = 0
    damaged: dict[str, Damaged] = field(default_factory=dict)


class Sink(Protocol):
    """Takes the bytes of an export."""

    def write(self, data: bytes) -> None:
        """Some more of it."""
        ...


class _Stdout:
    def __init__(self, screen: Screen) -> None:
        self._terminal = screen.terminal

    def write(self, data: bytes) -> None:
        output.put_document(data, terminal=self._terminal)


def order_of(
    output_path: str | None,
    format_name: str | None,
    columns: tuple[str, ...] | None,
    limit: Limit,
    cursor: str | None,
    *,
    quiet: bool = False,
) -> Order:
    """The order that the flags mean; the file's suffix tells the format if no flag does."""
    path = None if output_path in (None, STDOUT) else Path(str(output_path)).expanduser()
    if path is not None and path.is_dir():
        raise UsageError(f"-o {path}: is a folder", hint=f"-o {path / 'events.json'}")
    if path is not None and path.exists() and not path.is_file():
        # A whole file takes its name at once: it would take the place of /dev/null, or of a pipe.
        raise UsageError(f"-o {path}: is no ordinary file", hint="without -o it goes to stdout")
    suffix = path.suffix.lower() if path else ""
    guess = _BY_SUFFIX.get(suffix, suffix[1:]) or DEFAULT_FORMAT
    chosen = load_format(format_name or guess)
    return Order(chosen, path, columns or ALL_COLUMNS, limit, cursor, quiet)


def export(call: Call, store: Store, asked: Question, order: Order) -> Exit:
    """Write the export, its manifest, and then move the cursor; the exit code says how whole."""
    screen = output.screen(call)
    for warning in asked.warnings:
        screen.voice.warning(warning)
    if order.path is None:
        _refuse_terminal(screen, store, asked, order)
    after = _position(store, order)
    order = replace(order, progress=_progress(screen, store, order, after))
    try:
        if order.path is None:
            result = _write(_Stdout(screen), store, asked, order, after)
            output.flush()
            described = "stdout"
        else:
            result, described = _to_file(call, store, asked, order, after)
    finally:
        order.close()
    _move_cursor(call, store, order, result, after)
    return _conclude(call, screen, store, asked, order, result, described)


def _refuse_terminal(screen: Screen, store: Store, asked: Question, order: Order) -> None:
    """T7: nothing binary, and nothing endless, on a terminal."""
    if not screen.terminal:
        return
    if not order.format.text:
        raise UsageError(f"{order.format.name} on a terminal", hint="-o FILE")
    if order.limit.number is not None:
        return
    number = reads.count(store, asked.request(None)).records
    if number > MAX_TERMINAL_EVENTS:
        raise UsageError(
            f"this would print {count(number)} events on your terminal",
            hint="-o FILE, | less, or -n 100",
        )


def _to_file(
    call: Call, store: Store, asked: Question, order: Order, after: int
) -> tuple[Result, str]:
    assert order.path is not None  # noqa: S101  narrowed by the caller
    manifest_path = order.path.with_name(order.path.name + SUFFIX)
    with AtomicFile(order.path) as file:
        result = _write(file, store, asked, order, after)
    with AtomicFile(manifest_path) as beside:
        beside.write(to_json(_manifest(call, store, asked, order, (result, after, file))))
    described = f"{order.path}, {size(file.bytes)}; manifest {manifest_path.name}"
    return result, described


def _write(sink: Sink, store: Store, asked: Question, order: Order, after: int) -> Result:
    encoder = order.format.make(order.columns)
    result = Result()
    sink.write(encoder.start())
    if order.limit.number is None or order.cursor:
        for batch in _batches(store, asked, order, after, result):
            sink.write(encoder.batch(batch))
    else:
        limit = order.limit
        answer = reads.answer(store, asked.request(limit.number, oldest=limit.oldest))
        kinds = Counter(row["kind"] for row in answer.rows)
        result.content.add([row["seq"] for row in answer.rows], kinds)
        result.more, result.upto, result.searched = answer.more, answer.upto, answer.searched
        result.damaged = {file.path: file for file in answer.damaged}
        sink.write(encoder.rows(answer.rows))
    sink.write(encoder.end())
    return result


def _batches(
    store: Store, asked: Question, order: Order, after: int, result: Result
) -> Iterator[Any]:
    """Pages as Arrow batches; a limit takes the oldest, so that a cursor loses nothing."""
    left = order.limit.number
    result.upto = after
    for page in reads.pages(store, asked.request(None), after):
        result.damaged.update({file.path: file for file in page.damaged})
        for batch in arrow_batches(page.table):
            taken = batch if left is None else batch.slice(0, left)
            if taken.num_rows:
                _count(result.content, taken)
                yield taken
            left = None if left is None else left - taken.num_rows
            if taken.num_rows < batch.num_rows:
                result.more, result.upto = True, result.content.last_seq or after
                return
        result.upto = page.upto
        order.tell(page.upto - after, result.content.rows)


def _progress(screen: Screen, store: Store, order: Order, after: int) -> Progress:
    """Data on a terminal is progress enough."""
    span = reads.newest_seq(store) - after
    quiet = order.quiet or (order.path is None and screen.terminal)
    return Progress(screen.voice, "export", unit="events", total=span, quiet=quiet)


def _count(content: Content, batch: Any) -> None:
    import pyarrow.compute as pc

    seqs = batch.column("seq")
    counted = pc.value_counts(batch.column("kind")).to_pylist()
    content.add(_Ends(seqs), {item["values"]: item["counts"] for item in counted})


class _Ends(Sequence[int]):
    """A column's length, first and last value, without making a list of it."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, index: Any) -> Any:
        return self._column[index].as_py()


def _position(store: Store, order: Order) -> int:
    """Where the order's cursor stands; UsageError where it could not be moved afterwards."""
    if order.cursor is None:
        return 0
    if isinstance(store, ReadSocket):
        raise UsageError(
            "--cursor is kept in the store, and a read socket changes nothing there",
            hint="--seq A:B, from the seq after the last one of the file before",
        )
    return cursors.position(store.control, order.cursor)


def _move_cursor(call: Call, store: Store, order: Order, result: Result, after: int) -> None:
    """Only once the file is in place, and never past rows that could not be read."""
    if isinstance(store, ReadSocket):
        return
    if order.cursor and _moves(order, result, after):
        cursors.advance(store.control, order.cursor, after=after, upto=result.upto, now=call.now())


def _cursor(order: Order, result: Result, after: int) -> Cursor | None:
    if not order.cursor:
        return None
    return Cursor(order.cursor, after, result.upto, _moves(order, result, after))


def _moves(order: Order, result: Result, after: int) -> bool:
    return bool(order.cursor) and not result.damaged and result.upto > after


def _manifest(
    call: Call,
    store: Store,
    asked: Question,
    order: Order,
    written: tuple[Result, int, AtomicFile],
) -> Manifest:
    result, after, file = written
    window = asked.window
    gaps = reads.gaps(store, window)
    return Manifest(
        file=file.path.name,
        format=order.format.name,
        bytes=file.bytes,
        sha256=file.sha256,
        store=reads.store_id(store),
        host=wiring.host_name(call),
        created_at=call.now(),
        content=result.content,
        columns=order.columns,
        filters=asked.values,
        window=(window.since, window.until, window.clock),
        limit=order.limit.number,
        more=result.more,
        gaps=[exported_gap(g.source, g.since, g.until, g.reason, g.count) for g in gaps],
        damaged=[MissingFile(d.path, d.rows) for d in result.damaged.values()],
        cursor=_cursor(order, result, after),
    )


def _conclude(
    call: Call,
    screen: Screen,
    store: Store,
    asked: Question,
    order: Order,
    result: Result,
    described: str,
) -> Exit:
    damaged = tuple(result.damaged.values())
    tell_damaged(screen, damaged)
    content = result.content
    if not content.rows and order.cursor and not damaged and not result.more:
        screen.voice.line(f"nothing new for {order.cursor}: it has everything up to now")
        return Exit.DONE
    if not content.rows:
        gaps: tuple[Gap, ...] = reads.gaps(store, asked.window)
        searched = result.searched or searched_by(store, asked)
        answer = Answer([], False, searched, result.upto, gaps, damaged)
        code = tell_nothing(store, asked, answer, screen, call.now())
        return Exit.PARTIAL if damaged else code
    if not order.quiet:
        span = f"seq {count(content.first_seq or 0)} to {count(content.last_seq or 0)}"
        screen.voice.line(f"exported {count(content.rows)} events ({span}) to {described}")
        if result.more:
            end = "oldest" if order.limit.oldest or order.cursor else "newest"
            limit = count(order.limit.number or 0)
            screen.voice.note(f"only the {end} {limit}: more match")
    return Exit.PARTIAL if damaged else Exit.DONE
