"""What `audit setup` finds: logs in their usual places, the system's own log, policy files."""

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from audit.render_time import count, size
from audit_events.errors import AuditError, SourceError

# A larger log is told by its size: counting lines would take longer than a person waits.
MAX_COUNTED_BYTES: Final = 64 << 20
# A system's log that has said nothing bad in this time can be read.
TRIAL_S: Final = 1.0
MAX_POLICIES: Final = 200
_TRIAL_KEY: Final = b"setup." * 6
POLICY_FOLDERS: Final = ("~/policies", "~/.openclaw/policies")


@dataclass(frozen=True, slots=True)
class Log:
    """A file that a producer writes: `pattern` goes into the settings."""

    name: str
    pattern: str
    decoder: str


@dataclass(frozen=True, slots=True)
class Ground:
    """Where is looked: the files, and the kinds of system logs, by name."""

    logs: Sequence[Log]
    systems: Sequence[str]
    policies: Sequence[str] = POLICY_FOLDERS


@dataclass(frozen=True, slots=True)
class Found:
    """One thing found: where, a word about it, whether it can be used; `paths` None: no files."""

    name: str
    place: str
    words: str
    usable: bool
    paths: tuple[str, ...] | None = None
    decoder: str = "auto"
    kind: str = "file"


@dataclass(frozen=True, slots=True)
class Policies:
    """The policy files of a folder: how many, warnings in the valid ones, those that are not."""

    place: str
    files: int
    warnings: int
    faulty: list[str] = field(default_factory=list)


def usual_ground(platform: str = sys.platform) -> Ground:
    """Where each producer writes unless it was told otherwise."""
    openclaw = Log("openclaw", "~/.openclaw/audit/*.jsonl", "auto")
    if platform == "darwin":
        return Ground(
            (openclaw, Log("santa", "/var/db/santa/santa.log", "santa")), ("unified-log",)
        )
    linux = Log("linux-audit", "/var/log/audit/audit.log", "linux-audit")
    return Ground((openclaw, linux), ("journal",))


def sources(ground: Ground) -> list[Found]:
    """Every log that is there, usable or not; the system's log where no file tells the same."""
    found = [each for log in ground.logs if (each := look(log)) is not None]
    told = any(each.name == "linux-audit" and each.usable for each in found)
    return [*found, *(() if told else map(system, ground.systems))]


def look(log: Log) -> Found | None:
    """The log as it lies there; None if it does not."""
    pattern = str(Path(log.pattern).expanduser())
    paths = [Path(path) for path in sorted(glob.glob(pattern))]  # noqa: PTH207  absolute
    if not paths:
        return None
    place = short(paths[0]) if len(paths) == 1 else log.pattern
    try:
        words = _amount(paths)
    except OSError as error:
        return Found(log.name, place, error.strerror or "cannot be read", usable=False)
    return Found(log.name, place, words, usable=True, paths=(pattern,), decoder=log.decoder)


def system(kind: str) -> Found:
    """The system's own log, asked for a moment."""
    from audit.collecting import parse_source
    from audit.doctor_sources import trial
    from collector.contracts import GapOpened

    try:
        spec = parse_source(f"{kind}={kind}:")
        source = spec.plugin.make(kind, spec.settings, _TRIAL_KEY)
        said = trial(source, TRIAL_S)
        if isinstance(said, GapOpened):
            raise SourceError(said.reason)
    except AuditError as error:
        return Found(kind, "", error.message, usable=False, kind=kind)
    except OSError as error:
        return Found(kind, "", error.strerror or "cannot be read", usable=False, kind=kind)
    return Found(kind, source.location, "can be read", usable=True, kind=kind)


def policies(ground: Ground) -> Iterator[Policies]:
    """The folders that hold policy files."""
    for folder in ground.policies:
        base = Path(folder).expanduser()
        files = sorted(path for end in ("*.yaml", "*.yml") for path in base.glob(end))
        if files:
            yield _checked(folder, files[:MAX_POLICIES])


def _checked(folder: str, files: list[Path]) -> Policies:
    from collector.policy_store import read_policy_file
    from policies.lint import lint
    from policies.load import parse_policy
    from policies.yaml_text import YamlError

    warnings, faulty = 0, []
    for path in files:
        try:
            found = lint(parse_policy(read_policy_file(path)))
        except (YamlError, AuditError):
            faulty.append(short(path))
            continue
        warnings += sum(finding.level == "warning" for finding in found)
    return Policies(folder, len(files), warnings, faulty)


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


def short(path: Path) -> str:
    """With `~`, as a person writes it."""
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
