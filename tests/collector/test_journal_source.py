"""The journal by its cursors: every entry once over restarts, and what journalctl complains of."""

import random
import re
import threading
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from audit.collecting import parse_source
from audit_events.errors import SourceError, UsageError
from collector.contracts import Block, Decoded, GapClosed, GapOpened, StreamPosition
from collector.decoders.linux_audit import LinuxAuditDecoder
from collector.sources.child import BackOff
from collector.sources.journal import JournalSource, source
from tests.collector.fake_journalctl import entry, install
from tests.collector.logkit import Heard, following, until


def journal(command: Path) -> JournalSource:
    """A source that tries again soon."""
    settings = source.settings(kind="journal", journal_command=str(command), any_owner=True)
    return JournalSource("journal", settings, BackOff(0.05, 0.2))


def add(command: Path, *lines: bytes) -> None:
    """Let the system say something."""
    with (command.parent / "entries").open("ab") as file:
        file.write(b"".join(lines))


def serials(data: bytes) -> list[int]:
    """The numbers of the entries."""
    return [int(found) for found in re.findall(rb'"_AUDIT_ID": "(\d+)"', data)]


def test_a_restart_goes_on_after_the_cursor(tmp_path: Path) -> None:
    """Nothing twice, nothing left out, offsets go on."""
    command, heard = install(tmp_path), Heard()
    for upto in (3, 7, 8):
        with following(journal(command), heard):
            add(command, *(entry(n) for n in range(len(serials(heard.data)) + 1, upto + 1)))
            until(lambda n=upto: len(serials(heard.data)) >= n)
    assert serials(heard.data) == list(range(1, 9))
    places = [(block.start, block.end) for block in heard.of(Block)]
    assert all(end == start for (_, end), (start, _) in pairwise(places))


class Death:
    """A collector over one decoder that dies after some blocks; only what it committed counts."""

    def __init__(self, position: dict[str, StreamPosition], after: int) -> None:
        self.position, self._after = dict(position), after
        self.rows: list[dict] = []
        self._stored = set(position["journal"].done) if position else set()
        self._decoder = LinuxAuditDecoder()

    def run(self, reading: JournalSource) -> None:
        """To the end, or to the death."""

        def emit(said: object) -> None:
            if not isinstance(said, Block) or self._after <= 0:
                return
            self._after -= 1
            decoded = self._decoder.decode(said)
            self._keep(decoded)
            at = StreamPosition("journal", decoded.resume, decoded.done, said.end, said.mark)
            self.position = {"journal": at}
            reading.consumed("journal", decoded.resume, said.end)

        reading.run(self.position, emit, threading.Event(), once=True)
        if self._after > 0:
            self._keep(self._decoder.flush(datetime.now(UTC)))

    def _keep(self, decoded: Decoded) -> None:
        for row in decoded.batch.to_pylist():
            if row["source_position"] not in self._stored:
                self.rows.append(row)


def test_a_record_that_waits_for_more_survives_a_restart(tmp_path: Path) -> None:
    """Records of several events interleave; a death between them loses and repeats nothing."""
    command = install(tmp_path)
    (tmp_path / "slow").touch()
    for number in range(1, 40):
        add(command, entry(number))
        if number % 3 == 0:
            add(command, _second(number - 2))
    for seed in range(2):
        rng, rows, position = random.Random(seed), [], {}
        for left in range(5, -1, -1):
            life = Death(position, rng.randrange(1, 9) if left else 10_000)
            life.run(journal(command))
            rows, position = rows + life.rows, life.position
        assert sorted(row["pid"] for row in rows) == list(range(1, 40))
        assert sum(row["uid"] == 77 for row in rows) == 13


def _second(number: int) -> bytes:
    """The SYSCALL of an earlier event."""
    said = f'SYSCALL arch=c000003e syscall=2 success=no exit=-13 pid={number} uid=77 comm="sh"'
    return (
        entry(number, said)
        .replace(b'"_AUDIT_TYPE": "1400"', b'"_AUDIT_TYPE": "1300"')
        .replace(b'"_AUDIT_TYPE_NAME": "AVC"', b'"_AUDIT_TYPE_NAME": "SYSCALL"')
        .replace(b'"s=1;i=', b'"s=2;i=')
    )


COMPLAINTS = [
    ("No journal files were opened due to insufficient permissions.", 1, "systemd-journal"),
    ("Hint: You are currently not seeing messages from other users and the system.", 0, "a part"),
    ("No journal files were found.", 1, "there is no journal"),
    ("Failed to seek to cursor: Invalid argument", 1, "no longer has the place"),
    ("something else about /home/someone", 5, "ended with exit code 5"),
]


@pytest.mark.parametrize(("says", "code", "words"), COMPLAINTS)
def test_what_journalctl_cannot_do_is_a_gap(
    tmp_path: Path, says: str, code: int, words: str
) -> None:
    """In our own words; and it is over when journalctl works again."""
    command = install(tmp_path)
    (tmp_path / "says").write_text(says)
    if code:
        (tmp_path / "code").write_text(str(code))
    with following(journal(command)) as heard:
        until(lambda: heard.of(GapOpened))
        (tmp_path / "code").unlink(missing_ok=True)
        (tmp_path / "says").unlink()
        add(command, entry(1))
        until(lambda: heard.of(GapClosed))
    assert words in heard.of(GapOpened)[0].reason
    assert "someone" not in heard.of(GapOpened)[0].reason
    assert serials(heard.data) == [1]


def test_once_ends_with_the_journal(tmp_path: Path) -> None:
    """And a refusal is an error then."""
    command, heard = install(tmp_path), Heard()
    add(command, entry(1), entry(2))
    journal(command).run({}, heard.emit, threading.Event(), once=True)
    assert serials(heard.data) == [1, 2]
    (tmp_path / "says").write_text("No journal files were found.")
    with pytest.raises(SourceError, match="no journal"):
        journal(command).run({}, heard.emit, threading.Event(), once=True)


def test_only_fields_are_matched() -> None:
    """A match is a field and its value: no option of journalctl can be slipped in."""
    asked = parse_source("j=journal:_COMM=sh + _TRANSPORT=kernel").settings
    assert asked.matches == ("_COMM=sh", "+", "_TRANSPORT=kernel")
    for text in ("--file=/etc/shadow", "-D /tmp", "x=1"):
        with pytest.raises(UsageError):
            parse_source(f"j=journal:{text}")
