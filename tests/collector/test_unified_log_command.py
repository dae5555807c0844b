"""The unified log as a person meets it: a refusal is red in `status`, a gap in every answer, and
over when the log can be read again."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from audit.settings import read
from audit_events.errors import SettingsError
from tests.collector.fake_log import behave, entry, install
from tests.collector.logkit import until
from tests.collector.storekit import House, environment

SANDBOXED = {"says": "log: Cannot run while sandboxed", "code": 64}
WORDS = "log cannot run while sandboxed: start the collector outside of the sandbox"


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A house with the stand-in, which refuses."""
    command = install(tmp_path / "bin", stream=SANDBOXED, show=SANDBOXED)
    config = tmp_path / "audit.toml"
    config.write_text(
        f'[sources.oslog]\nkind = "unified-log"\nlog_command = "{command}"\nany_owner = true\n'
    )
    config.chmod(0o600)
    return House(tmp_path / "house")


@pytest.fixture
def collecting(house: House, tmp_path: Path) -> Iterator[Path]:
    """A collector at work; the stand-in's path."""
    with (tmp_path / "stderr").open("wb") as errors:
        process = subprocess.Popen(
            [*audit(house, tmp_path), "collect"], env=environment(house), stderr=errors
        )
    try:
        yield tmp_path / "bin" / "log"
    finally:
        process.terminate()
        process.wait(30)


def audit(house: House, folder: Path) -> list[str]:
    config = ["--config", str(folder / "audit.toml")]
    return [sys.executable, "-m", "audit.main", "--store", str(house.root), *config]


def ask(house: House, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*audit(house, folder), *words],
        env=environment(house), capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_nothing_is_not_said_over_a_log_that_cannot_be_read(
    house: House, collecting: Path, tmp_path: Path
) -> None:
    """Red while it lasts, exit 8 for an empty answer then and ever after, and the export names the
    gap with both ends; what was logged meanwhile is in the trail once the log may be read."""
    until(lambda: WORDS in ask(house, tmp_path, "gaps").stdout, 30)
    status = ask(house, tmp_path, "status")
    assert "DEGRADED" in status.stdout
    assert "oslog" in status.stdout
    assert ask(house, tmp_path, "status", "--check").returncode == 10
    empty = ask(house, tmp_path, "query", "--deny", "--since", "1h")
    assert empty.returncode == 8
    assert "the record is incomplete: oslog is unavailable" in empty.stderr
    assert WORDS in empty.stderr

    with (collecting.parent / "truth").open("ab") as truth:
        truth.write(entry(7))
    behave(collecting)
    until(
        lambda: ask(house, tmp_path, "query", "--deny", "--pid", "7", "--count").stdout[:1] == "1"
    )
    until(lambda: '"until": null' not in ask(house, tmp_path, "gaps", "--json").stdout)
    (gap,) = json.loads(ask(house, tmp_path, "gaps", "--json").stdout)
    assert gap["reason"] == WORDS
    assert gap["since"] < gap["until"]
    assert ask(house, tmp_path, "query", "--deny", "--pid", "8", "--since", "1h").returncode == 8
    strict = ask(house, tmp_path, "query", "--deny", "--since", "1h", "--strict")
    assert strict.returncode == 8

    said = (tmp_path / "stderr").read_text()
    assert said.count(f"source oslog cannot be read: {WORDS}") == 1
    assert said.count("source oslog is read again") == 1

    out = tmp_path / "out.json"
    assert ask(house, tmp_path, "export", "--deny", "-o", str(out)).returncode in (0, 8)
    manifest = json.loads(Path(f"{out}.manifest.json").read_text())
    assert [told["reason"] for told in manifest["gaps"]] == [WORDS]


def test_an_environment_variable_cannot_name_the_program(
    house: House, collecting: Path, tmp_path: Path
) -> None:
    """Who can set our environment could be the agent: PATH is not looked at."""
    other = install(tmp_path / "evil")
    words = {**environment(house), "PATH": str(other.parent), "AUDIT_LOG_COMMAND": str(other)}
    code = "from collector.sources.unified_log import source; print(source.parse('').log_command)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=words, capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.strip() == "/usr/bin/log"


@pytest.mark.parametrize(
    "line", ['log_command = "log"', 'backfill = "25h"', 'predicate = "process == 1"']
)
def test_settings_are_checked_with_their_line(tmp_path: Path, line: str) -> None:
    """A command that is not absolute, a longer look back than can be had, a key that is none."""
    config = tmp_path / "audit.toml"
    config.write_text(f'[sources.oslog]\nkind = "unified-log"\n{line}\n')
    config.chmod(0o600)
    with pytest.raises(SettingsError, match=rf"^{config}:3:1: "):
        read(config)
    assert os.access(config, os.R_OK)
