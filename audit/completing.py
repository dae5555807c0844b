"""Live values for the Tab key: SQLite only, silent about trouble, harmless to a shell."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from audit import screen as output
from audit import wiring
from audit.call import Call
from audit_events.errors import AuditError, Exit
from audit_events.layout import StorePaths
from audit_events.text import terminal
from query.contracts import Scope

MAX_VALUES: Final = 200
_TIMES: Final = ("15m", "1h", "24h", "7d", "today", "yesterday", "now")
_FORMATS: Final = {
    "tail": "table ndjson json logfmt csv",
    "export": "json ndjson csv logfmt parquet",
    "decode": "ndjson json csv logfmt",
    "show": "table json markdown",
    "runs": "table json ndjson csv markdown",
    "stats": "table json ndjson csv markdown",
    "explain": "text markdown",
}
_DEFAULT_FORMATS: Final = "table json ndjson logfmt csv parquet markdown"
_SHORT: Final = {"-s": "--sandbox", "-r": "--run", "-p": "--path", "-g": "--grep"}
# Columns of the refusals that are kept hot, by filter.
_HOT: Final = {
    "rule": "policy_rule", "path": "path", "dst": "dst", "target": "target", "process": "process",
    "policy": "policy", "enforcer": "enforcer", "syscall": "syscall", "tool": "tool",
    "pid": "pid", "rule-index": "rule_index",
}  # fmt: skip
# Verbs whose bare words are filters, and those whose word is an event.
_ASKING: Final = ("query", "tail", "export", "runs", "stats")
_EVENTS: Final = ("explain", "show")


def complete(call: Call, words: Sequence[str]) -> Exit:
    """Print what may follow: `words` are the verb, the word before, and what is typed so far.

    `--` stands before them, so that a flag among them is no flag of this call.
    """
    words = words[1:] if words[:1] == ["--"] else words
    verb, before, typed = (*words, "", "", "")[:3]
    try:
        values = list(_values(call, verb, before))
    except (AuditError, OSError, sqlite3.Error, ValueError):
        return Exit.DONE
    sign = "!" if typed.startswith("!") else ""
    fitting = [f"{sign}{value}" for value in values if value.startswith(typed.removeprefix("!"))]
    output.put(list(dict.fromkeys(filter(_harmless, fitting)))[:MAX_VALUES])
    return Exit.DONE


def _harmless(value: str) -> bool:
    """A name that a terminal shows as it is; others cannot be typed anyhow."""
    return bool(value) and terminal(value, unicode=False) == value


def _values(call: Call, verb: str, before: str) -> Iterable[str]:
    flag = _SHORT.get(before, before)
    if not flag.startswith("-"):
        return _words(call, verb)
    name = flag.removeprefix("--").removeprefix("not-")
    if name in ("since", "until", "around"):
        return _TIMES
    if name == "format":
        return _FORMATS.get(verb, _DEFAULT_FORMATS).split()
    if name in ("columns", "by"):
        from audit_events.schema import COLUMN_NAMES

        return (*(("day", "hour") if name == "by" else ("event_id",)), *COLUMN_NAMES)
    if name in _FIXED:
        return _FIXED[name]
    return _of_filter(call, name)


_FIXED: Final = {
    "order": ("asc", "desc"), "color": ("auto", "always", "never"), "clock": ("event", "arrival"),
    "topic": (),
}  # fmt: skip


def _of_filter(call: Call, name: str) -> Iterable[str]:
    from query.filters import BY_FLAG

    if name in BY_FLAG and BY_FLAG[name].values:
        return BY_FLAG[name].values
    store = wiring.existing_store(call)
    return () if store is None else values_of(store, name)


def values_of(store: StorePaths, name: str, scope: Scope = None) -> Iterable[str]:
    """Values that a filter may have, by what the store holds of a scope."""
    if name in _HOT:
        return _hot(store, _HOT[name], scope)
    return _FROM_STORE[name](store, scope) if name in _FROM_STORE else ()


def _words(call: Call, verb: str) -> Iterable[str]:
    if verb == "help":
        from audit import commands
        from audit.topics import topics

        return (*topics(), *sorted(commands.names()))
    if verb == "completion":
        return ("zsh", "bash", "fish")
    store = wiring.existing_store(call)
    if store is not None and verb in _ASKING:
        return ("deny", "allow", *_sandboxes(store))
    if store is not None and verb in _EVENTS:
        return ("last", *(str(row) for row in _hot(store, "seq")))
    return ()


def _sandboxes(store: StorePaths, scope: Scope = None) -> Iterable[str]:
    from query.views import known_sandboxes

    return [name for name in known_sandboxes(store) if scope is None or name in scope]


def _hot(store: StorePaths, column: str, scope: Scope = None) -> Iterator[str]:
    """What the newest refusals held, the newest first."""
    from query.views import hot_denies

    for row in hot_denies(store):
        seen = scope is None or row.get("sandbox") in scope
        if seen and (value := row.get(column)) is not None:
            yield str(value)


def _of_runs(sql: str, store: StorePaths, scope: Scope) -> Iterable[str]:
    from query.runs import in_scope
    from query.snapshot import reading

    where, params = in_scope(scope)
    with reading(store) as con:
        found = con.execute(sql.format(where), (*params, MAX_VALUES))
        return [str(value) for (value,) in found]


def _runs(store: StorePaths, scope: Scope = None) -> Iterable[str]:
    newest = "SELECT correlation_id FROM runs WHERE {} ORDER BY last_ts DESC LIMIT ?"
    return ("last", "last~1", *_of_runs(newest, store, scope))


def _hosts(store: StorePaths, scope: Scope = None) -> Iterable[str]:
    names = "SELECT DISTINCT host FROM runs WHERE {} ORDER BY host LIMIT ?"
    return _of_runs(names, store, scope)


def _sources(store: StorePaths, scope: Scope = None) -> Iterable[str]:
    from query.views import source_states

    names = [state.source for state in source_states(store)][:MAX_VALUES]
    if scope is None:
        return names
    from query.scoping import sources_of
    from query.snapshot import open_snapshot

    with open_snapshot(store) as snapshot:
        delivered = sources_of(snapshot, names, scope)
    return [name for name in names if name in delivered]


def _cursors(store: StorePaths, _scope: Scope = None) -> Iterable[str]:
    from contextlib import closing

    uri = store.control.resolve().as_uri() + "?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as con:
        return [name for (name,) in con.execute("SELECT name FROM cursors ORDER BY name")]


_FROM_STORE: Final[dict[str, Callable[[StorePaths, Scope], Iterable[str]]]] = {
    "sandbox": _sandboxes,
    "run": _runs,
    "cursor": _cursors,
    "source": _sources,
    "host": _hosts,
}
