"""The text styles of `log show` and `log stream`, and the older ones that people paste."""

import re
from typing import Final

from collector.decoders.seatbelt_entry import Entry
from collector.decoders.seatbelt_message import looks_like_report

_STAMP: Final = r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?[+-]\d{4})?)"
_SENDER: Final = r"(?:\((?P<sender>[^()\n]*)\) ?)?(?:\[(?P<subsystem>[^\]\n:]*):[^\]\n]*\] ?)?"
_STYLES: Final = tuple(
    re.compile(pattern, re.DOTALL | re.ASCII)
    for pattern in (
        # compact: time, two letters of type, process[pid:thread]
        _STAMP + r" [A-Z][A-Za-z ] +(?P<process>[^\n\[]+)\[(?P<pid>\d+):[^\]\n]*\] " + _SENDER
        + r"(?P<message>.*)",
        # default: time, thread, type, activity, pid, ttl, process:
        r"(?:" + _STAMP + r" 0x[0-9a-f]+)? *(?:Default|Info|Debug|Error|Fault|Notice|Activity) +"
        r"0x[0-9a-f]+ +(?P<pid>\d+) +\d+ +(?P<process>[^\n:]+): " + _SENDER + r"(?P<message>.*)",
        # syslog: time, host, process[pid]:
        _STAMP + r"  ?(?P<host>\S+) (?P<process>[^\n\[]+)\[(?P<pid>\d+)\]: ?" + _SENDER
        + r"(?P<message>.*)",
        # ASL: no year, no zone
        r"(?P<asl>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?:(?P<host>\S+) )?"
        r"(?P<process>[^\n\[\]:]+)\[(?P<pid>\d+)\](?: \(\[\d+\]\))?(?: <[A-Za-z]+>)?: "
        r"(?P<message>.*)",
        # Console, copied: level, time, process, message
        r"[^\t\n]{1,24}\t(?P<clock>\d\d:\d\d:\d\d[.,]\d+ ?[+-]\d{4})\t(?P<process>[^\t\n]+)\t"
        r"(?P<message>.*)",
        # cut down by those who paste it
        r"(?:[^\n]{0,64}?)\b(?P<process>kernel)(?:\[(?P<pid>\d+)[^\]\n]*\])?:?(?: <[A-Za-z]+>:)? ?"
        r"\((?P<sender>Sandbox)\):? (?P<message>.*)",
        r"(?:[^\n]{0,64}?)\b(?P<process>kernel)\[(?P<pid>0)\](?: <[A-Za-z]+>)?: (?P<message>.*)",
        r"(?:\[\.\.\.\] )?\((?P<sender>Sandbox)\) (?P<message>.*)",
        r"(?P<xcode>error: )"
        r"(?P<message>(?:\d+ duplicate reports? for )?(?:Sandbox|System Policy): .*)",
        _STAMP + r" (?:[A-Z][A-Za-z ] +)?(?P<process>[A-Za-z][A-Za-z.]*) +(?P<message>.*)",
    )
)  # fmt: skip
_NAMES: Final = ("compact", "default", "syslog", "old syslog", "Console copy")
# Messages without the line around them.
_BARE: Final = ("Sandbox apply: ", "Sandbox reporting: ", "AUTHREQ_", "log: ")
_HEADLESS: Final = re.compile(
    r"[^\s:][^\n:]{0,63}?(?:\(\d{1,10}\))? (?:deny|allow)(?:\(\d\))? [a-z]"
)
_TIME_IN_FRONT: Final = re.compile(_STAMP + r" ")
_BANNERS: Final = (
    "Filtering the log data using ", "Skipping info and debug messages", "Timestamp  ",
    "Failed to symbolicate", "=== system ", "Skipping debug messages",
)  # fmt: skip
DROPPED: Final = "=== Messages dropped during live streaming"
_REPEATED: Final = re.compile(
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d )?(?:[^\s-]\S* )?"
    r"--- last message repeated (\d{1,9}) times? ---",
    re.ASCII,
)


def is_banner(line: str) -> bool:
    """Whether the log tool itself says the line."""
    return line.startswith(_BANNERS)


def repeated(line: str) -> int | None:
    """How often syslogd says that the line before came again."""
    match = _REPEATED.fullmatch(line)
    return int(match[1]) if match else None


def parse(line: str) -> Entry | None:
    """The entry that a line starts; None if it goes on with the entry before it."""
    if looks_like_report(line) or line.startswith(_BARE):
        return Entry(line)
    if line.startswith("lost ") and "unreliable messages" in line:
        return Entry(line, event_type="lossEvent")
    for style in _STYLES:
        match = style.fullmatch(line)
        if match:
            return _entry(line, match.groupdict())
    if _HEADLESS.match(line):
        return Entry(line, headless=True)
    return None


def style_of(line: str) -> str:
    """How `log` or its reader laid the line out, in words."""
    for number, style in enumerate(_STYLES):
        if style.fullmatch(line):
            return f"style {_NAMES[number]}" if number < len(_NAMES) else "an excerpt"
    return "a bare message"


def _entry(line: str, found: dict[str, str | None]) -> Entry:
    stamp = found.get("time")
    if stamp is None and "asl" not in found and "clock" not in found:
        in_front = _TIME_IN_FRONT.match(line)
        stamp = in_front["time"] if in_front else None
    process, pid, sender = found.get("process"), found.get("pid"), found.get("sender")
    kernel = (process is None or process == "kernel") and (pid is None or int(pid) == 0)
    from_us = sender in (None, "Sandbox")
    return Entry(
        message=found["message"] or "",
        time=stamp.replace(",", ".") if stamp else None,
        kernel=None if found.get("xcode") else kernel and from_us,
        process=process,
        pid=int(pid) if pid and len(pid) <= 10 else None,
        host=found.get("host") if found.get("host") != "localhost" else None,
        subsystem=found.get("subsystem"),
        headless=process == "sandboxd" or sender == "Sandbox",
        yearless=found.get("asl"),
        clock=found.get("clock"),
    )
