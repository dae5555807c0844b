"""`audit setup`: host, store, what is found, an audit.toml that explains itself, a collector."""

import contextlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from audit import screen as output
from audit import service, wiring
from audit import setting_up_found as looks
from audit.call import Call
from audit.render_flow import Part, flowed
from audit.render_style import safe
from audit.screen import Screen
from audit.setting_up_found import Found, Policies, short
from audit.settings import FILE_NAME, read
from audit.settings_text import settings_text
from audit_events.errors import AuditError, Exit, SettingsError, StorageError
from audit_events.layout import StorePaths
from query import views
from query.snapshot import number, read_meta, reading

# So long setup waits for the collector and for its first event.
MAX_WAIT_S: Final = 10.0
_LOOK_S: Final = 0.1
_NAME: Final = 15
_PLACE: Final = 26
_HOW: Final = 51
_WORDS: Final = 63


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was typed, and where is looked; `manager` None: this machine's own services."""

    host: str | None = None
    dry_run: bool = False
    start: bool = True
    ground: looks.Ground = field(default_factory=looks.usual_ground)
    manager: service.Ground | None = None


def setup(call: Call, wanted: Wanted) -> Exit:
    """Set up what there is to set up, and say each step; a second time it changes nothing."""
    screen = output.screen(call)
    name = wanted.host or wiring.host_name(call)
    store, settings = wiring.store_place(call).path, settings_place(call)
    _put(screen, [(0, "host name"), (_NAME, name), (_HOW, "(change: --host NAME)")])
    made = _store(store, dry_run=wanted.dry_run)
    _put(screen, [(0, "store"), (_NAME, short(store)), (_WORDS, made)])
    found = looks.sources(wanted.ground)
    for each in found:
        _put(screen, _found(call, each))
    if not any(each.usable for each in found):
        _put(screen, [(0, "found"), (_NAME, "no log in the usual places")])
    folders = list(looks.policies(wanted.ground))
    for folder in folders:
        _put(screen, _policies(call, folder))
    files, kinds = _sources(found)
    word, text = _write(settings, settings_text({"host": name}, files, kinds), wanted)
    _put(screen, [(0, word), (_NAME, text)])
    if word == "kept" and wanted.host and wanted.host != wiring.host_name(call):
        _put(
            screen, [(0, "not set"), (_NAME, f"host = {json.dumps(name)}: change it in that file")]
        )
    if wanted.dry_run:
        output.put(["", "nothing was changed"])
        return Exit.DONE
    ready = any(each.usable for each in found) or word == "kept"
    for parts in _started(call, store, wanted) if ready else ():
        _put(screen, parts)
    output.put([""])
    for parts in _left(call, folders, ready=ready):
        _put(screen, parts)
    return Exit.DONE


def _put(screen: Screen, parts: list[Part]) -> None:
    """At once: the next step may take a while."""
    columns = screen.columns if screen.terminal else None
    told = [(column, safe(text, screen.glyphs)) for column, text in parts if text]
    output.put(line.rstrip() for line in flowed(told, columns, _NAME))


def _found(call: Call, each: Found) -> list[Part]:
    if each.usable:
        return [(0, "found"), (_NAME, each.name), (_PLACE, each.place), (_WORDS, each.words)]
    words = f"{each.words} ({call.prog} doctor)"
    return [(0, "not usable"), (_NAME, each.name), (_PLACE + 2, f"{each.place} {words}".strip())]


def _policies(call: Call, folder: Policies) -> list[Part]:
    if folder.faulty:
        words = f"{len(folder.faulty)} of {_files(folder.files)} not valid"
        way = f"{call.prog} policy validate -f {folder.faulty[0]}"
        return [(0, "not usable"), (_NAME, "policies"), (_PLACE, f"{folder.place}, {words}: {way}")]
    warnings = f"{folder.warnings} warning{'s' * (folder.warnings != 1)}"
    words = f"{folder.place}, {_files(folder.files)}, valid ({warnings})"
    return [(0, "found"), (_NAME, "policies"), (_PLACE, words)]


def _files(number: int) -> str:
    return f"{number} file{'s' * (number != 1)}"


