"""Which run a person means: the last, the one before, or a prefix of its id; SQLite only."""

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from audit_events.errors import UsageError
from query.contracts import Request, Scope

MAX_RUNS_BACK: Final = 10_000
# Runs named in a message.
MAX_NAMED: Final = 5
_LAST: Final = re.compile(r"last(?:~([0-9]{1,5}))?")


class NoRunError(UsageError):
    """There is no such run, or none that the asker may see."""


@dataclass(frozen=True, slots=True)
class Run:
    """What the collector counted of a run; times in µs; `guessed` events were joined by guess."""

    correlation_id: str
    host: str
    sandbox: str
    first_ts: int
    last_ts: int
    first_seq: int
    last_seq: int
    allow: int
    deny: int
    other: int
    guessed: int


_COLUMNS: Final = (
    "correlation_id, host, sandbox, first_ts, last_ts, first_seq, last_seq, allow, deny, other,"
    " guessed"
)


# A process outside any sandbox is a run by itself; nobody means it with `last`.
OUTSIDE: Final = "(correlation_id >= 'os:' AND correlation_id < 'os;')"


def in_scope(scope: Scope) -> tuple[str, list[str]]:
    """The condition of a scope on a run, and its values; SQL of SQLite."""
    if scope is None:
        return "true", []
    return f"sandbox IN ({', '.join('?' * len(scope))})", list(scope)


def last_run(
    con: sqlite3.Connection, back: int = 0, sandbox: str | None = None, scope: Scope = None
) -> Run | None:
    """The run whose newest event is newest, or the `back`-th before it; of one sandbox if named.

    Processes outside any sandbox count only where there is nothing else.
    """
    where, params = in_scope(scope)
    where, params = (f"{where} AND sandbox = ?", [*params, sandbox]) if sandbox else (where, params)
    for kind in (f"NOT {OUTSIDE}", OUTSIDE):
        row = con.execute(
            f"SELECT {_COLUMNS} FROM runs WHERE {kind} AND {where}"  # noqa: S608
            " ORDER BY last_ts DESC, correlation_id LIMIT 1 OFFSET ?",
            [*params, min(back, MAX_RUNS_BACK)],
        ).fetchone()
        if row or back:
            break
    return Run(*row) if row else None


def run_named(
    con: sqlite3.Connection, word: str, sandbox: str | None = None, scope: Scope = None
) -> Run:
    """The one run that `last`, `last~N`, an id or the beginning of an id means.

    UsageError, with those that it may mean, if that is none or several.
    """
    if match := _LAST.fullmatch(word):
        run = last_run(con, int(match[1] or 0), sandbox, scope)
        if run is None:
            raise NoRunError(f"{word}: no such run{_of(con, sandbox, scope)}", hint="audit runs")
        return run
    found = runs_by_prefix(con, word, MAX_NAMED + 1, scope) if word else []
    if exact := [run for run in found if run.correlation_id == word]:
        return exact[0]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoRunError(f'no run begins with "{word}"', hint=newest_named(con, scope))
    raise UsageError(f'"{word}" is the beginning of several runs: {names(found)}', hint="type more")


def names(found: Sequence[Run], most: int = MAX_NAMED) -> str:
    """Runs in a message: id and sandbox of each, as many as one reads."""
    shown = ", ".join(f"{run.correlation_id} ({run.sandbox or '-'})" for run in found[:most])
    return shown + (", …" if len(found) > most else "")


def newest_named(con: sqlite3.Connection, scope: Scope = None) -> str:
    """The newest runs in a message, or where to look for any."""
    where, params = in_scope(scope)
    rows = con.execute(
        f"SELECT {_COLUMNS} FROM runs WHERE NOT {OUTSIDE} AND {where}"  # noqa: S608
        " ORDER BY last_ts DESC LIMIT ?",
        (*params, MAX_NAMED),
    )
    found = [Run(*row) for row in rows]
    return f"the newest are {names(found)}" if found else "audit runs"


def runs_by_prefix(
    con: sqlite3.Connection, prefix: str, limit: int = 20, scope: Scope = None
) -> list[Run]:
    """At most `limit` runs whose id starts so: the one of just this id, then newest first."""
    where, params = in_scope(scope)
    rows = con.execute(
        f"SELECT {_COLUMNS} FROM runs WHERE substr(correlation_id, 1, ?) = ? AND {where}"  # noqa: S608
        " ORDER BY correlation_id = ? DESC, last_ts DESC LIMIT ?",
        (len(prefix), prefix, *params, prefix, limit),
    )
    return [Run(*row) for row in rows]


def with_runs_resolved(request: Request, con: sqlite3.Connection) -> Request:
    """The request with `last` and `last~N` in `run` replaced by the id they mean now.

    A single `sandbox` in the request narrows what `last` means. UsageError if there is no such run.
    """
    words = request.values.get("run", ())
    if not any(_LAST.fullmatch(word.removeprefix("!")) for word in words):
        return request
    from query.filters import included

    names = included(request, "sandbox")
    sandbox = names[0] if len(names) == 1 and not re.search(r"[*?]", names[0]) else None
    resolved = tuple(_resolved(word, con, sandbox, request.scope) for word in words)
    return replace(request, values={**request.values, "run": resolved})


def _resolved(word: str, con: sqlite3.Connection, sandbox: str | None, scope: Scope) -> str:
    match = _LAST.fullmatch(word.removeprefix("!"))
    if not match:
        return word
    run = last_run(con, int(match[1] or 0), sandbox, scope)
    if run is None:
        raise NoRunError(f"--run {word}: no such run{_of(con, sandbox, scope)}", hint="audit runs")
    return f"!{run.correlation_id}" if word.startswith("!") else run.correlation_id


def _of(con: sqlite3.Connection, sandbox: str | None, scope: Scope) -> str:
    if sandbox is None:
        return ""
    from query.filters import did_you_mean

    known = [name for (name,) in con.execute("SELECT name FROM sandboxes")]
    known = known if scope is None else [name for name in known if name in scope]
    return f" of {sandbox}" + ("" if sandbox in known else did_you_mean(sandbox, known))
