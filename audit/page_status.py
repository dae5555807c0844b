"""`audit status`: the state of every part, and whether anything is missing (G12)."""

from collections.abc import Iterator
from typing import Final

from audit import render_time as times
from audit.page_situation import COLLECTOR_WORDS, ended, source_place
from audit.paper import Paper
from audit.render_flow import Part, flowed, wrapped
from audit.render_style import safe
from audit.render_width import keep_start
from audit_events.version import VERSION
from query.contracts import Gap
from query.snapshot import SourceState
from query.status import Completeness, Status

# Where the columns begin: state, detail, number of today, place; a fact and what follows from it.
_STATE: Final = 15
_DETAIL: Final = 28
_TODAY: Final = 45
_PLACE: Final = 62
_FACT: Final = 20
_RESULT: Final = 69
_INDENT: Final = 4
# Silence of a source longer than this is called idle.
IDLE_AFTER_US: Final = 60_000_000
_GOOD: Final = frozenset({"healthy", "running", "ok", "idle", "reading"})
# Less than this holds no commit with its journal: the collector waits, its sources run ahead.
MIN_FREE_BYTES: Final = 1 << 20
# A disk that lasts longer is nobody's worry now.
WORRY_DAYS: Final = 365


def status_lines(
    found: Status, disk_free: int, title: str, paper: Paper, log: str | None = None
) -> list[str]:
    """The page; `title` is its first line, `log` the command that shows the collector's log."""
    lines = [*wrapped(title, paper.columns), ""]
    for parts in _parts(found, disk_free, paper, log):
        lines += flowed(parts, paper.columns, _DETAIL)
    lines += ["", "completeness of the last 24 h"]
    for parts, indent in _completeness(found.completeness, paper):
        lines += flowed(parts, paper.columns, indent)
    lines += wrapped(verdict(found, disk_free), paper.columns, _INDENT)
    return [line.rstrip() for line in lines]


def _parts(found: Status, disk_free: int, paper: Paper, log: str | None) -> Iterator[list[Part]]:
    """A line for each part of the machine."""
    yield _line("collector", *_collector(found, paper.now, log))
    good = sum(is_good(source, found) for source in found.sources)
    whole = good == len(found.sources)
    state = "healthy" if whole and found.sources else "DEGRADED" if found.sources else "NONE"
    yield _line("source", state, f"{good} of {len(found.sources)} healthy")
    for source in found.sources:
        yield _source(source, found, paper)
    room = "healthy" if has_room(disk_free) else "FULL"
    yield _line("store", room, *_waiting(found, paper.now))
    yield from _archive(found, disk_free)
    for cursor in found.cursors:
        moved = times.moment(cursor.updated_at, paper.zone, paper.now)
        until = f"up to seq {times.count(cursor.seq)} ({moved})"
        yield _line(f"export {safe(cursor.name, paper.glyphs)}", "healthy", until)


def has_room(disk_free: int) -> bool:
    """Whether the store's disk takes what comes next."""
    return disk_free >= MIN_FREE_BYTES


def healthy(found: Status, disk_free: int) -> bool:
    """What `status --check` says."""
    return (
        has_room(disk_free)
        and found.collector.state == "running"
        and bool(found.sources)
        and all(is_good(source, found) for source in found.sources)
        and found.completeness.balances
        and not found.completeness.gaps
    )


def is_good(source: SourceState, found: Status) -> bool:
    """Whether a source can tell everything now."""
    return source.state in _GOOD and _gap(source, found) is None


def _gap(source: SourceState, found: Status) -> Gap | None:
    gaps = (g for g in found.completeness.gaps if g.until is None and g.source == source.source)
    return next(gaps, None)


def _line(name: str, state: str, *details: str | Part) -> list[Part]:
    found = [(_DETAIL, text) if isinstance(text, str) else text for text in details]
    return [(0, name), (_STATE, state), *found]


def _collector(found: Status, now: int, log: str | None) -> tuple[str, str]:
    collector = found.collector
    state = COLLECTOR_WORDS[collector.state]
    if collector.state != "running":
        return state, ended(collector, now)
    up = times.duration(max(now - (collector.started or now), 0))
    text = f"pid {collector.pid}, up {up}" + (f", log: {log}" if log else "")
    if collector.version not in (None, VERSION):
        text += f", is {collector.version}, not {VERSION}: sandtrail service restart"
    return state, text


def _source(source: SourceState, found: Status, paper: Paper) -> list[Part]:
    now, zone, glyphs = paper.now, paper.zone, paper.glyphs
    name = "  " + keep_start(safe(source.source, glyphs), _STATE - 3, glyphs.ellipsis)
    if gap := _gap(source, found):
        since = f"since {times.dated(gap.since, zone, now)}"
        return _line(name, "UNAVAILABLE", since, (_PLACE, safe(gap.reason, glyphs)))
    state = "healthy" if source.state in _GOOD else safe(source.state.upper(), glyphs)
    today = f"{times.count(found.stored_today.get(source.source, 0)):>8} today"
    place = safe(source_place(source) if state == "healthy" else source.note, glyphs)
    return _line(name, state, _behind(source, now), (_TODAY, today), (_PLACE, place))


