"""What commands read: from the store's files, or through a read socket where this account may not
open them.

Each function marked `verb` is a question that a read socket answers, and there are no others.
"""

import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from audit.read_socket import ReadSocket
from audit_events.errors import UsageError
from audit_events.layout import StorePaths
from query import views
from query.contracts import Answer, Gap, Request, Row, Window
from query.runs import Run
from query.snapshot import SourceState, read_meta, reading
from query.views import Collector

if TYPE_CHECKING:
    from audit.policy_records import Records
    from query.engine import Count, Page
    from query.run_list import RunList
    from query.situation import Situation
    from query.stats import Counting, Stats
    from query.status import Status
    from query.story import Neighbours, Story
    from query.trail import News

Store = StorePaths | ReadSocket
P = ParamSpec("P")
T = TypeVar("T")

# Through a socket an answer comes from the memory of one process, so it has an end.
MAX_ANSWER_ROWS: Final = 20_000
MAX_CONTEXT: Final = 10_000

VERBS: Final[dict[str, Callable[..., Any]]] = {}


def verb(
    function: Callable[Concatenate[StorePaths, P], T],
) -> Callable[Concatenate[Store, P], T]:
    """A question of plain words, asked where the store is."""
    VERBS[function.__name__] = function

    def read(store: Store, /, *words: P.args, **named: P.kwargs) -> T:
        if isinstance(store, StorePaths):
            return function(store, *words, **named)
        given: T = store.ask(function.__name__, words, value_type(function), named)
        return given

    return read


@verb
def answer(store: StorePaths, request: Request) -> Answer:
    """As `engine.answer`."""
    from query import engine

    return engine.answer(store, request)


@verb
def count(
    store: StorePaths, request: Request, patience_s: float | None = None, merged: bool = False
) -> "Count":
    """As `engine.count`."""
    from query import engine

    return engine.count(store, request, patience_s=patience_s, merged=merged)


@verb
def situation(store: StorePaths, now: int, midnight: int) -> "Situation":
    """As `query.situation`."""
    from query.situation import situation

    return situation(store, now, midnight)


@verb
def status(store: StorePaths, now: int, midnight: int) -> "Status":
    """As `query.status`."""
    from query.status import status

    return status(store, now, midnight)


@verb
def newest_runs(store: StorePaths, request: Request, now: int, outside: bool = False) -> "RunList":
    """As `run_list.newest_runs`."""
    from query import run_list

    return run_list.newest_runs(store, request, now, outside=outside)


@verb
def disk_free(store: StorePaths) -> int:
    """Bytes that are free where the store lies."""
    return shutil.disk_usage(store.root).free


@verb
def neighbours(store: StorePaths, seq: int, request: Request, context: int) -> "Neighbours":
    """As `story.neighbours`, with at most MAX_CONTEXT on each side."""
    from query import story

    return story.neighbours(store, seq, request, min(context, MAX_CONTEXT))


@verb
def removal(store: StorePaths, seq: int) -> "tuple[int, str, int] | None":
    """(when in µs, why, events) of the removal that took an event; None if none did."""
    with reading(store) as con:
        row = con.execute(
            "SELECT at, reason, rows FROM removals WHERE ? BETWEEN min_seq AND max_seq", (seq,)
        ).fetchone()
        return None if row is None else (int(row[0]), str(row[1]), int(row[2]))


@verb
def policy_texts(store: StorePaths, digests: list[str]) -> dict[str, str]:
    """As `policy_records.texts_of`."""
    from audit import policy_records

    return policy_records.texts_of(store, digests)


@verb
def policy_records(store: StorePaths, digest: str, sandbox: str, ts: int) -> "Records | None":
    """As `policy_records.records_of`."""
    from audit import policy_records

    return policy_records.records_of(store, digest, sandbox, ts)


@verb
def gaps(store: StorePaths, window: Window) -> tuple[Gap, ...]:
    """As `views.gaps`."""
    return views.gaps(store, window)


@verb
def known_sandboxes(store: StorePaths) -> list[str]:
    """As `views.known_sandboxes`."""
    return views.known_sandboxes(store)


@verb
def hot_denies(store: StorePaths) -> list[Row]:
    """As `views.hot_denies`."""
    return views.hot_denies(store)


@verb
def runs_by_prefix(store: StorePaths, prefix: str) -> list[Run]:
    """As `views.runs_by_prefix`."""
    return views.runs_by_prefix(store, prefix)


