"""`audit secrets purge`: today's rules over yesterday's events, and what that changes."""

from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version

import pyarrow as pa
import pyarrow.compute as pc

from audit import screen as output
from audit import wiring
from audit.call import Call
from audit.masking import redactor
from audit.render_time import count, moment
from audit_events.arrow import EVENT_SCHEMA
from audit_events.errors import Exit
from audit_events.schema import KINDS
from collector.purge import Order, added_kinds
from collector.purge import purge as rewrite
from collector.store import Store
from query import engine, views
from query.contracts import Request, Window
from query.times import display_zone, window


def foresee(call: Call, since: str | None) -> Exit:
    """Say what a purge would change; reads only, beside a running collector too."""
    store, screen = wiring.find_store(call), output.screen(call)
    span = _window(call, since)
    masker = redactor(call)
    state = masker.initial_state()
    changed: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    looked = 0
    for page in engine.pages(store, Request({"kind": KINDS}, span)):
        for batch in pa.table(page.table).to_batches():
            rows = pa.RecordBatch.from_arrays(
                [batch.column(f.name).cast(f.type) for f in EVENT_SCHEMA], schema=EVENT_SCHEMA
            )
            masked, state, hit = masker.mask_again(rows, state)
            looked += len(rows)
            if hit.any():
                mine = masked.filter(pa.array(hit))
                changed.update(pc.strftime(mine.column("ts"), format="%Y-%m-%d").to_pylist())
                kinds += added_kinds(mine, rows.filter(pa.array(hit)))
    zone = display_zone(None, utc=False)
    since_text = f" since {moment(span.since, zone, call.now())}" if span.since else ""
    output.put([f"{_events(looked)}{since_text} looked at", *_lines(changed, kinds, "would be")])
    if changed:
        screen.voice.note(f"nothing was changed; to do it: {call.prog} secrets purge")
    return Exit.DONE


def purge(call: Call, since: str | None) -> Exit:
    """Rewrite what today's rules mask and older ones did not; StorageError while collecting."""
    store, screen = wiring.find_store(call), output.screen(call)
    name = wiring.store_id(store)
    keys = wiring.key_dir(wiring.load_settings(call).settings.keys)
    order = Order(
        redactor(call), _window(call, since).since, wiring.host_name(call), version("sandtrail")
    )
    done = rewrite(Store(store, name), keys / "keys" / f"{name}.seq", order)
    output.put([f"{_events(done.looked)} looked at", *_lines(done.changed, done.kinds, "were")])
    voice = screen.voice
    if done.removed:
        voice.note(f"old databases that were set aside are gone: {', '.join(done.removed)}")
    first = done.first_seq
    if first is not None:
        sent = [cursor.name for cursor in views.cursors(store) if cursor.seq >= first]
        if sent:
            voice.warning(f"these events went out before, as they were: {', '.join(sent)}")
        voice.note("copies, backups and file-system snapshots of the store are not touched")
    return Exit.DONE


def _window(call: Call, since: str | None) -> Window:
    zone = display_zone(None, utc=False)
    return window(since, None, None, "event", (call.now(), zone))[0]


def _events(number: int) -> str:
    return f"{count(number)} event{'s' * (number != 1)}"


def _lines(changed: Mapping[str, int], kinds: Mapping[str, int], verb: str) -> list[str]:
    total = sum(changed.values())
    if not total:
        return ["nothing to mask that is not masked already"]
    lines = [f"{count(total)} {verb} masked anew:"]
    lines += [f"  {date}  {count(number):>9}" for date, number in sorted(changed.items())]
    names = ", ".join(f"{kind} {count(n)}" for kind, n in Counter(kinds).most_common())
    return [*lines, f"kinds: {names}"]
