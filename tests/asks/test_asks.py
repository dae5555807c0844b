"""What users of such tools reported, tried on this one, through the real commands.

Shown elsewhere, not twice:
- a half line at shutdown: tests/collector/test_collect_command.py (unfinished last line)
- a checkpoint emptied, garbage, a directory, rolled back: tests/collector/test_lost_spool.py
- two sources on one disk: tests/collector/test_collect_command.py; another device or inode:
  tests/collector/test_file_source_rotation.py
- modes under umask 022: tests/collector/test_collect_command.py
- one damaged archive file: tests/query/test_damage.py, tests/audit/test_export_command.py
- compaction under readers and kills, retention with its record: tests/collector/test_upkeep.py
- a full disk, with and without root: tests/collector/test_full_disk.py
- thousands of files, few descriptors, the inotify limit: tests/collector/test_file_source.py
- an export's cursor and a failing file: tests/audit/test_export_command.py
- terminal escapes in every view: tests/audit/test_hostile.py, tests/exporters/test_formats.py
- kills at every step and at random: tests/collector/test_exactly_once.py
"""

import base64
import gzip
import json
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.asks.askkit import numbered, pids, sandbox_event, wait_until
from tests.asks.conftest import Sandbox
from tests.collector.storekit import environment, exact
from tests.collector.trail_check import Victim, Writer, wait_for

# --- tailing


def test_a_recycled_inode_is_a_new_file(sandbox: Sandbox) -> None:
    """1,000 events, the file is replaced by one of 3 with the same inode: 1,003."""
    sandbox.write(*numbered(1, 1_000))
    inode = sandbox.log.stat().st_ino
    sandbox.house.collect()
    sandbox.log.unlink()
    for number in range(3_000):
        fresh = sandbox.house.folder / f"fresh{number}"
        fresh.touch()
        if fresh.stat().st_ino == inode:
            fresh.rename(sandbox.log)
            break
    else:
        pytest.skip("this file system does not give an inode back")
    sandbox.write(*numbered(1_001, 1_003))
    sandbox.house.collect()
    assert sandbox.count() == 1_003


def test_an_offset_past_the_end_waits_for_nothing(sandbox: Sandbox) -> None:
    """The file was shortened while nobody looked: the new event comes at once, a note says why."""
    sandbox.write(*numbered(1, 500))
    sandbox.house.collect()
    sandbox.log.write_bytes(b"")
    sandbox.write(*numbered(501, 501))
    sandbox.house.collect()
    assert sandbox.count() == 501
    assert sandbox.house.ask("SELECT note FROM sources WHERE note <> ''")


def test_truncate_and_rewrite_loses_nothing(sandbox: Sandbox) -> None:
    """The reporter's script: every tenth line overwrites the file."""
    with sandbox.collecting():
        for n in range(1, 51):
            if n % 10 == 0:
                sandbox.log.write_bytes(b"")
            sandbox.write(*numbered(n, n))
            time.sleep(0.05)
        wait_until(lambda: pids(sandbox) >= 50)
    exact(sandbox.house, 50)


def test_rotated_to_gz_while_down_is_not_read_again(sandbox: Sandbox) -> None:
    """Renamed, compressed beside itself, and a new file: exactly all of them."""
    sandbox.write(*numbered(1, 100))
    sandbox.house.collect()
    sandbox.write(*numbered(101, 200))
    rotated = sandbox.log.with_name("decisions.jsonl.1")
    sandbox.log.rename(rotated)
    Path(f"{rotated}.gz").write_bytes(gzip.compress(rotated.read_bytes()))
    sandbox.write(*numbered(201, 250))
    sandbox.house.collect()
    exact(sandbox.house, 250)


