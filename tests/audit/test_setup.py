"""`audit setup` and `audit config`: what is found, what is written, where each value comes from."""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from audit import service, setting_up
from audit.call import Call, wall_clock
from audit.main import run
from audit.setting_up import Wanted, setup
from audit.setting_up_found import Ground, Log
from audit.settings import Settings, read
from audit.settings_text import EXPLAINED, settings_text
from tests.audit.terminal import ROOT, environment, watched

LOG = ROOT / "examples" / "agent-demo.jsonl"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new home with a log where its producer writes it."""
    for name in ("AUDIT_STORE", "AUDIT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / ".openclaw" / "audit"
    folder.mkdir(parents=True)
    (folder / "decisions.jsonl").write_bytes(
        LOG.read_bytes()[:100_000].rpartition(b"\n")[0] + b"\n"
    )
    return tmp_path


def put_policies(home: Path) -> None:
    """The shipped policy where a person keeps such files."""
    (home / "policies").mkdir()
    policy = ROOT / "examples" / "agent-readonly.yaml"
    (home / "policies" / policy.name).write_bytes(policy.read_bytes())


def only_files(settings: Path) -> None:
    """Leave this machine's own logs out."""
    text = settings.read_text()
    for name in ("journal", "linux-audit"):
        text = re.sub(rf"\[sources\.{name}\]\n(\w.*\n)+", "", text)
    settings.write_text(text)


