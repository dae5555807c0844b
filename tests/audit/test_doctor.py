"""`audit doctor`: every check finds what is wrong and says what to do; the rest is let alone."""

import json
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from audit import doctor, doctor_checks, doctor_sources
from audit.call import Call
from audit.doctor_look import Around, Finding, look_around
from audit.main import run
from audit.render_style import ASCII, UNICODE
from collector.contracts import GapOpened
from query.contracts import Gap

LINE = '{"ts":"2026-07-28T09:00:00Z","decision":"deny","path":"/f","pid":1}\n'


def configured(folder: Path) -> Path:
    """Settings that name everything in a folder."""
    settings = folder / "audit.toml"
    settings.write_text(
        f'store = "{folder / "store"}"\nkeys = "{folder / "keys"}"\n'
        f'[sources.openclaw]\npaths = ["{folder / "decisions.jsonl"}"]\n'
    )
    settings.chmod(0o600)
    return settings


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one event of one source, and keys beside it."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "decisions.jsonl").write_text(LINE)
    assert run(["audit", "--config", str(configured(folder)), "collect", "--once", "-q"]) == 0
    return folder


@pytest.fixture
def around(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Around:
    """A copy of it, with nobody collecting."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    settings, home = configured(tmp_path), tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    binaries = tmp_path / "bin"
    binaries.mkdir()
    environ = {"PATH": f"{Path(sys.executable).parent}:{binaries}", "SHELL": "/bin/zsh"}
    call = Call("audit", None, str(settings), environ)
    return replace(look_around(call), home=home, root_path=[str(tmp_path / "sbin")])


def one(check: Callable[[Around], Any], around: Around) -> Finding:
    """The only finding of a check."""
    (finding,) = check(around)
    return finding


def test_what_is_right_is_let_alone(around: Around) -> None:
    """A fresh set-up without a collector: one failure, and it says how to start one."""
    found = [finding for check in doctor.CHECKS for finding in check(around)]
    failed = [finding for finding in found if finding.state == "FAIL"]
    assert [finding.name for finding in failed] == ["collector"]
    assert "sandtrail service install" in failed[0].advice[0]
    source = next(finding for finding in found if finding.name == "openclaw")
    assert source.state == "ok"
    assert "read as native" in source.words


def test_the_page_and_the_exit_code(around: Around, capsysbinary: Any) -> None:
    """A failure is exit 10; JSON holds the same findings."""
    words = ["audit", "--config", str(around.loaded.path), "doctor"]
    capsysbinary.readouterr()
    assert run(words) == 10
    assert b"FAIL   collector    none is running\n         sandtrail service" in (
        capsysbinary.readouterr().out
    )
    assert run([*words, "--format", "json"]) == 10
    found = json.loads(capsysbinary.readouterr().out)
    assert {"state", "name", "words", "advice"} == set(found[0])
    assert any(f["name"] == "collector" and f["state"] == "FAIL" for f in found)
    assert run([*words, "--format", "xml"]) == 2


def test_an_open_file_of_the_store_is_found(around: Around) -> None:
    """The advice closes it."""
    around.store.spool.chmod(0o644)
    finding = one(doctor_checks.store, around)
    assert finding.state == "FAIL"
    assert finding.advice[0].startswith("chmod -R go-rwx ")
    around.store.spool.chmod(0o600)
    assert one(doctor_checks.store, around).state in ("ok", "warn")


def test_keys_in_the_store_or_lost_or_open(around: Around, tmp_path: Path) -> None:
    """Three ways to lose what masks are worth."""
    path = next((tmp_path / "keys").rglob("*.key"))
    path.chmod(0o644)
    assert "open to others" in one(doctor_checks.keys, around).words
    path.chmod(0o600)
    assert one(doctor_checks.keys, around).state == "ok"
    path.rename(tmp_path / "away")
    assert "is missing" in one(doctor_checks.keys, around).words
    (around.store.root / "keys").mkdir()
    (tmp_path / "keys" / "keys").rename(tmp_path / "old")
    (tmp_path / "keys" / "keys").symlink_to(around.store.root / "keys")
    assert "lies in the store" in one(doctor_checks.keys, around).words


def test_settings_that_others_can_change(around: Around) -> None:
    """Whoever can write them decides what is recorded."""
    path = around.loaded.path
    assert path is not None
    path.chmod(0o620)
    assert one(doctor_checks.settings, around).state == "FAIL"
    bare = replace(around, loaded=replace(around.loaded, path=None))
    assert one(doctor_checks.settings, bare).state == "warn"


def with_collector(around: Around, **words: Any) -> Around:
    """The same with a collector in some state."""
    assert around.status is not None
    collector = replace(around.status.collector, **words)
    return replace(around, status=replace(around.status, collector=collector))


def test_a_collector_of_another_version_is_named(around: Around) -> None:
    """After an upgrade the old one goes on until it is restarted."""
    old = one(doctor_checks.collector, with_collector(around, state="running", version="0.0.1"))
    assert (old.state, old.advice) == ("warn", ("sandtrail service restart",))
    assert "0.0.1" in old.words
    hangs = with_collector(around, state="hanging", heartbeat=around.now - 90_000_000)
    assert one(doctor_checks.collector, hangs).state == "FAIL"


def test_a_clock_that_went_back(around: Around) -> None:
    """The collector's last word lies in the future."""
    ahead = with_collector(around, heartbeat=around.now + 3_600_000_000)
    assert one(doctor_checks.time, ahead).state == "FAIL"
    assert one(doctor_checks.time, around).state == "ok"


def test_apples_audit_is_named_for_root(around: Around) -> None:
    """With sudo `audit` is another program, whose -t stops the system's auditing."""
    folder = Path(around.root_path[0])
    folder.mkdir()
    (folder / "audit").write_text("#!/bin/sh\n")
    (folder / "audit").chmod(0o755)
    finding = one(doctor_checks.command, around)
    assert finding.state == "warn"
    assert finding.words.endswith('for root "audit" is ' + f'{folder}/audit: use "sandtrail"')


def test_the_tab_key(around: Around) -> None:
    """The line to add is the shell's own; once it is there all is well."""
    finding = one(doctor_checks.completion, around)
    assert finding.state == "warn"
    _, _, line = finding.advice[0].partition(":  ")
    (around.home / ".zshrc").write_text(line + "\n")
    assert one(doctor_checks.completion, around).state == "ok"


def test_a_file_that_is_none_of_ours(around: Around, tmp_path: Path) -> None:
    """End to end: readable is not enough, a decoder must follow."""
    (tmp_path / "decisions.jsonl").write_text("once upon a time\n" * 9)
    finding = one(doctor_sources.sources, around)
    assert finding.state == "FAIL"
    assert "none of the first 9 lines is a record" in finding.words


def test_a_file_that_is_not_there(around: Around, tmp_path: Path) -> None:
    """It is named."""
    (tmp_path / "decisions.jsonl").unlink()
    assert one(doctor_sources.sources, around).words.endswith("decisions.jsonl: no such file")


def test_the_collector_knows_best(around: Around) -> None:
    """What it could not read stands in the record, whoever asks."""
    running = with_collector(around, state="running")
    assert running.status is not None
    gap = Gap(1, "openclaw", 1, None, "log: Must be admin to run 'stream' command", None, None)
    whole = replace(running.status.completeness, gaps=(gap,))
    broken = replace(running, platform="darwin", status=replace(running.status, completeness=whole))
    finding = one(doctor_sources.sources, broken)
    assert (finding.state, finding.words) == ("FAIL", gap.reason)
    assert finding.advice[0] == (
        "best:  sandtrail service install --system              (runs as root)"
    )
    page = list(doctor.lines([finding], UNICODE))
    assert page[0] == "FAIL   openclaw     log: Must be admin to run 'stream' command"
    assert page[-1] == "         nothing to click: SSH is enough"


def test_what_a_source_warned_of_is_told_with_a_way_out(around: Around) -> None:
    """A source that polls works, later than it could."""
    assert around.status is not None
    known = around.status.sources[0]
    text = "the system's limit of file watches is reached; polling instead"
    status = replace(
        around.status,
        sources=(replace(known, note=text),),
        collector=replace(around.status.collector, state="running"),
    )
    linux = replace(around, status=status, platform="linux")
    (finding,) = doctor_sources.sources(linux)
    assert (finding.state, text in finding.words) == ("warn", True)
    assert "sysctl fs.inotify.max_user_watches" in finding.advice[0]
    (elsewhere,) = doctor_sources.sources(replace(linux, platform="darwin"))
    assert elsewhere.advice == ()


@pytest.mark.parametrize(("free", "state"), [(4 << 30, "warn"), (100 << 20, "FAIL")])
def test_a_disk_that_is_nearly_full(
    around: Around, monkeypatch: pytest.MonkeyPatch, free: int, state: str
) -> None:
    """A warning first; what would free room is named."""
    usage = shutil.disk_usage(around.store.root)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage)
    finding = one(doctor_checks.store, around)
    assert finding.state == state
    assert "upkeep --keep" in finding.advice[0]


