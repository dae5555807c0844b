"""`audit service`: the files that managers get, what is asked of them, and the collector's log."""

import os
import plistlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from configparser import ConfigParser
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from audit import service
from audit.call import Call
from audit.own_log import OLD_LOGS, OwnLog
from audit.say import Voice
from audit.service import Ground, Said
from audit.service_files import MEMORY_MAX, OPEN_FILES, Service, text_of
from audit.service_place import LABEL, UNIT, log_command
from audit_events.errors import Exit, SettingsError, StorageError, UsageError
from query.views import Collector

ODD = '/opt/a "b" %h $HOME \\ é/sandtrail'


@dataclass
class Manager:
    """A stand-in for launchctl and systemctl: what it was asked, and what it answers."""

    answers: dict[str, Said] = field(default_factory=dict)
    asked: list[list[str]] = field(default_factory=list)

    def __call__(self, words: Sequence[str]) -> Said:
        """Note it."""
        self.asked.append(list(words))
        return next((said for word, said in self.answers.items() if word in words), Said(0, ""))


def ground(folder: Path, platform: str, manager: Manager, **more: Any) -> Ground:
    """A machine whose files lie in a folder, with one source set up."""
    settings = folder / "audit.toml"
    settings.write_text('[sources.openclaw]\npaths = ["/var/log/x.jsonl"]\n')
    settings.chmod(0o600)
    call = Call("audit", more.pop("store", None), str(settings), {})
    return Ground(
        call, more.pop("system", False), platform, folder / "home", folder / "root",
        more.pop("uid", 501), manager, "/opt/bin/sandtrail",
    )  # fmt: skip


def unit_of(text: str) -> ConfigParser:
    """A unit as its three sections."""
    parser = ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    return parser


@pytest.mark.parametrize("system", [False, True])
def test_the_plist_is_one_and_runs_sandtrail(tmp_path: Path, system: bool) -> None:
    """Read back by plistlib: command, limits, always on, no shell."""
    made = service.service_of(ground(tmp_path, "darwin", Manager(), system=system))
    plist = plistlib.loads(text_of(made).encode())
    assert plist["Label"] == LABEL
    assert plist["ProgramArguments"][0] == "/opt/bin/sandtrail"
    assert "collect" in plist["ProgramArguments"]
    assert plist["KeepAlive"] is plist["RunAtLoad"] is True
    assert plist["SoftResourceLimits"] == {"NumberOfFiles": OPEN_FILES}
    assert plist["Umask"] == 0o077
    assert ("LaunchDaemons" in str(made.path)) is system


@pytest.mark.parametrize("system", [False, True])
def test_the_unit_is_one_and_is_bounded(tmp_path: Path, system: bool) -> None:
    """Three sections; memory, files and tasks have a limit; a restart is never given up."""
    made = service.service_of(ground(tmp_path, "linux", Manager(), system=system))
    unit = unit_of(text_of(made))
    assert unit.sections() == ["Unit", "Service", "Install"]
    assert unit["Service"]["ExecStart"].startswith('"/opt/bin/sandtrail" "--config"')
    assert unit["Service"]["MemoryMax"] == MEMORY_MAX
    assert unit["Service"]["Restart"] == "always"
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert unit["Install"]["WantedBy"] == ("multi-user.target" if system else "default.target")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze here")
@pytest.mark.parametrize("system", [False, True])
def test_systemd_finds_nothing_wrong_with_the_unit(tmp_path: Path, system: bool) -> None:
    """As systemd itself reads it, odd names included."""
    program = tmp_path / 'a "b" %h $HOME é'
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = tmp_path / UNIT
    text = text_of(Service("systemd", system, [str(program), "collect"], path, None))
    path.write_text(text.replace("Documentation=man:sandtrail(1)\n", ""))
    words = ["systemd-analyze", *([] if system else ["--user"]), "verify", str(path)]
    environ = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    done = subprocess.run(words, capture_output=True, text=True, env=environ, check=False)
    ours = [line for line in done.stderr.splitlines() if UNIT in line or "sandtrail" in line]
    assert ours == []


