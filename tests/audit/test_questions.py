"""What a person typed, and what it becomes: words, secrets among them, machines that refuse."""

import subprocess
import sys
from pathlib import Path

import pytest

from audit.main import run
from tests.audit.story import NOW
from tests.audit.terminal import ROOT, environment, piped

# Made up for this test; the shape is that of a real one.
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


@pytest.fixture
def words(story_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command with the story's store and keys of its own."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return ["audit", "--store", str(story_store), "query"]


@pytest.mark.parametrize("flag", ["--grep", "--path", "--target", "--not-grep"])
def test_a_secret_in_a_filter_is_searched_by_its_fingerprint(
    words: list[str], flag: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """T9: searching for it as written would always answer no."""
    value = f"/w/{TOKEN}" if flag == "--path" else TOKEN
    assert run([*words, flag, value]) == 0
    out, err = capfd.readouterr()
    assert "its fingerprint" in err
    assert "is searched instead" in err
    assert "note: it is now in your shell history; next time: audit secrets find -\n" in err
    assert TOKEN not in out + err


def test_a_secret_without_fingerprint_cannot_be_searched(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """T9: exit 2 and what to do instead; the value is not repeated."""
    assert run([*words, "--grep", "password=hunter2hunter2"]) == 2
    err = capfd.readouterr().err
    assert "that looks like a password" in err
    assert "audit query --secret password" in err
    assert "hunter2" not in err


def test_ordinary_values_do_not_wake_the_redactor(words: list[str]) -> None:
    """It takes a third of a second; paths and words of every day are plain."""
    code = (
        "import sys; from audit.main import run; run(sys.argv[1:]);"
        "sys.exit('policies.redact.engine' in sys.modules)"
    )
    asked = [*words, "--path", "/Users/agent/.ssh/id_ed25519", "--grep", "master.passwd.backup"]
    done = subprocess.run(
        [sys.executable, "-c", code, *asked[:-2]], env=environment(None), cwd=ROOT,
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0


def test_words_are_filters_too(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """KEY:VALUE, deny, the name of a known sandbox, and ! in front of each."""
    run([*words, "deny", "build-2", "--json", "--columns", "seq"])
    assert capfd.readouterr().out == '[{"seq":4930}]\n'
    run([*words, "decision:deny", "!agent-demo", "--json", "--columns", "seq"])
    assert capfd.readouterr().out == '[{"seq":4928},\n{"seq":4930}]\n'
    run([*words, "--deny", "--not-sandbox", "agent-demo", "--not-process", "Python", "--count"])
    assert capfd.readouterr().out == "1\n"


def test_times_are_words_too(words: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    """What `--since` means, `since:` means; the word and the flag together are a mistake."""
    times = ("2026-07-28T18:03:13.3+09:00", "2026-07-28T18:03:14+09:00")
    run([*words, "--since", times[0], "--until", times[1], "--json"])
    flags = capfd.readouterr().out
    run([*words, f"since:{times[0]}", f"until:{times[1]}", "--json"])
    assert capfd.readouterr().out == flags
    assert flags.count("event_id") == 2
    assert run([*words, "since:1h", "--since", "2h"]) == 2
    assert capfd.readouterr().err == "audit: error: since is given twice\n"


def test_an_expanded_pattern_gets_the_hint_to_quote(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """The shell ate the glob: say so instead of a strange error."""
    assert run([*words, "--path", str(ROOT / "audit"), str(ROOT / "query")]) == 2
    assert "the shell expanded a pattern: quote it" in capfd.readouterr().err


def test_an_unknown_sandbox_is_named_with_its_neighbour(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """T1: `no event` would hide a typing mistake."""
    assert run([*words, "-s", "agent-dmeo"]) == 0
    assert capfd.readouterr().err == (
        'no event from sandbox "agent-dmeo", ever; known: agent-demo, build-2, build-1'
        " (did you mean agent-demo?)\n"
    )


def test_a_time_in_the_future_is_remarked(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """T5: the answer is empty, and why is no riddle."""
    run([*words, "--since", "2026-07-29T02:00+09:00", "--tz", "Asia/Tokyo"], now=lambda: NOW)
    err = capfd.readouterr().err
    assert "warning: --since 2026-07-29T02:00+09 is 7 h 54 m in the future" in err
    assert "2026-07-28T18:05:10+09" in err


def test_a_full_disk_behind_stdout_is_no_bug_of_ours(story_store: Path) -> None:
    """Exit 5 and one line; the interpreter adds nothing."""
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m tests.audit.launch query -n 0 > /dev/full"],
        env=environment(story_store), cwd=ROOT, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (5, "audit: error: No space left on device\n")


@pytest.mark.parametrize("count", ["1", "3", "7", "250"])
def test_the_newest_n_are_the_same_in_either_order(
    words: list[str], count: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """`--order` is display only; `-n +N` takes the other end."""
    run([*words, "-n", count, "--json", "--columns", "seq"])
    up = capfd.readouterr().out
    run([*words, "-n", count, "--json", "--columns", "seq", "--order", "desc"])
    down = capfd.readouterr().out
    seqs = [int(line.strip('[]{},"seq:')) for line in up.splitlines()]
    assert [int(line.strip('[]{},"seq:')) for line in down.splitlines()] == seqs[::-1]
    assert seqs == sorted(seqs)
    assert seqs[-1] == 4931
    run([*words, "-n", f"+{count}", "--json", "--columns", "seq"])
    assert capfd.readouterr().out.startswith('[{"seq":4701}')


def test_a_table_may_have_chosen_columns(story_store: Path) -> None:
    """`--columns` without a format: a header and a line an event, made for eyes and for awk."""
    words = ["query", "--deny", "--run", "last", "-s", "agent-demo", "--columns", "seq,rule,path"]
    seen = piped([*words, "-n", "2"], environment(story_store))
    assert seen.lines == [
        " SEQ  POLICY_RULE           PATH",
        "4927  filesystem.deny[1]    /Users/agent/.ssh/id_ed25519",
        "4929  process.default-deny  /opt/homebrew/bin/node",
    ]


@pytest.mark.parametrize("form", [[], ["--json"], ["--columns", "seq"], ["-n", "0"]])
def test_an_order_that_is_none_is_refused_in_every_form(
    story_store: Path, form: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    """A mistyped --order never passes for the other one."""
    words = ["audit", "--store", str(story_store), "query", "--order", "dsc", *form]
    assert run(words) == 2
    assert capfd.readouterr() == ("", "audit: error: --order dsc: asc or desc\n")


@pytest.mark.parametrize("verb", ["query", "tail"])
def test_a_colour_rule_that_is_none_is_refused(
    story_store: Path, verb: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A mistyped --color does not silently mean never."""
    assert run(["audit", "--store", str(story_store), verb, "--color", "yes"]) == 2
    assert capfd.readouterr() == ("", "audit: error: --color yes: auto, always or never\n")
