"""What the page is made of: vendored files as recorded, small, and without inline code."""

import gzip
import hashlib
import re
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "audit" / "serving" / "web"
MAX_GZIP_BYTES = 600_000
MAX_LINES = 300
SUFFIXES = (".js", ".css", ".html", ".svg")
MARKUP = (
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.cssText"
    r"|setAttribute\(\"(?:style|on)"
)
IMPORT = re.compile(r'^import .*?from "\./([^"]+)"|^import "\./([^"]+)"', re.M)
ROW = re.compile(r"^\| `([^`]+)` \|.*`([0-9a-f]{64})` \|$", re.M)
OWN = sorted(path for path in WEB.rglob("*.js") if path.parent.name != "vendor")


def shipped() -> list[Path]:
    return sorted(path for path in WEB.rglob("*") if path.suffix in SUFFIXES)


def test_every_vendored_file_is_the_recorded_one() -> None:
    """The digests of VENDORED.md are those of the files, and no file is without one."""
    folder = WEB / "vendor"
    recorded = dict(ROW.findall((folder / "VENDORED.md").read_text()))
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.suffix != ".md"
    }
    assert recorded == found


def test_the_whole_page_weighs_little() -> None:
    """All files together, each compressed alone."""
    weights = {path.name: len(gzip.compress(path.read_bytes(), 9)) for path in shipped()}
    total = sum(weights.values())
    print(f"page weight {total:,} bytes gzip, {len(weights)} files")
    assert total <= MAX_GZIP_BYTES


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_modules_are_short_and_make_no_markup(path: Path) -> None:
    """Nothing turns text into elements or code."""
    text = path.read_text()
    assert len(text.splitlines()) <= MAX_LINES
    assert re.findall(MARKUP, text) == []


def test_the_page_has_no_inline_code_and_asks_no_other_host() -> None:
    """The content security policy would refuse both."""
    html = (WEB / "index.html").read_text()
    assert re.findall(r"\sstyle=|\son[a-z]+=|<style|<script(?![^>]*\bsrc=)", html) == []
    assert re.findall(r"(?:src|href)=\"(?:https?:)?//", html) == []


def test_modules_are_fetched_at_once() -> None:
    """Every module that the first view imports is named in the head: no chain of requests."""
    html = (WEB / "index.html").read_text()
    named = set(re.findall(r'rel="modulepreload" href="/web/([^"]+)"', html))
    wanted: set[str] = set()
    todo = ["main.js"]
    while todo:
        name = todo.pop()
        imports = [] if "vendor" in name else IMPORT.findall((WEB / name).read_text())
        new = {one or other for one, other in imports} - wanted
        wanted |= new
        todo += new
    assert named == wanted - {"main.js"}
