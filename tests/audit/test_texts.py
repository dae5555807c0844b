"""The texts a person meets when there is nothing, no store, no time, no such word (T1 to T14)."""

import fcntl
import json
import os
import re
from pathlib import Path

import pytest

from audit.main import run
from tests.audit.story import DAY, NOW, StoryStore, at, story
from tests.audit.terminal import Seen, Terminal, environment, piped, watched


def told(store: Path | None, *words: str, home: str | None = None) -> tuple[int, list[str]]:
    """Exit code and stderr of a command on a terminal, without its header."""
    more = {"HOME": home} if home else {}
    seen: Seen = watched(words, environment(store, **more))
    return seen.code, [line for line in seen.err.splitlines() if not re.search(" 7kq2m$", line)]


def test_t1_every_filters_share_and_the_wrong_home(story_store: Path) -> None:
    """`~` is the home of who asks, not of the agent; the last line can be pasted."""
    words = ("query", "--deny", "--path", "/Users/oncall/.ssh", "--since", "1h")
    assert told(story_store, *words, home="/Users/oncall") == (0, [
        "no event matches (searched 17:05+09 to now, 231 events, no gap)",
        "  without --deny                      0",
        "  without --path /Users/oncall/.ssh   7",
        "  without --since 1h                  0",
        "  note: ~ is your home (/Users/oncall); agents here use /Users/agent",
        '  try:  audit query --deny --path "**/.ssh"',
    ])  # fmt: skip
    pasted = piped(("query", "--deny", "--path", "**/.ssh"), environment(story_store))
    assert len(pasted.lines) == 4


def test_t1_is_the_same_for_all_ways_to_ask_for_all(story_store: Path) -> None:
    """However the answer was read, it says how much was searched."""
    for more in (["-n", "0"], ["-n", "0", "--json"], ["--columns", "seq"], []):
        err = piped(["query", "--process", "nobody", *more], environment(story_store)).err
        assert err == "no event matches (searched the beginning to now, 231 events, no gap)\n"
    err = piped(["export", "--process", "nobody"], environment(story_store)).err
    assert err == "no event matches (searched the beginning to now, 231 events, no gap)\n"


def test_t1_says_up_to_when_anybody_collected(own_store: StoryStore) -> None:
    """Nothing found since the collector ended is no good news; before that it is."""
    own_store.collector(stopped=at("18:04:00"), heartbeat=at("18:04:00"))
    ask = ["query", "--process", "nobody", "--since", "18:00"]
    env = environment(own_store.paths.root)
    assert piped(ask, env).err == (
        "no event matches (searched 18:00:00+09 to now, 231 events,"
        " no gap up to 18:04:00+09; nothing was collected since)\n"
    )
    until = [*ask, "--until", "18:03"]
    assert piped(until, env).err.endswith(", 231 events, no gap)\n")


def test_t1_a_sandbox_that_never_was(story_store: Path) -> None:
    """Most likely a slip of the finger."""
    code, lines = told(story_store, "query", "-s", "agent-dmeo")
    assert (code, lines) == (0, [
        'no event from sandbox "agent-dmeo", ever;',
        "  known: agent-demo, build-2, build-1 (did you mean agent-demo?)",
    ])  # fmt: skip


