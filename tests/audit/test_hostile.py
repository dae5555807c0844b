"""Names chosen by the agent under audit reach every human output, and none of them bites."""

import re
from pathlib import Path
from typing import Any

import pytest

from audit.main import run
from audit_events.text import from_bytes
from tests.audit.story import ADMIN, NOW, StoryStore, at, event
from tests.audit.terminal import environment, watched

EVIL = [
    "\x1b[2J\x1b]0;PWN\x07\x1b]8;;http://x\x07", "\x9b2J\x9d", "\r        allow  fine",
    "\u202egnp.exe", "line\u2028line\u2029", "a\nb\tc\x0bd\x0c", "\x7f\x00\x08\x08", "\u200b\ufeff",
    "\U000e0041\U000e0042", from_bytes(b"/\xff\xfe"), "e\u0301" * 40, "\u0301first", "日本語" * 30,
    "two  blanks ", "x" * 9000, "=cmd|' /C calc'!A0",
]  # fmt: skip
# Everything that moves a cursor, reorders, hides or breaks a line.
RAW = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e0fff\U0010ff80-\U0010ffff]"
)
TEXTS = (
    "sandbox", "correlation_id", "process", "path", "path_to", "dst", "target", "policy_rule",
    "policy", "enforcer", "access", "syscall", "tool", "outcome", "message", "command", "flags",
    "redaction_kinds", "source", "host", "error",
)  # fmt: skip


def hostile_rows() -> list[dict[str, Any]]:
    """One deny a text with that text in every field, and tool calls and notices like it."""
    rows = []
    for n, text in enumerate(EVIL * 3):
        kind = ("decision", "tool_call", "notice")[n // len(EVIL)]
        decision = "deny" if kind == "decision" else None
        values = dict.fromkeys(TEXTS, text) | {"kind": kind, "redactions": 1}
        if n % 4 == 1:
            values |= {"path": None, "path_to": None}
        rows.append(event(n + 1, "18:03:12.000", decision, "x[1]", **values))
    return rows


@pytest.fixture(scope="module")
def hostile_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store full of it, gaps and sources included."""
    root = tmp_path_factory.mktemp("hostile") / "store"
    store = StoryStore(root, hostile_rows())
    store.collector(pid=1)
    for text in EVIL[:8]:
        store.gap(text, at("18:00:00"), None, f"{ADMIN} {text}")
        store.source(text, text, note=text, location=text)
    store.tally("rejected", EVIL[0], 3)
    store.close()
    return root


@pytest.mark.parametrize(
    "words",
    [
        [], ["status"], ["gaps"], ["query", "-n", "0"], ["query", "--kind", "notice", "-n", "0"],
        ["tail", "-n", "50"], ["explain", "1"], ["explain", "3"], ["explain", "last"],
        ["query", "--format", "logfmt", "-n", "0"], ["query", "--json"],
        ["query", "--sandbox", "\x1b[2Jno", "--strict"], ["query", "--run", "\x1b[2Jno"],
        ["runs", "--all"], ["runs", "--all", "--format", "markdown"], ["runs", "--all", "--json"],
        ["show", "1"], ["show", "1", "--format", "markdown"], ["show", "1", "--json"],
        ["show", "run:xxxx"], ["show", "run:xxxx", "--format", "markdown"],
        ["show", "run:\r"], ["show", "run:xxxx", "--json"], ["show", "\x1b[2J"],
        ["stats", "--by", "rule,process,path,day", "-n", "0"],
        ["stats", "--by", "sandbox,command,message", "--format", "markdown"],
        ["stats", "--by", "tool,target"], ["stats", "--redactions", "--by", "secret,sandbox"],
        ["stats", "--by", "\x1b[2J"], ["stats", "--bucket", "\x9b2J"],
    ],
)  # fmt: skip
def test_no_raw_control_character_reaches_a_pipe(
    hostile_store: Path, words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """stdout and stderr of every human view, in a pipe."""
    run(["audit", "--store", str(hostile_store), *words], now=lambda: NOW)
    out, err = capfd.readouterr()
    assert "internal error" not in err
    assert not RAW.search(out), RAW.search(out)
    assert not RAW.search(err)


@pytest.mark.parametrize("columns", [40, 80, 120, 200])
def test_no_raw_control_character_reaches_a_terminal(hostile_store: Path, columns: int) -> None:
    """The table on a terminal: no control, one line each, none too wide."""
    from audit.render_width import width

    words = ["query", "--kind", "decision", "-n", "0", "--not-path", "/nothing"]
    seen = watched(words, environment(hostile_store), columns)
    assert seen.code == 0
    assert not RAW.search(seen.out), RAW.search(seen.out)
    assert not RAW.search(seen.err)
    assert len(seen.lines) >= len(EVIL)
    short = [line for line in seen.lines if "xxxx" not in line and "日本語" not in line]
    assert short
    assert all(width(line) < 4 * columns + 400 for line in short)


@pytest.mark.parametrize(
    "words",
    [["runs", "--all"], ["show", "run:xxxx"], ["show", "4", "-C", "9"],
     ["stats", "--by", "rule,process,day", "-n", "0"]],
)  # fmt: skip
def test_no_raw_control_character_reaches_a_narrow_terminal(
    hostile_store: Path, words: list[str]
) -> None:
    """Lists, stories and counts, cut to 60 columns."""
    seen = watched(words, environment(hostile_store), 60)
    assert seen.code == 0, seen.err
    assert seen.lines
    assert not RAW.search(seen.out), RAW.search(seen.out)
    assert not RAW.search(seen.err)


def test_csv_on_a_terminal_is_harmless_too(hostile_store: Path) -> None:
    """A data format keeps its bytes in a file, not on a screen."""
    words = ["query", "--format", "csv", "--columns", "seq,path,message", "-n", "0"]
    seen = watched(words, environment(hostile_store))
    assert not RAW.search(seen.out), RAW.search(seen.out)


def test_a_doubled_blank_cannot_forge_a_column(
    hostile_store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a pipe two blanks part columns and stand nowhere else."""
    words = ["query", "--kind", "decision", "--grep", "two  blanks", "-n", "1"]
    assert run(["audit", "--store", str(hostile_store), *words]) == 0
    line = capfd.readouterr().out.rstrip("\n")
    assert "two\\x20\\x20blanks\\x20" in line
    assert len(line.split("  ")) == 9
