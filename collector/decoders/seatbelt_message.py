"""The grammar of a Sandbox report: who was refused or allowed what, and what cannot be told.

    [N duplicate report(s) for ](Sandbox|System Policy): NAME(PID) (deny(ERRNO)|allow)
        OPERATION[ TARGET][newline TAG]

Name and target are chosen by the process under audit; a text that can be read in two ways is
flagged `ambiguous` and says neither.
"""

import re
from dataclasses import dataclass
from typing import Final

_HEAD: Final = re.compile(
    r"(?:(?P<count>\d{1,9}) duplicate reports? for )?(?P<policy>Sandbox|System Policy): "
    # Until 10.15 the number stood behind the policy, and the pid was left out.
    r"(?:(?P<late>\d{1,9}) duplicate reports? for )?",
    re.ASCII,
)
_HEAD_OF_LINE: Final = re.compile(r"^[ \t]*" + _HEAD.pattern, re.ASCII | re.MULTILINE)
# A verdict and its operation, each time the text could hold one.
_VERDICT: Final = re.compile(
    r"(?:\((?P<pid>\d{1,10}|\.\.\.)\))?[ \t]+(?P<sip>System Policy: )?"
    r"(?P<verdict>deny|allow)(?:\((?P<code>\d{1,5})\))?"
    r"(?:[ \t]|\n[ \t]+)(?P<operation>[a-z][a-z0-9*<>-]*)(?=[ \t\n]|\Z)",
    re.ASCII,
)
# A second place that would be a verdict of some process (77) deny …: one of the two is forged.
_RIVAL: Final = re.compile(r"\(\d{1,10}\)[ \t]+(?:System Policy: )?(deny|allow)\b", re.ASCII)
CUT: Final = "<…>"
_XCODE_TAIL: Final = re.compile(r" \(in target '[^']*' from project '[^']*'\)\Z")


@dataclass(frozen=True, slots=True)
class Report:
    """One report. What the text does not say, or says in two ways, is None."""

    enforcer: str
    decision: str | None
    process: str | None = None
    pid: int | None = None
    code: int | None = None
    operation: str | None = None
    target: str | None = None
    tag: str | None = None
    count: int = 1
    duplicate: bool = False
    truncated: bool = False
    ambiguous: bool = False


def looks_like_report(message: str) -> bool:
    """Whether the text begins like a report, whoever wrote it."""
    return _HEAD.match(message) is not None


def imitates_report(message: str) -> bool:
    """Whether any line of the text could be taken for a report."""
    return _HEAD_OF_LINE.search(message) is not None


def read(message: str, *, headless: bool = False) -> Report | None:
    """The report in a message, None if it is none; `headless` takes one without `Sandbox: `."""
    head = _HEAD.match(message)
    if head is None and not headless:
        return None
    counted = head and (head["count"] or head["late"])
    system_policy = head is not None and head["policy"] == "System Policy"
    body, tag, cut = _split(message[head.end() if head else 0 :])
    match = _VERDICT.search(body)
    if match is None:
        return None
    count, duplicate = (int(counted), True) if counted else (1, False)
    enforcer = "system-policy" if system_policy or match["sip"] else "seatbelt"
    rivals = _RIVAL.findall(body) if body.count("deny") + body.count("allow") > 1 else []
    if len(rivals) > 1:
        decision = rivals[0] if len(set(rivals)) == 1 else None
        return Report(
            enforcer, decision, tag=tag, count=count, duplicate=duplicate, truncated=cut,
            ambiguous=True,
        )  # fmt: skip
    return Report(
        enforcer, match["verdict"], body[: match.start()].strip() or None,
        int(match["pid"]) if match["pid"] and match["pid"] != "..." else None,
        int(match["code"]) if match["code"] else None,
        match["operation"], _target(body[match.end() :]), tag, max(count, 1), duplicate, cut,
    )  # fmt: skip


def _target(rest: str) -> str | None:
    """What stands behind the operation; blanks at its end may be those of a name."""
    return rest.lstrip(" \t\n") if rest.strip() else None


def _split(text: str) -> tuple[str, str | None, bool]:
    """Body, tag (the last line, and only that), and whether the end was cut off."""
    text = _XCODE_TAIL.sub("", text.rstrip("\n"))
    if text.endswith(CUT):
        return text[: -len(CUT)], None, True
    body, newline, last = text.rpartition("\n")
    # A line that starts with a blank goes on with the line before it.
    if not newline or last[:1] in (" ", "\t") or not last:
        return text, None, False
    return body, last, False
