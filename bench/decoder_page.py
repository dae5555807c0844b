"""Write docs/decoders.md from the decoders, their corpus and the words below.

python bench/decoder_page.py            writes the page
python bench/decoder_page.py --check    exit 1 if the page is not what would be written
"""

# ruff: noqa: E501 - prose

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import collector.decoders
from audit_events import plugins
from audit_events.schema import COLUMN_NAMES
from collector.contracts import Block, DecoderPlugin, Filtered
from collector.decoders.linux_access import BLOCKERS
from collector.decoders.seatbelt_operations import table

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "decoders.md"
CORPUS = ROOT / "tests" / "corpus"
# Every event has these, whatever it is read from.
COMMON = {"ts", "kind", "format", "source_position", "resource", "count", "redactions"}


@dataclass(frozen=True)
class Words:
    """What no code can tell about a format."""

    reads: tuple[str, ...]
    unknowable: tuple[str, ...]


WORDS = {
    "native": Words(
        (
            "the enforcement layer's own records: one JSON object a line, logfmt on one line, or a "
            "block of `key=value` lines; mixed, LF or CRLF (see [the guide](guides/native-records.md))",
        ),
        (
            "only what the layer writes; a record without `ts` gets the time of reading, flag `no-time`",
        ),
    ),
    "seatbelt": Words(
        (
            "`log stream` and `log show` in ndjson (best) and json, compact, default and syslog "
            "style, old ASL lines, lines copied from Console, bare messages that people paste",
            "kernel reports of macOS 10.10 to 27: duplicates in the singular and plural, System "
            "Policy under its own enforcer, a tag on the last line, reports cut to `<…>`",
            "reports of sandboxd over many lines with their MetaData; TCC lines as notices; loss "
            "events and dropped messages as gaps",
        ),
        (
            "**counts are lower bounds**: the kernel leaves reports out without a word, a notice or "
            "a loss event, and merges identical ones",
            "no latency: a report does not say how long the decision took",
            "no host name and no address of a destination: `network-outbound` gives the port only "
            "(`*:443`)",
            "no user, parent or path of the program in a kernel report; sandboxd's own reports name "
            "them, for a small part of all denials",
            "no profile and no rule, unless the profile tags its rules (`with message`)",
            "allowed operations only where the profile says `(with report)`",
            "in the text styles a line break inside a name is no different from a new entry, so "
            "**only ndjson and json prove who wrote a report**; collect with ndjson",
            "a name is cut to 16 characters up to macOS 12",
        ),
    ),
    "santa": Words(
        (
            "`santa.log` as text: EXEC, FILE_ACCESS and DISK decisions; other actions as notices; a "
            "file name with `|` or a line break in it is told from the fields around it, or flagged",
            "the JSON log (`EventLogType=json`): executions and file accesses",
        ),
        (
            "no latency",
            "what is in a name: `<pipe>`, `\\n` and `\\r` are undone, but a name may hold these "
            "letters themselves",
            "arguments as one text in the text log: their borders are lost there",
            "under load old versions drop lines of allowed programs; only a dropped-messages line tells",
        ),
    ),
    "eslogger": Words(
        (
            "`eslogger exec fork exit`: one JSON message a line, audit token as object (to macOS 15) "
            "or array (macOS 26)",
        ),
        (
            "no decision: eslogger tells what happened, never what was refused; its events are "
            "notices that tell whose child a process is",
            "the environment of a program is left out on purpose",
            "a step of more than one in `global_seq_num` is a loss; the number is kept",
        ),
    ),
    "linux-audit": Words(
        (
            "`audit.log` raw and enriched, `ausearch`, syslog, dmesg, `journalctl` short and `-o json`",
            "AppArmor (complain mode is allow and `would-deny`), SELinux (also permissive, and user "
            "space's USER_AVC), Landlock, seccomp, fanotify, and watched system calls",
            "records of one event are put together by serial number, also when others lie between",
        ),
        (
            "no latency",
            "no host name: addresses only, and only where a SOCKADDR or the framework gives one",
            "AppArmor and SELinux name the profile, never the line of it that decided",
            "which sandbox: only pid, profile, context or Landlock domain",
            "`audit_lost` counts since boot, so the gap's size is not known",
            "a syslog line in the kernel's name is believed; the journal's own fields prove more",
        ),
    ),
}


