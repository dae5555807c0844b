"""The rules of a line, one by one: cutting, folding, merging, colours, times."""

from datetime import UTC, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from audit import render_time as times
from audit.render import Look, Renderer
from audit.render_fold import MAX_KEYS, LiveFold, fold, line_of, merge
from audit.render_pipe import pipe_line
from audit.render_style import ASCII, UNICODE
from audit.render_width import fit_target, graphemes, keep_end, keep_start, width
from audit.say import speaks_utf8, wants_colour

JST = timezone(timedelta(hours=9))
T0 = 1_785_229_392_000_000  # 2026-07-28T09:03:12Z
SWIFT = "/workspace/Sources/App/Feature/Settings/SettingsViewController.swift"


def row(seq: int, after_us: int = 0, **values: Any) -> dict[str, Any]:
    """A small deny."""
    return {
        "event_id": f"7kq2m-{seq}", "seq": seq, "ts": T0 + after_us, "kind": "decision",
        "sandbox": "agent", "correlation_id": "run-1", "decision": "deny", "access": "read",
        "path": "/etc/passwd", "policy_rule": "filesystem.deny[0]", "count": 1, **values,
    }  # fmt: skip


def lines(rows: list[dict[str, Any]], **look: Any) -> list[str]:
    """The rows on a terminal, folded and merged."""
    drawn = Look(zone=JST, today="2026-07-28", **look)
    return list(Renderer(drawn).text(fold(merge(rows))))


def test_a_layer_that_came_late_is_the_one_that_is_shown() -> None:
    """The system told first and knows no sandbox; the line says what the layer knows."""
    system = row(1, sandbox="-", policy_rule=None, enforcer="seatbelt")
    late = row(2, after_us=900, link="report", linked_seq=1)
    (line,) = merge([system, late])
    assert (line.row["seq"], line.reported) == (2, True)


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("/Users/agent/.ssh/id", 20, "/Users/agent/.ssh/id"),
        ("/Users/agent/.ssh/id", 19, "…/agent/.ssh/id"),
        ("/Users/someone.longer/.ssh/id", 18, "/Users/…/.ssh/id"),
        ("/Users/someone.longer/.ssh/id", 12, "…/.ssh/id"),
        ("/Users/someone.longer/.ssh/id", 5, "…/id"),
        (SWIFT, 31, "…/SettingsViewController.swift"),
        (SWIFT, 20, "…iewController.swift"),
        ("/w/[REDACTED:openclaw-token:3fa94c1d22b0].json", 20, "/w/[REDACTED].json"),
        ("/w/[REDACTED:a-token:3fa94c1d22b0]xx", 9, "…xx"),
        ("com.apple.networkd", 8, "…etworkd"),
        ("/日本/語", 7, "…/語"),
    ],
)
def test_targets_are_cut_at_components(text: str, cells: int, shown: str) -> None:
    """As many whole trailing components as fit, the first one too where that costs none."""
    assert fit_target(text, cells) == shown


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60), st.integers(2, 70))
@example("/a/" + "b" * 50, 2)
@example("/e\u0301/日本/👩‍👩‍👧", 5)
@example("x" * 9 + "\x1f\U000e0000", 2)
def test_nothing_cut_is_wider_than_its_room_or_splits_a_character(text: str, cells: int) -> None:
    """Cells hold; what is shown is made of whole characters of the text."""
    for shown in (fit_target(text, cells), keep_start(text, cells), keep_end(text, cells)):
        assert width(shown) <= cells
    start = keep_start(text, cells)
    if start != text:
        whole = list(graphemes(text))
        assert "".join(whole).startswith(start.removesuffix("…"))
        assert start.removesuffix("…") in {"".join(whole[:n]) for n in range(len(whole) + 1)}


def test_repeats_fold_and_the_first_stands_for_them() -> None:
    """×N counts records; a pause of a second ends it."""
    rows = [row(1), row(2, 500_000), row(3, 1_400_000), row(4, 2_500_000)]
    assert lines(rows) == [
        "── agent · run run-1",
        "18:03:12+09 DENY  read    /etc/passwd              ×3  filesystem.deny[0]      1",
        "18:03:14+09 DENY  read    /etc/passwd                  filesystem.deny[0]      4",
    ]


