"""`query --from FILE`: an export answers as the store did that it came from."""

import json
from pathlib import Path

import pytest

from audit.main import run
from tests.audit.story import ADMIN, NOW, StoryStore, at, story

ODD = ["=1+1", "'x", "a\nb", 'say "a", b', "@x", "\U0010ffff", "é日本", "-", "[{}],", "\\xff"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The story, then events whose texts are hard for a format, with an empty one and nulls."""
    odd = [
        {**story()[0], "seq": 5000 + n, "path": text, "message": "" if n % 2 else None}
        for n, text in enumerate(ODD)
    ]
    made = StoryStore(tmp_path_factory.mktemp("from") / "store", [*story(), *odd])
    made.gap("unified-log", at("17:20:04"), at("17:31:40"), ADMIN)
    made.close()
    return made.paths.root


def ask(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    code = run(["audit", *words], now=lambda: NOW)
    out, err = capfd.readouterr()
    return code, out, err


@pytest.mark.parametrize("suffix", ["json", "ndjson", "csv", "parquet"])
def test_an_export_answers_like_its_store(
    store: Path, tmp_path: Path, suffix: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every event the same to the byte, in every format; filters, runs and counts too."""
    file = tmp_path / f"all.{suffix}"
    ask(capfd, "--store", str(store), "export", "-o", str(file))
    for words in (
        ["-n", "0", "--json"],
        ["--deny", "--run", "last", "-s", "agent-demo"],
        ["--count", "--path", "/workspace"],
        ["--target", "'x", "--target", "=1+1", "--target", "**/.ssh"],
    ):
        of_store = ask(capfd, "--store", str(store), "query", *words)
        assert ask(capfd, "query", "--from", str(file), *words) == of_store
        assert of_store[1]


def test_gaps_of_the_record_come_with_the_manifest(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """No answer from a file says "nothing" over a gap either."""
    file = tmp_path / "all.json"
    ask(capfd, "--store", str(store), "export", "-o", str(file))
    code, out, err = ask(capfd, "query", "--from", str(file), "--pid", "1")
    assert (code, out) == (8, "")
    assert err.startswith("no event found, but the record is incomplete: unified-log was")
    file.write_bytes(file.read_bytes().replace(b"git", b"got"))
    code, _, err = ask(capfd, "query", "--from", str(file), "--process", "got", "--count")
    assert code == 0
    assert "all.json.manifest.json does not fit all.json: one of them was changed" in err
    file.with_name("all.json.manifest.json").unlink()
    assert "no manifest beside it" in ask(capfd, "query", "--from", str(file), "--count")[2]


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.json", b'[{"seq":1,"ts":"secret"}]', "no export of ours"),
        ("a.json", b'[{"seq":"secret","ts":"2026-07-28T00:00:00Z"}]', "no export of ours"),
        ("a.json", b"secret", "no export of ours"),
        ("a.ndjson", b'{"path":"secret"}\n', "has no column seq"),
        ("a.csv", b"seq,ts\nsecret,x\n", "no export of ours"),
        ("a.parquet", b"secret", "no export of ours"),
        ("a.txt", b"secret", "not one of .parquet .csv .json .ndjson .jsonl"),
    ],
)
def test_what_is_no_export_is_refused_without_a_word_of_it(
    name: str, data: bytes, words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit 4; nothing of the file's content is repeated."""
    (tmp_path / name).write_bytes(data)
    code, out, err = ask(capfd, "query", "--from", str(tmp_path / name))
    assert (code, out) == (4, "")
    assert words in err
    assert "secret" not in err
    assert ask(capfd, "query", "--from", str(tmp_path / "none.json"))[0] == 4


def test_an_export_of_some_columns_is_enough(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What it lacks is unknown."""
    file = tmp_path / "some.ndjson"
    file.write_text('{"seq":7,"ts":"2026-07-28T09:03:12Z","path":"/a","decision":"deny"}\n')
    out = ask(capfd, "query", "--from", str(file), "--path", "/a", "--json")[1]
    (row,) = json.loads(out)
    assert (row["seq"], row["decision"], row["store"]) == (7, "deny", "file")
