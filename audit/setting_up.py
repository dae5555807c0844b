"""`audit setup`: host, store, the logs that are found, and an audit.toml that explains itself."""

import glob
import json
import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from audit import commands, wiring
from audit import screen as output
from audit.call import Call
from audit.render_time import count, size
from audit.settings import FILE_NAME, read
from audit.settings_text import settings_text
from audit_events.errors import Exit, SettingsError

# A larger log is told by its size: counting lines would take longer than a person waits.
MAX_COUNTED_BYTES: Final = 64 << 20
_NAME_CELLS: Final = 14
_WHAT_CELLS: Final = 13


@dataclass(frozen=True, slots=True)
class Log:
    """A log in one of its usual places: `pattern` goes into the settings."""

    name: str
    pattern: str
    decoder: str


# Where each producer writes unless it was told otherwise.
USUAL_PLACES: Final = (
    Log("openclaw", "~/.openclaw/audit/*.jsonl", "auto"),
    *(
        (Log("santa", "/var/db/santa/santa.log", "santa"),)
        if sys.platform == "darwin"
        else (Log("linux-audit", "/var/log/audit/audit.log", "linux-audit"),)
    ),
)


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of a log: a line about it, and whether it can be collected."""

    log: Log
    place: str
    words: str
    usable: bool


def setup(call: Call, *, host: str | None, dry_run: bool) -> Exit:
    """Set up what there is to set up, and say each step; a second time it changes nothing."""
    name = host or wiring.host_name(call)
    store, settings = wiring.store_place(call).path, settings_place(call)
    found = [found for log in USUAL_PLACES if (found := look(log)) is not None]
    lines = [_line("host name", f"{name:<35}(change: --host NAME)")]
    lines.append(_line("store", f"{_short(store):<44} {_store(store, dry_run=dry_run)}"))
    for log in found:
        word = "found" if log.usable else "not usable"
        lines.append(_line(word, f"{log.log.name:<{_WHAT_CELLS}}{log.place:<32} {log.words}"))
    if not found:
        lines.append(_line("found", "no log in the usual places"))
    lines.append(_line("policies", "not looked for: add [policies.SANDBOX] to the settings"))
    text = settings_text({"host": name}, [_source(log) for log in found if log.usable])
    lines.append(_line(*_write(settings, text, dry_run=dry_run)))
    if lines[-1].startswith("kept") and host and host != wiring.host_name(call):
        lines.append(_line("not set", f"host = {json.dumps(host)}: change it in that file"))
    output.put([*lines, "", *_next(call, found, dry_run=dry_run)])
    return Exit.DONE


def settings_place(call: Call) -> Path:
    """Where settings are looked for: as named, in a named store, else the platform's place."""
    if named := call.config or call.environ.get("AUDIT_CONFIG"):
        return Path(named).expanduser()
    if named_store := call.store or call.environ.get("AUDIT_STORE"):
        return Path(named_store).expanduser() / FILE_NAME
    return wiring.config_dir() / FILE_NAME


def look(log: Log) -> Found | None:
    """The log as it lies there; None if it does not."""
    pattern = str(Path(log.pattern).expanduser())
    paths = [Path(path) for path in sorted(glob.glob(pattern))]  # noqa: PTH207  absolute
    if not paths:
        return None
    place = _short(paths[0]) if len(paths) == 1 else log.pattern
    try:
        words = _amount(paths)
    except OSError as error:
        return Found(log, place, error.strerror or "cannot be read", usable=False)
    return Found(log, place, words, usable=True)


def _amount(paths: list[Path]) -> str:
    total, lines = 0, 0
    for path in paths:
        with path.open("rb") as file:
            total += os.fstat(file.fileno()).st_size
            if total <= MAX_COUNTED_BYTES:
                lines += sum(block.count(b"\n") for block in _blocks(file))
    return f"{count(lines)} lines" if total <= MAX_COUNTED_BYTES else size(total)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(1 << 20):
        yield block


def _source(found: Found) -> tuple[str, list[str], str]:
    return found.log.name, [str(Path(found.log.pattern).expanduser())], found.log.decoder


def _store(path: Path, *, dry_run: bool) -> str:
    from audit_events.layout import StorePaths

    if StorePaths(path).toml.exists():
        return f"exists, {stat.S_IMODE(path.stat().st_mode):04o}"
    if dry_run:
        return "would be created"
    from collector.store import open_or_create

    made = open_or_create(path)
    return f"created, {stat.S_IMODE(made.paths.root.stat().st_mode):04o}"


def _write(path: Path, text: str, *, dry_run: bool) -> tuple[str, str]:
    """What was done to the settings, and to which; those that are there stay as they are."""
    if path.exists():
        read(path)
        return "kept", f"{_short(path)}, valid, unchanged"
    if dry_run:
        return "would write", f"{_short(path)}, every setting explained"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    read(path)
    return "wrote", f"{_short(path)}, every setting explained"


def _next(call: Call, found: list[Found], *, dry_run: bool) -> list[str]:
    if dry_run:
        return ["nothing was changed"]
    known, ready = commands.names(), any(log.usable for log in found)
    if not ready:
        return [_line("next", f"{call.prog} collect FILE, or add [sources.NAME] to the settings")]
    start = "service install" if "service" in known else "collect"
    return [_line("next", f"{call.prog} {start}           reads all of it and keeps watching")]


def _line(name: str, text: str) -> str:
    return f"{name:<{_NAME_CELLS}} {text}".rstrip()


def _short(path: Path) -> str:
    """With `~`, as a person writes it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
