"""audit.toml: what may stand in it, where it is found, and an error with its line for all else."""

import difflib
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

import collector.sources
from audit_events import plugins
from audit_events.errors import SettingsError
from collector.contracts import SourcePlugin, SourceSettings
from collector.decoders.mapping import parse_table

FILE_NAME: Final = "audit.toml"
# Settings are a page or two; this bounds what a wrong path can make us read.
MAX_SETTINGS_BYTES: Final = 1 << 20

Positive = Annotated[int, Meta(ge=1)]
_DURATION: Final = r"^([0-9]{1,6}[smhdw])+$"
# The system's records wait for as long as this: what is longer than some seconds serves nobody.
_WINDOW: Final = r"^([1-9][0-9]{1,3}ms|[1-9]s|10s)$"
Duration = Annotated[str, Meta(pattern=_DURATION)]
Window = Annotated[str, Meta(pattern=_WINDOW)]
_EXAMPLES: Final = {
    _DURATION: "for example 30s, 5m or 1h30m",
    _WINDOW: "from 10ms to 10s, for example 500ms",
}
_UNITS_S: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def duration_s(text: str) -> int:
    """Seconds of `1h30m`."""
    return sum(int(n) * _UNITS_S[unit] for n, unit in re.findall(r"([0-9]+)([smhdw])", text))


def window_us(text: str) -> int:
    """Microseconds of `500ms` or `2s`."""
    if text.endswith("ms"):
        return int(text[:-2]) * 1_000
    return int(text[:-1]) * 1_000_000


class SealSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[seal]: rows go to the archive when the first of these is reached."""

    rows: Positive = 128 * 1024
    bytes: Positive = 32 << 20
    after: Duration = "30s"


class RetentionSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[retention]: whole days older than `keep` are removed; without it nothing ever is."""

    keep: Duration | None = None


class RunSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[runs]: an event without a run's id joins the run of its sandbox within `idle` of it."""

    idle: Duration = "5m"


class RedactionSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[redaction]: packs of rules, by path (from this file's folder) or by a shipped one's name."""

    packs: tuple[str, ...] = ()


class ReadSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[read]: accounts of `group` (only `users` of it, if named) may read through a socket."""

    group: str | None = None
    users: tuple[str, ...] = ()
    socket: str | None = None


class PolicySettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[policies.SANDBOX]: a sandbox's policy file, from this file's folder; changes are noticed."""

    file: str


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that can be set."""

    store: str | None = None
    host: str | None = None
    keys: str | None = None
    # One operation that two sources tell of lies within this time; so long the system's one waits.
    link_window: Window = "1s"
    # [sources.NAME]: what may stand there is the plug-in's model, by `kind`.
    sources: dict[str, Any] = {}
    # [decoders.NAME]: a table as collector/decoders/mapping.py takes it.
    decoders: dict[str, dict[str, Any]] = {}
    seal: SealSettings = SealSettings()
    retention: RetentionSettings = RetentionSettings()
    runs: RunSettings = RunSettings()
    redaction: RedactionSettings = RedactionSettings()
    policies: dict[str, PolicySettings] = {}
    read: ReadSettings = ReadSettings()


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, the file they come from (None: there is none), and where each value was set."""

    settings: Settings = field(default_factory=Settings)
    path: Path | None = None
    origins: Mapping[str, str] = field(default_factory=dict)


def read(path: Path) -> Loaded:
    """The settings of one file; SettingsError says file:line:col and what is wrong."""
    text = _private_text(path)
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(_toml_error(path, str(error))) from None
    settings = _checked(raw, path, text)
    origins = {".".join(keys): f"{path}:{_place(text, keys)[0]}" for keys in _leaves(raw)}
    packs = tuple(_beside(path, name) for name in settings.redaction.packs)
    policies = {
        name: PolicySettings(file=str(path.absolute().parent / Path(policy.file).expanduser()))
        for name, policy in settings.policies.items()
    }
    settings = msgspec.structs.replace(
        settings, redaction=RedactionSettings(packs=packs), policies=policies
    )
    return Loaded(settings, path, origins)


def _beside(path: Path, name: str) -> str:
    """A pack's path as meant by the file that names it; a bare name stays one."""
    bare = "/" not in name and not name.endswith((".yaml", ".yml"))
    return name if bare else str(path.parent / Path(name).expanduser())


def _private_text(path: Path) -> str:
    """The text of a file that nobody else could have written."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MAX_SETTINGS_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"{path}: {error.strerror}") from error
    if mode & stat.S_IWOTH:
        raise SettingsError(f"{path}: anybody can write this file", hint=f"chmod o-w {path}")
    if len(data) > MAX_SETTINGS_BYTES:
        raise SettingsError(f"{path}: larger than {MAX_SETTINGS_BYTES} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SettingsError(f"{path}:{line}:1: not UTF-8") from None


def _toml_error(path: Path, message: str) -> str:
    if match := re.search(r" \(at line (\d+), column (\d+)\)", message):
        words = message[: match.start()]
        return f"{path}:{match[1]}:{match[2]}: {words[:1].lower()}{words[1:]}"
    return f"{path}: {message[:1].lower()}{message[1:]}"


def _checked(raw: dict[str, Any], path: Path, text: str) -> Settings:
    settings: Settings = _convert(raw, Settings, (), path, text)
    sources = {
        name: _convert(table, _source_model(name, table, path, text), ("sources", name), path, text)
        for name, table in settings.sources.items()
    }
    for name, table in settings.decoders.items():
        _check_table(name, table, path, text)
    return msgspec.structs.replace(settings, sources=sources)


def _check_table(name: str, table: dict[str, Any], path: Path, text: str) -> None:
    """A decoder's table must be whole before anything is read with it."""
    try:
        parse_table(table, "")
    except SettingsError as error:
        where, _, words = error.message.removeprefix(": ").rpartition(": ")
        keys = ("decoders", name, *(part for part in where.split(".") if part))
        line, column = _place(text, keys)
        said = f"{path}:{line}:{column}: {'.'.join(keys)}: {words}"
        raise SettingsError(said, hint=error.hint) from None


def _source_model(name: str, table: Any, path: Path, text: str) -> Any:
    """The model of the plug-in that a table's `kind` names."""
    if not isinstance(table, dict) or not isinstance(table.get("kind", "file"), str):
        return SourceSettings
    kind = table.get("kind", "file")
    try:
        return source_plugin(kind).settings
    except KeyError:
        line, column = _place(text, ("sources", name, "kind"))
        known = ", ".join(source_kinds())
        raise SettingsError(
            f"{path}:{line}:{column}: no source of kind {kind!r}", hint=f"known: {known}"
        ) from None


def source_plugin(kind: str) -> SourcePlugin:
    """The source of a kind, by its file's name; KeyError if there is none."""
    plugin = plugins.load(collector.sources, "source", kind)
    if not isinstance(plugin, SourcePlugin):
        raise KeyError(kind)
    return plugin


def source_kinds() -> list[str]:
    """The kinds of sources there are."""
    found = plugins.find(collector.sources, "source").values()
    return sorted(plugin.kind for plugin in found if isinstance(plugin, SourcePlugin))


def _convert(raw: Any, kind: Any, under: tuple[str, ...], path: Path, text: str) -> Any:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        words, _, where = str(error).partition(" - at `$")
        keys = (*under, *re.findall(r"\.([^.`\[]+)", where))
        hint = None
        if unknown := re.search(r"unknown field `(.*)`", words):
            keys = (*keys, unknown[1])
            words, hint = f"unknown key {'.'.join(keys)}", _near(unknown[1], kind, keys, under)
        elif pattern := re.search(r"matching regex '(.*)'$", words):
            hint = _EXAMPLES.get(pattern[1])
        line, column = _place(text, keys)
        shown = words if unknown else f"{'.'.join(keys)}: {words[:1].lower()}{words[1:]}"
        raise SettingsError(f"{path}:{line}:{column}: {shown}", hint=hint) from None


def _near(word: str, kind: Any, keys: tuple[str, ...], under: tuple[str, ...]) -> str | None:
    for key in keys[len(under) : -1]:
        kind = {f.name: f.type for f in msgspec.structs.fields(kind)}.get(key, kind)
    known = [f.name for f in msgspec.structs.fields(kind)]
    near = difflib.get_close_matches(word, known, n=1)
    return f"did you mean {near[0]}?" if near else "known here: " + ", ".join(known)


def _leaves(raw: Mapping[str, Any], under: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in raw.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*under, key))
        else:
            yield (*under, key)


_TABLE: Final = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_KEY: Final = re.compile(r"\s*([A-Za-z0-9_.\"' -]+?)\s*=")


def _place(text: str, keys: tuple[str, ...]) -> tuple[int, int]:
    """Line and column of a key, both from 1; of its table if the key is not found, else 1:1."""
    table: tuple[str, ...] = ()
    found = (1, 1)
    for number, line in enumerate(text.splitlines(), 1):
        if match := _TABLE.match(line):
            table = _split(match[1])
            here = table
        elif match := _KEY.match(line):
            here = (*table, *_split(match[1]))
        else:
            continue
        column = match.start(1) + 1
        if here[: len(keys)] == keys:
            return number, column
        if here == keys[: len(here)]:
            found = (number, column)
    return found


def _split(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in dotted.split("."))
