"""`audit export`: whole files with a manifest, cursors without holes, nothing cut in silence."""

import hashlib
import json
import os
import stat
from pathlib import Path

import pytest

from audit.main import run
from tests.audit.story import ADMIN, NOW, StoryStore, at, file_event, story
from tests.audit.terminal import environment, watched


def export(store: StoryStore, *words: str) -> int:
    """Run an export of a store at the story's time."""
    return run(["audit", "--store", str(store.paths.root), "export", *words], now=lambda: NOW)


def manifest(path: Path) -> dict[str, object]:
    """The manifest beside a file."""
    found: dict[str, object] = json.loads(Path(f"{path}.manifest.json").read_bytes())
    return found


@pytest.mark.parametrize("name", ["a.json", "a.ndjson", "a.jsonl", "a.csv", "a.parquet", "a.log"])
def test_the_suffix_chooses_the_format_and_the_manifest_is_true(
    own_store: StoryStore, tmp_path: Path, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Rows, digest, seq range and kinds of the manifest are those of the file."""
    path = tmp_path / name
    assert export(own_store, "-o", str(path)) == 0
    told = manifest(path)
    data = path.read_bytes()
    assert told["sha256"] == hashlib.sha256(data).hexdigest()
    assert told["bytes"] == len(data)
    assert told["rows"] == 231
    assert told["seq"] == {"first": 4701, "last": 4931}
    assert told["kinds"] == {"decision": 231}
    assert (told["store"], told["schema_version"], told["complete"]) == ("7kq2m", 1, True)
    for made in (path, Path(f"{path}.manifest.json")):
        assert stat.S_IMODE(made.stat().st_mode) == 0o600
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"exported 231 events (seq 4,701 to 4,931) to {path}, ")


def test_export_query_and_tail_give_the_same_events(
    own_store: StoryStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One filter means the same set everywhere."""
    base = ["audit", "--store", str(own_store.paths.root)]
    asked = ["--deny", "--path", "**/.ssh/**"]
    assert export(own_store, *asked, "-o", str(tmp_path / "a.ndjson")) == 0
    exported = (tmp_path / "a.ndjson").read_text()
    capfd.readouterr()
    run([*base, "query", *asked, "--format", "ndjson", "-n", "0"])
    assert capfd.readouterr().out == exported
    run([*base, "query", *asked, "--format", "ndjson"])
    assert capfd.readouterr().out == exported
    run([*base, "tail", *asked, "--json", "-n", "100"])
    assert capfd.readouterr().out == exported
    assert exported.count("\n") == 4


def test_a_cursor_gives_every_event_once(own_store: StoryStore, tmp_path: Path) -> None:
    """Night after night only what is new, whatever the limit of a night."""
    seen: list[int] = []
    for night, limit in enumerate(("100", "0", "0")):
        if night == 2:
            reads = ("read", "/workspace/x", "filesystem.allow[0]", 3)
            own_store.append([file_event(4932, "18:04:00", "allow", "rg[1]", *reads)])
        path = tmp_path / f"{night}.ndjson"
        assert export(own_store, "--cursor", "siem", "-n", limit, "-o", str(path)) == 0
        seen += [json.loads(line)["seq"] for line in path.read_text().splitlines()]
    assert seen == list(range(4701, 4933))
    assert manifest(tmp_path / "0.ndjson")["limit_reached"] is True
    assert manifest(tmp_path / "2.ndjson")["cursor"] == {
        "name": "siem", "after": 4931, "upto": 4932, "moved": True
    }  # fmt: skip


def test_a_cursor_stays_when_the_file_could_not_be_written(
    own_store: StoryStore, tmp_path: Path
) -> None:
    """Only a file in place moves it."""
    assert export(own_store, "--cursor", "siem", "-o", str(tmp_path / "none" / "a.json")) == 5
    path = tmp_path / "a.ndjson"
    assert export(own_store, "--cursor", "siem", "-o", str(path)) == 0
    assert len(path.read_text().splitlines()) == 231


def test_a_damaged_file_makes_every_answer_a_partial_one(
    own_store: StoryStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """T10: exit 8, the file named, the other events shown, and no cursor passes it."""
    file = own_store.seal(story(), upto=4931)
    reads = ("read", "/workspace/x", "filesystem.allow[0]", 3)
    own_store.append([file_event(4932, "18:04:00", "allow", "rg[1]", *reads)])
    file.write_bytes(file.read_bytes()[:-9])
    path = tmp_path / "a.ndjson"
    base = ["audit", "--store", str(own_store.paths.root)]
    for words in (["query"], ["query", "--json", "-n", "0"], ["query", "--count"], ["tail"]):
        assert run([*base, *words]) == 8
        out, err = capfd.readouterr()
        assert "partial: events/date=2026-07-28/story.parquet is damaged (231 events" in err
        assert "4932" in out or out == "1\n"
    assert export(own_store, "--cursor", "siem", "-o", str(path)) == 8
    assert json.loads(path.read_text())["seq"] == 4932
    told = manifest(path)
    assert (told["complete"], told["cursor"]["moved"]) == (False, False)  # type: ignore[index]


def test_nothing_new_is_said_and_is_no_failure(
    own_store: StoryStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A night without events still leaves a valid file."""
    for name in ("a.json", "b.json"):
        assert export(own_store, "--cursor", "siem", "-o", str(tmp_path / name)) == 0
    assert "nothing new for siem" in capfd.readouterr().err
    assert json.loads((tmp_path / "b.json").read_text()) == []


def test_a_limit_is_never_silent(
    own_store: StoryStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Printed, and flagged in the manifest."""
    path = tmp_path / "a.json"
    assert export(own_store, "-n", "10", "-o", str(path)) == 0
    assert "only the newest 10: more match" in capfd.readouterr().err
    told = manifest(path)
    assert (told["limit"], told["limit_reached"], told["complete"]) == (10, True, False)
    assert [e["seq"] for e in json.loads(path.read_text())] == list(range(4922, 4932))


def test_the_manifest_names_the_gaps_of_its_window(own_store: StoryStore, tmp_path: Path) -> None:
    """Whoever reads the export years later learns what it cannot show."""
    own_store.gap("unified-log", at("18:00:04"), at("18:04:00"), ADMIN)
    own_store.gap("socket", at("10:00:00"), at("10:01:00"), "long ago")
    path = tmp_path / "a.json"
    assert export(own_store, "--since", "1h", "-o", str(path)) == 0
    told = manifest(path)
    assert told["complete"] is False
    assert told["gaps"] == [
        {"source": "unified-log", "since": "2026-07-28T09:00:04.000000Z",
         "until": "2026-07-28T09:04:00.000000Z", "reason": ADMIN, "count": None}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "parquet"], "audit: error: parquet on a terminal\n  hint: -o FILE\n"),
        ([], "audit: error: this would print 1,231 events on your terminal\n"
             "  hint: -o FILE, | less, or -n 100\n"),
    ],
)  # fmt: skip
def test_a_terminal_is_not_flooded(own_store: StoryStore, words: list[str], message: str) -> None:
    """T7: exit 2 and a way out, before anything is printed."""
    more = [file_event(4932 + n, "18:04:00", "allow", "rg[1]", "read", f"/w/{n}", "x.y[0]", 1)
            for n in range(1000)]  # fmt: skip
    own_store.append(more)
    seen = watched(["export", *words], environment(own_store.paths.root))
    assert (seen.code, seen.out, seen.err) == (2, "", message)


def test_stdout_gets_the_document_and_nothing_else(
    own_store: StoryStore, capfd: pytest.CaptureFixture[str]
) -> None:
    """`audit export | jq` works."""
    assert export(own_store, "--columns", "seq", "--deny") == 0
    out, err = capfd.readouterr()
    assert [e["seq"] for e in json.loads(out)] == [4712, 4925, 4926, 4927, 4928, 4929, 4930]
    assert err == "exported 7 events (seq 4,712 to 4,930) to stdout\n"


def test_a_pipe_or_a_device_is_never_replaced_by_a_file(
    own_store: StoryStore, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As root, `-o /dev/null` would leave the machine without it."""
    pipe, link = tmp_path / "pipe", tmp_path / "link.json"
    os.mkfifo(pipe)
    link.symlink_to("/dev/null")
    for path in (pipe, link):
        assert export(own_store, "--format", "json", "-o", str(path)) == 2
        assert f"-o {path}: is no ordinary file" in capfd.readouterr().err
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert sorted(tmp_path.glob("*.manifest.json")) == []