def rows(plugin: DecoderPlugin) -> Iterator[dict[str, Any]]:
    """Every event of a decoder's corpus."""
    for path in sorted((CORPUS / plugin.name.replace("-", "_")).iterdir()):
        if path.name.endswith(".expect.jsonl"):
            continue
        logs = [path.read_bytes()]
        if path.name.endswith("samples.jsonl"):
            logs = [json.loads(line)["raw"].encode() for line in logs[0].splitlines()]
        for log in logs:
            decoder = plugin.make()
            block = Block("", "", log, 0, len(log), final=True)
            for part in (decoder.decode(block), decoder.flush(datetime.now(UTC))):
                yield from part.batch.to_pylist()


def kept(plugin: DecoderPlugin) -> tuple[list[str], list[str], list[str]]:
    """Columns, extra keys and enforcers that the corpus shows."""
    columns: Counter[str] = Counter()
    extra: Counter[str] = Counter()
    enforcers: Counter[str] = Counter()
    for row in rows(plugin):
        columns.update(name for name, value in row.items() if value is not None)
        extra.update(json.loads(row["extra"] or "{}").keys())
        enforcers.update([row["enforcer"]] if row["enforcer"] else [])
    shown = [name for name in COLUMN_NAMES if columns[name] and name not in COMMON]
    often = [name for name, count in extra.most_common(24) if count > 1]
    return shown, sorted(often), sorted(enforcers)


def section(plugin: DecoderPlugin) -> list[str]:
    """One decoder's part of the page."""
    words = WORDS[plugin.name]
    columns, extra, enforcers = kept(plugin)
    lines = [f"## {plugin.name}", "", "Reads", ""]
    lines += [f"- {text}" for text in words.reads]
    lines += ["", f"Fields kept: {', '.join(f'`{name}`' for name in columns)}."]
    if extra:
        lines += ["", f"In `extra`, among others: {', '.join(f'`{name}`' for name in extra)}."]
    if enforcers:
        lines += ["", f"Enforcers: {', '.join(f'`{name}`' for name in enforcers)}."]
    lines += ["", "Cannot be known from it", ""]
    return [*lines, *(f"- {text}" for text in words.unknowable), ""]


def page() -> str:
    """The whole page."""
    found = plugins.find(collector.decoders, "decoder").values()
    ours = sorted((p for p in found if isinstance(p, DecoderPlugin)), key=lambda p: p.name)
    ours.sort(key=lambda p: p.name != "native")
    lines = [
        "# Decoders", "",
        "Written by `python bench/decoder_page.py`; do not edit. A decoder makes events of a log's "
        "lines. `collect` and `decode` choose the one that makes most of a log's first lines and "
        "say so; `--decoder NAME` chooses by hand; `decode --explain` says of one record how it "
        "was read.", "",
        "Every event has a time, a kind, its place in the log and a count. A line that cannot be "
        f"read is a reject with its reason and its place; a line that is none of "
        f"the format's decisions is left out and counted "
        f"({', '.join(str(reason) for reason in Filtered)}). Nothing else happens to a line.", "",
    ]  # fmt: skip
    for plugin in ours:
        lines += section(plugin)
    lines += [
        "## mapped", "",
        "Any JSON lines: a table `[decoders.NAME]` in `audit.toml` says which member fills which "
        "column; `collect --decoder NAME` then reads the log. Tables for the documented logs of "
        "agent tools are in [examples/mapped](../examples/mapped/README.md).", "",
        "```toml", *(ROOT / "examples" / "mapped" / "gh-aw-firewall.toml").read_text().splitlines(),
        "```", "",
        "A rule is a JSON pointer, a list of pointers of which the first found counts, or a table "
        "of `from`, `constant`, `map`, `default`. `[decoders.NAME.only]` names what a line must "
        "hold to be taken. What no rule names is kept in `extra`.", "",
        "Cannot be known from it", "",
        "- whether a line is true: any process that can write the file can write any line", "",
        "## Seatbelt's operations", "",
        "Where an operation is filed; others of a family by their beginning and ending.", "",
        "| operation | resource | access |", "|---|---|---|",
        *(f"| `{name}` | {kind.resource} | {kind.access or ''} |" for name, kind in table()), "",
        "## Landlock's rights", "",
        "| right | access |", "|---|---|",
        *(f"| `{right}` | {access} |" for right, access in BLOCKERS.items()),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing")
    if parser.parse_args().check:
        return int(not PAGE.exists() or PAGE.read_text() != page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
