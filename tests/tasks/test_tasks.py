"""The tasks of a new user, typed cold: each reaches its answer in at most two commands."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.audit.story import NOW, StoryStore, story
from tests.audit.terminal import environment, watched

MAX_COMMANDS = 2


@dataclass
class Task:
    """A goal in words, the commands, and what must come out."""

    goal: str
    commands: list[str] = field(default_factory=list)
    wanted: str = ""


def tasks() -> list[Task]:
    """The tasks of tasks.txt."""
    found: list[Task] = []
    for line in (Path(__file__).parent / "tasks.txt").read_text().splitlines():
        if line.startswith("> "):
            found.append(Task(line[2:]))
        elif line.startswith("$ "):
            found[-1].commands.append(line[2:])
        elif line.startswith("= "):
            found[-1].wanted = line[2:]
    return found


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The story, with a gap that is over."""
    made = StoryStore(tmp_path_factory.mktemp("tasks") / "store", story())
    made.collector(pid=1, heartbeat=NOW)
    made.gap("unified-log", NOW - 90_000_000_000, NOW - 89_000_000_000, "messages dropped")
    made.close()
    return made.paths.root


def typed(line: str, home: str) -> list[str]:
    """The words as a shell hands them over."""
    words = shlex.split(line.replace("$HOME", home))
    return [home + word[1:] if word.startswith("~/") else word for word in words][1:]


@pytest.mark.parametrize("task", tasks(), ids=lambda task: task.goal)
def test_a_new_user_gets_there(task: Task, store: Path, tmp_path: Path) -> None:
    """On a terminal, without having read anything."""
    env = environment(store, HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path),
                      TMPDIR=str(tmp_path))  # fmt: skip
    assert len(task.commands) <= MAX_COMMANDS
    for line in task.commands:
        seen = watched(typed(line, str(tmp_path)), env)
    expected = re.fullmatch(r"exit (\d+)", task.wanted)
    assert seen.code == (int(expected[1]) if expected else 0), seen.err
    if not expected:
        text = f"{seen.out}\n{seen.err}"
        assert re.search(task.wanted, text, re.MULTILINE), text


def test_there_are_twenty_of_them() -> None:
    """And each says what it wants."""
    assert len(tasks()) >= 20
    assert all(task.commands and task.wanted for task in tasks())
