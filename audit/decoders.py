"""Which decoder reads a log: by its name, by a table in the settings, or by the first lines."""

import zlib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow.compute as pc

import collector.decoders
from audit_events import plugins
from audit_events.errors import SettingsError, UsageError
from collector.contracts import Block, Decoded, DecoderPlugin
from collector.decoders.mapped import plugin as mapped_plugin
from collector.decoders.mapping import parse_table

# Bytes of a file's start that tell its format.
SAMPLE_BYTES: Final = 64 * 1024
DEFAULT: Final = "native"
_GZIP: Final = b"\x1f\x8b"
_NOTHING: Final = (0, False)
# Rows that say that the decoder did not know what it read, or did not believe it.
_DOUBTS: Final = r"\b(?:ambiguous|forged|no-decision|unknown-decision)\b"


def known(tables: Mapping[str, Any] | None = None) -> dict[str, DecoderPlugin]:
    """Every decoder by name: those of the house, and one for each checked table of `tables`."""
    found = {
        plugin.name: plugin
        for plugin in plugins.find(collector.decoders, "decoder").values()
        if isinstance(plugin, DecoderPlugin)
    }
    for name, table in (tables or {}).items():
        if name in found:
            raise SettingsError(f"decoders.{name}: there is a decoder of this name")
        found[name] = mapped_plugin(parse_table(table, f"decoders.{name}"), name)
    return found


def named(name: str, tables: Mapping[str, Any] | None = None) -> DecoderPlugin:
    """A decoder by its name; UsageError with the known ones."""
    found = known(tables)
    if name not in found:
        raise UsageError(f"no decoder {name}", hint="known: " + ", ".join(sorted(found)))
    return found[name]


def detect(samples: Iterable[bytes]) -> DecoderPlugin:
    """The decoder that makes most of the first sample; native where none makes anything of it.

    Any log may quote a line of another, so signs in the text decide only between equals.
    """
    found = known()
    sample = next((s for s in map(unpacked, samples) if s.strip()), b"")
    ranks = {name: _rank(plugin, sample) for name, plugin in found.items()}
    best = max(found, key=lambda name: (ranks[name], name == DEFAULT))
    return found[best if ranks[best] > _NOTHING else DEFAULT]


def _rank(plugin: DecoderPlugin, sample: bytes) -> tuple[int, bool]:
    return _worth(plugin, sample), plugin.recognises(sample)


def unpacked(sample: bytes) -> bytes:
    """The start of what a `.gz` holds; anything else as it is."""
    if not sample.startswith(_GZIP):
        return sample
    try:
        return zlib.decompressobj(wbits=31).decompress(sample, SAMPLE_BYTES)
    except zlib.error:
        return sample


def _worth(plugin: DecoderPlugin, sample: bytes) -> int:
    """Events that the decoder knew, less the lines that it could not read.

    What native cannot make sense of was not written for it; the others are made to doubt.
    """
    cut = len(sample) if len(sample) < SAMPLE_BYTES else sample.rfind(b"\n") + 1
    decoder = plugin.make()
    block = Block("", "", sample[:cut], 0, cut, final=True)
    answers = (decoder.decode(block), decoder.flush(datetime.now(UTC)))
    weight = 2 if plugin.name == DEFAULT else 1
    return sum(_good(answer, weight) for answer in answers)


def _good(decoded: Decoded, weight: int) -> int:
    flags = decoded.batch.column("flags").fill_null("")
    doubtful = pc.sum(pc.match_substring_regex(flags, _DOUBTS)).as_py() or 0
    return int(decoded.batch.num_rows - weight * doubtful - len(decoded.rejects))
