"""The doctor's checks of the store, its keys, the clock, the commands and the Tab key."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from audit import wiring
from audit.doctor_look import Around, Finding
from audit.keys import key_path
from audit.quoting import quoted
from audit.render_time import clock, size, spoken
from audit_events.version import VERSION
from query.times import display_zone

LOW_DISK_BYTES: Final = 5_000_000_000
NO_DISK_BYTES: Final = 500_000_000
# A commit carries the collector's clock; more than this before it means that the clock went back.
CLOCK_SLACK_US: Final = 2_000_000
# Files looked at for their modes; an archive of years has some hundred.
MAX_FILES: Final = 10_000
_RC_FILES: Final = {
    "zsh": (".zshrc", 'eval "$({prog} completion zsh)"'),
    "bash": (".bashrc", 'eval "$({prog} completion bash)"'),
    "fish": (".config/fish/config.fish", "{prog} completion fish | source"),
}


def collector(around: Around) -> Iterator[Finding]:
    """Whether somebody collects, with the version that is installed."""
    if around.status is None:
        return
    found, prog = around.status.collector, around.call.prog
    start = f"sandtrail service install      or, by hand: {prog} collect"
    if found.state == "running" and found.version not in (None, VERSION):
        words = f"pid {found.pid} is {found.version}, installed is {VERSION}"
        yield Finding("warn", "collector", words, ("sandtrail service restart",))
    elif found.state == "running":
        yield Finding("ok", "collector", f"pid {found.pid}, sandtrail {VERSION}")
    elif found.state == "hanging":
        quiet = spoken(max(around.now - (found.heartbeat or 0), 0))
        words = f"pid {found.pid} gives no sign for {quiet}"
        yield Finding("FAIL", "collector", words, ("sandtrail service restart",))
    else:
        yield Finding("FAIL", "collector", "none is running", (start,))


def store(around: Around) -> Iterator[Finding]:
    """A store that is there, private, and has room."""
    root = around.store.root
    if not root.exists():
        begin = (f"{around.call.prog} setup", f"{around.call.prog} collect FILE --once")
        yield Finding("FAIL", "store", f"{root} does not exist", begin)
        return
    if around.status is None:
        words = f"{root} holds no store that this account can read"
        yield Finding(
            "FAIL", "store", words, (f"sudo sandtrail doctor --store {quoted(str(root))}",)
        )
        return
    mode, free = stat.S_IMODE(root.stat().st_mode), shutil.disk_usage(root).free
    words = f"{root}, {mode:04o}, {size(free)} free"
    if open_files := _open_to_others(root):
        words = f"{len(open_files)} files are open to others, such as {open_files[0]}"
        yield Finding("FAIL", "store", words, (f"chmod -R go-rwx {quoted(str(root))}",))
    elif free < LOW_DISK_BYTES:
        state = "FAIL" if free < NO_DISK_BYTES else "warn"
        advice = (
            f"{around.call.prog} upkeep --keep 30d --dry-run      shows what that would free",
        )
        yield Finding("FAIL" if state == "FAIL" else "warn", "store", words, advice)
    else:
        yield Finding("ok", "store", words)


def _open_to_others(root: Path) -> list[Path]:
    found = []
    for number, path in enumerate((root, *root.rglob("*"))):
        if number >= MAX_FILES:
            break
        try:
            state = path.lstat()
        except OSError:
            continue
        if not stat.S_ISLNK(state.st_mode) and stat.S_IMODE(state.st_mode) & 0o077:
            found.append(path)
    return found


def keys(around: Around) -> Iterator[Finding]:
    """A key that is private and does not lie in the store, which is copied and sent away."""
    if around.status is None:
        return
    folder = wiring.key_dir(around.loaded.settings.keys)
    path = key_path(folder, around.status.store)
    if path.resolve().is_relative_to(around.store.root.resolve()):
        words = f"{path} lies in the store: who gets a copy of the store can undo the masks"
        advice = (
            f"mv the folder {quoted(str(path.parent))} elsewhere",
            'keys = "…" in the settings',
        )
        yield Finding("FAIL", "keys", words, advice)
    elif not path.exists():
        words = f"{path} is missing: masked secrets of the past cannot be searched"
        yield Finding("FAIL", "keys", words, ("restore it from a copy; a new one starts afresh",))
    elif stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield Finding(
            "FAIL", "keys", f"{path} is open to others", (f"chmod 600 {quoted(str(path))}",)
        )
    else:
        yield Finding("ok", "keys", f"{path}, 0600, outside the store")


def settings(around: Around) -> Iterator[Finding]:
    """Settings that were read, and that nobody else can change."""
    path = around.loaded.path
    if path is None:
        yield Finding("warn", "settings", "none: only what is named on the command line is read",
                      (f"{around.call.prog} setup",))  # fmt: skip
        return
    if stat.S_IMODE(path.stat().st_mode) & 0o022:
        words = f"{path} can be changed by others"
        yield Finding("FAIL", "settings", words, (f"chmod go-w {quoted(str(path))}",))
        return
    yield Finding("ok", "settings", f"{path}, valid")


def time(around: Around) -> Iterator[Finding]:
    """A clock that does not stand before what is stored already."""
    zone = display_zone()
    words = f"{clock(around.now, zone)}, zone {zone}"
    heard = around.status and around.status.collector.heartbeat
    if heard and heard > around.now + CLOCK_SLACK_US:
        behind = spoken(heard - around.now)
        words = f"this clock stands {behind} before what the collector said last"
        yield Finding("FAIL", "clock", words, ("set the clock; events keep their own times",))
    elif around.status and around.status.completeness.skewed:
        number = around.status.completeness.skewed
        words += f"; {number:,} events of the last 24 h have an impossible time"
        advice = (f"{around.call.prog} query --flag skewed --since 24h",)
        yield Finding("warn", "clock", words, advice)
    else:
        yield Finding("ok", "clock", words)


def command(around: Around) -> Iterator[Finding]:
    """Which `audit` a shell finds, for this user and for root."""
    mine = around.environ.get("PATH", os.defpath).split(os.pathsep)
    found = {"you": _foreign("audit", mine), "root": _foreign("audit", around.root_path)}
    told = [f'for {who} "audit" is {path}' for who, path in found.items() if path]
    if told:
        yield Finding("warn", "command", f'{"; ".join(told)}: use "sandtrail"')
    elif shutil.which("sandtrail", path=os.pathsep.join(mine)) is None:
        advice = (f"add {quoted(str(Path(sys.executable).parent))} to PATH",)
        yield Finding("warn", "command", '"sandtrail" is not on the PATH', advice)
    else:
        yield Finding("ok", "command", "audit, sandtrail")


def _foreign(name: str, folders: Sequence[str]) -> str | None:
    """The first command of this name, if it is not ours."""
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        return None
    ours = {Path(sys.executable).parent, Path(sys.argv[0]).resolve().parent}
    return None if {Path(found).parent, Path(found).resolve().parent} & ours else found


def completion(around: Around) -> Iterator[Finding]:
    """Whether the Tab key knows us in this person's shell."""
    shell = Path(around.environ.get("SHELL", "")).name
    if shell not in _RC_FILES:
        return
    name, line = _RC_FILES[shell]
    path, line = around.home / name, line.format(prog=around.call.prog)
    try:
        text = path.read_text(errors="replace")
    except OSError:
        text = ""
    if f" completion {shell}" in text or "_sandtrail" in text:
        yield Finding("ok", "completion", shell)
    else:
        yield Finding(
            "warn", "completion", f"{shell} does not know our words", (f"in ~/{name}:  {line}",)
        )
