"""The front door: what is imported, how a mistake is told, what the exit code says."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from audit import commands
from audit.main import run, split_options
from audit.topics import topics
from audit_events.errors import UsageError
from tests.audit.story import ADMIN, NOW, StoryStore, at
from tests.audit.terminal import ROOT, Terminal, command, environment, piped, watched

HEAVY = {"duckdb", "_duckdb", "pyarrow", "deltalake", "pydantic", "rich", "numpy", "arro3"}


@pytest.mark.parametrize("words", [["--help"], [], ["status"], ["gaps"], ["version"]])
def test_first_screens_import_nothing_heavy(story_store: Path, words: list[str]) -> None:
    """What one types at 3 a.m. starts at once."""
    code = (
        "import sys; from audit.main import run; code = run(['audit', *sys.argv[1:]]);"
        "print({m.split('.')[0] for m in sys.modules}, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], env=environment(story_store), cwd=ROOT,
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    loaded = set(eval(done.stderr.splitlines()[-1]))  # noqa: S307
    assert "audit" in loaded
    assert not loaded & HEAVY


def test_help_names_only_commands_that_exist_and_fits(capfd: pytest.CaptureFixture[str]) -> None:
    """At most 40 lines of 80 columns, and no verb that answers `no command`."""
    assert run(["audit", "--help"]) == 0
    out = capfd.readouterr().out
    assert len(out.splitlines()) <= 40
    assert max(map(len, out.splitlines())) <= 80
    assert "  query      ask: by decision, path, rule, run, time …" in out
    listed = {line.split()[0] for line in out.splitlines() if line.startswith("  ")}
    assert listed - {"·"} <= commands.names()


@pytest.mark.parametrize("verb", sorted(commands.names()))
def test_every_command_explains_itself_within_80_columns(
    verb: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """`--help` of each command is a plain page of at most 60 lines."""
    assert run(["audit", verb, "--help"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith(f"Usage: audit {verb}")
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80


def test_query_help_describes_every_filter(capfd: pytest.CaptureFixture[str]) -> None:
    """A filter that nobody can find is none."""
    from query.filters import FILTERS

    run(["audit", "query", "--help"])
    out = capfd.readouterr().out
    assert all(f"--{filter_.flag} " in out for filter_ in FILTERS)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["qurey"], 'no command "qurey"', "did you mean audit query?"),
        (["rotate"], 'no command "rotate"', "log files rotate by themselves"),
        (["-n", "5"], "no option -n before the command", "audit --help"),
        (["-t"], "no option -t before the command", "audit --help"),
        (["query", "--since", "1 hour ago am"], '--since "1 hour ago am": not a time', "30m"),
        (["query", "--dney"], "no such option: --dney", "audit query --help"),
        (["query", "-n", "many"], "-n many: not a number", "-n 0 all"),
        (["query", "--columns", "polcy", "--json"], "no such column (did you mean policy?)", ""),
        (["query", "--access", "reed"], "did you mean read?", ""),
        (["query", "nonsense"], '"nonsense": no filter and no known sandbox', "KEY:VALUE"),
        (["explain", "99999"], "no event 99999; newest is 4,931", ""),
        (["tail", "--format", "parquet"], "not a stream", "ndjson"),
        (["query", "--format", "xml"], "--format xml: no such format", "csv"),
        (["export", "-o", "/"], "-o /: is a folder", ""),
    ],
)
def test_a_mistake_is_told_in_one_sentence_with_a_way_out(
    story_store: Path, words: list[str], message: str, hint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, nothing on stdout, `PROG: error: …` and a hint on stderr, never a traceback."""
    assert run(["audit", "--store", str(story_store), *words]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("audit: error: ")
    assert message in err
    assert hint in err
    assert "Traceback" not in err


def test_a_mistake_cannot_write_to_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    """A value that we quote back passes the terminal escaper."""
    assert run(["audit", "que\x1b[2Jry"]) == 2
    assert "\x1b" not in capfd.readouterr().err


def test_hints_use_the_name_we_were_called_by(capfd: pytest.CaptureFixture[str]) -> None:
    """With sudo, `audit` is another program."""
    assert run(["/usr/local/bin/sandtrail", "quer"]) == 2
    assert capfd.readouterr().err == (
        'sandtrail: error: no command "quer"\n  hint: did you mean sandtrail query?\n'
    )


def test_hints_of_lower_floors_take_our_name_too(
    story_store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """They cannot know it; paths and file names that hold the word stay."""
    from audit.say import Voice
    from audit_events.errors import StorageError

    Voice("sandtrail", {}).failure(StorageError("x", hint="audit collect /var/audit log.audit a"))
    assert "hint: sandtrail collect /var/audit log.audit a" in capfd.readouterr().err


def test_a_bug_says_type_and_place_and_no_payload(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The text of a foreign exception may quote an event."""

    def broken() -> int:
        raise KeyError("payload SECRET")

    monkeypatch.delenv("AUDIT_DEBUG", raising=False)
    assert run(["audit", "status", "--store", "/"], now=broken) in (1, 5)
    assert run(["audit", "--store", str(ROOT), "status"], now=broken) in (1, 5)
    err = capfd.readouterr().err
    assert "SECRET" not in err
    assert "Traceback" not in err


def test_without_a_store_we_say_where_we_looked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """T2: an empty answer from a store that is not there would be a lie; exit 5."""
    monkeypatch.delenv("AUDIT_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(["audit", "tail"]) == 5
    err = capfd.readouterr().err.splitlines()
    assert err[0] == "audit: error: no store here; looked in"
    assert err[1].split("   ") == ["  --store, AUDIT_STORE", *err[1].split("   ")[1:]]
    assert "does not exist" in err[2]
    assert err[-1].startswith("  hint: nothing was ever collected; try ")


def test_bare_audit_without_a_store_invites(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """G0: exit 0, and only commands that exist."""
    monkeypatch.delenv("AUDIT_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert run(["audit"]) == 0
    out = capfd.readouterr().out.splitlines()
    assert out[:2] == [
        "Sandtrail records what your agents' sandboxes allowed and refused.",
        "Nothing has been collected on this machine yet.",
    ]
    assert out[-1] == "  all commands   audit --help"


def test_a_named_store_that_is_not_there_is_no_beginning(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A wrong --store must not look like a machine without events."""
    assert run(["audit", "--store", str(tmp_path / "none")]) == 5
    assert f"--store {tmp_path / 'none'}   does not exist" in capfd.readouterr().err


def test_global_options_may_stand_anywhere_before_a_double_dash() -> None:
    """`audit query --store X` and `audit --store X query` are the same call."""
    assert split_options(["query", "--store", "X", "-n", "1"]) == (
        {"store": "X"},
        ["query", "-n", "1"],
    )
    assert split_options(["--store=X", "tail", "--", "--store"])[1] == ["tail", "--", "--store"]
    with pytest.raises(UsageError):
        split_options(["query", "--config"])


def test_head_ends_the_answer_quietly(story_store: Path) -> None:
    """`| head -1`: no traceback, no message, the line is whole."""
    words = " ".join(["query", "--json", "-n", "0"])
    for more in ({}, {"PYTHONUNBUFFERED": "1"}):
        done = subprocess.run(
            ["sh", "-c", f"{sys.executable} -m tests.audit.launch {words} | head -1"],
            env=environment(story_store, **more), cwd=ROOT, capture_output=True, text=True,
            check=True, timeout=60,
        )  # fmt: skip
        assert done.stderr == ""
        assert json.loads(done.stdout.rstrip().rstrip(",") + "]")


def test_exit_codes_tell_a_script_what_it_asked(
    own_store: StoryStore, capfd: pytest.CaptureFixture[str]
) -> None:
    """G25: 10 for the asked-for no, 8 as soon as a gap makes the answer doubtful."""
    base = ["audit", "--store", str(own_store.paths.root)]
    asked = [*base, "query", "--deny", "--run", "last", "-s", "agent-demo"]
    assert run([*asked, "--fail-if-any", "--count"]) == 10
    assert capfd.readouterr().out == "5\n"
    assert run([*base, "query", "--process", "nobody", "--fail-if-none"]) == 10
    own_store.gap("unified-log", at("18:00:04"), None, ADMIN)
    now = {"now": lambda: NOW}
    assert run([*base, "query", "--deny", "--since", "1h", "--strict", "--count"], **now) == 8
    assert ADMIN in capfd.readouterr().err
    assert run([*base, "query", "--process", "nobody", "--fail-if-none"], **now) == 8
    assert run([*base, "query", "--deny", "--since", "1h"], **now) == 0


def test_nothing_over_a_gap_is_never_called_nothing(
    own_store: StoryStore, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """T1: the first line names the gap, the exit code is 8."""
    own_store.gap("unified-log", at("17:20:04"), at("17:31:40"), ADMIN)
    words = ["audit", "--store", str(own_store.paths.root), "query", "--pid", "1", "--since", "1h"]
    assert run([*words, "--tz", "Asia/Tokyo"], now=lambda: NOW) == 8
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "no event found, but the record is incomplete: unified-log was unavailable",
        f"17:20:04+09 to 17:31:40+09 (11 m 36 s): {ADMIN}",
    ]


def test_an_empty_answer_says_which_filter_emptied_it(story_store: Path) -> None:
    """T1 on a terminal: how many would match without each filter."""
    seen = watched(["query", "--path", "/nope", "--since", "1h"], environment(story_store))
    assert seen.code == 0
    assert seen.out == ""
    assert seen.err.splitlines()[1:] == [
        "no event matches (searched 17:05+09 to now, 231 events, no gap)",
        "  without --path /nope   231",
        "  without --since 1h       0",
    ]


def test_empty_json_is_still_json(story_store: Path) -> None:
    """A script that parses the answer never meets an empty file."""
    seen = piped(["query", "--pid", "1", "--json"], environment(story_store))
    assert json.loads(seen.out) == []


def test_tail_says_at_once_that_nobody_collects(own_store: StoryStore) -> None:
    """T3: a silent terminal must not be taken for a quiet sandbox."""
    own_store.collector(stopped=at("09:12:40"), heartbeat=at("09:12:40"))
    live = Terminal(["tail", "-f", "-n", "1"], environment(own_store.paths.root))
    for _ in range(400):
        if b"hint" in live.err:
            break
        import time

        time.sleep(0.05)
    own_store.collector()
    for _ in range(400):
        if b"note" in live.err:
            break
        time.sleep(0.05)
    live.interrupt()
    seen = live.finish()
    assert (
        "audit: warning: no collector is running (last one stopped 09:12:40+09, 8 h 52 m ago)"
        in seen.err
    )
    assert "audit: note: collector started 17:05:10+09" in seen.err


def test_following_in_a_pipe_gives_each_event_at_once(own_store: StoryStore) -> None:
    """ndjson is flushed per event, and a gap does not break the stream of data."""
    own_store.collector()
    process = subprocess.Popen(
        command(["tail", "-f", "-n", "1", "--json"]),
        env=environment(own_store.paths.root), cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, bufsize=1,
    )  # fmt: skip
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["seq"] == 4931
    process.send_signal(2)
    out, err = process.communicate(timeout=30)
    assert (out, process.returncode) == ("", 130), err


def test_ctrl_c_while_ctrl_c_is_answered_ends_the_same_way(
    monkeypatch: pytest.MonkeyPatch, story_store: Path
) -> None:
    """A library may turn one signal into two interrupts: 130, never a death by signal."""

    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("audit.main._run", interrupted)
    assert run(["audit", "--store", str(story_store), "status"]) == 130


def test_debug_shows_the_traceback_only_when_asked(
    monkeypatch: pytest.MonkeyPatch, story_store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """AUDIT_DEBUG=1 is for whoever repairs us."""

    def broken() -> int:
        raise RuntimeError("here")

    monkeypatch.setenv("AUDIT_DEBUG", "1")
    assert run(["audit", "--store", str(story_store), "status"], now=broken) == 1
    assert "Traceback" in capfd.readouterr().err
    monkeypatch.delenv("AUDIT_DEBUG")
    assert run(["audit", "--store", str(story_store), "status"], now=broken) == 1
    err = capfd.readouterr().err
    assert err.startswith("audit: error: internal error: RuntimeError at ")
    assert "here" not in err.splitlines()[0].replace("where", "")
    assert os.environ.get("AUDIT_DEBUG") is None


@pytest.mark.parametrize("topic", [*topics(), "query"])
def test_help_on_a_topic_fits_a_screen(topic: str, capfd: pytest.CaptureFixture[str]) -> None:
    """80 columns, and a word that is no topic lists those there are."""
    assert run(["sandtrail", "help", topic]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines
    assert max(map(len, lines)) <= 80
    assert run(["audit", "help", "nonsense"]) == 2
    assert "filters times lines exit" in capfd.readouterr().err


def test_every_exit_code_is_explained(capfd: pytest.CaptureFixture[str]) -> None:
    """A code that nobody can look up is noise."""
    from audit_events.errors import Exit

    run(["audit", "help", "exit"])
    told = {int(line.split()[0]) for line in capfd.readouterr().out.splitlines()}
    assert told == {int(code) for code in Exit}
