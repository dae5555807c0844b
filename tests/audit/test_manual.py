"""The man pages: every command, flag and topic is in them, from the text that `--help` has."""

import shutil
import subprocess

import pytest

from audit import commands
from audit.completion_scripts import flags
from audit.manual import escape, pages
from audit.topics import topics


def test_every_command_and_flag_has_its_place() -> None:
    """A new command or flag needs no line anywhere."""
    found = pages()
    assert set(found) == {"sandtrail.1", *(f"sandtrail-{verb}.1" for verb in commands.names())}
    for verb, (names, below) in flags().items():
        page = found[f"sandtrail-{verb}.1"]
        for name in names:
            assert escape(name) in page
        for name in below:
            assert f".SH {name.upper()}" in page
    for topic in topics():
        assert f".SH {topic.upper()}" in found["sandtrail.1"]


def test_no_text_is_taken_for_a_request() -> None:
    """A line that begins with a dot is text."""
    assert escape(".SH a\\b -x") == "\\&.SH a\\eb \\-x"


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff here")
def test_groff_finds_no_fault() -> None:
    """Where it is installed."""
    for text in pages().values():
        done = subprocess.run(
            ["groff", "-Kutf8", "-man", "-Tutf8", "-z"], input=text, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
