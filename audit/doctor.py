"""`audit doctor`: what works, what does not, and what to do about it; one row a check."""

import json as jsonlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from typing import Final

from audit import doctor_checks, doctor_sources
from audit import screen as output
from audit.call import Call
from audit.doctor_look import Around, Finding, look_around
from audit.render_style import Glyphs, safe
from audit.render_width import pad
from audit_events.errors import Exit, UsageError

CHECKS: Final[tuple[Callable[[Around], Iterable[Finding]], ...]] = (
    doctor_checks.settings,
    doctor_checks.store,
    doctor_checks.keys,
    doctor_checks.collector,
    doctor_sources.sources,
    doctor_checks.time,
    doctor_checks.command,
    doctor_checks.completion,
)
FORMATS: Final = ("text", "json")
_STATE_CELLS: Final = 6
_NAME_CELLS: Final = 12


def doctor(call: Call, form: str) -> Exit:
    """Print every finding; ANSWER_NO if one of them is a failure."""
    if form not in FORMATS:
        raise UsageError(f"--format {form}: no such format", hint=" ".join(FORMATS))
    around, screen = look_around(call), output.screen(call)
    found = [finding for check in CHECKS for finding in check(around)]
    if form == "json":
        output.put([jsonlib.dumps([asdict(finding) for finding in found])])
    else:
        output.put(lines(found, screen.glyphs))
        screen.remark(summary(found))
    failed = any(finding.state == "FAIL" for finding in found)
    return Exit.ANSWER_NO if failed else Exit.DONE


def lines(found: Sequence[Finding], glyphs: Glyphs) -> Iterable[str]:
    """The page (G17): a line a finding, what to do below it."""
    for finding in found:
        name = safe(finding.name, glyphs)
        words = safe(finding.words, glyphs)
        yield f"{finding.state:<{_STATE_CELLS}} {pad(name, _NAME_CELLS)} {words}"
        for line in finding.advice:
            yield f"{'':<{_STATE_CELLS + 3}}{safe(line.replace('→', glyphs.arrow), glyphs)}"


def summary(found: Sequence[Finding]) -> str:
    """`1 failed, 1 warning, 4 ok`."""
    number = {
        state: sum(finding.state == state for finding in found) for state in ("FAIL", "warn", "ok")
    }
    warnings = f"{number['warn']} warning{'s' * (number['warn'] != 1)}"
    return f"{number['FAIL']} failed, {warnings}, {number['ok']} ok"
