"""Wire a collector: from flags and settings to sources, decoders and the store."""

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

import msgspec

from audit import decoders, wiring
from audit.call import Call
from audit.keys import first_key, key_path, load_or_create
from audit.packs import PackList, Renewal
from audit.say import Voice
from audit.settings import (
    ReadSettings,
    Settings,
    duration_s,
    source_kinds,
    source_plugin,
    window_us,
)
from audit_events.errors import UsageError
from collector.contracts import DecoderPlugin, Reason, Source, SourcePlugin, SourceSettings
from collector.seal import SealLimits
from collector.service import Collector, Plan, Summary
from collector.sources.file import FileSettings, FileSource
from collector.store import Store, open_or_create
from collector.upkeep import Upkeep
from policies.redact import default_redactor
from policies.redact.engine import Redactor

_SOURCE_HINT = (
    "--source NAME=KIND:ARG[,decoder=NAME], for example build=file:/var/log/build/*.jsonl"
)


@dataclass(frozen=True, slots=True)
class SourceSpec:
    """One source as asked for; `decoder` None means: look at the first lines."""

    name: str
    plugin: SourcePlugin
    settings: SourceSettings
    decoder: str | None = None


@dataclass(frozen=True, slots=True)
class RuleSource:
    """Where a running collector gets new redaction rules from: the settings read anew, the files
    whose change is a reason to, and who may ask for it."""

    settings: Callable[[], Settings]
    files: Sequence[Path] = ()
    asked: threading.Event | None = None


def spec_of_files(files: Sequence[str], decoder: str | None) -> SourceSpec:
    """The source that `collect FILE…` means; its name is the first file's own. `-` is stdin."""
    if list(files) == ["-"]:
        return SourceSpec(
            "stdin", source_plugin("stdin"), source_plugin("stdin").parse(""), decoder
        )
    if "-" in files:
        raise UsageError("- stands alone", hint="--source NAME=file:PATH --source NAME=stdin")
    name = Path(files[0]).name.split(".")[0] or "file"
    return SourceSpec(name, source_plugin("file"), FileSettings(paths=tuple(files)), decoder)


def parse_source(text: str) -> SourceSpec:
    """`NAME=KIND:ARG[,decoder=D]`, without `:` where a kind needs no ARG; raises UsageError with
    the form."""
    name, _, rest = text.partition("=")
    body, _, decoder = rest.partition(",decoder=")
    kind, _, argument = body.partition(":")
    if not (name and kind):
        raise UsageError(f"--source {text}: not a source", hint=_SOURCE_HINT)
    try:
        plugin = source_plugin(kind)
    except KeyError:
        known = ", ".join(source_kinds())
        raise UsageError(
            f"--source {text}: no source of kind {kind}; known: {known}", hint=_SOURCE_HINT
        ) from None
    try:
        return SourceSpec(name, plugin, plugin.parse(argument), decoder or None)
    except ValueError as error:
        raise UsageError(
            f"--source {text}: {error}", hint=f"--source {name}={plugin.usage}[,decoder=NAME]"
        ) from None


def plan(
    store_root: Path,
    key_dir: Path,
    specs: Sequence[SourceSpec],
    settings: Settings,
    *,
    say: Callable[[str], None],
    note: Callable[[str], None],
    rules: RuleSource | None = None,
) -> Plan:
    """Everything a collector needs; makes the store and its key if they are not there yet."""
    store = open_or_create(store_root)

    rules = rules or RuleSource(lambda: settings)
    packs = PackList(
        lambda: rules.settings().redaction.packs, [key_path(key_dir, store.id), *rules.files]
    )

    def redactor() -> Redactor:
        return default_redactor(load_or_create(key_dir, store.id), packs.load())

    prints = first_key(key_dir, store.id)
    gate = redactor()
    sources: list[tuple[Source, DecoderPlugin]] = []
    for spec in specs:
        if spec.decoder:
            plugin = decoders.named(spec.decoder, settings.decoders)
        else:
            plugin = decoders.detect(spec.plugin.samples(spec.settings))
        if spec.decoder is None and plugin.name != decoders.DEFAULT:
            note(f"{spec.name} is read as {plugin.name} (--decoder {decoders.DEFAULT} to refuse)")
        source = spec.plugin.make(spec.name, spec.settings, prints.secret)
        if isinstance(source, FileSource):
            # For people only; what finds the files again is not touched (docs/decisions/0017).
            source.location = gate.redact_text(source.location)[0]
        sources.append((source, plugin))
    keep = settings.retention.keep
    return Plan(
        store=store,
        watermark=key_dir / "keys" / f"{store.id}.seq",
        sources=sources,
        redactor=gate,
        renew=Renewal(redactor, packs.files, note, asked=rules.asked),
        host=settings.host or socket.gethostname(),
        version=version("sandtrail"),
        idle_us=duration_s(settings.runs.idle) * 1_000_000,
        link_window_us=window_us(settings.link_window),
        say=say,
        limits=SealLimits(
            settings.seal.rows, settings.seal.bytes, float(duration_s(settings.seal.after))
        ),
        services=_services(settings.read, store, say),
        policies={name: Path(policy.file) for name, policy in settings.policies.items()},
        upkeep=Upkeep(timedelta(seconds=duration_s(keep)) if keep else None, say),
    )


def _services(
    settings: ReadSettings, store: Store, say: Callable[[str], None]
) -> list[Callable[[threading.Event], None]]:
    """The read socket, if readers are asked for; SettingsError for those who are not there."""
    if settings == ReadSettings():
        return []
    # A sixth of what a start imports, for few collectors.
    from audit import reading_server

    readers = reading_server.readers(settings, store.id)
    return [reading_server.ReadServer(store.paths, readers, say)] if readers else []


def specs_of(settings: Settings) -> list[SourceSpec]:
    """The sources of audit.toml."""
    return [
        SourceSpec(
            name,
            source_plugin(source.kind),
            source,
            None if source.decoder == "auto" else source.decoder,
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
    watch: Callable[[int, int], None] | None = None,
    renew: threading.Event | None = None,
) -> list[str]:
    """Collect as asked for; the closing lines. Raises UsageError when nothing is to be read.

    Whoever sets `renew` asks for the redaction rules to be read again.
    """
    loaded = wiring.load_settings(call)
    settings = loaded.settings
    if host:
        settings = msgspec.structs.replace(settings, host=host)
    specs = [parse_source(text) for text in sources]
    if files:
        specs.append(spec_of_files(files, decoder))
    specs = specs or specs_of(settings)
    if not specs:
        raise UsageError("nothing to collect", hint=f"{call.prog} collect FILE --once")
    # What has an end by itself needs no `--once` to stop there.
    once = once or all(spec.plugin.kind == "stdin" for spec in specs)
    if once:
        for spec in specs:
            spec.plugin.check(spec.settings)
    making = plan(
        wiring.own_place(call),
        wiring.key_dir(settings.keys),
        specs,
        settings,
        say=voice.warning,
        note=voice.note,
        rules=RuleSource(
            lambda: wiring.load_settings(call).settings,
            [loaded.path] if loaded.path else [],
            renew,
        ),
    )
    if watch is not None:
        making = replace(making, watch=watch)
    if once:
        making = replace(making, services=())
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
