"""What a filter's value means in SQL: a condition on columns with its values bound apart.

A condition may be NULL where its columns are; whoever combines them decides what that means.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from audit_events.errors import UsageError
from policies.glob import Glob, compile_glob, ends_in_a_name, name_glob, rule_glob

# Where a masked secret may stand, and what --grep reads.
TEXT_COLUMNS: Final = (
    "path", "path_to", "dst", "target", "command", "process", "tool", "error", "message", "extra",
)  # fmt: skip
_MAX_INT64: Final = (1 << 63) - 1
_FINGERPRINT: Final = re.compile(r"(?:\[REDACTED:[^:\]]*:)?([0-9a-f]{12})\]?")


@dataclass(frozen=True, slots=True)
class Clause:
    """A condition in DuckDB's SQL with `?` marks, and the values for them in order."""

    sql: str
    params: tuple[Any, ...] = ()


def any_of(clauses: Iterable[Clause]) -> Clause:
    """True where one of them is."""
    return _joined(clauses, " OR ", "false")


def all_of(clauses: Iterable[Clause]) -> Clause:
    """True where all of them are."""
    return _joined(clauses, " AND ", "true")


def not_(clause: Clause) -> Clause:
    """True where the condition is not met, rows without a value included."""
    return Clause(f"NOT coalesce({clause.sql}, false)", clause.params)


def _joined(clauses: Iterable[Clause], word: str, empty: str) -> Clause:
    held = tuple(clauses)
    if not held:
        return Clause(empty)
    sql = word.join(f"({clause.sql})" for clause in held)
    return Clause(sql, tuple(value for clause in held for value in clause.params))


def equals(column: str, value: Any) -> Clause:
    """The column holds exactly this."""
    return Clause(f"{column} = ?", (value,))


def one_of(column: str, values: Sequence[str]) -> Clause:
    """The column holds exactly one of these; with none of them nothing fits."""
    marks = ", ".join("?" * len(values))
    return Clause(f"{column} IN ({marks})", tuple(values)) if values else Clause("false")


def name(column: str, value: str) -> Clause:
    """A name or a pattern of names; ValueError for a pattern that is none."""
    return _glob(name_glob(value), column) if value else equals(column, "")


def _glob(glob: Glob, column: str) -> Clause:
    sql, params = glob.sql(column)
    return Clause(sql, tuple(params))


def prefix(column: str, value: str) -> Clause:
    """The column starts with this; an empty value means an empty column."""
    return Clause(f"starts_with({column}, ?)", (value,)) if value else equals(column, "")


def rule(column: str, value: str) -> Clause:
    """A rule as records write it, or with `.1` for `[1]` (shells eat brackets), or a pattern."""
    return _glob(rule_glob(value), column)


def path(value: str) -> Clause:
    """Either path of the event lies at or under this path, or matches the policies' glob.

    A pattern that ends in a plain name (`**/.ssh`) asks for what lies under it too, as a plain path
    does: docs/decisions/0008.
    """
    glob = compile_glob(value, below=ends_in_a_name(value))
    return any_of(_glob(glob, column) for column in ("path", "path_to"))


def target(value: str) -> Clause:
    """The object of the event, whatever it is: a path, an address or another name."""
    others = [name(column, value) for column in ("target", "dst", "dst_host")]
    return any_of([path(value), *others]) if value.startswith(("/", "**")) else any_of(others)


def number(flag: str, column: str, value: str) -> Clause:
    """The column is this whole number; UsageError for anything else."""
    return equals(column, whole(flag, value))


def whole(flag: str, text: str) -> int:
    """A whole number from 0 that a column can hold; UsageError for anything else."""
    if not re.fullmatch(r"[0-9]{1,19}", text) or int(text) > _MAX_INT64:
        raise UsageError(f"--{flag} {text}: not a whole number")
    return int(text)


def seq_range(value: str) -> tuple[int, int]:
    """First and last seq of `A:B`, `A:`, `:B` or `A`, both included."""
    first, colon, last = value.partition(":")
    low = whole("seq", first) if first else 0
    high = whole("seq", last) if last else (_MAX_INT64 if colon else low)
    if not first and not last:
        raise UsageError(f"--seq {value}: not a range", hint="4711, 4711:4720, 4711: or :4720")
    return low, high


