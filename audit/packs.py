"""Packs of redaction rules: found, read, and renewed while a collector runs."""

import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import policies.packs
from audit_events.errors import SettingsError

if TYPE_CHECKING:
    from policies.redact.engine import Redactor
    from policies.redact.packs import Pack

MAX_PACK_BYTES: Final = 1 << 20
RENEW_EVERY_S: Final = 2.0
_SHIPPED: Final = Path(policies.packs.__file__).parent


def pack_path(name: str) -> Path:
    """The file of a pack: a path as it is, a bare name among the shipped ones."""
    if "/" in name or name.endswith((".yaml", ".yml")):
        return Path(name).expanduser()
    return _SHIPPED / f"{name}.yaml"


def load_packs(names: Sequence[str]) -> "Pack | None":
    """All packs as one, None without any; SettingsError says file:line:col, at most 10 faults."""
    if not names:
        return None
    from policies.redact.packs import combined

    try:
        return combined([_load(pack_path(name), name) for name in names])
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _load(path: Path, name: str) -> "Pack":
    from policies.redact.packs import parse_pack
    from policies.yaml_text import YamlError

    text = _private_text(path)
    try:
        return parse_pack(text, name)
    except YamlError as error:
        raise SettingsError("\n".join(p.shown(str(path)) for p in error.problems)) from None


def _private_text(path: Path) -> str:
    """The text of a file that nobody else could have written: it can switch masks off."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MAX_PACK_BYTES + 1)
    except OSError as error:
        known = ", ".join(sorted(found.stem for found in _SHIPPED.glob("*.yaml")))
        raise SettingsError(
            f"{path}: {error.strerror}", hint=f"a path, or one of the shipped packs: {known}"
        ) from None
    if mode & stat.S_IWOTH:
        raise SettingsError(f"{path}: anybody can write this file", hint=f"chmod o-w {path}")
    if len(data) > MAX_PACK_BYTES:
        raise SettingsError(f"{path}: larger than {MAX_PACK_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SettingsError(f"{path}:{line}:1: not UTF-8") from None


class PackList:
    """Which packs the settings name now, and the files that their rules come from."""

    def __init__(self, names: Callable[[], Sequence[str]], more_files: Sequence[Path]) -> None:
        """`names` reads the settings anew; `more_files` are those whose change counts as well."""
        self._read = names
        self._names = tuple(names())
        self._more = tuple(more_files)

    def load(self) -> "Pack | None":
        """The packs named now, as one; SettingsError leaves the list before in force."""
        names = tuple(self._read())
        loaded = load_packs(names)
        self._names = names
        return loaded

    def files(self) -> list[Path]:
        """What to watch: these files, and each pack in force."""
        return [*self._more, *(pack_path(name) for name in self._names)]


class Renewal:
    """Makes a new redactor when the list of packs, a pack or the key changed, or somebody asks.

    It is asked between the collector's turns. The redactor is made in a thread of its own, as that
    takes a second. What became invalid changes nothing: the rules in force stay, and it is said
    once.
    """

    def __init__(
        self,
        make: Callable[[], "Redactor"],
        files: Callable[[], Sequence[Path]],
        say: Callable[[str], None],
        *,
        asked: threading.Event | None = None,
        every_s: float = RENEW_EVERY_S,
    ) -> None:
        """`asked` is set by whoever wants it now (SIGHUP), even where no file seems changed."""
        self._make = make
        self._files = files
        self._say = say
        self._asked = asked or threading.Event()
        self._every_s = every_s
        self._digest = ""
        self._known = self._signature()
        self._last = time.monotonic()
        self._thread: threading.Thread | None = None
        self._made: Redactor | None = None

    def __call__(self) -> "Redactor | None":
        """A redactor to use from now on, None while nothing changed."""
        if self._thread is not None:
            return self._result()
        now = time.monotonic()
        asked = self._asked.is_set()
        if not asked and now - self._last < self._every_s:
            return None
        # Cleared before the files are read: who asks from now on is heard again.
        self._asked.clear()
        self._last = now
        found = self._signature()
        if asked or found != self._known:
            if asked:
                self._digest = ""
            self._known = found
            self._thread = threading.Thread(target=self._build, name="rules", daemon=True)
            self._thread.start()
        return None

    def _result(self) -> "Redactor | None":
        assert self._thread is not None  # noqa: S101
        if self._thread.is_alive():
            return None
        self._thread = None
        made, self._made = self._made, None
        if made is not None and made.digest != self._digest:
            self._digest = made.digest
            self._say(f"redaction rules {made.digest} are in force")
        return made

    def _build(self) -> None:
        try:
            self._made = self._make()
        # Whatever is wrong with the new rules, the old ones go on; an error's text may quote them.
        except SettingsError as error:
            self._say(f"{error.message}; the redaction rules before stay in force")
        except Exception as error:  # noqa: BLE001
            what = type(error).__name__
            self._say(f"new redaction rules cannot be used ({what}); the ones before stay")

    def _signature(self) -> tuple[tuple[Path, tuple[int, int, int] | None], ...]:
        return tuple((path, _stamp(path)) for path in self._files())


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
