"""From a command's flags to a question: the filters of the one table, times, zone, and words."""

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from audit.render_time import moment
from audit_events.errors import UsageError
from query.contracts import Request, Window
from query.times import display_zone, window

if TYPE_CHECKING:
    from query.filters import Filter

_PANEL: Final = "Filters"
# These values say by themselves what they are: the header shows them bare.
_BARE: Final = ("decision", "sandbox", "resource", "access", "kind")
_CLOCKS: Final = ("event", "arrival")
_TIMES: Final = ("since", "until", "around")


@dataclass(frozen=True, slots=True)
class Asked:
    """The filter flags of one call, as typed."""

    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    since: str | None = None
    until: str | None = None
    around: str | None = None
    clock: str = "event"
    utc: bool = False
    tz: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, resolved: windows in µs, the display zone, warnings about odd times."""

    values: Mapping[str, tuple[str, ...]]
    window: Window
    zone: tzinfo
    warnings: tuple[str, ...] = ()
    # --since and --until as typed, to be named as typed.
    typed: Mapping[str, str] = field(default_factory=dict)

    def request(self, limit: int | None, *, oldest: bool = False, order: str = "asc") -> Request:
        """The question with a limit and an order of display."""
        if order not in ("asc", "desc"):
            raise UsageError(f"--order {order}: asc or desc")
        return Request(
            self.values, self.window, limit, oldest, "desc" if order == "desc" else "asc"
        )

    def pins_run(self) -> bool:
        """Whether filters leave one sandbox and one run, so that a heading would say nothing."""
        return all(len(self.values.get(flag, ())) == 1 for flag in ("sandbox", "run"))


def takes_filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command every filter flag; it gets them as one `asked: Asked`."""
    signature = inspect.signature(command)
    own = [p for name, p in signature.parameters.items() if name != "asked"]
    options = _options()
    names = [option.name for option in options]

    @functools.wraps(command)
    def with_filters(**given: Any) -> Any:
        flags = {name: given.pop(name) for name in names}
        return command(asked=_asked(flags), **given)

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *options)]
    with_filters.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_filters.__annotations__ = {p.name: p.annotation for p in parameters}
    return with_filters


def _options() -> list[inspect.Parameter]:
    from query.filters import FILTERS

    options = [
        _option("deny", bool, False, "--deny", help="decision deny"),
        _option("allow", bool, False, "--allow", help="decision allow"),
    ]
    for filter_ in FILTERS:
        short = [f"-{filter_.short}"] if filter_.short else []
        flag = f"--{filter_.flag}"
        options.append(_option(_name(filter_), list[str], [], *short, flag, help=filter_.help))
    for filter_ in FILTERS:
        flag = f"--not-{filter_.flag}"
        options.append(_option(f"not_{_name(filter_)}", list[str], [], flag, hidden=True))
    text = str | None
    return [
        *options,
        _option("since", text, None, "--since", help='30m, 02:00, 2026-07-28, "2 hours ago" …'),
        _option("until", text, None, "--until", help="up to, without it"),
        _option("around", text, None, "--around", help="5 minutes before and after a time"),
        _option("clock", str, "event", "--clock", help="event time, or arrival"),
        _option("utc", bool, False, "--utc", help="show and read times in UTC"),
        _option("tz", text, None, "--tz", help="show and read times in this zone"),
    ]


def _option(name: str, kind: Any, default: Any, *flags: str, **more: Any) -> inspect.Parameter:
    import typer

    option = typer.Option(*flags, rich_help_panel=_PANEL, **more)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
    )


def _name(filter_: "Filter") -> str:
    return "by_" + filter_.flag.replace("-", "_")


