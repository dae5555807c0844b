"""The pages tell the truth: commands exist, links resolve, tests that are named are there."""

import ast
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("audit", "audit_events", "collector", "exporters", "policies", "query")
AUDIT = Path(sys.executable).with_name("audit")
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
# Words that would tie the project to the machine or the network it was made on. Put together here,
# so that this file does not name them either.
FORBIDDEN = (
    "/".join(("", "work", "main")),
    "/".join(("", "work", "shared")),
    "/".join(("", "root", ".")) + "pyenv",
    "/".join(("", "opt", "wheels")),
    "/".join(("", "opt", "pypi")),
    "pythonhosted" + ".org",
    "pypi" + ".org",
)


def tracked() -> list[Path]:
    """Files under version control, or all of the source tree where there is no git."""
    listing = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    names = [name for name in listing.stdout.split("\0") if name]
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def modules() -> list[Path]:
    """Every Python file of ours."""
    folders = (*PACKAGES, "bench", "examples", "tests", ".ci")
    return [p for name in folders for p in sorted((ROOT / name).rglob("*.py"))]


def ident(path: Path) -> str:
    """A path as a test's name."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=ident)
def test_every_link_leads_somewhere(page: Path) -> None:
    """A relative link in a page names a file or folder that exists."""
    targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)", page.read_text())
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("module", modules(), ids=ident)
def test_every_module_says_what_it_is_for(module: Path) -> None:
    """A module opens with one sentence."""
    text = module.read_text()
    assert not text.strip() or ast.get_docstring(ast.parse(text)), "no module docstring"


def commands_of(page: Path) -> list[str]:
    """Command lines of ours in the code blocks of a page, without their prompt."""
    blocks = re.findall(r"^```(?:sh|console|text|)?\n(.*?)^```", page.read_text(), re.M | re.S)
    lines = [line.removeprefix("$ ").strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if re.match(r"(sandtrail|audit|make) ", line)]


README_COMMANDS = commands_of(ROOT / "README.md")


def test_the_readme_shows_commands() -> None:
    """The next test has something to look at."""
    assert any(line.startswith("make ") for line in README_COMMANDS)
    assert any(line.startswith("audit ") for line in README_COMMANDS)


@pytest.mark.parametrize("line", README_COMMANDS)
def test_every_command_of_the_readme_exists(line: str) -> None:
    """A command line in the README names a real target, or a real command with real options."""
    words = shlex.split(line.split(" | ")[0], comments=True)
    if words[0] == "make":
        targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M)
        assert set(words[1:]) <= set(targets)
        return
    # Every command prints the options it takes.
    verbs = words[1:3] if words[1] in ("policy", "secrets") else words[1:2]
    said = subprocess.run([AUDIT, *verbs, "--help"], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    long_options = {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
    assert {option for option in long_options if option not in said.stdout} == set()


def test_nothing_names_a_machine_or_an_index() -> None:
    """No tracked text file holds a path of a build machine or the host of a package index."""
    found = []
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        found += [(ident(path), word) for word in FORBIDDEN if word in text]
    assert not found


@pytest.mark.parametrize("path", sorted(ROOT.glob("constraints*.txt")), ids=ident)
def test_the_constraints_name_no_host(path: Path) -> None:
    """The pinned requirements hold versions and hashes only, so that any index can serve them."""
    text = path.read_text()
    assert "://" not in text
    assert not re.search(r"^\s*--(?!hash=)", text, re.M)
    pinned = re.findall(
        r"^[a-z0-9][a-z0-9._-]*==\S+ \\\n(?: +--hash=sha256:[0-9a-f]{64}.*\n)+", text, re.M
    )
    assert len(pinned) == len(re.findall(r"^[a-z0-9]", text, re.M))


def promised_tests() -> list[str]:
    """Tests and scripts that the page of guarantees names."""
    page = (ROOT / "docs" / "guarantees.md").read_text().partition("<!-- figures")[0]
    return re.findall(r"`((?:tests|bench)/[^`]+)`", page)


@pytest.mark.parametrize("name", promised_tests())
def test_every_guarantee_names_a_test_that_exists(name: str) -> None:
    """The file is there, and it defines the function."""
    file, _, function = name.partition("::")
    text = (ROOT / file).read_text()
    assert not function or re.search(rf"^def {re.escape(function)}\(", text, re.M)


def test_the_index_of_decisions_is_complete() -> None:
    """Every decision record is listed, and nothing else."""
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\((\d{4}-[a-z0-9-]+\.md)\)", (folder / "README.md").read_text())
    assert listed == sorted(path.name for path in folder.glob("[0-9]*.md"))


def test_the_constraints_pin_every_dependency() -> None:
    """What pyproject.toml asks for, constraints.txt has; else a fresh clone lacks it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {re.split(r"[^A-Za-z0-9._-]", line)[0].lower().replace("_", "-") for line in asked}
    text = (ROOT / "constraints.txt").read_text()
    assert names - set(re.findall(r"^([a-z0-9._-]+)==", text, re.M)) == set()
