"""The unified log, read through a stand-in: every entry once, every loss said."""

import os
import signal
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from audit_events.errors import SourceError
from collector.contracts import Block, GapClosed, GapOpened, Lost, Reason
from collector.sources.unified_log import source as plugin
from collector.sources.unified_log_entry import read
from collector.sources.unified_log_mark import HASH_BYTES, MAX_HASHES, Recent, decode_mark
from tests.collector.fake_log import BOOT, DROPPED, behave, entry, install, lossy
from tests.collector.logkit import KEY, Heard, following, source_of, until

CAPTURE = Path(__file__).parent.parent / "corpus" / "seatbelt" / "macos-14.2-capture.ndjson"


def add(command: Path, *lines: bytes) -> None:
    """Let the system log something."""
    with (command.parent / "truth").open("ab") as file:
        file.write(b"".join(lines))


def calls(command: Path) -> list[str]:
    """How the stand-in was called so far."""
    return (command.parent / "calls").read_text().splitlines()


@pytest.mark.parametrize("chunk", [1, 4_096, 65_536])
def test_pieces_of_any_size_give_the_same_entries(tmp_path: Path, chunk: int) -> None:
    """The real capture comes out whole and in order whatever the pieces of the pipe."""
    command = install(tmp_path / "bin", stream={"replay": str(CAPTURE), "chunk": chunk})
    want = [line for line in CAPTURE.read_bytes().splitlines() if line.startswith(b'{"')]
    with following(source_of(command)) as heard:
        until(lambda: heard.data.count(b'{"') >= len(want))
    assert [line for line in heard.data.splitlines() if b"eventMessage" in line] == [
        line for line in want if b"eventMessage" in line
    ]
    assert not heard.of(GapOpened)


@pytest.mark.parametrize("banner", ["stdout", "stderr", "none"])
def test_what_was_logged_before_we_listened_is_shown(tmp_path: Path, banner: str) -> None:
    """Read back first, then live, whichever way the stream says that it is ready."""
    command = install(tmp_path / "bin", stream={"banner": banner})
    add(command, *(entry(n) for n in range(1, 6)))
    with following(source_of(command, ready_s=0.5)) as heard:
        until(lambda: len(heard.numbers) == 5)
        until(lambda: len(calls(command)) == 2)
        add(command, entry(6))
        until(lambda: len(heard.numbers) == 6)
    assert heard.numbers == [1, 2, 3, 4, 5, 6]
    assert not heard.of(Lost)


def test_what_stream_and_show_both_tell_is_given_once(tmp_path: Path) -> None:
    """`show` gives other wall times, and names the boot session that `stream` leaves empty."""
    command = install(tmp_path / "bin", show={"delay_s": 0.5, "shift_ms": 12.5})
    with following(source_of(command)) as heard:
        until(lambda: (command.parent / "calls").exists() and len(calls(command)) == 2)
        add(command, *(entry(n) for n in range(1, 20)))
        until(lambda: len(heard.numbers) >= 19)
        add(command, entry(20))
        until(lambda: len(heard.numbers) >= 20)
    assert sorted(heard.numbers) == list(range(1, 21))


def test_a_restart_goes_on_from_the_mark(tmp_path: Path) -> None:
    """What came while we were down is there once, without a gap."""
    command = install(tmp_path / "bin")
    heard = Heard()
    with following(source_of(command), heard):
        add(command, *(entry(n) for n in range(1, 4)))
        until(lambda: len(heard.numbers) == 3)
    add(command, *(entry(n) for n in range(4, 9)))
    with following(source_of(command), heard):
        until(lambda: len(heard.numbers) >= 8)
    assert heard.numbers == list(range(1, 9))
    assert not heard.of(Lost)
    assert not heard.of(GapOpened)
    starts = [block.start for block in heard.of(Block) if block.data]
    assert starts == sorted(starts)


def test_entries_of_another_boot_come_after_those_of_the_last(tmp_path: Path) -> None:
    """Ticks begin again with each boot; an older session is never read twice."""
    recent = Recent.of(None, KEY, 24_000_000)
    old, new = (entry(1, 900, boot="A"), entry(2, 5, boot="B"))
    assert [recent.take(read(line), "B", live=False) for line in (old, new, old, new)] == [
        True, True, False, False,
    ]  # fmt: skip
    again = Recent.of(decode_mark(recent.mark()), KEY, 24_000_000)
    assert not again.take(read(entry(2, 5, boot="")), "B", live=True)
    assert again.take(read(entry(3, 6, boot="")), "B", live=True)