def test_a_new_file_after_a_rotation_is_shown_from_its_start(sandbox: Sandbox) -> None:
    """`tail -f` in another process shows all 100 lines written in one go; each line is JSON."""
    sandbox.write(*numbered(1, 5))
    with sandbox.collecting():
        wait_until(lambda: pids(sandbox) == 5)
        words = ["tail", "-f", "-n", "0", "--json"]
        tail = subprocess.Popen(
            [sys.executable, "-m", "audit.main", "--store", str(sandbox.house.root), *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(sandbox.house),
        )  # fmt: skip
        try:
            assert tail.stdout
            time.sleep(1.5)
            sandbox.log.rename(sandbox.log.with_name("decisions.jsonl.1"))
            sandbox.write(*numbered(6, 105))
            lines = [json.loads(tail.stdout.readline()) for _ in range(100)]
        finally:
            tail.kill()
            tail.communicate()
    assert [event["pid"] for event in lines] == list(range(6, 106))


def stop_and_start(folder: Path, rounds: int, *, hard: bool) -> None:
    """A writer, and a collector that is stopped again and again."""
    (folder / "log").mkdir()
    writer = Writer(folder / "log", rate=500)
    writer.start()
    rng = random.Random(11)
    try:
        for _ in range(rounds):
            victim = Victim(folder)
            victim.wait_until_up()
            time.sleep(rng.uniform(0.1, 1.0))
            if hard:
                victim.kill()
            else:
                assert victim.terminate() == 0
    finally:
        writer.finish()
    last = Victim(folder)
    wait_for(folder, writer)
    assert last.terminate() == 0


def test_a_graceful_stop_loses_no_batch(sandbox: Sandbox, tmp_path: Path) -> None:
    """SIGTERM under load, twice."""
    shutil.rmtree(tmp_path / "log")
    stop_and_start(tmp_path, 1, hard=False)
    written = len(sandbox.house.seen().pids)
    exact(sandbox.house, written)


@pytest.mark.torture
@pytest.mark.timeout(600)
@pytest.mark.parametrize("hard", [False, True], ids=["TERM", "KILL"])
def test_thirty_stops_lose_no_batch(sandbox: Sandbox, tmp_path: Path, hard: bool) -> None:
    """The whole figure, gently and hard."""
    shutil.rmtree(tmp_path / "log")
    stop_and_start(tmp_path, 30, hard=hard)
    exact(sandbox.house, len(sandbox.house.seen().pids))


def test_a_very_long_line_is_one_event_or_one_reject(sandbox: Sandbox) -> None:
    """Its neighbours are intact, nothing is split, and the sums say where it went."""
    for size in (16_385, 65_537, 2 << 20):
        sandbox.write({"pid": 1}, {"pid": 2, "path": "/workspace/" + "x" * size}, {"pid": 3})
    summary = sandbox.house.collect()
    counts = summary.counts
    assert counts.seen == 9
    assert counts.stored + sum(counts.rejected.values()) == 9
    pids = sorted(event["pid"] for event in sandbox.ask("query", "--json", "-n", "0").events)
    assert [pid for pid in pids if pid != 2] == [1, 1, 1, 3, 3, 3]
    assert sandbox.count("--kind", "notice", "--flag", "reject") == sum(counts.rejected.values())


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_a_line_of_200_mib_stays_within_300_mb(sandbox: Sandbox) -> None:
    """In a process of its own, whose peak is asked for."""
    sandbox.write({"pid": 1})
    with sandbox.log.open("ab") as file:
        file.write(b'{"path":"')
        for _ in range(200):
            file.write(b"x" * (1 << 20))
        file.write(b'"}\n')
    sandbox.write({"pid": 3})
    # A child counts the memory of who starts it as its own, until it is another program: a small
    # one asks.
    ask = (
        "import resource, subprocess, sys; code = subprocess.run(sys.argv[1:]).returncode;"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", ask, sys.executable, "-m", "audit.main", "--store",
         str(sandbox.house.root), "collect", "--once", str(sandbox.log)],
        env=environment(sandbox.house), capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "2 stored + 1 rejected" in ran.stderr
    assert int(ran.stdout.split()[-1]) < 300_000


# --- decoding


def test_paths_that_are_not_utf8_stay_two_paths(sandbox: Sandbox) -> None:
    """And names with line feeds, tabs, bidi marks, emoji, NFC and NFD are found as they are."""
    form = json.dumps({**sandbox_event(), "path": "/workspace/@"}).encode()
    raw = [b"\xff", b"\xfe", b"a\\nb", b"a\\tb", "\u202e".encode(), "😀".encode(),
           "é".encode(), "e\u0301".encode()]  # fmt: skip
    sandbox.write(*(form.replace(b"@", each) for each in raw))
    sandbox.house.collect()
    events = sandbox.ask("query", "--json", "--path", "/workspace/**").events
    assert len({event["path"] for event in events}) == len(raw)
    assert "\ufffd" not in "".join(event["path"] for event in events)
    assert sandbox.count("--path", "/workspace/é") == 1
    assert sandbox.count("--path", "/workspace/😀") == 1


def test_a_source_that_cannot_be_read_is_never_no_denials(sandbox: Sandbox) -> None:
    """A gap, a red status, exit 8 instead of a plain nothing."""
    sandbox.log.symlink_to(sandbox.log.name)
    with sandbox.collecting():
        wait_until(lambda: gaps(sandbox))
        asked = sandbox.ask("query", "--deny", "--since", "1h")
        assert asked.code == 8
        assert "incomplete" in asked.err
        assert "openclaw" in sandbox.ask("gaps").out
        assert sandbox.ask("status", "--check").code == 10


def gaps(sandbox: Sandbox) -> list[tuple]:
    """The gaps so far; none while the store is being made."""
    try:
        return sandbox.house.ask("SELECT source FROM gaps")
    except sqlite3.OperationalError:
        return []


def test_every_kind_of_decision_is_told_apart(sandbox: Sandbox) -> None:
    """Allow, deny, their spellings, a time-out, an error; what says nothing is found as unknown."""
    cases = {
        "allow": ["allow", "ALLOW", "allowed"],
        "deny": ["deny", "DENY", "Denied"],
    }
    kinds = ["filesystem", "network", "process", "mach", "sysctl", "iokit", "ipc", "signal"]
    for kind in kinds:
        for words in cases.values():
            sandbox.write(*({"resource": kind, "decision": word} for word in words))
        sandbox.write({"resource": kind, "decision": "perhaps"})
    sandbox.house.collect()
    for kind in kinds:
        for decision, words in cases.items():
            assert sandbox.count("--resource", kind, "--decision", decision) == len(words)
    assert sandbox.count("--decision", "unknown") + sandbox.count(
        "--kind", "notice", "--flag", "reject"
    ) == len(kinds)


def test_a_burst_is_folded_for_the_eye_and_counted_in_full(sandbox: Sandbox) -> None:
    """×1000 on a screen, 1,000 in JSON, and an allow in between is its own line."""
    deny = {"decision": "deny", "policy_rule": "filesystem.deny[1]", "pid": 7}
    sandbox.write(*[deny] * 1_000, {"pid": 7})
    sandbox.house.collect()
    folded = sandbox.ask("query", "-n", "0", "--merge").out.splitlines()
    assert len(folded) == 2
    assert "1000" in folded[0]
    assert len(sandbox.ask("query", "-n", "0", "--deny", "--json").events) == 1_000
    assert sandbox.count("--deny") == 1_000


# --- secrets


def test_no_secret_is_anywhere_in_the_store(sandbox: Sandbox) -> None:
    """Key-shaped and value-shaped, in arguments, URLs, JSON in JSON, over events: 0 hits."""
    secret = "SECRETSENTINEL7x9QpLr2"
    b64 = base64.b64encode(secret.encode()).decode()
    commands = [
        ["app", f"telegram.token={secret}"], ["app", "--token", secret], ["mysql", f"-p{secret}"],
        ["curl", "-u", f"u:{secret}", "http://h/"], ["git", "clone", f"https://u:{secret}@h/x"],
        ["curl", "-H", f"Authorization: Bearer {secret}"],
        ["curl", "-H", "Authorization: Basic " + base64.b64encode(f"u:{secret}".encode()).decode()],
        ["curl", f"https://h/x?sig={secret}"], ["app", json.dumps({"password": secret})],
        ["env", f"AWS_SECRET_ACCESS_KEY={secret}", "app"],
    ]  # fmt: skip
    sandbox.write(*({"syscall": "exec", "resource": "process", "command": each, "path": "/bin/x"}
                    for each in commands))  # fmt: skip
    pem = ["-----BEGIN RSA PRIVATE KEY-----", secret * 3, "-----END RSA PRIVATE KEY-----"]
    sandbox.write(*({"message": text, "pid": 9} for text in pem))
    sandbox.house.collect()
    out = sandbox.house.folder / "out.json"
    assert sandbox.ask("export", "-o", str(out)).code == 0
    files = [path for path in sandbox.house.folder.rglob("*") if path.is_file()]
    kept = [path for path in files if path != sandbox.log]
    found = [str(path) for path in kept for word in (secret, b64) if word.encode() in plain(path)]
    assert found == []
    assert sandbox.count() == len(commands) + len(pem)


def plain(path: Path) -> bytes:
    """The bytes of a file, and the text of what is compressed inside it."""
    import pyarrow.parquet as pq

    data = path.read_bytes()
    if path.suffix == ".parquet":
        data += repr(pq.ParquetFile(path).read().to_pylist()).encode()
    return data
