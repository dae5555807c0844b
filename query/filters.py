"""Every filter once: its flag, columns, header, values and meaning, for all commands alike."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from audit_events import schema, text
from audit_events.errors import UsageError
from query import predicates as p
from query.contracts import Request, Window
from query.predicates import Clause


@dataclass(frozen=True, slots=True)
class Filter:
    """One filter: `flag` without dashes, `values` a closed list or empty, `synonyms` to them."""

    flag: str
    columns: tuple[str, ...]
    header: str
    help: str
    build: Callable[[str], Clause]
    short: str | None = None
    values: tuple[str, ...] = ()
    synonyms: Mapping[str, str] | None = None

    def clause(self, value: str) -> Clause:
        """The condition for one value without `!`; UsageError for a value it cannot have."""
        known = self.known(value)
        try:
            meant = [self.build(spelling) for spelling in text.typed(known)]
        except ValueError as error:
            raise UsageError(f"--{self.flag} {value}: {error}") from None
        # A name copied from a screen stands there escaped.
        return meant[0] if len(meant) == 1 else p.any_of(meant)

    def known(self, value: str) -> str:
        """The value as stored; UsageError for one that is not in a closed list."""
        value = encodable(value)
        if not self.values:
            return value
        word = value.lower()
        word = (self.synonyms or {}).get(word, word)
        if word in self.values:
            return word
        raise UsageError(
            f"--{self.flag} {value}: not one of {', '.join(self.values)}"
            + did_you_mean(word, self.values)
        )


def _column(column: str) -> Callable[[str], Clause]:
    return lambda value: p.equals(column, value)


def _name(column: str) -> Callable[[str], Clause]:
    return lambda value: p.name(column, value)


def _number(flag: str, column: str) -> Callable[[str], Clause]:
    return lambda value: p.number(flag, column, value)


_DECISIONS: Final = {"denied": "deny", "blocked": "deny", "allowed": "allow"}
_OUTCOMES: Final = {"violation": "policy_violation"}

FILTERS: Final[tuple[Filter, ...]] = (
    Filter("decision", ("decision",), "DEC", "deny, allow or unknown", _column("decision"),
           values=schema.DECISIONS, synonyms=_DECISIONS),
    Filter("sandbox", ("sandbox",), "SANDBOX", "name or pattern", _name("sandbox"), short="s"),
    Filter("run", ("correlation_id",), "RUN", "prefix of an id, last or last~N",
           lambda value: p.prefix("correlation_id", value), short="r"),
    Filter("host", ("host",), "HOST", "name or pattern", _name("host")),
    Filter("path", ("path", "path_to"), "TARGET", "path with all under it, or glob", p.path,
           short="p"),
    Filter("dst", ("dst", "dst_host", "dst_port"), "TARGET", "HOST, HOST:PORT, CIDR or :PORT",
           p.destination),
    Filter("target", ("target", "path", "dst"), "TARGET", "path, destination or name, or pattern",
           p.target),
    Filter("rule", ("policy_rule",), "RULE", "filesystem.deny[1], filesystem.deny.1 or pattern",
           lambda value: p.rule("policy_rule", value)),
    Filter("rule-index", ("rule_index",), "INDEX", "number", _number("rule-index", "rule_index")),
    Filter("access", ("access",), "ACCESS", "read, write, exec, connect …", _column("access"),
           values=schema.ACCESSES),
    Filter("resource", ("resource",), "RESOURCE", "filesystem, network, process …",
           _column("resource"), values=schema.RESOURCES),
    Filter("syscall", ("syscall",), "OPERATION", "the source's own word, or pattern",
           _name("syscall")),
    Filter("process", ("process",), "PROCESS", "name or pattern", _name("process")),
    Filter("pid", ("pid",), "PID", "number", _number("pid", "pid")),
    Filter("policy", ("policy",), "POLICY", "name or pattern", _name("policy")),
    Filter("enforcer", ("enforcer",), "ENFORCER", "name or pattern", _name("enforcer")),
    Filter("tool", ("tool",), "TOOL", "name or pattern", _name("tool")),
    Filter("outcome", ("outcome",), "OUTCOME", "ok, timeout, retry, violation or error",
           _column("outcome"), values=schema.OUTCOMES, synonyms=_OUTCOMES),
    Filter("source", ("source",), "SOURCE", "name or pattern", _name("source")),
    Filter("kind", ("kind",), "KIND", "decision, tool_call, gap or notice", _column("kind"),
           values=schema.KINDS),
    Filter("flag", ("flags",), "FLAGS", "ambiguous, would-deny, forged …",
           lambda value: p.listed("flags", value), values=schema.FLAGS),
    Filter("secret", ("redaction_kinds",), "SECRET", "kind, fingerprint or any", p.secret),
    Filter("seq", ("seq",), "SEQ", "A:B, both included", p.seq),
    Filter("grep", p.TEXT_COLUMNS, "TEXT", "text; case counts if it has a capital", p.grep,
           short="g"),
)  # fmt: skip
_ODD: Final = re.compile("[\ud800-\udfff]")
BY_FLAG: Final = {filter_.flag: filter_ for filter_ in FILTERS}

# Names of columns that people use beside the columns' own.
_NAMES: Final = {
    "time": "ts", "since": "ts", "run": "correlation_id", "rule": "policy_rule", "secret":
    "redaction_kinds", "flag": "flags", "rule-index": "rule_index", "latency": "latency_us",
    "duration": "duration_us", "operation": "syscall", "digest": "policy_digest",
}  # fmt: skip


def compile_request(request: Request) -> Clause:
    """One condition for all filters and the window; UsageError names the filter that is wrong.

    Values of one filter widen, different filters narrow, `!value` leaves out (rows without a value
    stay). Without `kind`, or with excluded kinds only, the default kinds are meant. `last` in `run`
    must be resolved before (query.runs). The scope holds whatever the filters say.
    """
    clauses = [_clause(flag, values) for flag, values in request.values.items() if values]
    if not any(is_included(value) for value in request.values.get("kind", ())):
        marks = ", ".join("?" * len(schema.DEFAULT_KINDS))
        clauses.append(Clause(f"kind IN ({marks})", schema.DEFAULT_KINDS))
    if request.scope is not None:
        clauses.append(p.one_of("sandbox", request.scope))
    return p.all_of([*clauses, *_window(request.window)])


def filter_named(flag: str) -> Filter:
    """The filter of a flag; UsageError with the nearest one."""
    found = BY_FLAG.get(flag)
    if found is None:
        raise UsageError(f"no filter {flag!r}{did_you_mean(flag, BY_FLAG)}")
    return found


def column_named(flag: str, word: str) -> str:
    """The column that a flag's or column's name means; UsageError with the nearest one."""
    name = word.lower()
    name = _NAMES.get(name, name)
    if name in schema.BY_NAME or name == "event_id":
        return name
    known = [*schema.COLUMN_NAMES, *_NAMES, "event_id"]
    raise UsageError(f"--{flag} {word}: no such column{did_you_mean(name, known)}")


def is_included(value: str) -> bool:
    """False for a value that excludes; a literal `!` at the start is written `\\!`."""
    return not value.startswith("!")


def included(request: Request, flag: str) -> tuple[str, ...]:
    """The values of a filter that do not exclude."""
    return tuple(v for v in request.values.get(flag, ()) if is_included(v))


def encodable(value: str) -> str:
    """A value from a command line as the store spells it: odd bytes escaped as in stored text.

    What our own output shows escaped (U+10FF80 to U+10FFFF) stays, so that it can be pasted back.
    """
    if not _ODD.search(value):
        return value
    return _ODD.sub(lambda match: text.from_bytes(_bytes_of(match[0])), value)


def _bytes_of(odd: str) -> bytes:
    """Python hands a byte of an argument that is no UTF-8 over as U+DC80 to U+DCFF."""
    code = ord(odd)
    raw = code in range(0xDC80, 0xDD00)
    return bytes([code - 0xDC00]) if raw else odd.encode("utf-8", "surrogatepass")


def did_you_mean(word: str, known: Any) -> str:
    """` (did you mean X?)` when something is near, else nothing."""
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""


def _clause(flag: str, values: tuple[str, ...]) -> Clause:
    filter_ = filter_named(flag)
    wanted = [filter_.clause(v.removeprefix("\\")) if v.startswith("\\!") else filter_.clause(v)
              for v in values if is_included(v)]  # fmt: skip
    unwanted = [p.not_(filter_.clause(v[1:])) for v in values if not is_included(v)]
    return p.all_of(([p.any_of(wanted)] if wanted else []) + unwanted)


def _window(window: Window) -> list[Clause]:
    column = "ts" if window.clock == "event" else "observed_at"
    bounds = ((">=", window.since), ("<", window.until))
    return [
        Clause(f"{column} {sign} make_timestamptz(?)", (at,))
        for sign, at in bounds
        if at is not None
    ]