def flat(command: Path, entries: int) -> None:
    """Read so many entries; memory stands where it stood after the first fifth."""
    seen = 0
    sizes: list[int] = []
    marks: list[int] = []

    def emit(said: object) -> None:
        nonlocal seen
        if isinstance(said, Block):
            seen += said.data.count(b"\n")
            marks.append(len(said.mark))
            if seen > entries // 5 * (len(sizes) + 1):
                sizes.append(resident())

    stop = threading.Event()
    source = source_of(command)
    thread = threading.Thread(target=source.run, args=({}, emit, stop), kwargs={"once": False})
    thread.start()
    try:
        until(lambda: seen > entries, 300)
    finally:
        stop.set()
        thread.join(10)
    assert max(sizes) - sizes[0] < max(sizes[0] // 10, 8 << 20)
    assert max(marks) < MAX_HASHES * (HASH_BYTES + 10)


def resident() -> int:
    """Bytes of this process in memory."""
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * 4096 if pages.exists() else 0


def test_many_entries_leave_memory_flat(tmp_path: Path) -> None:
    """What is remembered has a bound, and so has the mark, at any rate."""
    flat(install(tmp_path / "bin", stream={"many": 50_000}), 50_000)


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_a_million_entries_leave_memory_flat(tmp_path: Path) -> None:
    """The full figure of the promise."""
    flat(install(tmp_path / "bin", stream={"many": 1_000_000}), 1_000_000)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to count")
def test_restarts_leave_no_descriptor_open(tmp_path: Path) -> None:
    """A program that ends all the time is started again and again, and costs nothing."""
    command = install(tmp_path / "bin", stream={"exit_after_s": 0.0, "code": 1})
    before = descriptors()
    with following(source_of(command)) as heard:
        until(lambda: len(heard.of(GapOpened)) >= 6, 30)
        # Two programs of three pipes each, and a selector for each.
        assert descriptors() <= before + 12
    assert descriptors() == before


def descriptors() -> int:
    """How many are open in this process."""
    return len(list(Path("/proc/self/fd").iterdir()))


OUTAGES = [
    ({"says": "log: Cannot run while sandboxed", "code": 64}, "while sandboxed"),
    ({"says": "log: Must be admin to run 'stream' command", "code": 77}, "administrator"),
    ({"exit_after_s": 0.2, "code": 3}, "ended with exit code 3"),
    ({"exit_after_s": 0.2, "code": 0}, "ended with exit code 0"),
]


@pytest.mark.parametrize(("how", "words"), OUTAGES)
def test_a_stream_that_ends_is_a_gap_until_it_is_back(
    tmp_path: Path, how: dict, words: str
) -> None:
    """Its own reason in plain words, from when all was known to when all is known again; what
    happened meanwhile is read back."""
    command = install(tmp_path / "bin", stream=how)
    began = datetime.now(UTC)
    with following(source_of(command)) as heard:
        until(lambda: heard.of(GapOpened))
        add(command, entry(1))
        repaired = datetime.now(UTC)
        behave(command)
        until(lambda: heard.of(GapClosed))
        until(lambda: heard.numbers)
    opened, closed = heard.of(GapOpened)[0], heard.of(GapClosed)[0]
    assert words in opened.reason
    assert began - timedelta(seconds=1) <= opened.since <= repaired <= closed.until
    assert heard.numbers == [1]


def test_a_stream_killed_from_outside_says_by_what(tmp_path: Path) -> None:
    """A signal is named, and its end is noticed although it said nothing."""
    command = install(tmp_path / "bin")
    with following(source_of(command)) as heard:
        until(lambda: heard.of(Block))
        pid = int((command.parent / "pids").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        until(lambda: heard.of(GapClosed))
    assert heard.of(GapOpened)[0].reason == "log stream was ended by signal 9"


def test_dropped_messages_are_a_gap_and_are_read_back(tmp_path: Path) -> None:
    """The notice is no entry: a gap, and `show` has what the stream left out."""
    command = install(tmp_path / "bin", stream={"drop_every": 4, "dropped": 3})
    with following(source_of(command)) as heard:
        until(lambda: heard.of(Block))
        add(command, *(entry(n) for n in range(1, 8)))
        until(lambda: heard.of(GapClosed))
        until(lambda: len(heard.numbers) >= 7)
    assert "dropped messages" in heard.of(GapOpened)[0].reason
    assert sorted(heard.numbers) == list(range(1, 8))
    assert DROPPED not in heard.data


def test_show_without_its_last_line_is_a_gap(tmp_path: Path) -> None:
    """It may have been cut: from what was known to when it was asked."""
    command = install(tmp_path / "bin", show={"trailer": False})
    with following(source_of(command)) as heard:
        until(lambda: heard.of(Lost))
        until(lambda: len(heard.of(Block)) >= 1)
    lost = heard.of(Lost)[0]
    assert "before it had shown everything" in lost.reason
    assert lost.since < lost.until


def test_show_that_fails_is_a_gap_and_is_tried_again(tmp_path: Path) -> None:
    """Nothing counts as read while the log refuses to show it."""
    command = install(tmp_path / "bin", show={"says": "log: Must be admin", "code": 64})
    add(command, entry(1))
    with following(source_of(command)) as heard:
        until(lambda: heard.of(GapOpened))
        assert not heard.numbers
        behave(command)
        until(lambda: heard.of(GapClosed))
    assert "administrator" in heard.of(GapOpened)[0].reason
    assert heard.numbers == [1]


def test_longer_ago_than_a_day_is_a_gap(tmp_path: Path) -> None:
    """What is not read back is said, with both ends."""
    command = install(tmp_path / "bin")
    heard = Heard()
    with following(source_of(command), heard):
        until(lambda: heard.position)
    with following(source_of(command, backfill=timedelta(0)), heard):
        until(lambda: heard.of(Lost))
    lost = heard.of(Lost)[0]
    assert lost.reason == "the log was not read back"
    assert lost.since < lost.until
    assert sum("show" in call for call in calls(command)) == 1


def test_a_loss_that_the_log_itself_reports_reaches_the_decoder(tmp_path: Path) -> None:
    """`--loss` asks for it; the decoder makes it a gap."""
    command = install(tmp_path / "bin")
    add(command, lossy(1))
    with following(source_of(command)) as heard:
        until(lambda: b"lossEvent" in heard.data)
    assert all("--loss" in call for call in calls(command) if "show" in call)


def test_what_is_no_entry_is_a_counted_reject(tmp_path: Path) -> None:
    """Half an object, text, an entry without ticks: rejects with their place, and the next line is
    whole; a line too long is one reject."""
    hostile = tmp_path / "hostile"
    good = entry(1)
    bad = [b'{"eventMessage":"Sandbox: sh(9) deny', b"what is this", b'{"machTimestamp":-4}', b"[]"]
    hostile.write_bytes(b"\n".join(bad) + b"\n" + b"x" * (1 << 20) + b"yy\n" + good)
    command = install(tmp_path / "bin", stream={"replay": str(hostile), "chunk": 65_536})
    with following(source_of(command)) as heard:
        until(lambda: heard.numbers)
    rejects = [r.reason for block in heard.of(Block) for r in block.rejects]
    assert rejects == [Reason.NOT_A_RECORD] * 4 + [Reason.TOO_LONG]
    assert heard.numbers == [1]


def test_once_reads_back_and_ends(tmp_path: Path) -> None:
    """With `--once` there is no stream, and a refusal is an error."""
    command = install(tmp_path / "bin")
    add(command, entry(1), entry(2))
    heard = Heard()
    source_of(command).run({}, heard.emit, threading.Event(), once=True)
    assert heard.numbers == [1, 2]
    behave(command, show={"says": "log: Cannot run while sandboxed", "code": 64})
    with pytest.raises(SourceError, match="while sandboxed"):
        source_of(command).run({}, heard.emit, threading.Event(), once=True)


def test_only_roots_program_is_run(tmp_path: Path) -> None:
    """A relative name, a missing one, a folder, and one that others can write are refused."""
    command = install(tmp_path / "bin")
    command.chmod(0o777)
    for path, words in (
        (str(command), "others than root|does not belong"),
        ("log", "absolute"),
        (str(tmp_path / "none"), "No such file"),
        (str(tmp_path), "not a program"),
    ):
        with pytest.raises(SourceError, match=words):
            plugin.check(plugin.settings(kind="unified-log", log_command=path))
    plugin.check(plugin.settings(kind="unified-log", log_command="/bin/sh"))


def test_a_program_that_may_not_be_run_is_a_gap_not_an_end(tmp_path: Path) -> None:
    """The source goes on trying: the program may be put right."""
    command = install(tmp_path / "bin")
    command.chmod(0o777)
    with following(source_of(command, any_owner=False)) as heard:
        until(lambda: heard.of(GapOpened))
    assert not (command.parent / "calls").exists()


def test_nothing_of_what_was_logged_is_in_the_mark(tmp_path: Path) -> None:
    """The mark is stored before anything is masked: keyed hashes and numbers only."""
    recent = Recent.of(None, KEY, 24_000_000)
    recent.take(read(entry(424_242)), BOOT, live=True)
    assert b"424242" not in recent.mark()
    assert b"private" not in recent.mark()
    other = Recent.of(None, b"o" * 32, 24_000_000)
    other.take(read(entry(424_242)), BOOT, live=True)
    assert decode_mark(other.mark()).hashes != decode_mark(recent.mark()).hashes
