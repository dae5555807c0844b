"""Tab in real zsh and fish: verbs, flags, live values; a hostile name stays a name."""

import os
import pty
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from audit.completion_scripts import script
from tests.audit.story import StoryStore, story
from tests.audit.terminal import ROOT, TIMEOUT_S, environment

ZSH, FISH, BASH = (shutil.which(name) for name in ("zsh", "fish", "bash"))
needs_zsh = pytest.mark.skipif(ZSH is None, reason="no zsh here: apt-get install zsh")
needs_fish = pytest.mark.skipif(FISH is None, reason="no fish here: apt-get install fish")
LOOK_S = 0.05
# What zsh would offer goes to a file, and so does the line as Tab left it: zle takes keys one by
# one, so the file is there only after the completion.
_ZSHRC = """
PS1='' PS2='' RPS1=''
autoload -Uz compinit && compinit -u -D
source "$ROOM/script.zsh"
compadd() {
  case $1 in
    -[OAD]) builtin compadd "$@"; return ;;
  esac
  local -a hits
  builtin compadd -O hits "$@"
  print -rl -- "${hits[@]}" >> "$ROOM/offered"
  builtin compadd "$@"
}
_told() { print -r -- "$BUFFER" > "$ROOM/line.new"; command mv "$ROOM/line.new" "$ROOM/line"; }
zle -N _told
bindkey '^X^T' _told
bindkey '^I' complete-word
print -n > "$ROOM/ready"
"""
HOSTILE = ["$(touch pwned)", "`touch pwned`", "a;touch pwned", "x\x1b[2J", "two words", "é"]
HARMLESS = ["$(touch pwned)", "`touch pwned`", "a;touch pwned", "two words"]
RUNS = ["5be01f77", "7f3a91c2", "b41c07e9", "last", "last~1", "os:1:4031:1"]
CASES = [
    ("audit sta", ["stats", "status"]),
    ("audit query --ru", ["--run", "--rule", "--rule-index"]),
    ("audit query -r ", RUNS),
    ("audit query --rule files", ["filesystem.deny[1]"]),
    ("audit explain 49", ["4930", "4929", "4928", "4927", "4926", "4925"]),
    ("audit query --not-access rena", ["rename"]),
    ("audit secrets f", ["find"]),
    ("audit completion ", ["zsh", "bash", "fish"]),
    ("audit runs --format m", ["markdown"]),
]


@pytest.fixture
def room(tmp_path: Path) -> Path:
    """A folder with an `audit` to be found in PATH, and nothing else that could be offered."""
    room = tmp_path / "room"
    room.mkdir()
    program = room / "audit"
    launch = f"{sys.executable} -m tests.audit.launch"
    program.write_text(f'#!/bin/sh\ncd {ROOT} && exec {launch} "$@"\n')
    program.chmod(0o700)
    for shell in ("zsh", "fish", "bash"):
        (room / f"script.{shell}").write_text(script(shell, "audit"))
    (room / ".zshrc").write_text(_ZSHRC)
    (room / "empty").mkdir()
    return room


@pytest.fixture
def hostile_store(tmp_path: Path) -> Path:
    """Sandboxes whose names would like to be commands."""
    rows = [{**story()[0], "seq": n, "sandbox": name} for n, name in enumerate(HOSTILE, 1)]
    store = StoryStore(tmp_path / "hostile", rows)
    store.close()
    return store.paths.root


def _env(store: Path, room: Path) -> dict[str, str]:
    path = f"{room}:{os.environ['PATH']}"
    return environment(store, PATH=path, ROOM=str(room), ZDOTDIR=str(room), HOME=str(room))