def test_a_new_machine_is_set_up_in_one_command(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """G22 as far as it goes: what it says, private modes, and then `collect` needs no word more."""
    put_policies(home)
    assert run(["audit", "setup", "--host", "mini-osaka-03", "--no-start"]) == 0
    lines = capfd.readouterr().out.splitlines()
    found = (home / ".openclaw/audit/decisions.jsonl").read_bytes().count(b"\n")
    # Whether this machine's own journal or audit log can be read is its own affair.
    here = re.compile(r"(store|not usable +journal|found +(journal|linux-audit)|not usable +linux)")
    assert [" ".join(line.split()) for line in lines if not here.match(line)] == [
        "host name mini-osaka-03 (change: --host NAME)",
        f"found openclaw ~/.openclaw/audit/decisions.jsonl {found} lines",
        "found policies ~/policies, 1 file, valid (0 warnings)",
        "wrote ~/config/sandtrail/audit.toml, every setting explained",
        "not started as asked",
        "",
        "not set up policies: audit policy apply -f FILE --sandbox NAME",
        "nightly export: audit export --cursor NAME -o FILE, from cron",
    ]
    assert lines[1].endswith("created, 0700")
    settings = home / "config" / "sandtrail" / "audit.toml"
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    assert stat.S_IMODE(settings.parent.stat().st_mode) == 0o700
    only_files(settings)
    assert run(["audit", "collect", "--once"]) == 0
    assert f"collected {found} lines" in capfd.readouterr().err
    assert run(["audit", "query", "--host", "mini-osaka-03", "--count"]) == 0
    assert capfd.readouterr().out == f"{found}\n"


def test_a_second_setup_changes_nothing(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Settings are a person's once they are there."""
    assert run(["audit", "setup", "--no-start"]) == 0
    settings = home / "config" / "sandtrail" / "audit.toml"
    settings.write_text('host = "mine"\n')
    capfd.readouterr()
    assert run(["audit", "setup", "--host", "other", "--no-start"]) == 0
    out = capfd.readouterr().out
    assert "kept           ~/config/sandtrail/audit.toml, valid, unchanged" in out
    assert 'not set        host = "other": change it in that file' in out
    assert settings.read_text() == 'host = "mine"\n'


def test_a_dry_run_touches_nothing(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Not even a folder."""
    before = sorted(home.rglob("*"))
    assert run(["audit", "setup", "--dry-run"]) == 0
    assert capfd.readouterr().out.endswith("\nnothing was changed\n")
    assert sorted(home.rglob("*")) == before


def test_a_log_that_cannot_be_read_is_not_usable(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is named with the reason, and left out of the settings."""
    (home / ".openclaw/audit/decisions.jsonl").unlink()
    (home / ".openclaw/audit/decisions.jsonl").mkdir()
    assert run(["audit", "setup", "--no-start"]) == 0
    assert "not usable     openclaw" in capfd.readouterr().out
    assert "openclaw" not in read(home / "config" / "sandtrail" / "audit.toml").settings.sources


def test_a_policy_that_is_not_valid_is_named(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With the line that tells its faults."""
    put_policies(home)
    (home / "policies" / "bad.yaml").write_text("kind: Nonsense\n")
    assert run(["audit", "setup", "--no-start", "--dry-run"]) == 0
    out = capfd.readouterr().out
    assert "not usable     policies   ~/policies, 1 of 2 files not valid" in out
    assert "audit policy validate -f ~/policies/bad.yaml" in out


def _ground(home: Path) -> Ground:
    log = Log("openclaw", str(home / ".openclaw/audit/*.jsonl"), "auto")
    return Ground((log,), (), (str(home / "policies"),))


def test_setup_starts_the_collector_and_sees_the_first_event(
    home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """G22: the service's own program is started as its manager would; once is enough."""
    started: list[subprocess.Popen[bytes]] = []
    call = Call("sandtrail", None, None, os.environ, wall_clock)

    def manage(words: Sequence[str]) -> service.Said:
        if {"start", "restart"} & set(words):
            program = service.service_of(ground).program
            started.append(subprocess.Popen(program, stderr=subprocess.DEVNULL, cwd=ROOT))
        return service.Said(0, "")

    program = home / "sandtrail"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m audit.main "$@"\n')
    program.chmod(0o700)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    # The wait ends with the first event; a busy machine takes longer than ten seconds to start.
    monkeypatch.setattr(setting_up, "MAX_WAIT_S", 60.0)
    ground = service.Ground(
        call, system=False, platform="linux", home=home, uid=501, run=manage, program=str(program)
    )
    wanted = Wanted("mini-osaka-03", ground=_ground(home), manager=ground)
    try:
        assert setup(call, wanted) == 0
        out = capfd.readouterr().out
        assert f"\nstarted        sandtrail.service, pid {started[0].pid}\n" in out
        assert re.search(r"\ncheck          first event read after [0-9.]+ s\n", out)
        assert setup(call, wanted) == 0
        assert f"\nrunning        pid {started[0].pid}\n" in capfd.readouterr().out
        assert len(started) == 1
    finally:
        for process in started:
            process.terminate()
            process.wait(60)


def test_a_manager_that_is_not_there_leaves_the_line_to_type(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a container nobody runs services: the rest is set up all the same."""
    call = Call("sandtrail", None, None, os.environ, wall_clock)
    program = str(home / "sandtrail")
    for uid, why in ((501, "no such command"), (0, "sandtrail service install --system")):
        ground = service.Ground(
            call, system=False, platform="linux", home=home, uid=uid, program=program,
            run=lambda words: service.Said(127, f"{words[0]}: no such command"),
        )  # fmt: skip
        assert setup(call, Wanted(ground=_ground(home), manager=ground)) == 0
        out = capfd.readouterr().out
        assert why in re.sub(r"\s+", " ", out.partition("not started")[2])


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_setup_fits_the_screen(home: Path, columns: int) -> None:
    """No line is wider than the terminal."""
    put_policies(home)
    names = ("XDG_DATA_HOME", "XDG_CONFIG_HOME")
    env = environment(None, HOME=str(home), **{name: os.environ[name] for name in names})
    seen = watched(["setup", "--dry-run", "--host", "mini-osaka-03"], env, columns)
    assert seen.code == 0, seen.err
    assert max(map(len, seen.lines)) <= columns


def test_a_hostile_name_of_a_file_is_only_a_name(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What lies in a folder may be called anything."""
    (home / ".openclaw/audit/decisions.jsonl").unlink()
    (home / ".openclaw/audit/x\x1b[2J\u202e.jsonl").write_bytes(b"{}\n")
    (home / "policies").mkdir()
    (home / "policies" / "y\x1b[2J.yaml").write_text("kind: no\n")
    assert run(["audit", "setup", "--dry-run"]) == 0
    out = capfd.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "\\x1b" in out


def test_every_setting_is_explained(tmp_path: Path) -> None:
    """And the file is valid as written and with every example taken."""
    names = set()
    for name, value in msgspec.to_builtins(Settings()).items():
        inner = value if isinstance(value, dict) and value else {}
        names |= {f"{name}.{key}" for key in inner} or {name}
    assert {name for name, _, _ in EXPLAINED} == names - {"sources", "decoders", "policies"}
    text = settings_text({}, [])
    taken = re.sub(r"^# (?=[a-z_]+ = |\[sources|\[policies)", "", text, flags=re.MULTILINE)
    assert taken.count("\n#") < text.count("\n#") - len(EXPLAINED)
    examples = tmp_path / "examples.toml"
    examples.write_text(taken)
    assert set(read(examples).settings.policies) == {"agent-demo"}
    path = tmp_path / "audit.toml"
    path.write_text(text)
    path.chmod(0o600)
    assert read(path).settings == Settings()


def test_config_shows_each_value_with_its_origin(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """File and line, a variable, a flag, or default."""
    assert run(["audit", "setup", "--host", "h", "--no-start"]) == 0
    capfd.readouterr()
    assert run(["audit", "--store", str(home / "x"), "config"]) == 0
    rows = {line.split()[0]: line.split()[1:] for line in capfd.readouterr().out.splitlines()}
    assert rows["store"] == [str(home / "x"), "--store"]
    assert rows["seal.rows"] == ["131072", "default"]
    assert rows["host"][0] == json.dumps("h")
    assert rows["host"][1].startswith(f"{home}/config/sandtrail/audit.toml:")
