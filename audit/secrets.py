"""`audit secrets`: ask the store by fingerprint, and say what that does and does not prove."""

import json
from dataclasses import asdict

from audit import finding, wiring
from audit import screen as output
from audit.asking import Question
from audit.call import Call
from audit.finding import Scope
from audit.querying import tell_damaged
from audit.render_time import count, day
from audit_events.errors import Exit
from audit_events.layout import StorePaths
from query import secrets as asking
from query import views
from query.contracts import Window
from query.times import display_zone


def find(call: Call, raw: bytes, origin: str, *, as_json: bool) -> Exit:
    """Print where a secret was seen; PARTIAL if it was not and the record has gaps."""
    from audit.masking import redactor

    store, screen = wiring.find_store(call), output.screen(call)
    sought = finding.read_sought(raw, redactor(call))
    keys = finding.keys_of(call, store)
    held = asking.masked(store)
    search = asking.seen(
        store, finding.fingerprints(sought, [kind.kind for kind in held.kinds], keys)
    )
    gaps = views.gaps(store, Window(since=search.since))
    known = {key.id for key in keys}
    missing = tuple(sorted(key for key in held.keys if key and key not in known))
    first = min((seen.seq for seen in search.seen), default=None)
    exports = [c.name for c in views.cursors(store) if first is not None and c.seq >= first]
    scope = Scope(len(keys), missing, len(gaps), tuple(exports))
    zone = display_zone(None, utc=False)
    if as_json:
        said = {**asdict(search), **asdict(scope),
                "kinds": [one.kind for one in sought], "note": finding.NO_PROOF}  # fmt: skip
        output.put([json.dumps(said)])
    else:
        lines = finding.read_lines(sought, origin)
        if search.seen:
            lines += finding.seen_lines(search, zone)
        output.put([*lines, *finding.closing(search, scope, zone)])
    tell_damaged(screen, search.damaged)
    doubtful = search.damaged or missing or (gaps and not search.seen)
    return Exit.PARTIAL if doubtful else Exit.DONE


def show_kinds(call: Call, store: StorePaths, asked: Question, *, as_json: bool) -> Exit:
    """Print what was masked by kind, the most frequent first."""
    found = asking.masked(store, asked.request(None))
    screen = output.screen(call)
    if as_json:
        output.put([json.dumps([asdict(kind) for kind in found.kinds])])
    else:
        zone = asked.zone
        rows = [("KIND", "MASKED", "EVENTS", "FIRST", "LAST")]
        rows += [
            (kind.kind, count(kind.masks), count(kind.events), day(kind.first, zone),
             day(kind.last, zone))
            for kind in found.kinds
        ]  # fmt: skip
        wide = max(len(row[0]) for row in rows)
        lines = [f"{k:<{wide}}  {m:>9}  {e:>9}  {f:<10}  {last}" for k, m, e, f, last in rows]
        output.put(lines if found.kinds else ["nothing was masked"])
        if found.kinds:
            screen.remark(f"where: {call.prog} query --secret {found.kinds[0].kind}")
    tell_damaged(screen, found.damaged)
    return Exit.PARTIAL if found.damaged else Exit.DONE


def rotate_key(call: Call) -> Exit:
    """A new key in force for what is masked from now on."""
    from audit import keys

    store = wiring.find_store(call)
    place = wiring.key_dir(wiring.load_settings(call).settings.keys)
    name = wiring.store_id(store)
    fresh = keys.rotate(place, name)
    kept = len(keys.every_key(place, name)) - 1
    voice = output.screen(call).voice
    voice.line(
        f"key {fresh.id} is in force; {kept} kept for finding; file {keys.key_path(place, name)}"
    )
    voice.note("a running collector takes it within seconds; equal secrets before and after differ")
    return Exit.DONE