def _behind(source: SourceState, now: int) -> str:
    if source.behind_bytes:
        return f"{times.size(source.behind_bytes)} behind"
    if source.last_read_at is None:
        return "nothing yet"
    quiet = max(now - source.last_read_at, 0)
    if quiet > IDLE_AFTER_US:
        return f"idle {times.duration(quiet)}"
    return f"{times.spoken(quiet)} behind"


def _waiting(found: Status, now: int) -> Iterator[Part]:
    waiting, seal = found.waiting, _next_seal(found, now)
    text = f"{times.count(waiting.events)} events waiting"
    if waiting.oldest_at is not None:
        text += f", oldest {times.spoken(max(now - waiting.oldest_at, 0))}"
    yield _DETAIL, text + "," * bool(seal)
    if seal:
        yield 0, seal


def _next_seal(found: Status, now: int) -> str:
    """By age; many events are sealed earlier."""
    after_s, oldest = found.collector.seal_after_s, found.waiting.oldest_at
    if after_s is None or oldest is None or found.collector.state != "running":
        return ""
    left = oldest + int(after_s * 1e6) - now
    return f"next seal in {times.spoken(left)}" if left > 0 else "next seal now"


def _archive(found: Status, disk_free: int) -> Iterator[list[Part]]:
    archive = found.archive
    if not archive.events:
        yield _line("archive", "empty", "nothing was sealed yet")
    else:
        each = archive.bytes / archive.events
        days = f"{archive.days} day{'s' * (archive.days != 1)}"
        yield _line(
            "archive",
            "healthy",
            f"{days}, {times.count(archive.events)} events, {times.size(archive.bytes)},"
            f" {each:.1f} B an event",
        )
    yield _line("", "", _growth(found, disk_free))


def _growth(found: Status, disk_free: int) -> str:
    """What is known of tomorrow; an archive that drops old days does not fill the disk."""
    free, a_day = f"disk {times.size(disk_free)} free", found.archive.bytes_a_day
    if not a_day:
        return free
    left = disk_free // a_day
    worry = left < WORRY_DAYS and not found.archive.removed_days
    days = f", {left} day{'s' * (left != 1)} left" if worry else ""
    return f"grows {times.size(a_day)} a day; {free}{days}"


def _completeness(found: Completeness, paper: Paper) -> Iterator[tuple[list[Part], int]]:
    """Lines, and how far each goes in when it must go on below."""
    rejected, filtered = sum(found.rejected.values()), sum(found.filtered.values())
    total = found.stored + rejected + filtered
    sums = (
        f"= {times.count(found.stored)} stored + {times.count(rejected)} rejected"
        f" + {times.count(filtered)} filtered"
    )
    missing = f"does NOT balance: {times.count(abs(found.seen - total))} unexplained"
    result = "balances" if found.balances else missing
    read = f"{times.count(found.seen)} lines read"
    yield [(2, read), (0, sums), (_RESULT, result)], _INDENT
    if rejected:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in sorted(found.rejected.items()))
        yield [(2, "rejected"), (_FACT, safe(reasons, paper.glyphs))], _FACT
    yield _gaps(found, paper), _FACT
    clocks = f"{times.count(found.skewed)} events with an impossible time"
    yield [(2, "clocks"), (_FACT, clocks)], _FACT


def _gaps(found: Completeness, paper: Paper) -> list[Part]:
    now, zone, glyphs = paper.now, paper.zone, paper.glyphs
    if not found.gaps:
        return [(2, "no gap")]
    gap = found.gaps[-1]
    since = times.clock(gap.since, zone)
    until = "now" if gap.until is None else times.clock(gap.until, zone)
    lasted = times.duration(max((gap.until or now) - gap.since, 0)).replace("µ", glyphs.micro)
    number = f"{len(found.gaps)} gap{'s' * (len(found.gaps) != 1)}"
    newest = "newest: " if len(found.gaps) > 1 else ""
    text = f"{newest}{safe(gap.source, glyphs)} {since} to {until}, {lasted}"
    return [(2, number), (_FACT, text), (_RESULT, f"{paper.prog} gaps")]


def verdict(found: Status, disk_free: int) -> str:
    """The one sentence that the page is read for."""
    if not has_room(disk_free):
        return _verdict(found) + "; the disk is full, nothing new is stored"
    now = "" if found.collector.state in ("running", "never") else "; nothing is collected now"
    return _verdict(found) + now


def _verdict(found: Status) -> str:
    gaps = {gap.source for gap in found.completeness.gaps}
    whole = [s.source for s in found.sources if s.source not in gaps and s.state in _GOOD]
    if not found.completeness.balances:
        return "so: the record is NOT complete: lines are unexplained"
    if not gaps:
        return "so: the record of the last 24 h is complete" if found.sources else "so: no source"
    lost = ", ".join(sorted(gaps))
    if "all" in gaps or not whole:
        return f"so: the record of the last 24 h is not complete ({lost})"
    return f"so: what {', '.join(whole)} reported is complete; what {lost} reported is not"
