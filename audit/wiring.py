"""Where things are: the settings file, the store, the keys; and what to say when they are not."""

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from audit.call import Call
from audit.render_time import size, spoken
from audit_events.errors import SettingsError, StorageError, UsageError
from audit_events.layout import StorePaths

if TYPE_CHECKING:
    from audit.reads import Store
    from audit.settings import Loaded
    from audit.settings_quick import Quick

_NAME: Final = "sandtrail"
_SYSTEM_DATA: Final = (
    Path("/Library/Application Support/sandtrail")
    if sys.platform == "darwin"
    else Path("/var/lib/sandtrail")
)
# Where root's collector puts its read socket; other accounts' collectors name a place of their own.
READ_FOLDER: Final = Path("/var/run/sandtrail" if sys.platform == "darwin" else "/run/sandtrail")
_UNIX: Final = "unix:"
_THROUGH: Final = "{prog} tail      (or query, runs, show, explain, stats, gaps, status, export)"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder that may be a store, and who said so."""

    path: Path
    origin: str


def data_dir() -> Path:
    """The platform's place for this user's store."""
    from platformdirs import user_data_path

    return Path(user_data_path(_NAME, appauthor=False))


def system_data() -> Path:
    """The platform's place for root's store, which other accounts look for too."""
    return _SYSTEM_DATA


def config_dir() -> Path:
    """The platform's place for this user's settings and keys."""
    from platformdirs import user_config_path

    return Path(user_config_path(_NAME, appauthor=False))


def key_dir(named: str | None) -> Path:
    """Where fingerprint keys lie: as set, else beside the settings; never inside a store."""
    return Path(named).expanduser() if named else config_dir()


def load_settings(call: Call) -> "Loaded":
    """The settings in force: of --config, AUDIT_CONFIG, the store's folder or the user's place."""
    from audit import settings

    found = settings_file(call)
    return settings.read(found) if found else settings.Loaded()


def settings_file(call: Call) -> Path | None:
    """The file that settings come from, None if there is none; SettingsError for a wrong name."""
    named = call.config or call.environ.get("AUDIT_CONFIG")
    if not named:
        return _settings_file(call)
    path = Path(named).expanduser()
    if not path.exists():
        flag = "--config" if call.config else "AUDIT_CONFIG"
        raise SettingsError(f"{flag} {path}: no such file")
    return path


def _quick(call: Call) -> "Quick | None":
    found = settings_file(call)
    if found is None:
        return None
    from audit.settings_quick import quick

    return quick(found)


def _settings_file(call: Call) -> Path | None:
    named_store = call.store or call.environ.get("AUDIT_STORE")
    folder = Path(named_store).expanduser() if named_store else data_dir()
    paths = (folder / "audit.toml", config_dir() / "audit.toml")
    return next((path for path in paths if path.is_file()), None)


def store_place(call: Call) -> Place:
    """Where the store is or would be made."""
    if call.store:
        return Place(Path(call.store).expanduser(), "--store")
    if named := call.environ.get("AUDIT_STORE"):
        return Place(Path(named).expanduser(), "AUDIT_STORE")
    if (settings := _quick(call)) and settings.store:
        return Place(Path(settings.store).expanduser(), str(settings_file(call)))
    return Place(data_dir(), "default")


def own_place(call: Call) -> Path:
    """Where a store is or would be made; UsageError for a read socket."""
    place = store_place(call)
    if _socket_of(place) is not None:
        raise UsageError(
            f"{place.origin} {place.path}: a read socket answers some questions only",
            hint=_THROUGH.format(prog=call.prog),
        )
    return place.path


def find_trail(call: Call) -> "Store":
    """The store to read, or the read socket that stands for it; errors as `find_store`."""
    from audit.read_socket import ReadSocket

    place = store_place(call)
    if (named := _socket_of(place)) is not None:
        return ReadSocket(named)
    store = existing_store(call)
    if store is not None and os.access(store.spool, os.R_OK):
        return store
    sockets = read_sockets() if store is None and place.origin == "default" else []
    if len(sockets) > 1:
        shown = "\n".join(f"  {call.prog} --store {_UNIX}{path} …" for path in sockets)
        raise StorageError("several read sockets are here", hint=f"choose one:\n{shown}")
    return ReadSocket(sockets[0]) if sockets else find_store(call)


def read_sockets(folder: Path = READ_FOLDER) -> list[Path]:
    """The read sockets of root's collectors that this account may use."""
    try:
        return sorted(path for path in folder.glob("*.sock") if os.access(path, os.W_OK))
    except OSError:
        return []


