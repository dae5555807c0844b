"""`collect -` and a socket of audit.toml as a person starts them: ends, restarts, who says what."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from audit.collecting import parse_source
from audit.settings import read
from audit_events.errors import SettingsError, UsageError
from collector.contracts import Block, Closed, Emission, Reason
from collector.sources.stdin import StdinSource
from tests.collector.storekit import House, environment
from tests.collector.trail_check import line


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A house without a store."""
    return House(tmp_path)


@contextmanager
def collecting(house: House, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """The command with an open standard input; killed at the end whatever happens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "audit.main", "--store", str(house.root), *words],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(house),
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(house: House, sql: str) -> list[tuple[object, ...]]:
    """What spool.db says; nothing while it is not there."""
    try:
        uri = f"{(house.root / 'spool.db').as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, timeout=10)) as db:
            return db.execute(sql).fetchall()
    except sqlite3.Error:
        return []


def until(true: Callable[[], bool], timeout: float = 20) -> None:
    """Wait for something that must come."""
    deadline = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.03)


def stored(house: House) -> int:
    """Records stored so far."""
    return sum(n for (n,) in ask(house, "SELECT n FROM tallies WHERE outcome = 'stored'"))  # type: ignore[misc]


GAPS = "SELECT source, reason, to_ts IS NOT NULL FROM gaps"


def test_standard_input_is_read_to_its_end_half_a_line_included(house: House) -> None:
    """The end of the pipe is the end of the collector, and leaves nothing open."""
    with collecting(house, "collect", "-") as process:
        _, errors = process.communicate(line(1) + b"junk\n" + line(2).rstrip(b"\n"), timeout=30)
    assert process.returncode == 0
    assert b"collected 3 lines: 2 stored + 1 rejected" in errors
    assert ask(house, "SELECT stream FROM streams") == []
    assert ask(house, GAPS) == []


def test_a_pipe_that_was_cut_by_a_kill_is_a_gap(house: House) -> None:
    """What was in the pipe cannot be read again; the next start says so, once."""
    with collecting(house, "collect", "-") as process:
        assert process.stdin is not None
        process.stdin.write(line(1))
        process.stdin.flush()
        until(lambda: stored(house) == 1)
    for _ in range(2):
        with collecting(house, "collect", "-") as process:
            process.communicate(line(2), timeout=30)
        assert ask(house, GAPS) == [("stdin", "restart", 1)]


def test_a_named_pipe_source_stands_beside_others(house: House) -> None:
    """`--source NAME=stdin:`."""
    with collecting(house, "collect", "--source", "layer=stdin:,decoder=native") as process:
        process.communicate(line(1), timeout=30)
    assert ask(house, "SELECT source, kind, format FROM sources") == [("layer", "stdin", "native")]


def event(**more: object) -> bytes:
    """One record."""
    words = {"ts": "2026-07-28T09:00:00Z", "decision": "deny", "path": "/x", "uid": 4242, **more}
    return json.dumps(words).encode() + b"\n"


def socket_settings(house: House, more: str = "") -> Path:
    """audit.toml with one socket."""
    path = house.folder / "audit.toml"
    where = house.folder / "run" / "in.sock"
    path.write_text(f'[sources.layer]\nkind = "socket"\npath = "{where}"\n{more}')
    return path


def connect(house: House) -> socket.socket:
    """A writer, as soon as somebody listens."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(10)

    def tried() -> bool:
        try:
            sock.connect(str(house.folder / "run" / "in.sock"))
        except OSError:
            return False
        return True

    until(tried)
    return sock


def rows(house: House) -> list[dict[str, object]]:
    """The archive."""
    files = sorted((house.root / "events").rglob("*.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def test_a_record_of_another_sandbox_is_a_counted_reject_and_the_uid_is_the_kernel_s(
    house: House,
) -> None:
    """Whoever may write cannot speak for others, nor as somebody else."""
    config = socket_settings(house, 'allow_sandboxes = ["agent-demo"]\n')
    with collecting(house, "--config", str(config), "collect") as process:
        with connect(house) as sock:
            sock.sendall(b"ack 1 w\n" + event(sandbox="agent-demo") + event(sandbox="other"))
            sock.sendall(event())
            heard = b""
            while b"ok 3\n" not in heard:
                heard += sock.recv(100)
        process.terminate()
        process.communicate(timeout=30)
    rejected = ask(house, "SELECT reason, n FROM tallies WHERE outcome = 'rejected'")
    assert rejected == [("foreign-sandbox", 1)]
    told = [row for row in rows(house) if row["kind"] == "decision"]
    assert {row["uid"] for row in told} == {os.geteuid()}
    assert sorted(str(row["sandbox"]) for row in told) == ["-", "agent-demo"]


def test_a_restart_is_a_gap_for_writers_that_do_not_count_and_none_for_those_that_do(
    house: House,
) -> None:
    """A writer with `ack` sends again; of the other nobody knows what was under way."""
    config = socket_settings(house)
    for greeting, gaps in ((b"ack 1 w\n", []), (b"", [("layer", "restart", 1)])):
        collector = collecting(house, "--config", str(config), "collect")
        with collector as process, connect(house) as sock:
            before = stored(house)
            sock.sendall(greeting + event())
            until(lambda before=before: stored(house) == before + 1)  # type: ignore[misc]
            process.kill()
            process.wait()
        with collecting(house, "--config", str(config), "collect") as process:
            connect(house).close()
            process.terminate()
            process.communicate(timeout=30)
        assert ask(house, GAPS) == gaps


def test_settings_of_a_socket_are_its_own(house: House) -> None:
    """A key of another kind, and a kind that is none, are refused with their line."""
    config = socket_settings(house, 'paths = ["x"]\n')
    with pytest.raises(SettingsError, match=r":4:1: unknown key sources\.layer\.paths"):
        read(config)
    config.write_text('[sources.layer]\nkind = "sockt"\n')
    with pytest.raises(SettingsError, match=r":2:1: no source of kind 'sockt'") as caught:
        read(config)
    assert caught.value.hint == "known: audit-netlink, file, journal, socket, stdin, unified-log"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("layer=stdin:x", "stdin takes no argument"),
        ("layer=socket:", "no path"),
        ("layer=socket", "no path"),
        ("layer=file", "no path"),
        ("=stdin", "not a source"),
        ("layer=,decoder=native", "not a source"),
        ("layer=fiel:x", "no source of kind fiel; known: audit-netlink, file, journal, socket"),
        ("layer", "not a source"),
    ],
)
def test_a_source_that_is_none_is_named_with_what_is_known(text: str, words: str) -> None:
    """`--source NAME=KIND:ARG`."""
    with pytest.raises(UsageError, match=words):
        parse_source(text)


