"""Store and host out of audit.toml without the checker, which takes as long as a whole command."""

import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MAX_QUICK_BYTES: Final = 1 << 20
# What may stand at the top; a test holds this against Settings.
KNOWN: Final = frozenset(
    (
        "store",
        "host",
        "keys",
        "link_window",
        "sources",
        "decoders",
        "seal",
        "retention",
        "runs",
        "redaction",
        "policies",
        "read",
    )
)


@dataclass(frozen=True, slots=True)
class Quick:
    """What readers of a store need of the settings."""

    store: str | None
    host: str | None


def quick(path: Path) -> Quick:
    """The two values; for a file that is in any way odd, SettingsError as the checker has it."""
    found = _plainly(path)
    if found is not None:
        return found
    from audit.settings import read

    settings = read(path).settings
    return Quick(settings.store, settings.host)


def _plainly(path: Path) -> Quick | None:
    try:
        state = path.stat()
        if state.st_mode & stat.S_IWOTH or state.st_size > MAX_QUICK_BYTES:
            return None
        raw = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    store, host = raw.get("store"), raw.get("host")
    known = KNOWN.issuperset(raw)
    texts = all(value is None or isinstance(value, str) for value in (store, host))
    return Quick(store, host) if known and texts else None
