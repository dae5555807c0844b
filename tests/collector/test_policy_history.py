"""Policies come into force once, are noticed in the trail, and old events keep their old text."""

import json
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from audit.main import run
from audit_events.layout import CONTROL_DDL, StorePaths
from collector.policy_store import Application, put_in_force, put_notice
from collector.policy_watch import PolicyWatch
from collector.sqlite import open_writable, transaction
from policies.load import parse_policy
from query import engine
from query.contracts import Request
from tests import forked

ROOT = Path(__file__).parents[2]
EXAMPLE = (ROOT / "examples" / "agent-readonly.yaml").read_text()
INSERTED = EXAMPLE.replace('      - path: "**/Key', '      - path: /secret\n      - path: "**/Key')


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A folder for a store, with settings that keep keys beside it."""
    root = tmp_path / "store"
    root.mkdir(mode=0o700)
    (root / "audit.toml").write_text(f'keys = "{tmp_path}"\nhost = "h"\n')
    return root


def line(ts: str, path: str = "/Users/a/.ssh/id", **more: Any) -> str:
    """A refused read, without its rule."""
    record = {"ts": ts, "sandbox": "agent-demo", "syscall": "open", "resource": "filesystem",
              "path": path, "access": "read", "decision": "deny"}  # fmt: skip
    return json.dumps(record | more) + "\n"


def audit(store: Path, *words: str) -> int:
    """One call of the command."""
    return run(["audit", "--store", str(store), *words])


def rows(store: Path, kind: str = "decision") -> list[dict[str, Any]]:
    """The events of a kind, oldest first."""
    return list(engine.answer(StorePaths(store), Request({"kind": (kind,)}, limit=None)).rows)


def applied(store: Path, tmp_path: Path, text: str, sandbox: str = "agent-demo") -> Path:
    """A policy applied from a file."""
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    assert audit(store, "policy", "apply", "-f", str(path), "--sandbox", sandbox) == 0
    return path


def stamp(after_s: float) -> str:
    """RFC 3339 of now and some seconds."""
    now = time.time() + after_s
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e6):06d}Z"


def test_an_edit_after_the_fact_changes_no_old_event(store: Path, tmp_path: Path) -> None:
    """A rule inserted on top, then the file deleted: each event keeps the rule and text of then."""
    log = tmp_path / "d.jsonl"
    path = applied(store, tmp_path, EXAMPLE)
    log.write_text(line(stamp(3)) + line(stamp(4)))
    assert audit(store, "collect", str(log), "--once", "-q") == 0
    # The second application, as if an hour later.
    with sqlite3.connect(store / "control.db") as control:
        control.execute("UPDATE policy_history SET from_ts = from_ts - 3600000000")
    control.close()
    applied(store, tmp_path, INSERTED)
    path.unlink()
    with log.open("a") as file:
        file.write(line(stamp(-600)) + line(stamp(30)))
    assert audit(store, "collect", str(log), "--once", "-q") == 0
    found = rows(store)
    assert [row["policy_rule"] for row in found] == [
        "filesystem.deny[1]", "filesystem.deny[1]", "filesystem.deny[1]", "filesystem.deny[2]",
    ]  # fmt: skip
    assert len({row["policy_digest"] for row in found[:3]}) == 1
    assert found[3]["policy_digest"] != found[0]["policy_digest"]
    assert {row["rule_origin"] for row in found} == {"derived"}


def test_apply_is_in_the_trail_once(store: Path, tmp_path: Path) -> None:
    """Who, what and when is an event of the trail, whether a collector ran or not; and only one."""
    path = applied(store, tmp_path, EXAMPLE)
    applied(store, tmp_path, EXAMPLE)
    log = tmp_path / "d.jsonl"
    log.write_text(line(stamp(3)))
    for _ in range(2):
        assert audit(store, "collect", str(log), "--once", "-q") == 0
    [notice] = rows(store, "notice")
    assert (notice["sandbox"], notice["policy"]) == ("agent-demo", "agent-readonly")
    assert notice["message"].endswith(f"from {path}")
    with sqlite3.connect(store / "control.db") as control:
        assert control.execute("SELECT count(*) FROM policy_history").fetchone() == (1,)
        assert control.execute("SELECT count(*) FROM notices").fetchone() == (0,)
    control.close()


def test_a_text_that_is_not_its_digest_is_not_believed(store: Path, tmp_path: Path) -> None:
    """Somebody changed the database: no rule is derived from a forged text."""
    applied(store, tmp_path, EXAMPLE)
    with sqlite3.connect(store / "control.db") as control:
        control.execute("UPDATE policies SET text = replace(text, '**/.ssh', '**/.sch')")
    control.close()
    log = tmp_path / "d.jsonl"
    log.write_text(line(stamp(3)))
    assert audit(store, "collect", str(log), "--once", "-q") == 0
    [row] = rows(store)
    assert (row.get("policy_rule"), row.get("policy_digest")) == (None, None)


def test_a_configured_file_is_in_force_from_its_time(store: Path, tmp_path: Path) -> None:
    """[policies.SANDBOX]: the file as it is when the collector starts; a bad one is told."""
    good, bad = tmp_path / "p.yaml", tmp_path / "bad.yaml"
    good.write_text(EXAMPLE)
    os.utime(good, (1_700_000_000, 1_700_000_000))
    bad.write_text("spec: [\n")
    with (store / "audit.toml").open("a") as file:
        file.write(
            '[policies.agent-demo]\nfile = "../p.yaml"\n[policies.x]\nfile = "../bad.yaml"\n'
        )
    log = tmp_path / "d.jsonl"
    log.write_text(line("2023-11-14T22:13:10Z") + line("2023-11-14T22:13:30Z"))
    assert audit(store, "collect", str(log), "--once", "-q") == 0
    assert [row.get("policy_rule") for row in rows(store)] == [None, "filesystem.deny[1]"]
    told = [row["message"] for row in rows(store, "notice")]
    assert any("bad.yaml:2:1" in text for text in told)
    assert any("by the collector" in text for text in told)


def test_a_running_collector_takes_a_change(store: Path, tmp_path: Path) -> None:
    """An apply and an edited file reach the events that follow, without a restart."""
    watched, log = tmp_path / "w.yaml", tmp_path / "d.jsonl"
    log.touch()
    watched.write_text(EXAMPLE)
    with (store / "audit.toml").open("a") as file:
        file.write('[policies.other]\nfile = "../w.yaml"\n')
    process = forked.start("audit.main", "--store", str(store), "collect", str(log))
    try:
        until(lambda: len(notices(store)) == 1)
        applied(store, tmp_path, EXAMPLE)
        watched.write_text(INSERTED)
        until(lambda: len(notices(store)) == 3)
        with log.open("a") as file:
            file.write(line(stamp(5)) + line(stamp(5), sandbox="other"))
        until(lambda: len(rows(store)) == 2)
    finally:
        process.terminate()
        process.wait(20)
    assert [row["policy_rule"] for row in rows(store)] == [
        "filesystem.deny[1]",
        "filesystem.deny[2]",
    ]


def notices(store: Path) -> list[dict[str, Any]]:
    """Notices so far; none while there is no store yet."""
    return rows(store, "notice") if (store / "spool.db").exists() else []


def until(true: Any, most_s: float = 20.0) -> None:
    """Wait for something to come true."""
    end = time.monotonic() + most_s
    while time.monotonic() < end:
        try:
            if true():
                return
        except Exception:  # noqa: BLE001, S110 - the store is being made
            pass
        time.sleep(0.1)
    raise AssertionError("it never came true")


def test_a_kill_between_the_two_databases_repeats_no_notice(tmp_path: Path) -> None:
    """In the trail, and not yet dropped from the queue: the id in the spool decides."""
    control = tmp_path / "control.db"
    watch = PolicyWatch(control, {}, lambda _text: None)
    assert watch.look(10_000_000, 0) == []
    with closing(open_writable(control, CONTROL_DDL)) as con:
        policy = parse_policy(EXAMPLE.encode())
        put_in_force(con, Application("s", policy, "/p", "me", 1))
        put_in_force(con, Application("t", policy, "/p", "me", 1))
    first, second = watch.look(20_000_000, 0)
    watch.close()
    again = PolicyWatch(control, {}, lambda _text: None)
    assert again.look(10_000_000, first.id) == [second]
    again.written(second.id)
    assert again.look(20_000_000, second.id) == []
    again.close()


def test_many_notices_take_several_turns(tmp_path: Path) -> None:
    """Each once, in order, whatever fits a turn."""
    control = tmp_path / "control.db"
    with closing(open_writable(control, CONTROL_DDL)) as con, transaction(con):
        for number in range(250):
            put_notice(con, number, "s", f"n{number}", None)
    watch = PolicyWatch(control, {}, lambda _text: None)
    told: list[str] = []
    last = 0
    for turn in range(1, 6):
        for notice in watch.look(turn * 10_000_000, last):
            told.append(notice.message)
            last = notice.id
        watch.written(last)
    watch.close()
    assert told == [f"n{number}" for number in range(250)]
