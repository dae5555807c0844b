"""`audit service`: the collector as a service of launchd or systemd, always on."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from audit import screen as output
from audit import wiring
from audit.call import Call
from audit.quoting import quoted
from audit.say import Voice
from audit.service_files import Manager, Service, text_of
from audit.service_place import LABEL, UNIT, service_path
from audit_events.errors import Exit, SettingsError, StorageError, UsageError
from audit_events.layout import StorePaths
from audit_events.version import VERSION

# What a manager takes to answer; a stop may take as long as the last seal.
COMMAND_TIMEOUT_S: Final = 90
DEFAULT_LINES: Final = 50
_TIMEOUT: Final = 124


@dataclass(frozen=True, slots=True)
class Said:
    """What a command of the manager answered."""

    code: int
    text: str


def run_command(words: Sequence[str]) -> Said:
    """Run it; a command that is not there is code 127."""
    try:
        done = subprocess.run(
            list(words), capture_output=True, text=True, errors="replace",
            timeout=COMMAND_TIMEOUT_S, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        return Said(127, f"{words[0]}: no such command")
    except subprocess.TimeoutExpired:
        return Said(_TIMEOUT, f"{words[0]} did not answer in {COMMAND_TIMEOUT_S} s")
    return Said(done.returncode, (done.stderr or done.stdout).strip())


@dataclass(frozen=True, slots=True)
class Ground:
    """Where a service is installed; everything that differs between machines is handed in."""

    call: Call
    system: bool
    platform: str = sys.platform
    home: Path = field(default_factory=Path.home)
    root: Path = Path("/")
    uid: int = field(default_factory=os.getuid)
    run: Callable[[Sequence[str]], Said] = run_command
    program: str | None = None

    @property
    def manager(self) -> Manager:
        """Who runs services here."""
        return "launchd" if self.platform == "darwin" else "systemd"

    @property
    def path(self) -> Path:
        """The file of the service."""
        return service_path(self.home, system=self.system, platform=self.platform, root=self.root)

    @property
    def log(self) -> Path | None:
        """The collector's own log; systemd keeps one for everybody."""
        if self.manager == "systemd":
            return None
        return (self.root if self.system else self.home) / "Library/Logs/sandtrail/collector.log"

    @property
    def voice(self) -> Voice:
        """On stderr."""
        return Voice(self.call.prog, self.call.environ)


def service_of(ground: Ground) -> Service:
    """The service as it would be installed; SettingsError where there is nothing to collect."""
    call = ground.call
    settings = wiring.settings_file(call)
    if settings is None or not wiring.load_settings(call).settings.sources:
        raise SettingsError(
            "no source is set up, so a service would collect nothing",
            hint=f"{call.prog} setup      or [sources.NAME] in audit.toml",
        )
    words = [_program(ground), "--config", str(settings.absolute())]
    place = wiring.store_place(call)
    if ground.system and place.origin == "default":
        words += ["--store", str(wiring.system_data())]
    elif place.origin in ("--store", "AUDIT_STORE"):
        words += ["--store", str(place.path.absolute())]
    words.append("collect")
    if ground.log is not None:
        words += ["--log", str(ground.log)]
    return Service(ground.manager, ground.system, words, ground.path, ground.log)


def _program(ground: Ground) -> str:
    beside = Path(sys.executable).parent / "sandtrail"
    found = ground.program or (str(beside) if beside.exists() else shutil.which("sandtrail"))
    if found is None:
        raise UsageError("the command sandtrail is not installed", hint="uv tool install sandtrail")
    return str(Path(found).absolute())


def install(ground: Ground, *, dry_run: bool) -> Exit:
    """Write the file and start the service; a second time it is unchanged, or restarted."""
    service = service_of(ground)
    text = text_of(service)
    if dry_run:
        output.put(text.splitlines())
        ground.voice.line(f"would be written to {service.path} ({service.kind})")
        return Exit.DONE
    same = _put(ground, service, text)
    logs = f"log: {ground.call.prog} service logs{' --system' * ground.system}"
    word = "unchanged" if same else "installed"
    ground.voice.line(f"service {word}: {service.name} ({service.kind}), running; {logs}")
    if ground.manager == "systemd" and not ground.system:
        ground.voice.note("it ends when you log out, unless: loginctl enable-linger")
    return Exit.DONE


def start(ground: Ground) -> str:
    """Install and start the service without a word; its name."""
    service = service_of(ground)
    _put(ground, service, text_of(service))
    return service.name


def _put(ground: Ground, service: Service, text: str) -> bool:
    """The file in its place and the service running; whether the file was there as it is."""
    _need_root(ground, "install")
    path = service.path
    same = path.exists() and path.read_text() == text
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(text)
        fresh.chmod(0o644)
        fresh.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}") from error
    for words in _starting(ground, again=path.exists() and not same):
        _done(ground, words)
    return same


def restart(ground: Ground) -> Exit:
    """Stop and start: for a new version, or other settings."""
    _need_file(ground)
    _need_root(ground, "restart")
    for words in _starting(ground, again=True):
        _done(ground, words)
    ground.voice.line(f"service restarted: {_name(ground)}")
    return Exit.DONE


