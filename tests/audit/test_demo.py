"""`audit demo`: works from any folder, as installed from the wheel, and leaves nothing behind."""

import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.audit.terminal import ROOT, environment, watched


def test_the_demo_shows_a_run_and_what_to_ask_next(tmp_path: Path) -> None:
    """G1: three lines on stdout, everything else on stderr, and the commands named there work."""
    env = environment(None, HOME=str(tmp_path), TMPDIR=str(tmp_path))
    seen = watched(["demo"], env)
    assert [line for line in seen.lines if line] == [
        "── agent-demo · run 7f3a91c2",
        "18:03:12+09 allow read    /workspace/agent-entry.sh   filesystem.allow[0]   3187",
        "18:03:12+09 DENY  connect 140.82.113.4:443        network.egress.deny-all   3188",
        "18:03:13+09 DENY  read    …/agent/.ssh/id_ed25519  ×3  filesystem.deny[1]   3401",
    ]
    timeless = re.sub(r"[0-9.]+ s$", "0.1 s", seen.err, flags=re.M)
    told = re.sub(r"[^\s=]*/sandtrail-demo-\w+", "STORE", timeless)
    assert told.splitlines() == [
        "collected 3,412 lines: 3,411 stored + 1 rejected + 0 filtered, 1 masked, 0.1 s",
        "demo store: STORE (removed at reboot)",
        "try next, with  export AUDIT_STORE=STORE",
        "  audit runs --since 2026-07-28   what ran, what was refused in it",
        "  audit explain 3188              which line of which policy, and what would allow it",
        "  audit show last                 the run as a story",
    ]
    store = re.search(r"AUDIT_STORE=(\S+)", seen.err)
    assert store is not None
    for line in seen.err.splitlines()[-3:]:
        words = shlex.split(line.split("   ")[0])[1:]
        assert watched(words, {**env, "AUDIT_STORE": store[1]}).lines
    assert not (tmp_path / ".local").exists()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's contents, without the source tree."""
    from hatchling.builders.wheel import WheelBuilder

    room = tmp_path_factory.mktemp("wheel")
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(room), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(room / "site")
    return room


def test_the_wheel_brings_the_example(installed: Path) -> None:
    """From an empty folder, with the wheel's files alone."""
    assert (installed / "site" / "audit" / "examples" / "agent-demo.jsonl").is_file()
    empty = installed / "empty"
    empty.mkdir()
    env = environment(None, HOME=str(empty), TMPDIR=str(installed))
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from audit.main import main; main()", "demo"],
        env={**env, "PYTHONPATH": str(installed / "site")},
        cwd=empty, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "3,411 stored" in done.stderr
    assert len(done.stdout.splitlines()) == 3
    assert not list(empty.iterdir())
