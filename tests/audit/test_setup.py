"""`audit setup` and `audit config`: what is found, what is written, where each value comes from."""

import json
import re
import stat
from pathlib import Path

import msgspec
import pytest

from audit.main import run
from audit.settings import Settings, read
from audit.settings_text import EXPLAINED, settings_text
from tests.audit.terminal import ROOT

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


def test_a_new_machine_is_set_up_in_one_command(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """G22 as far as it goes: what it says, private modes, and then `collect` needs no word more."""
    assert run(["audit", "setup", "--host", "mini-osaka-03"]) == 0
    lines = capfd.readouterr().out.splitlines()
    found = (home / ".openclaw/audit/decisions.jsonl").read_bytes().count(b"\n")
    assert [" ".join(line.split()) for line in lines if not line.startswith("store")] == [
        "host name mini-osaka-03 (change: --host NAME)",
        f"found openclaw ~/.openclaw/audit/decisions.jsonl {found} lines",
        "policies not looked for: add [policies.SANDBOX] to the settings",
        "wrote ~/config/sandtrail/audit.toml, every setting explained",
        "",
        "next audit service install reads all of it and keeps watching",
    ]
    assert lines[1].endswith("created, 0700")
    settings = home / "config" / "sandtrail" / "audit.toml"
    assert stat.S_IMODE(settings.stat().st_mode) == 0o600
    assert stat.S_IMODE(settings.parent.stat().st_mode) == 0o700
    assert run(["audit", "collect", "--once"]) == 0
    assert f"collected {found} lines" in capfd.readouterr().err
    assert run(["audit", "query", "--host", "mini-osaka-03", "--count"]) == 0
    assert capfd.readouterr().out == f"{found}\n"


def test_a_second_setup_changes_nothing(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Settings are a person's once they are there."""
    assert run(["audit", "setup"]) == 0
    settings = home / "config" / "sandtrail" / "audit.toml"
    settings.write_text('host = "mine"\n')
    capfd.readouterr()
    assert run(["audit", "setup", "--host", "other"]) == 0
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
    assert run(["audit", "setup"]) == 0
    assert "not usable     openclaw" in capfd.readouterr().out
    assert not read(home / "config" / "sandtrail" / "audit.toml").settings.sources


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
    assert run(["audit", "setup", "--host", "h"]) == 0
    capfd.readouterr()
    assert run(["audit", "--store", str(home / "x"), "config"]) == 0
    rows = {line.split()[0]: line.split()[1:] for line in capfd.readouterr().out.splitlines()}
    assert rows["store"] == [str(home / "x"), "--store"]
    assert rows["seal.rows"] == ["131072", "default"]
    assert rows["host"][0] == json.dumps("h")
    assert rows["host"][1].startswith(f"{home}/config/sandtrail/audit.toml:")
