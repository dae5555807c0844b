"""`audit explain`: find the event that is meant, and what other records say of it."""

import json
import re
import sys
from typing import Final

from audit import commands, markdown, reads
from audit import screen as output
from audit.call import Call
from audit.event_policy import origin_of
from audit.page_event import Setting, event_lines
from audit.render_time import count
from audit_events.errors import Exit, UsageError
from audit_events.schema import KINDS, MAX_LINE_BYTES
from query.contracts import Request, Row, Scope
from query.times import display_zone, stamp

_EVENT: Final = re.compile(r"(?:(?P<store>[0-9a-z]{5})-)?(?P<seq>[0-9]{1,18}|[0-9,]{1,24})")
# A report by the system comes within seconds; it is looked for among so many events after it.
REPORT_WINDOW_EVENTS: Final = 2_000

FORMATS: Final = ("text", "markdown")


def explain(
    call: Call, store: reads.Store, word: str, *, utc: bool, tz: str | None, as_: str = "text"
) -> Exit:
    """Print what is known of one event, `as_` text or markdown for a ticket."""
    if as_ not in FORMATS:
        raise UsageError(f"--format {as_}: no such format", hint=" ".join(FORMATS))
    screen, zone = output.screen(call), display_zone(tz, utc=utc)
    word = _word_of(sys.stdin.buffer.readline(MAX_LINE_BYTES)) if word == "-" else word
    row = newest_deny(store, call.prog) if word == "last" else event_of(store, word)
    setting = Setting(call.prog, zone, screen.glyphs, screen.columns, commands.names())
    origin = origin_of(store, row, macos=sys.platform == "darwin")
    lines = event_lines(row, reports_of(store, row), setting, origin)
    if as_ == "markdown":
        lines = [f"**audit explain {row['event_id']}**", "", *markdown.fenced(lines)]
    output.put(lines)
    return Exit.DONE


def _word_of(line: bytes) -> str:
    """What a line of a pipe names: a record of `tail --json`, or an event's number."""
    text = line.decode(errors="replace").strip()
    if not text.startswith("{"):
        return text.split()[-1] if text else ""
    try:
        record = json.loads(text)
        return str(record.get("event_id") or record["seq"])
    except (ValueError, KeyError, RecursionError):
        hint = "one record of tail --json, or a line of tail"
        raise UsageError("stdin: no event in the first line", hint=hint) from None


def newest_deny(store: reads.Store, prog: str) -> Row:
    """The newest refusal."""
    found = reads.answer(store, Request({"decision": ("deny",)}, limit=1))
    if not found.rows:
        raise UsageError("nothing was denied yet", hint=f"{prog} explain SEQ")
    return found.rows[0]


def event_of(store: reads.Store, word: str) -> Row:
    """The event of `4712` or `7kq2m-4712`; UsageError (T14) if there is none."""
    match = _EVENT.fullmatch(word)
    if not match:
        raise UsageError(f'"{word}": no event', hint="the number at the end of a line, or last")
    seq = int(match["seq"].replace(",", "") or 0)
    own = reads.store_id(store)
    if match["store"] and match["store"] != own:
        raise UsageError(f"event {word} is of store {match['store']}, this is store {own}")
    request = Request({"seq": (f"{seq}:{seq}",), "kind": KINDS}, limit=1)
    found = reads.answer(store, request)
    if found.rows:
        return found.rows[0]
    raise UsageError(_gone(store, seq))


def _gone(store: reads.Store, seq: int) -> str:
    removed = reads.removal(store, seq)
    if removed is None:
        return f"no event {seq}; newest is {count(reads.newest_seq(store))}"
    at, reason, rows = removed
    when = stamp(at, display_zone())
    return f"event {seq} was removed on {when} by {reason}; its day had {count(rows)} events"


def reports_of(store: reads.Store, row: Row, scope: Scope = None) -> list[Row]:
    """Records of other sources that tell the same operation, as far as they are near."""
    seq, most = row["seq"], REPORT_WINDOW_EVENTS
    request = Request({"seq": (f"{seq + 1}:{seq + most}",)}, limit=most, scope=scope)
    near = reads.answer(store, request).rows
    return [r for r in near if r.get("linked_seq") == seq and r.get("link") == "report"]