def test_t1_counting_shares_is_bounded(story_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large store keeps nobody waiting: what is not counted in time is left out."""
    monkeypatch.setattr("audit.nothing.MAX_SEARCH_S", 0.0)
    from audit.asking import Question
    from audit.nothing import _shares
    from audit_events.layout import StorePaths
    from query.contracts import Window
    from query.times import display_zone

    asked = Question({"pid": ("1",)}, Window(), display_zone())
    assert list(_shares(StorePaths(story_store), asked)) == []


def test_t2_a_store_that_belongs_to_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Root's store is named with its owner, and the way in does not say `sudo audit`."""
    theirs = tmp_path / "system"
    theirs.mkdir()
    monkeypatch.delenv("AUDIT_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("audit.wiring._SYSTEM_DATA", theirs)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != theirs)
    assert run(["audit", "tail"], now=lambda: int(theirs.stat().st_mtime * 1e6) + 2_000_000) == 5
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "audit: error: no store here; looked in"
    assert re.sub(" {2,}", "  ", lines[3]) == f"  {theirs}  belongs to root, written 2.0 s ago"
    assert lines[4] == (
        '  hint: sudo sandtrail tail      (with sudo, "audit" would be Apple\'s /usr/sbin/audit)'
    )


def test_t2_nothing_was_ever_collected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The last line says how to begin."""
    monkeypatch.delenv("AUDIT_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert run(["audit", "query"]) == 5
    assert capfd.readouterr().err.splitlines()[-1] == (
        '  hint: nothing was ever collected; try "audit demo", or "audit setup" to begin'
    )


def test_t3_nobody_collects_is_said_at_once(own_store: StoryStore) -> None:
    """With since when, and both ways to begin; the tail goes on."""
    own_store.collector(stopped=at("09:12:40"), heartbeat=at("09:12:40"))
    live = Terminal(["tail", "-f", "-n", "1"], environment(own_store.paths.root))
    _until(live, b"hint")
    live.interrupt()
    told = [line for line in live.finish().err.splitlines() if not line.endswith(" 7kq2m")]
    assert told[:2] == [
        "audit: warning: no collector is running (last one stopped 09:12:40+09, 8 h 52 m ago)",
        "  hint: sandtrail service install      or, by hand: audit collect FILE",
    ]


def test_t3_a_collector_that_comes_back_says_what_nobody_read(own_store: StoryStore) -> None:
    """With the gap's number, so that one can look at it."""
    own_store.collector(stopped=at("09:12:40"), heartbeat=at("09:12:40"))
    live = Terminal(["tail", "-f", "-n", "1"], environment(own_store.paths.root))
    _until(live, b"hint")
    own_store.gap("openclaw", at("09:12:40"), at("17:05:09"), "collector stopped")
    own_store.con.execute("UPDATE gaps SET seq = 4932")
    own_store.collector()
    _until(live, b"note")
    live.interrupt()
    assert (
        "audit: note: collector started 17:05:10+09; nothing was read from 09:12:40+09 to"
        " 17:05:10+09 (gap #4932)" in live.finish().err
    )


def _until(live: Terminal, word: bytes) -> None:
    import time

    for _ in range(400):
        if word in live.err:
            return
        time.sleep(0.05)


def test_t4_and_t5_times_that_cannot_be(story_store: Path) -> None:
    """No time, a time to come, a window that holds nothing: each with what it was taken for."""
    code, lines = told(story_store, "query", "--since", "1 hour ago am")
    assert (code, lines) == (2, [
        'audit: error: --since "1 hour ago am": not a time',
        '  hint: 30m 1h30m 2d 1w · 02:00 · "2026-07-28 02:00" · 2026-07-28T02:00+09:00'
        ' · "2 hours ago" · now today yesterday',
    ])  # fmt: skip
    code, lines = told(story_store, "query", "--since", "2026-07-29T02:00+09:00")
    machine = "Mac" if os.uname().sysname == "Darwin" else "machine"
    assert code == 0
    assert lines[0] == (
        "audit: warning: --since 2026-07-29T02:00+09 is 7 h 54 m in the future"
        f" (this {machine} says 2026-07-28T18:05:10+09)"
    )
    code, lines = told(story_store, "query", "--since", "10:00", "--until", "09:00")
    assert (code, lines) == (2, [
        f"audit: error: --since {DAY}T10:00+09 is not before --until {DAY}T09:00+09:"
        " an empty window"
    ])  # fmt: skip


def test_t6_a_time_without_a_zone_is_shown_as_what_it_became(story_store: Path) -> None:
    """In the header, where every answer has it."""
    seen = watched(["query", "--since", "2026-07-28 17:00", "-n", "1"], environment(story_store))
    assert seen.err.splitlines()[0] == "17:00+09 to now · mini-tokyo-07 · 7kq2m"


def test_t7_a_terminal_gets_nothing_binary_and_nothing_endless(
    story_store: Path, tmp_path: Path
) -> None:
    """Two refusals, each with the way out."""
    assert told(story_store, "export", "--format", "parquet") == (
        2, ["audit: error: parquet on a terminal", "  hint: -o FILE"],
    )  # fmt: skip
    rows = [{**story()[0], "seq": seq} for seq in range(1, 1202)]
    many = StoryStore(tmp_path / "many", rows)
    code, lines = told(many.paths.root, "export", "--format", "ndjson")
    many.close()
    assert (code, lines) == (2, [
        "audit: error: this would print 1,201 events on your terminal",
        "  hint: -o FILE, | less, or -n 100",
    ])  # fmt: skip


def test_t8_a_second_collector_is_told_who_writes(tmp_path: Path) -> None:
    """Exit 5, with process, version and since when."""
    log = tmp_path / "log.jsonl"
    log.write_text("")
    env = environment(tmp_path / "store", XDG_CONFIG_HOME=str(tmp_path))
    assert piped(["collect", str(log), "--once"], env).code == 0
    with (tmp_path / "store" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.truncate()
        holder = {"pid": 812, "version": "1.2.0", "since": NOW // 1_000_000}
        lock.write(json.dumps(holder))
        lock.flush()
        seen = piped(["collect", str(log), "--once"], env)
    assert seen.code == 5
    assert re.fullmatch(
        r"audit: error: store [0-9a-z]{5} is being written by pid 812 \(sandtrail 1\.2\.0,"
        r" since 2026-07-28T18:05\+09:00\)\n  hint: .*\n",
        seen.err,
    )


def test_t10_a_damaged_file_makes_the_answer_partial(own_store: StoryStore) -> None:
    """Exit 8, the file and how much is missing; the rest is shown."""
    rows = story()
    own_store.con.execute("DELETE FROM batches")
    own_store.append(rows[-1:])
    own_store.seal(rows[:-1], 4930).write_bytes(b"")
    code, lines = told(own_store.paths.root, "query", "--run", "7f3a91c2")
    assert code == 8
    assert lines[-2].startswith(
        f"audit: warning: partial: events/date={DAY}/story.parquet is damaged (230 events"
    )
    assert lines[-1].startswith("  hint: ")


def test_t11_a_store_of_a_newer_schema_is_left_alone(own_store: StoryStore) -> None:
    """Exit 5, both versions."""
    own_store.meta(schema_version=2)
    assert told(own_store.paths.root, "query") == (5, [
        "audit: error: store 7kq2m has schema 2, this is sandtrail 0.1.0 (schema 1)",
        "  hint: uv tool upgrade sandtrail",
    ])  # fmt: skip


def test_t12_to_t14_words_that_are_none(story_store: Path) -> None:
    """A command, a column, an event."""
    code, lines = told(story_store, "rotate")
    assert (code, lines[0]) == (2, 'audit: error: no command "rotate"')
    assert lines[1].startswith("  hint: which one?  a leaked secret: audit secrets find -")
    assert lines[1].endswith("  ·  log files rotate by themselves")
    assert told(story_store, "stats", "--by", "polcy") == (2, [
        "audit: error: --by polcy: no such column (did you mean policy?)",
        "  hint: audit stats --by help",
    ])  # fmt: skip
    assert told(story_store, "explain", "99999") == (
        2, ["audit: error: no event 99999; newest is 4,931"],
    )  # fmt: skip


def test_t14_an_event_that_retention_removed(own_store: StoryStore) -> None:
    """When, why, and how much went with it."""
    own_store.con.execute(
        "INSERT INTO removals VALUES ('2026-04-01', ?, 41002, 1, 4000, 'retention (90 d)', '')",
        (at("10:00", "2026-07-01"),),
    )
    assert told(own_store.paths.root, "explain", "12")[1] == [
        "audit: error: event 12 was removed on 2026-07-01T10:00+09 by retention (90 d); its day had"
        " 41,002 events"
    ]


def test_an_explanation_fits_into_a_ticket(story_store: Path) -> None:
    """`--format markdown`: the same page, in a block that no name in it can end."""
    plain = piped(["explain", "4712"], environment(story_store)).lines
    seen = piped(["explain", "4712", "--format", "markdown"], environment(story_store)).lines
    assert seen == ["**audit explain 7kq2m-4712**", "", "```text", *plain, "```"]
    from audit.markdown import fenced

    assert fenced(["a ```` b"])[0] == "`````text"
