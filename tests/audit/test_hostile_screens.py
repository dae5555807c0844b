"""The hostile corpus on narrow and wide terminals: nothing bites, and pages stay in their width."""

from pathlib import Path

import pytest

from audit.render_width import width
from tests.audit.terminal import environment, watched
from tests.audit.test_hostile import RAW, hostile_store

__all__ = ["hostile_store"]  # the fixture

PAGES = [[], ["status"], ["gaps"], ["status", "--check"]]
ANSWERS = [
    ["query", "--columns", "seq,sandbox,path,rule,message", "-n", "0"],
    ["query", "--sandbox", "\x1b[2Jno", "--since", "1h", "--process", "\u202e"],
    ["query", "--path", "/Users/\x9b2J", "--deny", "--since", "1m"],
    ["explain", "1"], ["explain", "4"], ["show", "4", "-C", "20"], ["tail", "-n", "0"],
]  # fmt: skip


@pytest.mark.parametrize("columns", [30, 60, 120])
@pytest.mark.parametrize("words", PAGES)
def test_a_page_of_hostile_names_keeps_its_width(
    hostile_store: Path,
    words: list[str],
    columns: int,
) -> None:
    """Situation, status, gaps: escaped, and every line within the screen."""
    seen = watched(words, environment(hostile_store), columns)
    assert seen.lines
    assert not RAW.search(seen.out), RAW.search(seen.out)
    assert not RAW.search(seen.err), RAW.search(seen.err)
    if "--check" not in words:
        assert max(map(width, seen.lines)) <= columns


@pytest.mark.parametrize("columns", [60, 120])
@pytest.mark.parametrize("words", ANSWERS)
def test_answers_full_of_hostile_names_do_not_bite(
    hostile_store: Path,
    words: list[str],
    columns: int,
) -> None:
    """Chosen columns, empty answers, explanations, neighbours: stdout and stderr."""
    seen = watched(words, environment(hostile_store), columns)
    assert "internal error" not in seen.err
    assert not RAW.search(seen.out), RAW.search(seen.out)
    assert not RAW.search(seen.err), RAW.search(seen.err)