def _socket_of(place: Place) -> Path | None:
    text = str(place.path)
    return Path(text.removeprefix(_UNIX)).expanduser() if text.startswith(_UNIX) else None


def find_store(call: Call) -> StorePaths:
    """The store to read; StorageError (T2) lists where we looked if there is none."""
    own_place(call)
    if (store := existing_store(call)) is not None:
        return store
    looked = _looked(call, store_place(call))
    raise StorageError(f"no store here; looked in\n{looked}", hint=_way_out(call))


def existing_store(call: Call) -> StorePaths | None:
    """The store to read, None if there is none."""
    place = store_place(call)
    return StorePaths(place.path) if _is_store(place.path) else None


def is_new_here(call: Call) -> bool:
    """True where nothing was ever collected: no store was named, and nobody keeps one."""
    place = store_place(call)
    elsewhere = _SYSTEM_DATA.exists() or READ_FOLDER.exists()
    return place.origin == "default" and not (_is_store(place.path) or elsewhere)


def _is_store(path: Path) -> bool:
    try:
        return (path / "spool.db").exists() or (path / "store.toml").exists()
    except OSError:
        return False


def _looked(call: Call, place: Place) -> str:
    rows = [("--store, AUDIT_STORE", "not set")]
    if place.origin != "default":
        rows = [(f"{place.origin} {place.path}", _state(call, place.path))]
    else:
        rows.append((str(place.path), _state(call, place.path)))
        if place.path != _SYSTEM_DATA:
            rows.append((str(_SYSTEM_DATA), _state(call, _SYSTEM_DATA)))
    if READ_FOLDER.exists():
        rows.append((str(READ_FOLDER), _readers()))
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"  {name:<{wide}}   {state}" for name, state in rows)


def _state(call: Call, path: Path) -> str:
    try:
        found = path.stat()
    except PermissionError:
        return "may not be looked at"
    except OSError:
        return "does not exist"
    if not stat.S_ISDIR(found.st_mode):
        return "is no folder"
    if os.access(path, os.R_OK | os.X_OK):
        return "holds no store"
    written = max(call.now() - int(found.st_mtime * 1e6), 0)
    return f"belongs to {_owner(found.st_uid)}, written {spoken(written)} ago"


def _readers(folder: Path = READ_FOLDER) -> str:
    """Whom the read sockets of a folder are for."""
    import grp

    gid = folder.stat().st_gid
    try:
        name = grp.getgrgid(gid).gr_name
    except KeyError:
        name = f"gid {gid}"
    if os.access(folder, os.X_OK):
        return f"read sockets of group {name}"
    return f"read sockets of group {name}, which this account is not in"


def _owner(uid: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def _way_out(call: Call) -> str:
    from audit import commands

    if sockets := read_sockets():
        return _THROUGH.format(prog=f"{call.prog} --store {_UNIX}{sockets[0]}")
    if call.store is None and (_SYSTEM_DATA.exists() or READ_FOLDER.exists()):
        return 'sudo sandtrail tail      (with sudo, "audit" would be Apple\'s /usr/sbin/audit)'
    known = commands.names()
    begin = f"{call.prog} setup" if "setup" in known else f"{call.prog} collect FILE"
    demo = f'"{call.prog} demo", or ' if "demo" in known else ""
    return f'nothing was ever collected; try {demo}"{begin}" to begin'


def host_name(call: Call) -> str:
    """What this machine calls itself."""
    if (settings := _quick(call)) and settings.host:
        return settings.host
    return os.uname().nodename.partition(".")[0]


def store_id(store: StorePaths) -> str:
    """The store's short name."""
    from query.snapshot import read_meta, reading

    with reading(store) as con:
        return str(read_meta(con)["store"])


def store_size(store: StorePaths) -> str:
    """Bytes of a store on disk."""
    total = sum(p.stat().st_size for p in store.root.rglob("*") if p.is_file())
    return size(total)
