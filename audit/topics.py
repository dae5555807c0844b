"""`audit help TOPIC`: what holds for many commands, said once."""

from collections.abc import Callable
from typing import Final

from audit_events.errors import Exit

_EXITS: Final = {
    Exit.DONE: "done; no match is 0 too, if the record has no gap in that time",
    Exit.BUG: "a bug of ours",
    Exit.USAGE: "a flag, a time, a column that is none",
    Exit.SETTINGS: "settings or policy invalid; file:line:col is named",
    Exit.SOURCE: "a source cannot be read",
    Exit.STORAGE: "no store, not yours, full, or in use by another collector",
    Exit.QUERY: "the engine refused the query",
    Exit.DELIVERY: "a receiver refused",
    Exit.PARTIAL: "partial: a damaged file; a gap, with --strict or without a match",
    Exit.VERIFY: "a proof failed",
    Exit.ANSWER_NO: "ran well, the answer is no: --fail-if-any, --fail-if-none, --check",
    Exit.INTERRUPTED: "Ctrl-C",
}
_LINES: Final = """\
18:03:13+09 DENY  read    …/agent/.ssh/id_ed25519  ×3  filesystem.deny[1]   4925
time        decision      object, cut from the left    rule                  seq

DENY allow ? tool gap note   ? is a decision that we could not read
×3                           three records; a pipe and data formats show each
+os                          the system reported it too (100 columns and more)
filesystem.deny[1]           the rule, as reported
~filesystem.deny[1]          derived from the policy, not reported
!filesystem.deny[1]          the record is at odds with the policy
(seatbelt)                   who decided, where no rule is known
[REDACTED:kind:fingerprint]  a secret; the same one has the same fingerprint
\\x1b \\u202e                  a character that could harm a terminal
…now                         a gap that is still open

In a pipe: full times in UTC, nothing cut or folded, columns two blanks apart."""
_TIMES: Final = """\
30s 5m 1h30m 2d 1w          so long ago
"2 hours ago"               the same
now today yesterday         today and yesterday begin at midnight
02:00  "2026-07-28 02:00"   in the zone of --tz, else of this machine
2026-07-28T02:00+09:00      as it says
2026-07-28                  midnight of that day

--since is within, --until is not. --around T is five minutes on each side.
--clock arrival goes by when an event was stored instead of when it happened.
Screens show an offset with each time; data formats show UTC with a Z."""
_SCRIPTS: Final = """\
{prog} query --deny --since 1h --fail-if-any --count
    0 none, 10 some, 8 not sure
{prog} query --deny --json | jq '.[].path'
    one array, [] if nothing matches
{prog} tail -f --json | jq -r .policy_rule
    one object a line, at once
{prog} export --cursor siem -o night.json
    each event once, night by night
{prog} status --check
    10 if something is wrong

stdout holds data only; everything else goes to stderr. --strict makes a gap in
the window an error. Nothing is cut unless you say -n, and then we say so."""
_SQL: Final = """\
{prog} sql "SELECT policy_rule, count(*) FROM events WHERE decision = 'deny'
    GROUP BY ALL ORDER BY 2 DESC"
{prog} sql "SELECT date_trunc('hour', ts) AS hour, count(*) FROM events
    GROUP BY ALL ORDER BY 1" --format csv
{prog} sql "FROM events WHERE ts > now() - INTERVAL 1 DAY LIMIT 20"

One SELECT in DuckDB's SQL. `events` holds every stored event once, archive and
buffer alike. Nothing can be changed, and no other file and no network reached.
A record that stands for several occurrences has them in count: sum(count).
Notices are in it too, and the system's reports of the same operation
(link = 'report'): WHERE kind = 'decision' AND link IS DISTINCT FROM 'report'

Columns:
{columns}"""
_SUDO: Final = """\
macOS has an /usr/sbin/audit of its own; `audit -t` there stops system auditing.
With sudo, in plists, units and cron lines write "sandtrail": the same command.
Root's store and yours are two: --store or AUDIT_STORE chooses. Without sudo a
group may read: [read] group = "oncall" in the audit.toml of root's collector."""


def topics() -> dict[str, Callable[[str], str]]:
    """Each topic and what writes it."""
    return {
        "filters": lambda _prog: _filters(),
        "times": lambda _prog: _TIMES,
        "lines": lambda _prog: _LINES,
        "exit": lambda _prog: "\n".join(f"{int(c):>4}  {text}" for c, text in _EXITS.items()),
        "scripts": lambda prog: _SCRIPTS.format(prog=prog),
        "sudo": lambda _prog: _SUDO,
        "sql": _sql,
    }


def _sql(prog: str) -> str:
    import textwrap

    from audit_events.schema import COLUMN_NAMES

    columns = textwrap.wrap(" ".join(("event_id", *COLUMN_NAMES)), 77)
    return _SQL.format(prog=prog, columns="\n".join(f"  {line}" for line in columns))


def _filters() -> str:
    from query.filters import FILTERS

    lines = []
    for filter_ in FILTERS:
        flag = f"--{filter_.flag}" + (f", -{filter_.short}" if filter_.short else "")
        lines.append(f"{flag:<15} {filter_.help}")
        if filter_.values:
            lines += _wrapped(filter_.values)
    rules = (
        "",
        "The same filter again means or; different filters mean and.",
        '--not-X leaves out, and so does a value that begins with "!".',
        "A path without * ? [ means itself and everything under it; ** is any depth.",
        "Quote patterns, or the shell expands them. Words work too: rule:filesystem.*",
    )
    return "\n".join([*lines, *rules])


def _wrapped(values: tuple[str, ...]) -> list[str]:
    import textwrap

    return textwrap.wrap(" ".join(values), 79, initial_indent=" " * 18, subsequent_indent=" " * 18)
