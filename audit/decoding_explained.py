"""`audit decode --explain`: how one record was read, from the line to the columns."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

import collector.decoders
from audit_events import plugins, text
from collector.contracts import Block, Decoded, DecoderPlugin

if TYPE_CHECKING:
    from policies.redact.engine import Redactor

# A record of many lines ends within this many.
MAX_LINES: Final = 512
_FLAGS: Final = {
    "ambiguous": "the text reads in more than one way: nobody is named",
    "forged": "who wrote the line may not say such a thing: kept as a notice",
    "incomplete": "the end of the record never came",
    "truncated": "the source cut the text, or it was longer than we keep",
    "no-time": "the line says no time: that of the line before it, or of reading, was taken",
    "no-zone": "the line's time has no zone: UTC was taken",
    "skewed": "the time lies before 2000 or more than a day ahead of the clock",
    "would-deny": "allowed; had the rule been enforced it would have been refused",
    "unknown-decision": "the word for the decision is none that we know",
    "no-decision": "the line says no decision",
    "asked": "somebody was asked and decided",
    "timeout": "nobody answered in time",
    "normalised": "a value was changed to fit its column",
    "unknown-value": "a word was none of the column's own",
}
_HIDDEN: Final = frozenset({"source_position", "format", "redactions", "redaction_digest"})


def explanation(
    plugin: DecoderPlugin, data: bytes, at: int, masker: "Redactor", *, chosen: bool
) -> Iterator[str]:
    """Lines for a person: decoder, grammar, then the columns (secrets masked) and what flags mean.

    `data` begins with the record and may go on behind it; `at` is where it stands in its log.
    """
    lines, decoded = _first(plugin, data, at)
    how = "as its first lines look" if chosen else "as asked for"
    yield f"decoder    {plugin.name}, {how}"
    yield f"record     at byte {at:,}, {_count(lines, 'line')}, {sum(map(len, lines)):,} bytes"
    for number, step in enumerate(_grammar(plugin, b"".join(lines))):
        yield f"{'' if number else 'grammar':<10} {step}"
    for reject in decoded.rejects:
        yield f"result     rejected: {reject.reason}"
    for reason in decoded.tally.filtered:
        yield f"result     left out: {reason}"
    if decoded.batch.num_rows:
        yield from _columns(masker.redact(decoded.batch.slice(0, 1), masker.initial_state())[0])


def _first(plugin: DecoderPlugin, data: bytes, at: int) -> tuple[list[bytes], Decoded]:
    """The lines of the first record, and what came of them."""
    decoder, start = plugin.make(), at
    taken: list[bytes] = []
    for line in (part + b"\n" for part in data.removesuffix(b"\n").split(b"\n")):
        decoded = decoder.decode(Block("", "", line, start, start + len(line), final=True))
        if decoded.tally.seen:
            # The line that shows that the record before it is over is not part of it.
            ends_before = taken and decoded.resume <= start
            return (taken if ends_before else [*taken, line]), decoded
        taken.append(line)
        start += len(line)
        if len(taken) >= MAX_LINES:
            break
    return taken, decoder.flush(datetime.now(UTC))


def _grammar(plugin: DecoderPlugin, raw: bytes) -> list[str]:
    """What the decoder itself says about the lines, if it can."""
    try:
        explain = plugins.load(collector.decoders, "explain", plugin.name)
    except KeyError:
        return []
    return explain(raw) if callable(explain) else []


def _columns(batch: pa.RecordBatch) -> Iterator[str]:
    row: dict[str, Any] = batch.to_pylist()[0]
    kind, decision = row["kind"], row.get("decision")
    by = f" by {row['enforcer']}" if row.get("enforcer") else ""
    yield f"result     {f'{decision}{by}' if decision else f'a {kind}{by}'}"
    for name, value in row.items():
        if value is not None and name not in _HIDDEN and name != "flags":
            yield f"  {name:<14} {text.terminal(str(value))}"
    for flag in (row.get("flags") or "").split(","):
        if flag:
            yield f"flag       {flag}: {_FLAGS.get(flag, 'see docs/schema.md')}"


def _count(things: list[bytes], word: str) -> str:
    return f"1 {word}" if len(things) == 1 else f"{len(things)} {word}s"