def test_two_decisions_never_share_a_line() -> None:
    """A fold that hides an allow among denies would lie."""
    shown = lines([row(1), row(2, 1, decision="allow"), row(3, 2)])
    assert [line.split()[1] for line in shown[1:]] == ["DENY", "allow"]
    assert "×2" in shown[1]
    assert "×" not in shown[2]


def test_no_fold_reaches_across_a_gap() -> None:
    """What may be missing in between must stay visible."""
    gap = {"kind": "gap", "seq": 2, "ts": T0 + 1, "source": "layer", "message": "down",
           "until": T0 + 2_000_001}  # fmt: skip
    shown = lines([row(1), gap, row(3, 3)])
    assert len(shown) == 4
    assert shown[2] == "18:03:12+09 gap   layer: down" + " " * 40 + "  2s      2"
    assert len(shown[2]) == 80


def test_a_gap_that_is_no_row_of_the_answer_breaks_a_fold_too() -> None:
    """A filter may hide the gap, not what it means."""
    rows = [row(1), row(2, 10), row(3, 20)]
    assert [line.times for line in fold(merge(rows), [T0 + 15])] == [2, 1]
    assert [line.times for line in fold(merge(rows), [T0 + 99])] == [3]


def test_a_report_joins_its_event_and_stays_alone_without_it() -> None:
    """+os from 100 columns on; a report whose event is not in the answer is a line."""
    report = row(2, 1, link="report", linked_seq=1, enforcer="seatbelt")
    assert "+os" in lines([row(1), report], columns=120)[0]
    assert len(lines([row(1), report], columns=120)) == 1
    assert len(lines([report], columns=120)) == 1


def test_a_day_change_is_announced() -> None:
    """Midnight of the display zone, and at the top if the first event is not from today."""
    shown = lines([row(1), row(2, 7 * 3600 * 1_000_000)], columns=120)
    assert shown[1] == "── 2026-07-29 Wed +09:00"
    assert next(Renderer(Look(120, JST, today="2026-08-01")).text([line_of(row(1))])) == (
        "── 2026-07-28 Tue +09:00"
    )


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({}, "filesystem.deny[0]"),
        ({"rule_origin": "derived"}, "~filesystem.deny[0]"),
        ({"flags": "asked,rule-mismatch"}, "!filesystem.deny[0]"),
        ({"policy_rule": None, "enforcer": "seatbelt"}, "(seatbelt)"),
        ({"policy_rule": None}, "-"),
    ],
)
def test_the_rule_column_says_where_the_rule_comes_from(values: dict[str, Any], shown: str) -> None:
    """Reported, derived, at odds, or only who decided."""
    assert lines([row(1, **values)])[1].split()[-2] == shown


def test_the_rule_is_never_cut() -> None:
    """A rule longer than the line moves the target below instead."""
    rule = "filesystem.deny[" + "9" * 60 + "]"
    assert rule in "".join(lines([row(1, policy_rule=rule)]))


def test_a_filter_that_pins_the_run_needs_no_heading() -> None:
    """The heading would repeat the command line."""
    assert lines([row(1)], pinned=True)[0].startswith("18:03:12+09 DENY")


def test_colour_never_carries_the_meaning_alone() -> None:
    """Without the escapes the coloured line is the plain line."""
    import re

    rows = [row(1), row(2, 1, decision="allow", path="/w/[REDACTED:x:1]"), row(3, 2, decision=None)]
    coloured = lines(rows, colour=True)
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured] == lines(rows)
    assert "\x1b[1;31mDENY " in coloured[1]
    assert "\x1b[36m[REDACTED:x:1]" in coloured[2]


def test_a_pipe_line_has_nine_columns_even_of_an_empty_event() -> None:
    """A missing value is a dash, so that columns stay where they are."""
    bare = {"seq": 1, "ts": T0, "kind": "decision"}
    assert pipe_line(bare, UNICODE) == "2026-07-28T09:03:12.000000Z  ?  -  -  -  -  -  -  1"


