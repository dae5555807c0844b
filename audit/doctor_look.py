"""What the doctor's checks are handed, and what they find."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from audit import wiring
from audit.call import Call
from audit.settings import Loaded
from audit_events.layout import StorePaths
from query.status import Status, status

State = Literal["ok", "warn", "FAIL"]
# Where root looks for a command on macOS and Linux.
ROOT_PATH: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: how it is, of what, in words; below it what to do."""

    state: State
    name: str
    words: str
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Around:
    """The surroundings of one call; `status` is None where no store can be read."""

    call: Call
    store: StorePaths
    loaded: Loaded
    status: Status | None
    now: int
    environ: Mapping[str, str] = field(default_factory=dict)
    home: Path = field(default_factory=Path.home)
    platform: str = sys.platform
    root_path: Sequence[str] = ROOT_PATH

    @property
    def collecting(self) -> bool:
        """Whether a collector is at work now."""
        return self.status is not None and self.status.collector.state == "running"


def look_around(call: Call) -> Around:
    """The settings and the store as they are; SettingsError for settings that are not valid."""
    loaded, store, now = wiring.load_settings(call), StorePaths(wiring.own_place(call)), call.now()
    there = store.spool.exists() and os.access(store.spool, os.R_OK)
    found = status(store, now, now) if there else None
    return Around(call, store, loaded, found, now, call.environ)