def test_odd_words_stay_words() -> None:
    """Quotes, specifiers and variables of a path mean nothing; control characters are refused."""
    made = Service("systemd", False, [ODD, "collect"], Path("x"), None)
    line = unit_of(text_of(made))["Service"]["ExecStart"]
    assert line == '"/usr/bin/env" "/opt/a \\"b\\" %%h $$HOME \\\\ é/sandtrail" "collect"'
    launchd = replace(made, manager="launchd")
    assert plistlib.loads(text_of(launchd).encode())["ProgramArguments"][0] == ODD
    with pytest.raises(UsageError, match="control character"):
        text_of(replace(made, program=["a\nUser=root"]))


def test_the_system_service_writes_where_others_look(tmp_path: Path) -> None:
    """Root's own store is the machine's, unless another one is named."""
    words = service.service_of(ground(tmp_path, "linux", Manager(), system=True)).program
    assert words[words.index("--store") + 1] == str(service.wiring.system_data())
    named = ground(tmp_path, "linux", Manager(), system=True, store=str(tmp_path / "s"))
    words = service.service_of(named).program
    assert words[words.index("--store") + 1] == str(tmp_path / "s")


def test_a_dry_run_prints_and_changes_nothing(tmp_path: Path, capsysbinary: Any) -> None:
    """The file on stdout, its place on stderr."""
    manager = Manager()
    where = ground(tmp_path, "linux", manager)
    assert service.install(where, dry_run=True) == Exit.DONE
    out, err = capsysbinary.readouterr()
    assert out.decode() == text_of(service.service_of(where))
    assert str(where.path).encode() in err
    assert (manager.asked, where.path.exists()) == ([], False)


def test_systemd_is_asked_in_order_and_twice_is_once(tmp_path: Path, capsysbinary: Any) -> None:
    """Reload, enable, start; the second time nothing changes; remove leaves nothing."""
    manager = Manager()
    where = ground(tmp_path, "linux", manager)
    assert service.install(where, dry_run=False) == Exit.DONE
    user = ["systemctl", "--user"]
    assert manager.asked[0] == [*user, "daemon-reload"]
    assert manager.asked[1] == [*user, "enable", UNIT]
    assert manager.asked[2][2] in ("start", "restart")
    first = where.path.read_bytes()
    manager.asked.clear()
    assert service.install(where, dry_run=False) == Exit.DONE
    assert manager.asked[-1] == [*user, "start", UNIT]
    assert b"service unchanged" in capsysbinary.readouterr().err
    assert where.path.read_bytes() == first
    assert service.restart(where) == Exit.DONE
    assert manager.asked[-1] == [*user, "restart", UNIT]
    assert service.remove(where) == Exit.DONE
    assert not where.path.exists()
    assert list(where.path.parent.iterdir()) == []


def test_launchd_is_asked_in_order(tmp_path: Path) -> None:
    """Bootstrapped into the user's domain; booted out before it is loaded again."""
    manager = Manager({"print": Said(113, "Could not find service")})
    where = ground(tmp_path, "darwin", manager)
    service.install(where, dry_run=False)
    assert manager.asked[-1] == ["launchctl", "bootstrap", "gui/501", str(where.path)]
    manager.answers.clear()
    service.restart(where)
    assert [words[1] for words in manager.asked[-2:]] == ["bootout", "bootstrap"]
    service.remove(where)
    assert manager.asked[-1] == ["launchctl", "bootout", f"gui/501/{LABEL}"]
    assert not where.path.exists()


def test_what_cannot_be_done_says_how_it_can(tmp_path: Path) -> None:
    """Not root, no manager, no source, nothing installed: a hint each."""
    manager = Manager()
    with pytest.raises(StorageError, match="needs root") as error:
        service.install(ground(tmp_path, "linux", manager, system=True), dry_run=False)
    assert error.value.hint == "sudo sandtrail service install --system"
    where = ground(tmp_path, "linux", manager)
    with pytest.raises(StorageError, match="does not exist"):
        service.restart(where)
    manager.answers["daemon-reload"] = Said(127, "systemctl: no such command")
    with pytest.raises(StorageError, match="no such command") as error:
        service.install(where, dry_run=False)
    assert error.value.hint == "any supervisor will do: sandtrail collect"
    Path(where.call.config or "").write_text("")
    with pytest.raises(SettingsError, match="no source is set up"):
        service.install(where, dry_run=False)