def test_live_the_first_is_shown_at_once_and_repeats_are_told_later() -> None:
    """Quiet for a second, or every five seconds while it goes on."""
    live = LiveFold()
    assert len(live.feed(row(1), 0)) == 1
    assert [live.feed(row(n, n), n) for n in range(2, 5)] == [[], [], []]
    assert live.tick(500_000) == []
    (told,) = live.tick(1_100_000)
    assert (told.times, told.last_seq, told.more_us) == (3, 4, 2)
    assert len(live.feed(row(5), 1_200_000)) == 1
    for step in range(1, 60):
        live.feed(row(5 + step), 1_200_000 + step * 100_000)
        if found := live.tick(1_200_000 + step * 100_000):
            assert step == 50
            assert found[0].times == 50


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2_000_000)), max_size=40))
def test_live_folding_loses_no_event(steps: list[tuple[int, int]]) -> None:
    """Property: the numbers on the lines add up to the events, in any rhythm."""
    live, now, shown = LiveFold(), 0, 0
    for seq, (kind, wait) in enumerate(steps, 1):
        now += wait
        shown += sum(line.times for line in live.tick(now))
        shown += sum(line.times for line in live.feed(row(seq, now, pid=kind), now))
    shown += sum(line.times for line in live.flush())
    assert shown == len(steps)


def test_live_folding_remembers_a_bounded_number_of_operations() -> None:
    """An agent that touches a million files cannot fill our memory."""
    live = LiveFold()
    shown = 0
    for n in range(MAX_KEYS * 2):
        shown += len(live.feed(row(2 * n, path=f"/{n}"), 0))
        shown += sum(line.times for line in live.feed(row(2 * n + 1, path=f"/{n}"), 0))
    shown += sum(line.times for line in live.flush())
    assert len(live._repeats) == 0
    assert shown == MAX_KEYS * 4


@pytest.mark.parametrize(
    ("micros", "shown"),
    [(34, "34µs"), (1_200, "1.2ms"), (4_800_000, "4.8s"), (7_000_000, "7s"),
     (130_000_000, "2m10s"), (18_180_000_000, "5h03m"), (273_600_000_000, "3d04h")],
)  # fmt: skip
def test_durations_have_no_blank(micros: int, shown: str) -> None:
    """So that a column stays a column."""
    assert times.duration(micros) == shown


def test_half_hour_zones_show_their_minutes() -> None:
    """+0530 is not +05."""
    assert times.clock(T0, ZoneInfo("Asia/Kolkata")) == "14:33:12+0530"
    assert times.clock(T0, UTC, millis=True) == "09:03:12.000+00"


@pytest.mark.parametrize(
    ("environ", "speaks"),
    [
        ({"LANG": "en_US.UTF-8"}, True),
        ({"LC_ALL": "C", "LANG": "en_US.UTF-8"}, False),
        ({}, False),
        ({"LC_CTYPE": "C.UTF-8"}, False),
        ({"LC_ALL": "C.UTF-8"}, True),
        ({"PYTHONIOENCODING": "utf-8"}, True),
    ],
)
def test_a_lost_locale_means_ascii(environ: dict[str, str], speaks: bool) -> None:
    """Python itself claims UTF-8 under LC_ALL=C; the locale's variables know better."""
    assert speaks_utf8(environ, "utf-8") is speaks


def test_no_color_and_dumb_terminals_are_respected() -> None:
    """And a choice on the command line beats both."""

    class Tty:
        def isatty(self) -> bool:
            return True

    tty: Any = Tty()
    assert wants_colour({"TERM": "xterm"}, tty)
    assert not wants_colour({"TERM": "xterm", "NO_COLOR": "1"}, tty)
    assert not wants_colour({"TERM": "dumb"}, tty)
    assert wants_colour({"NO_COLOR": "1"}, tty, "always")


def test_ascii_lines_are_ascii_and_as_wide() -> None:
    """Every sign has a twin, and other characters are escaped."""
    shown = lines([row(1, path="/日本/" + "x" * 80)], glyphs=ASCII)
    assert all(line.isascii() for line in shown)
    assert len(shown[-1]) == 80


def test_runs_that_only_the_system_knows_are_told_apart_by_pid() -> None:
    """Eight characters of `os:BOOT:PID:START` would say nothing; no sandbox is said in words."""
    rows = [row(n, n, sandbox="-", correlation_id=f"os:-:8375{n}:1{n}") for n in (1, 2)]
    assert [line for line in lines(rows) if line.startswith("──")] == [
        "── no sandbox · run os:-:83751",
        "── no sandbox · run os:-:83752",
    ]
