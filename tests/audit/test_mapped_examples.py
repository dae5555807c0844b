"""The shipped tables for other sandboxes' logs, and [decoders.NAME] in the settings."""

import json
from pathlib import Path
from typing import Any

import pytest

from audit import decoders, settings
from audit.main import run
from audit_events.errors import SettingsError
from collector.contracts import Block, Filtered

FOLDER = Path(__file__).parents[2] / "examples" / "mapped"
TABLES = sorted(path.stem for path in FOLDER.glob("*.toml"))
DENIED = {
    "claude-code": {"resource": "tool", "tool": "Bash", "correlation_id": "run-d"},
    "codex-network": {"dst": "pastebin.example:443", "correlation_id": "run-c"},
    "docker-sbx": {"dst": "pastebin.example:443", "host": "build-mac", "sandbox": "claude"},
    "gemini-cli": {"resource": "tool", "tool": "run_shell_command", "correlation_id": "run-e"},
    "gh-aw-firewall": {"dst": "pastebin.example:443", "syscall": "CONNECT"},
    "nono": {"dst": "pastebin.example:443", "syscall": "connect"},
    "openshell": {"dst": "pastebin.example:443", "process": "/usr/bin/curl", "pid": 63},
}  # fmt: skip
LEFT_OUT = {"gh-aw-firewall": 0}


def decoded(name: str):
    """What the shipped table makes of the shipped log."""
    tables = settings.read(FOLDER / f"{name}.toml").settings.decoders
    data = (FOLDER / f"{name}.jsonl").read_bytes()
    plugin = decoders.named(name, tables)
    return plugin.make().decode(Block("s", "f", data, 0, len(data), final=True))


@pytest.mark.parametrize("name", TABLES)
def test_a_shipped_table_reads_its_log(name: str) -> None:
    """One denial, one allow, each with time and object; other records are left out, none lost."""
    answer = decoded(name)
    rows: list[dict[str, Any]] = answer.batch.to_pylist()
    assert answer.rejects == ()
    assert sorted(row["decision"] for row in rows) == ["allow", "deny"]
    assert answer.tally.filtered.get(Filtered.NOT_ENFORCEMENT, 0) == LEFT_OUT.get(name, 1)
    for row in rows:
        assert row["ts"].isoformat().startswith("2026-07-28T09:03:1")
        assert row["enforcer"]
        assert not row["flags"]
        json.loads(row["extra"])
    (denied,) = (row for row in rows if row["decision"] == "deny")
    assert {key: denied[key] for key in DENIED[name]} == DENIED[name]


def test_every_table_is_in_the_page() -> None:
    """The folder's own page names each."""
    page = (FOLDER / "README.md").read_text()
    assert all(f"| `{name}` |" in page for name in TABLES)


def test_a_wrong_table_says_where(tmp_path: Path) -> None:
    """File, line and column of the key at fault."""
    path = tmp_path / "audit.toml"
    path.write_text('[decoders.mine.columns]\nts = "/t"\nnothing = "/a"\n')
    with pytest.raises(SettingsError) as caught:
        settings.read(path)
    assert caught.value.message == f"{path}:3:1: decoders.mine.columns.nothing: no such column"


def test_a_name_of_ours_is_taken() -> None:
    """Nobody redefines a decoder of the house by accident."""
    with pytest.raises(SettingsError):
        decoders.known({"seatbelt": {"columns": {"ts": "/t"}}})


def test_collect_reads_with_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`--decoder NAME` and `decoder = "NAME"` both mean the table."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AUDIT_STORE", str(tmp_path / "store"))
    source = (
        f'[sources.fw]\npaths = ["{FOLDER}/gh-aw-firewall.jsonl"]\ndecoder = "gh-aw-firewall"\n'
    )
    path = tmp_path / "audit.toml"
    path.write_text((FOLDER / "gh-aw-firewall.toml").read_text() + "\n" + source)
    monkeypatch.setenv("AUDIT_CONFIG", str(path))
    assert run(["audit", "collect", "--once"]) == 0
    assert run(["audit", "query", "--deny", "--format", "ndjson"]) == 0
    (line,) = capfd.readouterr().out.splitlines()
    assert json.loads(line)["dst"] == "pastebin.example:443"
    log = str(FOLDER / "gh-aw-firewall.jsonl")
    assert run(["audit", "decode", log, "--decoder", "gh-aw-firewall"]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 2
