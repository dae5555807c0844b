"""Which runs a question's filters mean: by the counters as far as they know, else by the events."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from audit_events.errors import UsageError
from audit_events.layout import StorePaths
from policies.glob import name_glob
from query.contracts import Request
from query.filters import encodable, filter_named, is_included
from query.runs import Run

# What the counters know of a run; every other filter asks the events.
_COUNTED: Final = ("sandbox", "host", "run", "decision")


def matching(store: StorePaths, request: Request, runs: Iterator[Run]) -> Iterator[Run]:
    """Those that pass every filter, in their order; UsageError for a wrong one."""
    counted = request.window.clock == "event" and set(request.values) <= set(_COUNTED)
    among = None if counted else _having_events(store, request)
    tests = [_test(flag, values) for flag, values in request.values.items() if flag in _COUNTED]
    for run in runs:
        if all(test(run) for test in tests) and (among is None or run.correlation_id in among):
            yield run


def _having_events(store: StorePaths, request: Request) -> frozenset[str]:
    from query.stats import runs_of_events

    return runs_of_events(store, request)


def _test(flag: str, values: Sequence[str]) -> Callable[[Run], bool]:
    """Whether a run passes a filter: values widen, `!value` leaves out."""
    wanted = [_one(flag, value) for value in values if is_included(value)]
    unwanted = [_one(flag, value[1:]) for value in values if not is_included(value)]
    return lambda run: (
        (not wanted or any(test(run) for test in wanted))
        and not any(test(run) for test in unwanted)
    )


def _one(flag: str, value: str) -> Callable[[Run], bool]:
    value = encodable(value.removeprefix("\\"))
    if flag == "run":
        return lambda run: run.correlation_id.startswith(value)
    if flag == "decision":
        word = filter_named(flag).known(value)
        return lambda run: bool({"allow": run.allow, "deny": run.deny}.get(word, run.other))
    try:
        glob = name_glob(value)
    except ValueError as error:
        raise UsageError(f"--{flag} {value}: {error}") from None
    if flag == "host":
        return lambda run: glob.matches(run.host) if value else not run.host
    return lambda run: glob.matches(run.sandbox) if value else not run.sandbox