def settings_place(call: Call) -> Path:
    """Where settings are looked for: as named, in a named store, else the platform's place."""
    if named := call.config or call.environ.get("AUDIT_CONFIG"):
        return Path(named).expanduser()
    if named_store := call.store or call.environ.get("AUDIT_STORE"):
        return Path(named_store).expanduser() / FILE_NAME
    return wiring.config_dir() / FILE_NAME


def _sources(found: list[Found]) -> tuple[list[tuple[str, list[str], str]], list[str]]:
    """What can be used, for the settings: files with their decoder, and kinds of the system."""
    usable = [each for each in found if each.usable]
    files = [(each.name, list(each.paths), each.decoder) for each in usable if each.paths]
    return files, [each.kind for each in usable if each.paths is None]


def _store(path: Path, *, dry_run: bool) -> str:
    if StorePaths(path).toml.exists():
        return f"exists, {stat.S_IMODE(path.stat().st_mode):04o}"
    if dry_run:
        return "would be created"
    from collector.store import open_or_create

    made = open_or_create(path)
    return f"created, {stat.S_IMODE(made.paths.root.stat().st_mode):04o}"


def _write(path: Path, text: str, wanted: Wanted) -> tuple[str, str]:
    """What was done to the settings, and to which; those that are there stay as they are."""
    if path.exists():
        read(path)
        return "kept", f"{short(path)}, valid, unchanged"
    if wanted.dry_run:
        return "would write", f"{short(path)}, every setting explained"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
            file.write(text)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    read(path)
    return "wrote", f"{short(path)}, every setting explained"


def _started(call: Call, root: Path, wanted: Wanted) -> Iterator[list[Part]]:
    """The collector as a service of this user, unless one is at work; then its first event."""
    store = StorePaths(root)
    if (running := _running(call, store)) is not None:
        yield [(0, "running"), (_NAME, f"pid {running}")]
        return
    ground = wanted.manager or service.Ground(call, system=False)
    why = None if wanted.start else "as asked"
    if why is None and ground.uid == 0:
        why = "root's collector is the machine's: sandtrail service install --system"
    before = _last_seq(store)
    if why is None:
        try:
            name = service.start(ground)
        except AuditError as error:
            why = f"{error.message}; by hand: {call.prog} collect"
    if why is not None:
        yield [(0, "not started"), (_NAME, why)]
        return
    began = time.monotonic()
    pid = _awaited(began, lambda: _running(call, store))
    yield [(0, "started"), (_NAME, f"{name}, pid {pid}" if pid else f"{name}, no sign of it yet")]
    first = _awaited(began, lambda: _last_seq(store) > before or None)
    took = f"{time.monotonic() - began:.1f} s"
    words = f"first event read after {took}" if first else f"nothing read in {took}"
    yield [(0, "check"), (_NAME, words if first else f"{words} ({call.prog} doctor)")]


def _awaited(began: float, look: Callable[[], int | None]) -> int | None:
    """Look again and again; the store may be in the making meanwhile."""
    while time.monotonic() - began < MAX_WAIT_S:
        with contextlib.suppress(StorageError):
            if (found := look()) is not None:
                return found
        time.sleep(_LOOK_S)
    return None


def _running(call: Call, store: StorePaths) -> int | None:
    """The pid of a collector at work."""
    if not store.spool.exists():
        return None
    found = views.collector(store, call.now())
    return found.pid if found.state == "running" else None


def _last_seq(store: StorePaths) -> int:
    if not store.spool.exists():
        return 0
    with reading(store) as con:
        return number(read_meta(con), "last_seq")


def _left(call: Call, folders: list[Policies], *, ready: bool) -> Iterator[list[Part]]:
    """What setup leaves to a person, each with the line to type."""
    label = "not set up"
    if not ready:
        text = f"sources: {call.prog} collect FILE, or add [sources.NAME] to the settings"
        yield [(0, label), (_NAME, text)]
        label = ""
    if folders:
        text = f"policies: {call.prog} policy apply -f FILE --sandbox NAME"
        yield [(0, label), (_NAME, text)]
        label = ""
    text = f"nightly export: {call.prog} export --cursor NAME -o FILE, from cron"
    yield [(0, label), (_NAME, text)]
