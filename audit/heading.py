"""The header line of an answer: filters, window or number, zone, host, store."""

from audit import reads, wiring
from audit.asking import Question, described
from audit.call import Call
from audit.render_time import clock


def header(
    call: Call, store: reads.Store, asked: Question, number: str, *, zone: bool = False
) -> str:
    """One line; `number` stands where no window does, `zone` asks for the zone in any case."""
    parts = described(asked, call.now())
    bounded = asked.window.since is not None or asked.window.until is not None
    if not bounded:
        parts.append(number)
    if not bounded or zone:
        parts.append(f"times {clock(call.now(), asked.zone)[8:]}")
    return " · ".join([*parts, wiring.host_name(call), reads.store_id(store)])
