"""Wire a collector: from flags and settings to sources, decoders and the store."""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

from audit.keys import load_or_create
from audit_events import plugins
from audit_events.errors import SourceError, UsageError
from collector.contracts import DecoderPlugin, Source
from collector.service import Plan
from collector.sources.file import FileSource
from collector.store import open_or_create
from collector.upkeep import Upkeep
from policies.redact import default_redactor

# Bytes of a file's start that tell its format.
SAMPLE_BYTES = 64 * 1024
DEFAULT_DECODER = "native"


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """One source as asked for; `decoder` None means: look at the first lines."""

    name: str
    kind: str
    patterns: tuple[str, ...]
    decoder: str | None = None


def spec_of_files(files: Sequence[str], decoder: str | None) -> SourceSpec:
    """The source that `collect FILE…` means; its name is the first file's own."""
    name = Path(files[0]).name.split(".")[0] or "file"
    return SourceSpec(name, "file", tuple(files), decoder)


def parse_source(text: str) -> SourceSpec:
    """`NAME=KIND:ARG[,decoder=D]`; raises UsageError with the form."""
    hint = "--source NAME=file:PATH[,decoder=NAME], for example build=file:/var/log/build/*.jsonl"
    name, _, rest = text.partition("=")
    kind, _, argument = rest.partition(":")
    argument, _, decoder = argument.partition(",decoder=")
    if not (name and kind and argument):
        raise UsageError(f"--source {text}: not a source", hint=hint)
    if kind != "file":
        raise UsageError(f"--source {text}: no source of kind {kind}; known: file", hint=hint)
    return SourceSpec(name, kind, (argument,), decoder or None)


def decoder_named(name: str) -> DecoderPlugin:
    """A decoder by its file's name; UsageError with the known ones."""
    found: dict[str, DecoderPlugin] = plugins.find("collector.decoders", "decoder")  # type: ignore[assignment]
    if name not in found:
        raise UsageError(f"no decoder {name}", hint="known: " + ", ".join(sorted(found)))
    return found[name]


def detect(spec: SourceSpec) -> DecoderPlugin:
    """The decoder that recognises a file's first lines; native if none does."""
    found: dict[str, DecoderPlugin] = plugins.find("collector.decoders", "decoder")  # type: ignore[assignment]
    for path in _existing(spec.patterns):
        try:
            with path.open("rb") as file:
                sample = file.read(SAMPLE_BYTES)
        except OSError:
            continue
        for name, plugin in sorted(found.items()):
            if name != DEFAULT_DECODER and sample and plugin.recognises(sample):
                return plugin
    return found[DEFAULT_DECODER]


def _existing(patterns: Sequence[str]) -> list[Path]:
    import glob

    return [Path(path) for pattern in patterns for path in sorted(glob.glob(pattern))]


def require_files(spec: SourceSpec) -> None:
    """With `--once` a pattern that names nothing is a mistake; raises SourceError (exit 4)."""
    for pattern in spec.patterns:
        found = _existing([pattern])
        if not found:
            raise SourceError(f"{pattern}: no such file", hint="check the name, and quote a glob")
        for path in found:
            if path.is_dir():
                raise SourceError(f"{path} is a folder", hint=f"{path}/*.jsonl")
            try:
                path.open("rb").close()
            except OSError as error:
                raise SourceError(f"{path}: {error.strerror}") from error


def plan(
    store_root: Path,
    config_dir: Path,
    specs: Sequence[SourceSpec],
    *,
    host: str | None,
    idle: timedelta,
    keep: timedelta | None,
    say: Callable[[str], None],
    note: Callable[[str], None],
) -> Plan:
    """Everything a collector needs; makes the store and its key if they are not there yet."""
    store = open_or_create(store_root)
    key = load_or_create(config_dir, store.id)
    sources: list[tuple[Source, DecoderPlugin]] = []
    for spec in specs:
        plugin = decoder_named(spec.decoder) if spec.decoder else detect(spec)
        if spec.decoder is None and plugin.name != DEFAULT_DECODER:
            note(f"{spec.name} is read as {plugin.name} (--decoder {DEFAULT_DECODER} to refuse)")
        sources.append((FileSource(spec.name, spec.patterns, key=key.secret), plugin))
    return Plan(
        store=store,
        watermark=config_dir / "keys" / f"{store.id}.seq",
        sources=sources,
        redactor=default_redactor(key),
        host=host or socket.gethostname(),
        version=version("sandtrail"),
        idle_us=int(idle.total_seconds() * 1_000_000),
        say=say,
        upkeep=Upkeep(keep, say),
    )
