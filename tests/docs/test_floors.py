"""The import floors hold, and the linter that holds them would notice a breach."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("audit", "audit_events", "collector", "exporters", "policies", "query")
LINT = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """The linter's answer about a copy of the tree."""
    command = [LINT, "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the packages and of the contracts, to be damaged."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pyc*"))
    return tmp_path


def test_the_floors_hold() -> None:
    """No import goes upwards or sideways today."""
    answer = lint(ROOT)
    assert answer.returncode == 0, answer.stdout


@pytest.mark.parametrize(
    ("module", "breach"),
    [
        ("collector/intruder.py", "import query.contracts"),
        ("query/intruder.py", "import collector.contracts"),
        ("exporters/intruder.py", "import audit.main"),
        ("policies/intruder.py", "import collector.contracts"),
        ("policies/intruder.py", "import sqlite3"),
        ("policies/intruder.py", "import duckdb"),
        ("audit_events/intruder.py", "import policies.redact.types"),
    ],
)
def test_a_breach_is_noticed(house: Path, module: str, breach: str) -> None:
    """One import against the floors, in a new file, and the linter says no."""
    (house / module).write_text(f'"""An intruder."""\n\n{breach}\n')
    answer = lint(house)
    assert answer.returncode == 1, answer.stdout
    assert "BROKEN" in answer.stdout