def seq(value: str) -> Clause:
    """The event's number lies in this range."""
    return Clause("seq BETWEEN ? AND ?", seq_range(value))


def listed(column: str, value: str) -> Clause:
    """A comma list holds this word."""
    return Clause(f"list_contains(string_split({column}, ','), ?)", (value,))


def secret(value: str) -> Clause:
    """A kind of secret, a fingerprint, a whole mark as shown, or `any`."""
    if value in ("any", "*"):
        return Clause("redactions > 0")
    if match := _FINGERPRINT.fullmatch(value):
        mark = f":{match[1]}]"
        held = any_of(Clause(f"contains({column}, ?)", (mark,)) for column in TEXT_COLUMNS)
        return all_of([Clause("redactions > 0"), held])
    return listed("redaction_kinds", value)


def grep(value: str) -> Clause:
    """A text field contains this; letter case counts only if the value has a capital."""
    if value != value.lower():
        return any_of(Clause(f"contains({column}, ?)", (value,)) for column in TEXT_COLUMNS)
    return any_of(
        Clause(f"contains(lower({column}), lower(?))", (value,)) for column in TEXT_COLUMNS
    )


def destination(value: str) -> Clause:
    """HOST, HOST:PORT, :PORT, an address, a CIDR block, or a pattern of a host."""
    host, port = _split_port(value)
    parts = [] if host in ("", "*") else [_host(host, value)]
    if port is not None:
        parts.append(equals("dst_port", port))
    if not parts:
        raise UsageError(f"--dst {value}: names no destination", hint="HOST, HOST:443, CIDR, :443")
    return all_of(parts)


def _split_port(value: str) -> tuple[str, int | None]:
    if match := re.fullmatch(r"\[([^\]]*)\](?::([0-9]+))?", value):
        host, port = match[1], match[2]
    elif value.count(":") == 1:
        host, _, port = value.partition(":")
    else:
        host, port = value, None
    if port is None:
        return host, None
    if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        raise UsageError(f"--dst {value}: {port or 'nothing'} is not a port")
    return host, int(port)


def _host(host: str, value: str) -> Clause:
    import ipaddress

    try:
        network = ipaddress.ip_network(host, strict=False)
    except ValueError:
        if "/" in host:
            raise UsageError(f"--dst {value}: not a CIDR block") from None
        return name("lower(dst_host)", host.lower())
    low, high = network.network_address, network.broadcast_address
    if isinstance(network, ipaddress.IPv4Network):
        return Clause(f"{_V4} BETWEEN ? AND ?", (int(low), int(high)))
    return Clause(f"{_V6} BETWEEN ? AND ?", (f"{int(low):032x}", f"{int(high):032x}"))


# The engine's build has no INET type. An IPv4 address becomes a number, an IPv6 address 32 hex
# digits, both ordered as addresses are; everything else NULL.
_V4_OCTETS: Final = " + ".join(
    f"TRY_CAST(split_part(dst_host, '.', {i + 1}) AS BIGINT) * {256 ** (3 - i)}" for i in range(4)
)
_V4: Final = (
    "(CASE WHEN regexp_full_match(dst_host, '[0-9]{1,3}([.][0-9]{1,3}){3}')"
    f" THEN {_V4_OCTETS} END)"
)


def _groups(part: int) -> str:
    return (
        f"list_transform(list_filter(string_split(split_part(dst_host, '::', {part}), ':'),"
        " lambda g: g <> ''), lambda g: lpad(lower(g), 4, '0'))"
    )


_V6: Final = (
    "(CASE WHEN regexp_full_match(dst_host, '[0-9a-fA-F:]*:[0-9a-fA-F:]*') THEN "
    f"concat(array_to_string({_groups(1)}, ''), repeat('0', greatest(0, 32 - 4 * "
    f"(len({_groups(1)}) + len({_groups(2)})))), array_to_string({_groups(2)}, '')) END)"
)
