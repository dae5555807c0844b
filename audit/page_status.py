"""`audit status`: the state of every part, and whether anything is missing (G12)."""

from collections.abc import Iterator
from typing import Final

from audit import render_time as times
from audit.page_situation import COLLECTOR_WORDS, ended, source_place
from audit.paper import Paper
from audit.render_style import safe
from audit.render_width import keep_start, pad
from audit_events.version import VERSION
from query.contracts import Gap
from query.snapshot import SourceState
from query.status import Completeness, Status

_NAME_CELLS: Final = 15
_STATE_CELLS: Final = 13
_DETAIL_CELLS: Final = 17
_FACT_CELLS: Final = 18
_LINE_CELLS: Final = 69
# Silence of a source longer than this is called idle.
IDLE_AFTER_US: Final = 60_000_000
_GOOD: Final = frozenset({"healthy", "running", "ok", "idle", "reading"})
# Less than this holds no commit with its journal: the collector waits, its sources run ahead.
MIN_FREE_BYTES: Final = 1 << 20


def status_lines(found: Status, disk_free: int, title: str, paper: Paper) -> list[str]:
    """The page; `title` is its first line."""
    lines = [title, "", _line("collector", *_collector(found, paper.now))]
    good = sum(is_good(source, found) for source in found.sources)
    whole = good == len(found.sources)
    state = "healthy" if whole and found.sources else "DEGRADED" if found.sources else "NONE"
    lines.append(_line("source", state, f"{good} of {len(found.sources)} healthy"))
    lines += [_source(source, found, paper) for source in found.sources]
    room = "healthy" if has_room(disk_free) else "FULL"
    lines.append(_line("store", room, _waiting(found, paper.now)))
    lines += _archive(found, disk_free)
    for cursor in found.cursors:
        moved = times.moment(cursor.updated_at, paper.zone, paper.now)
        until = f"up to seq {times.count(cursor.seq)} ({moved})"
        lines.append(_line(f"export {safe(cursor.name, paper.glyphs)}", "healthy", until))
    lines += ["", "completeness of the last 24 h"]
    lines += _completeness(found.completeness, paper)
    lines.append(verdict(found, disk_free))
    return [line.rstrip() for line in lines]


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


def _line(name: str, state: str, text: str) -> str:
    return f"{pad(name, _NAME_CELLS - 1)} {state:<{_STATE_CELLS - 1}} {text}"


def _collector(found: Status, now: int) -> tuple[str, str]:
    collector = found.collector
    state = COLLECTOR_WORDS[collector.state]
    if collector.state != "running":
        return state, ended(collector, now)
    up = times.duration(max(now - (collector.started or now), 0))
    text = f"pid {collector.pid}, up {up}"
    if collector.version not in (None, VERSION):
        text += f", is {collector.version}, not {VERSION}: sandtrail service restart"
    return state, text


def _source(source: SourceState, found: Status, paper: Paper) -> str:
    now, zone, glyphs = paper.now, paper.zone, paper.glyphs
    name = "  " + keep_start(safe(source.source, glyphs), _NAME_CELLS - 3, glyphs.ellipsis)
    if gap := _gap(source, found):
        detail = f"since {times.clock(gap.since, zone)}"
        return _line(
            name, "UNAVAILABLE", f"{detail:<{_DETAIL_CELLS + 17}}{safe(gap.reason, glyphs)}"
        )
    state = "healthy" if source.state in _GOOD else safe(source.state.upper(), glyphs)
    today = times.count(found.stored_today.get(source.source, 0))
    place = safe(source_place(source) if state == "healthy" else source.note, glyphs)
    detail = f"{_behind(source, now):<{_DETAIL_CELLS}}{today:>8} today"
    return _line(name, state, f"{detail}   {place}")


def _behind(source: SourceState, now: int) -> str:
    if source.behind_bytes:
        return f"{times.size(source.behind_bytes)} behind"
    if source.last_read_at is None:
        return "nothing yet"
    quiet = max(now - source.last_read_at, 0)
    if quiet > IDLE_AFTER_US:
        return f"idle {times.duration(quiet)}"
    return f"{times.spoken(quiet)} behind"


def _waiting(found: Status, now: int) -> str:
    waiting = found.waiting
    text = f"{times.count(waiting.events)} events waiting"
    if waiting.oldest_at is not None:
        text += f", oldest {times.duration(max(now - waiting.oldest_at, 0))}"
    return text


def _archive(found: Status, disk_free: int) -> Iterator[str]:
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
    yield _line("", "", f"disk {times.size(disk_free)} free")


def _completeness(found: Completeness, paper: Paper) -> Iterator[str]:
    rejected, filtered = sum(found.rejected.values()), sum(found.filtered.values())
    total = found.stored + rejected + filtered
    line = (
        f"  {times.count(found.seen)} lines read = {times.count(found.stored)} stored"
        f" + {times.count(rejected)} rejected + {times.count(filtered)} filtered"
    )
    missing = f"does NOT balance: {times.count(abs(found.seen - total))} unexplained"
    yield f"{line:<{_LINE_CELLS}}{'balances' if found.balances else missing}"
    if rejected:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in sorted(found.rejected.items()))
        yield f"  {'rejected':<{_FACT_CELLS}}{safe(reasons, paper.glyphs)}"
    yield _gaps(found, paper)
    yield f"  {'clocks':<{_FACT_CELLS}}{times.count(found.skewed)} events with an impossible time"


def _gaps(found: Completeness, paper: Paper) -> str:
    now, zone, glyphs = paper.now, paper.zone, paper.glyphs
    if not found.gaps:
        return "  no gap"
    gap = found.gaps[-1]
    since = times.clock(gap.since, zone)
    until = "now" if gap.until is None else times.clock(gap.until, zone)
    lasted = times.duration(max((gap.until or now) - gap.since, 0)).replace("µ", glyphs.micro)
    number = f"{len(found.gaps)} gap{'s' * (len(found.gaps) != 1)}"
    newest = "newest: " if len(found.gaps) > 1 else ""
    text = f"{newest}{safe(gap.source, glyphs)} {since} to {until}, {lasted}"
    return f"{f'  {number:<{_FACT_CELLS}}{text}':<{_LINE_CELLS}}{paper.prog} gaps"


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
