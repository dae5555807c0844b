"""audit.toml: every mistake is named with file, line and column; nothing is taken on trust."""

import os
from pathlib import Path

import pytest

from audit.main import run
from audit.settings import Settings, duration_s, read
from audit_events.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "place", "words", "hint"),
    [
        ('[sources.a]\n  pahts = ["x"]\n', "2:3", "unknown key sources.a.pahts", "paths"),
        ("[sael]\nrows = 1\n", "1:2", "unknown key sael", "seal"),
        ('[seal]\nrows = "many"\n', "2:1", "seal.rows: expected `int`, got `str`", ""),
        ("[seal]\n\nrows = 0\n", "3:1", "seal.rows: expected `int` >= 1", ""),
        ('[retention]\nkeep = "5 days"\n', "2:1", "retention.keep: expected `str`", ""),
        ('[sources.a]\npaths = ["x"]\n[sources.b]\npaths = [1]\n', "4:1", "sources.b.paths", ""),
        ('link_window = "1m"\n', "1:1", "link_window: expected `str`", "from 10ms to 10s"),
        ('host = "h"\n link_window = 1\n', "2:2", "link_window: expected `str`, got `int`", ""),
        ('[runs]\nidle = "1"\n', "2:1", "runs.idle: expected `str`", "for example 30s"),
        ("store = \n", "1:9", "invalid value", ""),
        ("host = 'a'\nhost = 'b'\n", "2:11", "cannot overwrite a value", ""),
    ],
)
def test_a_mistake_is_named_with_its_place(
    tmp_path: Path, text: str, place: str, words: str, hint: str
) -> None:
    """file:line:col, what is wrong, and what was probably meant."""
    path = tmp_path / "audit.toml"
    path.write_text(text)
    with pytest.raises(SettingsError) as caught:
        read(path)
    assert caught.value.message.startswith(f"{path}:{place}: ")
    assert words in caught.value.message
    assert hint in (caught.value.hint or "")


def test_settings_are_read_with_their_origins(tmp_path: Path) -> None:
    """Each value knows its line."""
    path = tmp_path / "audit.toml"
    path.write_text(
        'host = "h"\n[sources.layer]\npaths = ["/a/*.jsonl"]\n[retention]\nkeep = "4w"\n'
    )
    loaded = read(path)
    assert loaded.settings.sources["layer"].paths == ("/a/*.jsonl",)
    assert loaded.settings.sources["layer"].decoder == "auto"
    assert duration_s(loaded.settings.retention.keep or "") == 28 * 86_400
    assert loaded.origins["retention.keep"] == f"{path}:5"


def test_settings_that_anybody_can_write_are_refused(tmp_path: Path) -> None:
    """Whoever writes them decides what is recorded."""
    path = tmp_path / "audit.toml"
    path.write_text("")
    path.chmod(0o666)
    with pytest.raises(SettingsError, match="anybody can write"):
        read(path)
    path.chmod(0o644)
    assert read(path).settings == Settings()


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path: Path) -> None:
    """Never a traceback, never the bytes."""
    path = tmp_path / "audit.toml"
    path.write_bytes(b"host = 'a'\nkeys = '\xff'\n")
    with pytest.raises(SettingsError, match=r":2:1: not UTF-8"):
        read(path)


def test_config_prints_each_value_and_its_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Flag over environment over file over default."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    monkeypatch.setenv("AUDIT_STORE", str(tmp_path / "env"))
    monkeypatch.delenv("AUDIT_CONFIG", raising=False)
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "audit.toml").write_text('host = "h"\n')
    assert run(["audit", "config"]) == 0
    lines = {line.split()[0]: line.split()[1:] for line in capfd.readouterr().out.splitlines()}
    assert lines["store"] == [str(tmp_path / "env"), "AUDIT_STORE"]
    assert lines["host"] == ['"h"', f"{tmp_path / 'env' / 'audit.toml'}:1"]
    assert lines["seal.after"] == ['"30s"', "default"]
    assert lines["link_window"] == ['"1s"', "default"]
    assert run(["audit", "config", "--store", str(tmp_path / "flag")]) == 0
    assert f"{tmp_path / 'flag'}" in capfd.readouterr().out


def test_a_settings_file_that_is_not_there_is_an_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A named file is never silently skipped; exit 3."""
    assert run(["audit", "--config", str(tmp_path / "no.toml"), "config"]) == 3
    assert f"--config {tmp_path / 'no.toml'}: no such file" in capfd.readouterr().err
    assert not os.environ.get("AUDIT_CONFIG")


@pytest.mark.parametrize(("text", "micros"), [("10ms", 10_000), ("2s", 2_000_000)])
def test_a_link_window_reaches_the_linker(tmp_path: Path, text: str, micros: int) -> None:
    """From the file to the plan of a collector."""
    from audit.collecting import plan

    path = tmp_path / "audit.toml"
    path.write_text(f'link_window = "{text}"\n')
    settings = read(path).settings
    made = plan(tmp_path / "s", tmp_path / "k", [], settings, say=print, note=print)
    assert made.link_window_us == micros


def test_the_quick_look_knows_every_table() -> None:
    """A new setting that it does not know would cost every command 40 ms."""
    from audit.settings_quick import KNOWN

    assert set(Settings.__struct_fields__) == KNOWN


@pytest.mark.parametrize(
    "text", ['hosst = "a"', "host = 3", "host = ,", 'store = ["a"]', "[nonsense]\na = 1", "\x00"]
)
def test_the_quick_look_lets_nothing_odd_pass(tmp_path: Path, text: str) -> None:
    """It is quick about good files only: errors have their line, as everywhere."""
    from audit.settings_quick import quick

    path = tmp_path / "audit.toml"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(SettingsError, match=r"audit\.toml:1:"):
        quick(path)
    path.write_text('host = "a"\nstore = "/b"\n')
    assert (quick(path).host, quick(path).store) == ("a", "/b")
    path.chmod(0o602)
    with pytest.raises(SettingsError, match="anybody can write"):
        quick(path)
