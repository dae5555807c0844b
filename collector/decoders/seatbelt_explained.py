"""In words: how an entry of Apple's log was read."""

from audit_events import text
from collector.contracts import Filtered, Reason
from collector.decoders import seatbelt_json, seatbelt_styles
from collector.decoders.seatbelt_entry import Entry
from collector.decoders.seatbelt_message import looks_like_report, read

_VOUCHES = {
    True: "written by the kernel's Sandbox extension, as the log vouches",
    False: "written by a process: no report of the kernel's",
    None: "the line does not say who wrote it",
}


def explain(raw: bytes) -> list[str]:
    """Style, who wrote it, and the rules of the report's grammar that matched."""
    line = raw.rstrip(b"\n")
    if line.startswith((b"{", b"[{", b"},{")):
        body = line.lstrip(b"[},").removesuffix(b"]")
        entry, style = seatbelt_json.parse(body), "an entry in JSON"
    else:
        known = text.from_bytes(line)
        entry = seatbelt_styles.parse(known) or Reason.NOT_A_RECORD
        style = seatbelt_styles.style_of(known)
    if isinstance(entry, Filtered | Reason):
        return [style]
    who = "written by sandboxd" if entry.by_sandboxd else _VOUCHES[entry.kernel]
    return [style, who, *_report(entry)]


def _report(entry: Entry) -> list[str]:
    found = read(entry.message, headless=entry.headless)
    if found is None:
        begins = looks_like_report(entry.message)
        return ["begins like a report, and goes on like none" if begins else "no report"]
    if found.ambiguous:
        return ["a report with a second verdict in its name or object: two readings"]
    steps = ["[count] policy: name(pid) decision operation [object] [newline tag]"]
    if found.duplicate:
        steps.append("a duplicate report: so many more of one that came before")
    if found.pid is None:
        steps.append("without (pid): an old or shortened report")
    if entry.by_sandboxd:
        steps.append("parent, user and the program's path from the lines behind it")
    elif found.truncated:
        steps.append("cut by the log, which ends it in <…>: its tag is lost")
    elif found.tag:
        steps.append("the last line, and only that, is the tag")
    return steps