@pytest.mark.parametrize("kind", ["stdin", "audit-netlink", "journal", "unified-log"])
@pytest.mark.parametrize("decoder", ["", ",decoder=native"])
def test_a_kind_that_needs_no_argument_needs_no_colon(kind: str, decoder: str) -> None:
    """`--source in=stdin` is `--source in=stdin:`."""
    assert parse_source(f"in={kind}{decoder}") == parse_source(f"in={kind}:{decoder}")
    assert parse_source(f"in={kind}{decoder}").decoder == ("native" if decoder else None)


def test_a_collector_without_readers_loads_nothing_for_them() -> None:
    """A restart has better things to do; in a process of its own."""
    code = "import sys, audit.collecting; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "audit.reading_server" not in done.stdout.split()


def test_a_line_too_long_on_standard_input_is_one_reject() -> None:
    """It is never held, and the next line is whole."""
    reader, writer = os.pipe()
    said: list[Emission] = []

    def write() -> None:
        with os.fdopen(writer, "wb") as pipe:
            for _ in range(40):
                pipe.write(b"x" * 65_536)
            pipe.write(b"\n" + line(1))

    thread = threading.Thread(target=write)
    thread.start()
    StdinSource("in", reader).run({}, said.append, threading.Event(), once=True)
    thread.join()
    os.close(reader)
    blocks = [block for block in said if isinstance(block, Block)]
    assert [r.reason for block in blocks for r in block.rejects] == [Reason.TOO_LONG]
    assert b"".join(block.data for block in blocks) == line(1)
    assert [a.end for a in blocks[:-1]] == [b.start for b in blocks[1:]]
    assert isinstance(said[-1], Closed)