def remove(ground: Ground) -> Exit:
    """Stop it and take its file away; what was collected stays."""
    _need_file(ground)
    _need_root(ground, "remove")
    if ground.manager == "launchd":
        ground.run(["launchctl", "bootout", f"{_domain(ground)}/{LABEL}"])
    else:
        _done(ground, [*_systemctl(ground), "disable", "--now", UNIT])
    ground.path.unlink()
    if ground.manager == "systemd":
        _done(ground, [*_systemctl(ground), "daemon-reload"])
    ground.voice.line(f"service removed: {_name(ground)}; the store and its events stay")
    return Exit.DONE


def status(ground: Ground) -> Exit:
    """Print file, state and version; ANSWER_NO unless it runs."""
    if not ground.path.exists():
        output.put(["not installed", f"  {ground.call.prog} service install"])
        return Exit.ANSWER_NO
    said = ground.run(_asking(ground))
    running = said.code == 0 and "not running" not in said.text
    lines = [f"{_name(ground)}  {'running' if running else 'NOT RUNNING'}", f"file  {ground.path}"]
    output.put(lines + _collector(ground))
    return Exit.DONE if running else Exit.ANSWER_NO


def _collector(ground: Ground) -> list[str]:
    """What the collector of the store says of itself, and whether it is the installed version."""
    from query import views

    store = wiring.existing_store(ground.call)
    if ground.system and wiring.store_place(ground.call).origin == "default":
        store = StorePaths(wiring.system_data())
    if store is None or not os.access(store.spool, os.R_OK):
        return []
    found = views.collector(store, ground.call.now())
    if found.state != "running":
        return [f"collector of {store.root}: {found.state}"]
    lines = [f"collector pid {found.pid}, sandtrail {found.version}, store {store.root}"]
    if found.version not in (None, VERSION):
        lines.append(f"the installed version is {VERSION}: sandtrail service restart")
    return lines


def logs(ground: Ground, number: int) -> Exit:
    """Print the newest lines of the collector's log."""
    if ground.log is None:
        user = [] if ground.system else ["--user"]
        said = _journal(ground, ["journalctl", *user, "-u", UNIT, "-n", str(number), "--no-pager"])
        output.put(said.splitlines())
        return Exit.DONE
    newest: deque[str] = deque(maxlen=number)
    for path in (Path(f"{ground.log}.1"), ground.log):
        with contextlib.suppress(FileNotFoundError), path.open(errors="replace") as file:
            newest.extend(line.rstrip("\n") for line in file)
    if not newest:
        raise StorageError(f"{ground.log}: no log yet", hint=f"{ground.call.prog} service status")
    output.put(newest)
    return Exit.DONE


def _journal(ground: Ground, words: Sequence[str]) -> str:
    said = ground.run(words)
    if said.code:
        raise StorageError(f"{words[0]}: {said.text}", hint=" ".join(map(quoted, words)))
    return said.text


def _starting(ground: Ground, *, again: bool) -> list[list[str]]:
    if ground.manager == "launchd":
        domain = _domain(ground)
        loaded = ground.run(["launchctl", "print", f"{domain}/{LABEL}"]).code == 0
        if loaded and not again:
            return []
        out = [["launchctl", "bootout", f"{domain}/{LABEL}"]] if loaded else []
        return [*out, ["launchctl", "bootstrap", domain, str(ground.path)]]
    systemctl = _systemctl(ground)
    start = [*systemctl, "restart", UNIT] if again else [*systemctl, "start", UNIT]
    return [[*systemctl, "daemon-reload"], [*systemctl, "enable", UNIT], start]


def _asking(ground: Ground) -> list[str]:
    if ground.manager == "launchd":
        return ["launchctl", "print", f"{_domain(ground)}/{LABEL}"]
    return [*_systemctl(ground), "is-active", UNIT]


def _systemctl(ground: Ground) -> list[str]:
    return ["systemctl"] if ground.system else ["systemctl", "--user"]


def _domain(ground: Ground) -> str:
    return "system" if ground.system else f"gui/{ground.uid}"


def _name(ground: Ground) -> str:
    return LABEL if ground.manager == "launchd" else UNIT


def _done(ground: Ground, words: Sequence[str]) -> None:
    said = ground.run(words)
    if said.code:
        hint = "any supervisor will do: sandtrail collect" if said.code == 127 else None
        shown = " ".join(map(quoted, words))
        raise StorageError(f"{shown} failed: {said.text or said.code}", hint=hint)


def _need_file(ground: Ground) -> None:
    if not ground.path.exists():
        system = " --system" * ground.system
        raise StorageError(
            f"{ground.path} does not exist", hint=f"sandtrail service install{system}"
        )


def _need_root(ground: Ground, verb: str) -> None:
    if ground.system and ground.uid != 0:
        raise StorageError(
            "a system service needs root", hint=f"sudo sandtrail service {verb} --system"
        )