@verb
def newest_runs_named(store: StorePaths) -> str:
    """As `views.newest_runs_named`."""
    return views.newest_runs_named(store)


@verb
def source_states(store: StorePaths) -> tuple[SourceState, ...]:
    """As `views.source_states`."""
    return views.source_states(store)


@verb
def newest_seq(store: StorePaths) -> int:
    """As `views.newest_seq`."""
    return views.newest_seq(store)


@verb
def store_id(store: StorePaths) -> str:
    """The store's short name."""
    with reading(store) as con:
        return str(read_meta(con)["store"])


@verb
def last_collector(store: StorePaths, now: int) -> Collector:
    """As `views.collector`."""
    return views.collector(store, now)


def collector(store: Store, now: int) -> Collector:
    """Who collects; a follower through a socket was told with the news."""
    if isinstance(store, ReadSocket) and store.told is not None:
        return store.told
    return last_collector(store, now)


def story(store: Store, word: str, request: Request, sandbox: str | None = None) -> "Story":
    """As `story.story`."""
    if isinstance(store, ReadSocket):
        from audit.reading_forms import StoryForm, story_of

        return story_of(store.ask("story", [word, request, sandbox], StoryForm))
    from query import story

    return story.story(store, word, request, sandbox)


def stats(store: Store, request: Request, counting: "Counting") -> "Stats":
    """As `stats.stats`."""
    if isinstance(store, ReadSocket):
        from audit.reading_forms import StatsForm, counting_words, stats_of

        words = [request, *counting_words(counting)]
        return stats_of(store.ask("stats", words, StatsForm), counting)
    from query import stats

    return stats.stats(store, request, counting)


def pages(store: Store, request: Request, after_seq: int = 0) -> "Iterator[Page]":
    """As `engine.pages`, all of them."""
    from query import engine

    if isinstance(store, ReadSocket):
        import pyarrow as pa
        from arro3.core import Table

        from audit.reading_streams import Rows
        from audit_events.arrow import EVENT_SCHEMA

        for found in store.stream("pages", [after_seq, request], Rows):
            if found is None:
                store.give_up()
            else:
                table = Table.from_arrow(pa.Table.from_pylist(found.rows, EVENT_SCHEMA))
                yield engine.Page(table, len(found.rows), found.upto, found.damaged)
        return
    yield from engine.pages(store, request, after_seq)


def follow(store: Store, after_seq: int, request: Request, quiet_s: float) -> "Iterator[News]":
    """As `trail.follow`, for ever: a socket that closes is opened again, and nothing is missed."""
    from threading import Event

    from audit.reading_streams import Told
    from query import trail

    if isinstance(store, ReadSocket):
        upto = after_seq
        for found in store.stream("follow", [after_seq, request, quiet_s], Told):
            if found is not None:
                upto, store.told = found.upto, found.collector
                yield trail.News(found.rows, found.gaps, upto)
            else:
                yield trail.News([], (), upto)
        return
    yield from trail.follow(store, after_seq, request, Event(), quiet_s=quiet_s)


def word_types(function: Callable[..., Any]) -> tuple[dict[str, Any], set[str]]:
    """The types of a verb's words by name, in order, and which of them must be there."""
    kinds = _hints(function)
    kinds.pop("return")
    needed = len(kinds) - len(function.__defaults__ or ())
    return kinds, set(list(kinds)[:needed])


def value_type(function: Callable[..., Any]) -> Any:
    """The type of what a verb gives."""
    return _hints(function)["return"]


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    from typing import get_type_hints

    from audit.policy_records import Records
    from query.engine import Count
    from query.run_list import RunList
    from query.situation import Situation
    from query.status import Status
    from query.story import Neighbours

    kinds = (Count, Neighbours, Records, RunList, Situation, Status)
    later = {kind.__name__: kind for kind in kinds}
    hints = get_type_hints(function, localns=later)
    hints.pop("store")
    return hints


def refuse_large(request: Request) -> None:
    """UsageError for an answer too large for one process's memory."""
    if request.limit is None or request.limit > MAX_ANSWER_ROWS:
        raise UsageError(
            f"a read socket gives at most {MAX_ANSWER_ROWS:,} events in one answer",
            hint="-n 0 gives all, a page at a time",
        )
