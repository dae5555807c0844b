"""Long work is seen to go on: one line that goes away, or a line now and then in a log."""

import io
import re
from pathlib import Path

from audit.progress import COLUMNS, Progress, bar, short
from audit.say import Voice
from tests.audit.terminal import ROOT, environment, piped, watched


class Tty(io.StringIO):
    """A stream that a person watches."""

    def isatty(self) -> bool:
        """Yes."""
        return True


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def progress(stream: io.StringIO, clock: Clock, **more: object) -> Progress:
    """About a large log, in UTF-8."""
    voice = Voice("audit", {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}, stream)
    voice._unicode = True
    given = {"label": "decisions.jsonl", "total": 1_000_000, **more}
    return Progress(voice, "collect", clock=clock, **given)  # type: ignore[arg-type]


def test_a_terminal_sees_a_bar_that_goes_away() -> None:
    """Layout, width, and nothing left."""
    stream, clock = Tty(), Clock()
    told = progress(stream, clock)
    clock.now += 3.4
    told.tell(610_000, 612_900)
    assert stream.getvalue() == (
        "\r\x1b[Kcollect  decisions.jsonl  ━━━━━━━━━━━━━╸────────  61%  612k lines  180k/s  0:02"
    )
    assert len(stream.getvalue()) - 4 <= COLUMNS
    told.close()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_short_work_says_nothing() -> None:
    """Half a second is no reason for a line; -q never is."""
    stream, clock = Tty(), Clock()
    told, quiet = progress(stream, clock), progress(stream, clock, quiet=True)
    clock.now += 0.4
    told.tell(1, 1)
    clock.now += 60
    quiet.tell(1, 1)
    told.close()
    assert stream.getvalue() == ""


def test_a_log_gets_a_plain_line_twice_a_minute() -> None:
    """No bar, no escape, no more than that."""
    stream, clock = io.StringIO(), Clock()
    told = progress(stream, clock)
    for _ in range(700):
        clock.now += 0.1
        told.tell(500_000, 1_000_000)
    told.close()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"collect  decisions\.jsonl  50%  1\.0M lines  \d+k/s  0:30", lines[0])


def test_a_warning_does_not_stick_to_the_line() -> None:
    """What is said meanwhile stands on a line of its own."""
    stream, clock = Tty(), Clock()
    told = progress(stream, clock)
    clock.now += 1
    told.tell(1, 1)
    told._voice.note("something")
    assert "\r\x1b[Kaudit: note: something\n" in stream.getvalue()


def test_bars_and_numbers() -> None:
    """Empty, full, and as many digits as one reads."""
    assert [bar(share, 4) for share in (0.0, 0.5, 1.0, 7.0)] == ["╸───", "━━╸─", "━━━━", "━━━━"]
    assert [short(n) for n in (0, 9_999, 10_000, 612_345, 9_400_000)] == [
        "0", "9,999", "10k", "612k", "9.4M",
    ]  # fmt: skip


def test_the_real_commands_leave_no_trace_of_it(tmp_path: Path) -> None:
    """Quick work on a terminal and in a pipe: the closing line alone."""
    env = environment(tmp_path / "store", XDG_CONFIG_HOME=str(tmp_path))
    seen = watched(["collect", str(ROOT / "examples" / "agent-demo.jsonl"), "--once"], env)
    left = re.sub(r"\r\x1b\[K[^\r\n]*(?=\r)", "", seen.err)
    assert left.replace("\r\x1b[K", "").startswith("collected 3,412 lines")
    seen = piped(["export", "-o", str(tmp_path / "x.json")], env)
    assert seen.err.splitlines()[0].startswith("exported 3,411 events")
    assert len(seen.err.splitlines()) == 1