def _asked(flags: dict[str, Any]) -> Asked:
    from query.filters import FILTERS

    values = {
        filter_.flag: (*flags[_name(filter_)], *(f"!{v}" for v in flags[f"not_{_name(filter_)}"]))
        for filter_ in FILTERS
    }
    values["decision"] += tuple(word for word in ("deny", "allow") if flags[word])
    if flags["clock"] not in _CLOCKS:
        raise UsageError(f"--clock {flags['clock']}: event or arrival")
    rest = {name: flags[name] for name in ("since", "until", "around", "clock", "utc", "tz")}
    return Asked({flag: given for flag, given in values.items() if given}, **rest)


def question(
    asked: Asked, words: Sequence[str], now: int, sandboxes: Callable[[], Sequence[str]] = tuple
) -> Question:
    """The question of these flags and words; UsageError names what cannot be understood.

    A word is `KEY:VALUE`, `deny`, `allow` or the name of a known sandbox.
    """
    values = dict(asked.values)
    for word in words:
        flag, value = _word(word, sandboxes)
        if flag in _TIMES:
            asked = _at_time(asked, flag, value)
        else:
            values[flag] = (*values.get(flag, ()), value)
    zone = display_zone(asked.tz, utc=asked.utc)
    clock = "arrival" if asked.clock == "arrival" else "event"
    found, warnings = window(asked.since, asked.until, asked.around, clock, (now, zone))  # type: ignore[arg-type]
    _check(values)
    typed = {"since": asked.since, "until": asked.until}
    named = {flag: text for flag, text in typed.items() if text is not None}
    return Question(values, found, zone, tuple(warnings), named)


def _check(values: Mapping[str, tuple[str, ...]]) -> None:
    """UsageError for a value that its filter cannot have."""
    if not values:
        return  # and the filters, with their globs, are not loaded
    from query.filters import BY_FLAG

    for flag, given in values.items():
        for value in given:
            BY_FLAG[flag].clause(value.removeprefix("!"))


def _at_time(asked: Asked, flag: str, value: str) -> Asked:
    if getattr(asked, flag) is not None:
        raise UsageError(f"{flag} is given twice")
    return replace(asked, **{flag: value})  # type: ignore[arg-type]


def _word(word: str, sandboxes: Callable[[], Sequence[str]]) -> tuple[str, str]:
    from query.filters import BY_FLAG

    plain = word.removeprefix("!")
    if plain in ("deny", "allow", "denied", "allowed", "blocked"):
        return "decision", word
    key, colon, value = word.partition(":")
    if colon and (key in BY_FLAG or key in _TIMES):
        return key, value
    if plain in sandboxes():
        return "sandbox", word
    hint = "KEY:VALUE, deny, allow or the name of a sandbox"
    if Path(word).exists():
        hint = 'the shell expanded a pattern: quote it, as in --path "/workspace/**"'
    raise UsageError(f'"{word}": no filter and no known sandbox', hint=hint)


def described(asked: Question, now: int) -> list[str]:
    """The filters and the window, as a header shows them."""
    ordered = sorted(asked.values.items(), key=lambda item: _place(item[0]))
    parts = [_described(flag, values) for flag, values in ordered]
    if (span := _span(asked, now)) is not None:
        parts.append(span)
    return parts


def _place(flag: str) -> int:
    return _BARE.index(flag) if flag in _BARE else len(_BARE)


def _described(flag: str, values: tuple[str, ...]) -> str:
    wanted = [value for value in values if not value.startswith("!")]
    unwanted = [f"not {value[1:]}" for value in values if value.startswith("!")]
    text = " and ".join(([" or ".join(wanted)] if wanted else []) + unwanted)
    return text if flag in _BARE else f"{flag} {text}"


def _span(asked: Question, now: int) -> str | None:
    found = asked.window
    if found.since is None and found.until is None:
        return None
    since = "the beginning" if found.since is None else moment(found.since, asked.zone, now)
    until = "now" if found.until is None else moment(found.until, asked.zone, now)
    arrival = " by arrival" if found.clock == "arrival" else ""
    return f"{since} to {until}{arrival}"
