"""The shipped examples are what their generator writes, and tell the story of the README."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WRITTEN = ("agent-demo.jsonl", "agent-demo.logfmt", "agent-demo.block")


def records() -> list[dict[str, object]]:
    """The JSON log without its one torn line."""
    found = []
    for line in (EXAMPLES / "agent-demo.jsonl").read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


@pytest.fixture(scope="module")
def rewritten(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the generator has just run."""
    room = tmp_path_factory.mktemp("examples")
    for name in ("make_story.py", "agent-readonly.yaml"):
        shutil.copy(EXAMPLES / name, room)
    subprocess.run([sys.executable, room / "make_story.py"], check=True)
    return room


@pytest.mark.parametrize("name", WRITTEN)
def test_the_generator_writes_the_same_bytes(rewritten: Path, name: str) -> None:
    """Nobody edited an example by hand."""
    assert (rewritten / name).read_bytes() == (EXAMPLES / name).read_bytes()


@pytest.mark.parametrize("name", ["agent-demo.jsonl", "agent-demo.logfmt"])
def test_a_log_has_3412_lines(name: str) -> None:
    """3,411 records and one torn line."""
    assert len((EXAMPLES / name).read_text().splitlines()) == 3412
    assert len(records()) == 3411


def test_the_story_has_five_denials() -> None:
    """Run 7f3a91c2: 219 allows, 5 denials by three rules."""
    run = [r for r in records() if r["correlation_id"] == "7f3a91c2"]
    denied = [r["policy_rule"] for r in run if r["decision"] == "deny"]
    assert len(run) == 224
    assert denied == [
        "network.egress.deny-all",
        *["filesystem.deny[1]"] * 3,
        "process.default-deny",
    ]


def test_the_policy_has_the_lines_that_the_screens_number() -> None:
    """Line 12 denies .ssh, line 15 lists the programs, line 17 closes the network."""
    lines = (EXAMPLES / "agent-readonly.yaml").read_text().splitlines()
    assert len(lines) == 17
    assert lines[11].strip() == '- path: "**/.ssh/**"'
    assert lines[14].strip() == "allow: [git, rg, python3, zsh, bash]"
    assert lines[16].strip() == "egress: deny-all"


def test_the_capture_of_the_readme_is_what_the_commands_show() -> None:
    """What the README shows was not typed: the same commands show the same today."""
    script = [sys.executable, EXAMPLES / "capture.py", "--check"]
    run = subprocess.run(script, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr or "run examples/capture.py"