def fish(store: Path, room: Path, line: str) -> list[str]:
    """What fish offers after a line."""
    code = f'source "$ROOM/script.fish"; complete -C {_fish_quoted(line)}'
    done = subprocess.run(
        [FISH or "fish", "-N", "-c", code], env=_env(store, room), cwd=room / "empty",
        capture_output=True, text=True, check=True, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert done.stderr == ""
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def zsh(store: Path, room: Path, line: str) -> tuple[list[str], str]:
    """What an interactive zsh offers after a line, and the line after Tab."""
    main, side = pty.openpty()
    shell = subprocess.Popen(
        [ZSH or "zsh", "-d", "-i"], env=_env(store, room), cwd=room / "empty", stdin=side,
        stdout=side, stderr=side, start_new_session=True,
    )  # fmt: skip
    os.close(side)
    reader = threading.Thread(target=_drain, args=(main,))
    reader.start()
    try:
        _wait(room / "ready")
        os.write(main, f"{line}\t\x18\x14".encode())
        _wait(room / "line")
    finally:
        shell.kill()
        shell.wait()
        reader.join()
    offered = room / "offered"
    told = offered.read_text().splitlines() if offered.exists() else []
    after = (room / "line").read_text().rstrip("\n")
    for name in ("ready", "line", "offered"):
        (room / name).unlink(missing_ok=True)
    return [value for value in told if value], after


def _drain(fd: int) -> None:
    try:
        while os.read(fd, 65536):
            pass
    except OSError:
        pass  # Linux says EIO when the shell is gone.
    finally:
        os.close(fd)


def _wait(path: Path) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not path.exists():
        assert time.monotonic() < end, f"never saw {path.name}"
        time.sleep(LOOK_S)


@needs_fish
def test_fish_offers_verbs_flags_and_values(story_store: Path, room: Path) -> None:
    """Values alone: no file of the folder stands among them."""
    (room / "empty" / "a-file").touch()
    for line, values in CASES:
        assert sorted(fish(story_store, room, line)) == sorted(values), line


@needs_fish
def test_fish_knows_options_before_the_verb_and_values_after_a_sign(
    story_store: Path, room: Path
) -> None:
    """`--store DIR` is another store; `--rule=` is the same as `--rule `; else there are files."""
    nowhere = room / "empty"
    line = f"audit --store {story_store} query -s ag"
    assert fish(nowhere, room, line) == ["agent-demo"]
    assert fish(nowhere, room, f"audit --store={story_store} query -s ag") == ["agent-demo"]
    found = fish(story_store, room, "audit query --rule=files")
    assert found == ["--rule=filesystem.deny[1]"]
    (room / "empty" / "a-file").touch()
    assert fish(story_store, room, "audit collect a-") == ["a-file"]
    assert "a-file" not in fish(story_store, room, "audit secrets a-")


@needs_fish
def test_fish_takes_a_hostile_name_for_a_name(hostile_store: Path, room: Path) -> None:
    """Nothing of it is run; what has a control character is not offered."""
    assert sorted(fish(hostile_store, room, "audit query -s ")) == sorted(HARMLESS)
    assert fish(hostile_store, room, "audit query -s two\\ w") == ["two words"]
    assert not list(room.parent.rglob("pwned"))


@needs_zsh
def test_zsh_offers_verbs_flags_and_values(story_store: Path, room: Path) -> None:
    """With zsh's own completion system, as one types."""
    for line, values in CASES:
        offered, _ = zsh(story_store, room, line)
        assert sorted(offered) == sorted(values), line


@needs_zsh
def test_zsh_writes_the_value_so_that_it_can_be_run(story_store: Path, room: Path) -> None:
    """`filesystem.deny[1]` unquoted is a pattern that fails; the rule comes quoted."""
    _, line = zsh(story_store, room, "audit query --rule files")
    assert line.rstrip() == "audit query --rule filesystem.deny\\[1\\]"
    _, line = zsh(story_store, room, "audit query --rule=files")
    assert line.rstrip() == "audit query --rule=filesystem.deny\\[1\\]"
    _, line = zsh(room / "empty", room, f"audit --store {story_store} query -s ag")
    assert line.rstrip() == f"audit --store {story_store} query -s agent-demo"


@needs_zsh
@pytest.mark.parametrize(
    ("typed", "quoted"),
    [("two", "two\\ words"), ("a\\;t", "a\\;touch\\ pwned"), ("\\$", "\\$\\(touch\\ pwned\\)")],
)
def test_zsh_takes_a_hostile_name_for_a_name(
    hostile_store: Path, room: Path, typed: str, quoted: str
) -> None:
    """Quoted on the line, nothing of it is run."""
    offered, line = zsh(hostile_store, room, f"audit query -s {typed}")
    assert len(offered) == 1
    assert line.rstrip() == f"audit query -s {quoted}"
    assert not list(room.parent.rglob("pwned"))


def test_bash_knows_options_before_the_verb(story_store: Path, room: Path) -> None:
    """`--store DIR` is another store, in both spellings, as bash cuts them into words."""
    tab = (
        'source "$ROOM/script.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ));'
        " _sandtrail; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    for words in (
        ["--store", str(story_store), "query", "-s", "ag"],
        ["--store", "=", str(story_store), "query", "-s", "ag"],
        ["--store", str(story_store), "query", "--sandbox", "=", "ag"],
    ):
        done = subprocess.run(
            [BASH or "bash", "-c", tab, "bash", str(room / "audit"), *words],
            env=_env(room / "empty", room), cwd=room / "empty", capture_output=True, text=True,
            check=True, timeout=TIMEOUT_S,
        )  # fmt: skip
        assert (done.stdout, done.stderr) == ("agent-demo\n", "")