def test_three_causes_have_three_texts() -> None:
    """The admin group, a sandbox and Full Disk Access never get each other's advice."""
    reasons = (
        "log: Must be admin to run 'stream' command",
        "log: Cannot run while sandboxed",
        "/Users/agent/log: Operation not permitted",
    )
    texts = [doctor_sources.advice(r, "darwin", "audit-svc", "/opt/python") for r in reasons]
    assert len(set(texts)) == 3
    assert "dseditgroup -o edit -a audit-svc -t user admin" in texts[0][1]
    assert "outside" in texts[1][0]
    assert "Full Disk Access → add /opt/python" in texts[2][0]
    assert doctor_sources.advice(reasons[2], "linux", "u", "p") == ()
    finding = Finding("FAIL", "x", "y", texts[2])
    assert all(line.isascii() for line in doctor.lines([finding], ASCII))


class Speaks:
    """A source that says one thing, or raises."""

    name, kind, location, rereadable = "s", "x", "there", True

    def __init__(self, what: Any) -> None:
        self.what = what
        self.stopped = False

    def run(self, positions: Any, emit: Any, stop: Event, *, once: bool) -> None:
        """Say it, then wait for the end."""
        if isinstance(self.what, Exception):
            raise self.what
        if self.what is not None:
            emit(self.what)
        self.stopped = stop.wait(10)

    def consumed(self, stream: str, resume: int, read_to: int) -> None:
        """Nothing."""


def test_a_source_is_tried_and_ends() -> None:
    """The first word decides; silence is good; the source is always stopped."""
    gap = GapOpened("s", datetime.now(UTC), "log: Cannot run while sandboxed")
    bad, silent = Speaks(gap), Speaks(None)
    assert doctor_sources.trial(bad, 5) is gap
    assert doctor_sources.trial(silent, 0.1) is None
    assert bad.stopped
    assert silent.stopped
    with pytest.raises(OSError, match="nope"):
        doctor_sources.trial(Speaks(OSError("nope")), 5)


def test_no_store_is_a_failure_with_a_way_in(tmp_path: Path, capsysbinary: Any) -> None:
    """Nothing was ever collected: the doctor does not fail itself."""
    assert run(["audit", "--store", str(tmp_path / "none"), "doctor"]) == 10
    assert b"does not exist" in capsysbinary.readouterr().out
    assert not os.listdir(tmp_path)  # noqa: PTH208
