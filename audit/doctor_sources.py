"""The doctor's look at each source, end to end: can it be read now, and does a decoder follow?"""

import getpass
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from audit import decoders
from audit.collecting import SourceSpec, specs_of
from audit.doctor_look import Around, Finding
from audit.render_time import spoken
from audit_events.errors import AuditError, SourceError
from collector.contracts import Block, Emission, GapOpened, Source

# A source that has said nothing bad in this time works.
TRIAL_S: Final = 3.0
_TRIAL_KEY: Final = b"doctor" * 6
_ADMIN: Final = (
    "best:  sandtrail service install --system              (runs as root)",
    "or:    sudo dseditgroup -o edit -a {user} -t user admin; restart",
    "never make an account that runs agents an administrator",
    "nothing to click: SSH is enough",
)
_SANDBOXED: Final = (
    "the collector itself runs inside a sandbox; start it outside",
    "(sandtrail service install), not from an agent's shell",
)
_FULL_DISK: Final = (
    "over VNC: System Settings → Privacy & Security → Full Disk Access → add {python};",
    "over SSH this cannot be granted. Then: sandtrail service restart",
)

_WATCHES: Final = (
    "sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=1024",
    "(in /etc/sysctl.d to keep it). Then: sandtrail service restart",
)


def sources(around: Around) -> Iterator[Finding]:
    """A finding for every source of the settings, or that there is none."""
    specs = specs_of(around.loaded.settings)
    for spec in specs:
        yield _source(around, spec)
    told = {s.source: s for s in around.status.sources} if around.status else {}
    named = {spec.name for spec in specs}
    for name in told if around.collecting else ():
        if name not in named and (found := _told_by_collector(around, name)) is not None:
            yield found
    if not specs and not (told and around.collecting):
        advice = ("[sources.NAME] in the settings",)
        yield Finding("warn", "sources", "no source is set up", advice)


def advice(reason: str, platform: str, user: str, python: str) -> tuple[str, ...]:
    """What to do about a source that cannot be read, one text for each cause."""
    words = reason.lower()
    if "sandboxed" in words:
        return _SANDBOXED
    if platform == "darwin" and ("admin" in words):
        return tuple(line.format(user=user) for line in _ADMIN)
    if platform == "darwin" and "operation not permitted" in words:
        return tuple(line.format(python=python) for line in _FULL_DISK)
    if "permission denied" in words:
        return (f"{user} may not read it: add that account to the file's group, or",
                "sandtrail service install --system              (runs as root)")  # fmt: skip
    return ()


def _source(around: Around, spec: SourceSpec) -> Finding:
    told = _told_by_collector(around, spec.name)
    if told is not None:
        return told
    try:
        words = _LOOKS.get(spec.plugin.kind, _trial)(around, spec)
    except AuditError as error:
        return _failed(around, spec.name, error.message)
    except OSError as error:
        return _failed(around, spec.name, error.strerror or type(error).__name__)
    return Finding("ok", spec.name, words)


def _failed(around: Around, name: str, reason: str) -> Finding:
    return Finding(
        "FAIL", name, reason, advice(reason, around.platform, getpass.getuser(), sys.executable)
    )


def _told_by_collector(around: Around, name: str) -> Finding | None:
    """A collector at work knows best: it may be another user than we are."""
    if not around.collecting or around.status is None:
        return None
    gaps = [g for g in around.status.completeness.gaps if g.source == name and g.until is None]
    if gaps:
        return _failed(around, name, gaps[-1].reason)
    state = next((s for s in around.status.sources if s.source == name), None)
    if state is None:
        words = "the collector that runs does not know it"
        return Finding("FAIL", name, words, ("sandtrail service restart",))
    if state.last_read_at is None:
        return None
    words = f"read {spoken(max(around.now - state.last_read_at, 0))} ago"
    if state.note:
        return Finding("warn", name, f"{words}; it said: {state.note}", _after(state.note, around))
    return Finding("ok", name, words)


def _after(note: str, around: Around) -> tuple[str, ...]:
    """What to do about a source's warning."""
    return _WATCHES if around.platform == "linux" and "limit of file watches" in note else ()


def _file(around: Around, spec: SourceSpec) -> str:
    spec.plugin.check(spec.settings)
    settings: Any = spec.settings
    samples = list(spec.plugin.samples(settings))
    plugin = (
        decoders.named(spec.decoder, around.loaded.settings.decoders)
        if spec.decoder
        else decoders.detect(samples)
    )
    words = f"{', '.join(settings.paths)} readable, read as {plugin.name}"
    if not samples:
        return f"{words}, empty so far"
    data = decoders.unpacked(samples[0])
    data = data[: data.rfind(b"\n") + 1]
    decoded = plugin.make().decode(Block(spec.name, "doctor", data, 0, len(data)))
    if decoded.rejects and not decoded.batch.num_rows:
        raise SourceError(
            f"{words}, and none of the first {len(decoded.rejects)} lines is a record"
        )
    return words


def _socket(around: Around, spec: SourceSpec) -> str:
    settings: Any = spec.settings
    path = Path(settings.path)
    if around.collecting:
        return f"{path} is served"
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise PermissionError(13, f"Permission denied: {path.parent} cannot be written")
    return f"{path} can be made; nobody serves it now"


def _stdin(_around: Around, _spec: SourceSpec) -> str:
    return "read while a collector runs"


def _trial(_around: Around, spec: SourceSpec) -> str:
    """Run the source itself for a moment, reading nothing into the store."""
    source = spec.plugin.make(spec.name, spec.settings, _TRIAL_KEY)
    said = trial(source, TRIAL_S)
    if isinstance(said, GapOpened):
        raise SourceError(said.reason)
    return f"{source.location} runs" + ("" if said is None else ", and was read")


def trial(source: Source, seconds: float) -> Emission | None:
    """The first thing that a source says of what it can read; raises what it raises."""
    stop, done = threading.Event(), threading.Event()
    said: list[Emission] = []
    raised: list[Exception] = []

    def emit(emission: Emission) -> None:
        if isinstance(emission, Block | GapOpened) and not said:
            said.append(emission)
            done.set()

    def run() -> None:
        try:
            source.run({}, emit, stop, once=False)
        except Exception as error:  # noqa: BLE001 - the thread's boundary: told to the caller
            raised.append(error)
        done.set()

    thread = threading.Thread(target=run, name="doctor", daemon=True)
    thread.start()
    done.wait(seconds)
    stop.set()
    thread.join(seconds)
    if raised and not said:
        raise raised[0]
    return said[0] if said else None


_LOOKS: Final = {"file": _file, "socket": _socket, "stdin": _stdin}
