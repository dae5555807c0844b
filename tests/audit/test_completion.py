"""The Tab key: verbs, flags, live values, and names that would like to be commands."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from audit import commands
from audit.completion_scripts import NAMES, flags, script
from audit.main import run
from tests.audit.story import StoryStore, story
from tests.audit.terminal import ROOT, environment

# How bash calls a completion function, and what it would offer.
_TAB = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
_sandtrail; printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(store: Path, room: Path, *words: str) -> list[str]:
    """What bash offers after these words."""
    program = room / "audit"
    if not program.exists():
        launch = f"{sys.executable} -m tests.audit.launch"
        program.write_text(f'#!/bin/sh\ncd {ROOT} && exec {launch} "$@"\n')
        program.chmod(0o700)
        (room / "script").write_text(script("bash", "audit"))
    done = subprocess.run(
        ["bash", "-c", _TAB, "bash", str(room / "script"), str(program), *words],
        env=environment(store), cwd=room, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def test_bash_offers_verbs_flags_and_values(story_store: Path, tmp_path: Path) -> None:
    """In the middle of the night nobody remembers a run's id."""
    room = tmp_path
    assert offered(story_store, room, "sta") == ["stats", "status"]
    assert offered(story_store, room, "query", "--ru") == ["--run", "--rule", "--rule-index"]
    assert sorted(offered(story_store, room, "query", "-r", "")) == [
        "5be01f77", "7f3a91c2", "b41c07e9", "last", "last~1", "os:1:4031:1",
    ]  # fmt: skip
    assert offered(story_store, room, "query", "--rule", "files") == ["filesystem.deny\\[1\\]"]
    assert offered(story_store, room, "explain", "49") == [
        "4930",
        "4929",
        "4928",
        "4927",
        "4926",
        "4925",
    ]
    assert offered(story_store, room, "query", "--not-access", "rena") == ["rename"]
    assert offered(story_store, room, "secrets", "f") == ["find"]


def test_a_hostile_name_is_only_a_name(tmp_path: Path) -> None:
    """A sandbox may be called anything; nothing of it is run, and control characters never show."""
    names = ["$(touch pwned)", "`touch pwned`", "a;touch pwned", "x\x1b[2J", "two words", "é"]
    rows = [{**story()[0], "seq": n, "sandbox": name} for n, name in enumerate(names, 1)]
    store = StoryStore(tmp_path / "store", rows)
    room = tmp_path / "room"
    room.mkdir()
    found = offered(store.paths.root, room, "query", "-s", "")
    store.close()
    assert sorted(found) == sorted(
        ["\\$\\(touch\\ pwned\\)", "\\`touch\\ pwned\\`", "a\\;touch\\ pwned", "two\\ words"]
    )
    assert not list(tmp_path.rglob("pwned"))


@pytest.mark.parametrize("shell", NAMES)
def test_every_verb_and_flag_is_in_every_script(shell: str) -> None:
    """A new command needs no line anywhere."""
    text = script(shell, "audit")
    assert set(flags()) == commands.names()
    for verb, (names, _) in flags().items():
        assert verb in text
        for name in names:
            fish = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            assert (fish if shell == "fish" else name) in text


@pytest.mark.parametrize("shell", NAMES)
def test_the_shell_can_read_its_script(shell: str, tmp_path: Path) -> None:
    """Where the shell is installed, it finds no fault."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    (tmp_path / "script").write_text(script(shell, "audit"))
    assert subprocess.run([program, "-n", str(tmp_path / "script")], check=False).returncode == 0


def test_values_come_without_a_store_and_without_a_word(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever is wrong, Tab stays silent and ends well."""
    (tmp_path / "spool.db").write_bytes(b"no database")
    for store in (tmp_path, tmp_path / "none"):
        assert run(["audit", "--store", str(store), "_complete", "query", "-s", ""]) == 0
    assert capfd.readouterr() == ("", "")
    assert run(["audit", "completion", "tcsh"]) == 2


@pytest.mark.parametrize(
    "words", [[], ["status"], ["gaps"], ["runs"], ["_complete", "query", "-r", ""]]
)
def test_what_must_answer_at_once_loads_nothing_heavy(story_store: Path, words: list[str]) -> None:
    """Neither an engine nor the flag parser: half of what such a command takes is loading."""
    code = (
        f"import sys; from audit.main import run; run(['audit', *{words!r}]);"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(story_store), cwd=ROOT, check=True,
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    loaded = set(done.stderr.split("\n")[-2].split())
    heavy = {"typer", "duckdb", "pyarrow", "deltalake", "pydantic", "rich", "msgspec", "wcwidth"}
    assert loaded & heavy == set()
