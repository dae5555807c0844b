"""A running `audit collect` takes another list of redaction packs without a restart."""

import signal
import time
from pathlib import Path

import pytest

from tests.collector.storekit import House, audit
from tests.collector.test_collect_command import arrive, log, running
from tests.collector.trail_check import line

PACK = "rules:\n  - {{id: {name}, action: mask, pattern: '{word}_[0-9]{{4}}'}}\n"
DEADLINE_S = 60


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A house with an empty log folder."""
    return House(tmp_path)


def said(process, word: str) -> str:
    """The next line on stderr that holds the word; the process is killed where none comes."""
    until = time.monotonic() + DEADLINE_S
    while time.monotonic() < until:
        text = process.stderr.readline()
        if word in text or not text:
            return text
    raise AssertionError("nothing was said")


def event(number: int, path: str) -> bytes:
    """The line of the number, with another path."""
    made = line(number)
    start = made.index(b'"path":"') + len(b'"path":"')
    return made[:start] + path.encode() + made[made.index(b'"', start) :]


def test_a_changed_list_comes_into_force_on_sighup(house: House) -> None:
    """What follows is masked by the pack that the settings did not name before."""
    folder = house.folder
    (folder / "one.yaml").write_text(PACK.format(name="one", word="alpha"))
    (folder / "two.yaml").write_text(PACK.format(name="two", word="bravo"))
    settings = folder / "audit.toml"
    settings.write_text('[redaction]\npacks = ["./one.yaml"]\n')
    settings.chmod(0o600)
    log(house).write_bytes(event(1, "/w/alpha_1234/bravo_1234"))
    with running(house, str(log(house)), "--config", str(settings)) as process:
        arrive(house, 1)
        settings.write_text('[redaction]\npacks = ["./one.yaml", "./two.yaml"]\n')
        process.send_signal(signal.SIGHUP)
        assert "are in force" in said(process, "redaction rules")
        with log(house).open("ab") as file:
            file.write(event(2, "/w/alpha_5678/bravo_5678"))
        arrive(house, 2)
    shown = audit(house, "query", "--format", "ndjson").stdout
    assert "bravo_1234" in shown
    assert "/w/[REDACTED:one]/[REDACTED:two]" in shown
    assert "bravo_5678" not in shown
    assert "alpha_" not in shown
