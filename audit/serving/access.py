"""`audit serve token …` and `audit serve link`: who may ask the service."""

import re
from collections.abc import Sequence
from datetime import UTC
from typing import Any, Final

from audit import screen as output
from audit import wiring
from audit.call import Call
from audit.serving import links, tokens
from audit.serving.tokens import Token
from audit_events.errors import Exit, UsageError
from audit_events.layout import StorePaths
from query.times import display_zone, stamp

_S: Final = 1_000_000
_LENGTH: Final = re.compile(r"([0-9]{1,5}[smhdw])+")


def create(call: Call, name: str, sandboxes: Sequence[str], export: bool, expires: str) -> Exit:
    """Print a new token as the last word of stdout; it is shown this once."""
    store, now = wiring.find_store(call), call.now()
    scope = tokens.scope_of(tuple(sandboxes), export=export)
    end = expiry(expires, now)
    _note_unknown(call, store, sandboxes)
    token = tokens.create(store, name, scope, now, end)
    until = "never expires" if end is None else f"until {stamp(end, display_zone())}"
    screen = output.screen(call)
    screen.voice.line(f"token {name} ({spoken(scope)}, {until}); it is shown only now")
    output.put([token])
    return Exit.DONE


def _note_unknown(call: Call, store: StorePaths, sandboxes: Sequence[str]) -> None:
    """A name with a mistake in it would be a token that sees nothing."""
    from query.views import known_sandboxes

    known = known_sandboxes(store)
    for name in sandboxes:
        if name not in known:
            output.screen(call).voice.note(f"no sandbox {name} was seen in this store yet")


def expiry(text: str, now: int) -> int | None:
    """When a token of this age ends, in µs; None for `never`; UsageError."""
    if text == "never":
        return None
    if not _LENGTH.fullmatch(text):
        raise UsageError(f"--expires {text}: no length of time", hint="30d, 12h, 1w2d or never")
    from audit.settings import duration_s

    seconds = duration_s(text)
    if seconds < 1:
        raise UsageError(f"--expires {text}: at least 1s")
    return now + seconds * _S


def show(call: Call, *, json: bool) -> Exit:
    """Print every token with its scope and state; the hashes stay inside."""
    store, now = wiring.find_store(call), call.now()
    found = tokens.listed(store)
    if json:
        from audit.tables import put_rows

        rows = [_row(token, now) for token in found]
        put_rows(output.screen(call), "json", list(_COLUMNS), rows)
        return Exit.DONE
    if not found:
        output.screen(call).voice.line(f"no token; {call.prog} serve token create --name NAME")
        return Exit.DONE
    wide = max(len(token.name) for token in found)
    output.put(f"{t.name:<{wide}}  {t.state(now):<7}  {_line(t)}" for t in found)
    return Exit.DONE


_COLUMNS: Final = (
    "name", "state", "sandboxes", "export", "created_at", "expires_at", "revoked_at",
)  # fmt: skip


def _row(token: Token, now: int) -> dict[str, Any]:
    times = {
        name: None if us is None else _utc(us)
        for name, us in (
            ("created_at", token.created_at),
            ("expires_at", token.expires_at),
            ("revoked_at", token.revoked_at),
        )
    }
    scope = token.scope
    sandboxes = None if scope.sandboxes is None else list(scope.sandboxes)
    shown = {"name": token.name, "state": token.state(now), "sandboxes": sandboxes}
    whole = shown | {"export": scope.export} | times
    # Without `sandboxes` it is every one.
    return {name: value for name, value in whole.items() if value is not None}


def _utc(us: int) -> str:
    from query.times import to_datetime

    return to_datetime(us, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _line(token: Token) -> str:
    zone = display_zone()
    if token.revoked_at is not None:
        end = f"revoked {stamp(token.revoked_at, zone)}"
    else:
        end = "never expires" if token.expires_at is None else f"to {stamp(token.expires_at, zone)}"
    return f"{end}  {spoken(token.scope)}"


def spoken(scope: tokens.Scope) -> str:
    """`read, every sandbox`, `read and export, agent-demo`."""
    what = "read and export" if scope.export else "read"
    return f"{what}, {', '.join(scope.sandboxes) if scope.sandboxes else 'every sandbox'}"


def revoke(call: Call, name: str) -> Exit:
    """End a token; what it asks next is refused, streams end within seconds."""
    done = tokens.revoke(wiring.find_store(call), name, call.now())
    words = f"token {name} revoked" if done else f"token {name} was revoked before"
    output.screen(call).voice.line(words)
    return Exit.DONE


def link(call: Call, sandboxes: Sequence[str], url: str | None) -> Exit:
    """Print a link into the page."""
    store = wiring.find_store(call)
    _note_unknown(call, store, sandboxes)
    scope = tokens.scope_of(tuple(sandboxes))
    output.put([links.new_link(store, url, scope, call.now())])
    return Exit.DONE
