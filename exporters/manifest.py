"""What an export says about itself: how much, from where to where, and what may be missing."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import orjson

from audit_events.schema import SCHEMA_VERSION
from exporters.formats._text import timestamp

MANIFEST_VERSION: Final = 1
SUFFIX: Final = ".manifest.json"


@dataclass(slots=True)
class Content:
    """What went into an export, counted while it was written."""

    rows: int = 0
    first_seq: int | None = None
    last_seq: int | None = None
    kinds: dict[str, int] = field(default_factory=dict)

    def add(self, seqs: Sequence[int], kinds: Mapping[str, int]) -> None:
        """Count some more rows, in seq order."""
        if seqs:
            self.rows += len(seqs)
            self.first_seq = seqs[0] if self.first_seq is None else self.first_seq
            self.last_seq = seqs[-1]
        for kind, number in kinds.items():
            self.kinds[kind] = self.kinds.get(kind, 0) + number


@dataclass(frozen=True, slots=True)
class Cursor:
    """Which seqs a repeated export covers: those in (after, upto]; damage keeps it from moving."""

    name: str
    after: int
    upto: int
    moved: bool


@dataclass(frozen=True, slots=True)
class MissingFile:
    """A file of the archive whose rows could not be exported."""

    path: str
    rows: int


@dataclass(frozen=True, slots=True)
class ExportedGap:
    """A stretch in the export's window in which a source could not tell everything."""

    source: str
    since: str
    until: str | None
    reason: str
    count: int | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything a reader of the file must know to trust it; times in µs."""

    file: str
    format: str
    bytes: int
    sha256: str
    store: str
    host: str
    created_at: int
    content: Content
    columns: Sequence[str]
    filters: Mapping[str, Sequence[str]]
    window: tuple[int | None, int | None, str]
    limit: int | None
    more: bool
    gaps: Sequence[ExportedGap]
    damaged: Sequence[MissingFile]
    cursor: Cursor | None = None


def to_json(manifest: Manifest) -> bytes:
    """One JSON object, indented; stable order, times RFC 3339 UTC."""
    return orjson.dumps(_document(manifest), option=orjson.OPT_INDENT_2) + b"\n"


def exported_gap(
    source: str, since: int, until: int | None, reason: str, count: int | None
) -> ExportedGap:
    """A gap of the store as the manifest shows it."""
    return ExportedGap(source, timestamp(since), _time(until), reason, count)


def _document(manifest: Manifest) -> dict[str, Any]:
    content = manifest.content
    since, until, clock = manifest.window
    return {
        "manifest_version": MANIFEST_VERSION,
        "file": manifest.file,
        "format": manifest.format,
        "rows": content.rows,
        "bytes": manifest.bytes,
        "sha256": manifest.sha256,
        "store": manifest.store,
        "host": manifest.host,
        "schema_version": SCHEMA_VERSION,
        "created_at": timestamp(manifest.created_at),
        "seq": {"first": content.first_seq, "last": content.last_seq},
        "kinds": dict(sorted(content.kinds.items())),
        "columns": list(manifest.columns),
        "filters": {name: list(values) for name, values in manifest.filters.items()},
        "window": {"since": _time(since), "until": _time(until), "clock": clock},
        "limit": manifest.limit,
        "limit_reached": manifest.more,
        "complete": not (manifest.gaps or manifest.damaged or manifest.more),
        "gaps": [asdict(gap) for gap in manifest.gaps],
        "damaged": [asdict(file) for file in manifest.damaged],
        "cursor": asdict(manifest.cursor) if manifest.cursor else None,
    }


def _time(micros: int | None) -> str | None:
    return None if micros is None else timestamp(micros)
