"""Where a service's page is, for those who want another link to it."""

import os

from audit.serving import sessions
from audit.serving.tokens import Scope, reading, writing
from audit_events.errors import UsageError
from audit_events.layout import StorePaths


def announce(store: StorePaths, url: str, now: int) -> None:
    """This process serves its page there."""
    with writing(store) as con:
        con.execute("INSERT OR REPLACE INTO services VALUES (?, ?, ?)", (url, os.getpid(), now))


def withdraw(store: StorePaths, url: str) -> None:
    """It does no more."""
    with writing(store) as con:
        con.execute("DELETE FROM services WHERE url = ? AND pid = ?", (url, os.getpid()))


def pages(store: StorePaths) -> list[str]:
    """The pages of services that run over this store, the newest first."""
    with reading(store) as con:
        rows = con.execute("SELECT url, pid FROM services ORDER BY started_at DESC").fetchall()
    return [url for url, pid in rows if _alive(pid)]


def new_link(store: StorePaths, url: str | None, scope: Scope, now: int) -> str:
    """A link into the page of `url`, or of the one that runs: good once, for 60 s."""
    if url is None:
        found = pages(store)
        if not found:
            hint = "audit serve      in another terminal, or as a service; or name it: --url"
            raise UsageError("no service with a page runs over this store", hint=hint)
        url = found[0]
    # What stands behind # is never sent to a server, so no log on the way can hold it.
    return f"{url.rstrip('/')}/#code={sessions.new_code(store, scope, now)}"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
