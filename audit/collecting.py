"""Wire a collector: from flags and settings to sources, decoders and the store."""

import glob
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

import msgspec

import collector.decoders
from audit import wiring
from audit.call import Call
from audit.keys import load_or_create
from audit.say import Voice
from audit.settings import Settings, duration_s
from audit_events import plugins
from audit_events.errors import SourceError, UsageError
from collector.contracts import DecoderPlugin, Reason, Source
from collector.seal import SealLimits
from collector.service import Collector, Plan, Summary
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
    found = _decoders()
    if name not in found:
        raise UsageError(f"no decoder {name}", hint="known: " + ", ".join(sorted(found)))
    return found[name]


def _decoders() -> dict[str, DecoderPlugin]:
    return {
        plugin.name: plugin
        for plugin in plugins.find(collector.decoders, "decoder").values()
        if isinstance(plugin, DecoderPlugin)
    }


def detect(spec: SourceSpec) -> DecoderPlugin:
    """The decoder that recognises a file's first lines; native if none does."""
    found = _decoders()
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
    # Path.glob takes no absolute pattern.
    return [Path(path) for pattern in patterns for path in sorted(glob.glob(pattern))]  # noqa: PTH207


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
    key_dir: Path,
    specs: Sequence[SourceSpec],
    settings: Settings,
    *,
    say: Callable[[str], None],
    note: Callable[[str], None],
) -> Plan:
    """Everything a collector needs; makes the store and its key if they are not there yet."""
    store = open_or_create(store_root)
    key = load_or_create(key_dir, store.id)
    sources: list[tuple[Source, DecoderPlugin]] = []
    for spec in specs:
        plugin = decoder_named(spec.decoder) if spec.decoder else detect(spec)
        if spec.decoder is None and plugin.name != DEFAULT_DECODER:
            note(f"{spec.name} is read as {plugin.name} (--decoder {DEFAULT_DECODER} to refuse)")
        sources.append((FileSource(spec.name, spec.patterns, key=key.secret), plugin))
    keep = settings.retention.keep
    return Plan(
        store=store,
        watermark=key_dir / "keys" / f"{store.id}.seq",
        sources=sources,
        redactor=default_redactor(key),
        host=settings.host or socket.gethostname(),
        version=version("sandtrail"),
        idle_us=duration_s(settings.runs.idle) * 1_000_000,
        say=say,
        limits=SealLimits(
            settings.seal.rows, settings.seal.bytes, float(duration_s(settings.seal.after))
        ),
        upkeep=Upkeep(timedelta(seconds=duration_s(keep)) if keep else None, say),
    )


def specs_of(settings: Settings) -> list[SourceSpec]:
    """The sources of audit.toml."""
    return [
        SourceSpec(
            name, source.kind, source.paths, None if source.decoder == "auto" else source.decoder
        )
        for name, source in settings.sources.items()
    ]


def run_collector(
    call: Call,
    files: Sequence[str],
    sources: Sequence[str],
    decoder: str | None,
    *,
    host: str | None,
    once: bool,
    stop: threading.Event,
    voice: Voice,
) -> list[str]:
    """Collect as asked for; the closing lines. Raises UsageError when nothing is to be read."""
    settings = wiring.load_settings(call).settings
    if host:
        settings = msgspec.structs.replace(settings, host=host)
    specs = [parse_source(text) for text in sources]
    if files:
        specs.append(spec_of_files(files, decoder))
    specs = specs or specs_of(settings)
    if not specs:
        raise UsageError("nothing to collect", hint=f"{call.prog} collect FILE --once")
    if once:
        for spec in specs:
            require_files(spec)
    making = plan(
        wiring.store_place(call).path,
        wiring.key_dir(settings.keys),
        specs,
        settings,
        say=voice.warning,
        note=voice.note,
    )
    return closing_lines(Collector(making).run(stop, once=once), call.prog)


def closing_lines(summary: Summary, prog: str) -> list[str]:
    """What a run says at its end: how much, what was left out and why, what next."""
    counts = summary.counts
    rejected, left_out = sum(counts.rejected.values()), sum(counts.filtered.values())
    lines = [
        f"collected {counts.seen:,} lines: {counts.stored:,} stored + {rejected:,} rejected"
        f" + {left_out:,} filtered, {summary.masked:,} masked, {summary.seconds:.1f} s"
    ]
    if rejected:
        why = ", ".join(f"{n:,} {_plain(reason)}" for reason, n in _largest(counts.rejected))
        place, at = summary.first_reject or ("?", 0)
        lines.append(
            f"{rejected:,} rejected: {why}; first: {place} byte {at:,}"
            f"   ({prog} query --kind notice --flag reject)"
        )
    lines += [
        f"{place} ends in an unfinished line at byte {at:,}; it is read once it is whole"
        for place, at in summary.unfinished
    ]
    return [*summary.notices, *lines]


def _largest(reasons: Mapping[Reason, int]) -> list[tuple[Reason, int]]:
    return sorted(reasons.items(), key=lambda item: (-item[1], item[0]))


def _plain(reason: Reason) -> str:
    return str(reason).replace("-", " ")
