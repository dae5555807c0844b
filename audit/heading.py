"""The header line of an answer: filters, window or number, zone, host, store."""

from audit import wiring
from audit.asking import Question, described
from audit.call import Call
from audit.render_time import clock
from audit_events.layout import StorePaths


def header(
    call: Call, store: StorePaths, asked: Question, number: str, *, zone: bool = False
) -> str:
    """One line; `number` stands where no window does, `zone` asks for the zone in any case."""
    parts = described(asked, call.now())
    bounded = asked.window.since is not None or asked.window.until is not None
    if not bounded:
        parts.append(number)
    if not bounded or zone:
        parts.append(f"times {clock(call.now(), asked.zone)[8:]}")
    return " · ".join([*parts, wiring.host_name(call), wiring.store_id(store)])