def test_status_names_another_version(
    tmp_path: Path, capsysbinary: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an upgrade the old collector goes on, and status says what to do."""
    manager = Manager()
    where = ground(tmp_path, "linux", manager, store=str(tmp_path))
    assert service.status(where) == Exit.ANSWER_NO
    assert b"not installed" in capsysbinary.readouterr().out
    service.install(where, dry_run=False)
    (tmp_path / "spool.db").write_bytes(b"")
    old = Collector("running", 812, "0.0.1")
    monkeypatch.setattr("query.views.collector", lambda _store, _now: old)
    assert service.status(where) == Exit.DONE
    said = capsysbinary.readouterr().out.decode()
    assert f"{UNIT}  running" in said
    assert "the installed version is" in said
    assert "sandtrail service restart" in said
    manager.answers["is-active"] = Said(3, "inactive")
    assert service.status(where) == Exit.ANSWER_NO
    assert b"NOT RUNNING" in capsysbinary.readouterr().out


def test_logs_are_the_newest_lines(tmp_path: Path, capsysbinary: Any) -> None:
    """Of the own log across its rotation; of the journal where there is one."""
    where = ground(tmp_path, "darwin", Manager())
    assert where.log is not None
    with pytest.raises(StorageError, match="no log yet"):
        service.logs(where, 9)
    where.log.parent.mkdir(parents=True)
    Path(f"{where.log}.1").write_text("a\nb\n")
    where.log.write_text("c\n")
    service.logs(where, 2)
    assert capsysbinary.readouterr().out == b"b\nc\n"
    manager = Manager({"journalctl": Said(0, "x\ny")})
    service.logs(ground(tmp_path, "linux", manager), 7)
    assert manager.asked == [
        ["journalctl", "--user", "-u", UNIT, "-n", "7", "--no-pager"]
    ]  # fmt: skip
    assert capsysbinary.readouterr().out == b"x\ny\n"


def test_the_own_log_is_bounded_and_private(tmp_path: Path) -> None:
    """However much is said: so many files of such a size, the newest lines in them."""
    path = tmp_path / "logs" / "collector.log"
    log = OwnLog(path, most=500, now=lambda: datetime(2026, 7, 28, tzinfo=UTC), redirect=False)
    voice = Voice("sandtrail", {}, log)  # type: ignore[arg-type]
    for number in range(200):
        voice.note(f"fact {number}")
    files = sorted(path.parent.iterdir())
    assert len(files) == OLD_LOGS + 1
    assert all(file.stat().st_size < 600 and file.stat().st_mode & 0o77 == 0 for file in files)
    assert path.read_text().splitlines()[-1] == "2026-07-28T00:00:00Z sandtrail: note: fact 199"


def test_a_hang_up_opens_the_log_anew(tmp_path: Path) -> None:
    """Somebody else's rotation: moved away, SIGHUP, and the next line is in a new file."""
    path = tmp_path / "log"
    log = OwnLog(path, redirect=False)
    log.write("one\n")
    path.rename(tmp_path / "moved")
    log.reopen()
    log.write("two\n")
    assert path.read_text().endswith("two\n")
    assert "two" not in (tmp_path / "moved").read_text()


def test_a_collector_keeps_its_log_through_signals(tmp_path: Path) -> None:
    """The real command: what it says goes to the file, SIGHUP does not end it, SIGTERM does."""
    (tmp_path / "a.jsonl").write_text('{"ts":"2026-07-28T09:00:00Z","decision":"deny"}\n')
    log, store = tmp_path / "collector.log", tmp_path / "store"
    config = tmp_path / "audit.toml"
    config.write_text(f'keys = "{tmp_path / "keys"}"\n')
    words = ["--config", config, "--store", store, "collect", tmp_path / "a.jsonl", "--log", log]
    process = subprocess.Popen(
        [sys.executable, "-m", "audit.main", *map(str, words)], stderr=subprocess.PIPE
    )
    try:
        deadline = time.monotonic() + 30
        while not (store / "spool.db").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    assert said == b""
    assert "collected 1 lines" in log.read_text()


@pytest.mark.parametrize("platform", ["darwin", "linux"])
@pytest.mark.parametrize("system", [False, True])
def test_the_log_of_a_service_has_a_command_where_one_is_installed(
    tmp_path: Path, platform: str, system: bool
) -> None:
    """The place is the one that `install` writes to."""
    there = ground(tmp_path, platform, Manager(), system=system)

    def told() -> str | None:
        return log_command("audit", there.home, system=system, platform=platform, root=there.root)

    assert told() is None
    there.path.parent.mkdir(parents=True)
    there.path.touch()
    assert told() == ("sudo sandtrail service logs --system" if system else "audit service logs")
