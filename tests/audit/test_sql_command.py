"""`audit sql` as typed: tables, data, words for what it will not do."""

import json
from pathlib import Path

import pytest

from audit.main import run
from tests.audit.terminal import environment, piped, watched

RULES = (
    "SELECT policy_rule, count(*) AS n FROM events WHERE decision = 'deny' GROUP BY ALL ORDER BY 1"
)


def test_a_table_on_a_terminal_says_how_many_rows(story_store: Path) -> None:
    """Numbers flush right, a null as a dash, the number of rows on stderr."""
    seen = watched(["sql", RULES], environment(story_store))
    assert seen.lines == [
        "policy_rule              n",
        "filesystem.deny[1]       3",
        "network.egress.deny-all  1",
        "process.default-deny     1",
        "-                        2",
    ]
    assert seen.err.splitlines() == ["4 rows"]


def test_data_formats_write_times_as_all_others_do(story_store: Path) -> None:
    """RFC 3339 UTC with six digits; null keys left out."""
    words = ["sql", "SELECT seq, ts, tool FROM events WHERE seq = 4712", "--json"]
    assert json.loads(piped(words, environment(story_store)).out) == [
        {"seq": 4712, "ts": "2026-07-28T09:03:12.512000Z"}
    ]


def test_a_statement_may_come_on_stdin(story_store: Path) -> None:
    """`-`, as everywhere; values of every kind are JSON."""
    statement = b"SELECT [1, 2] AS l, {'a': 1.5} AS s, DATE '2026-01-01' AS d, count(*) AS ts"
    seen = piped(["sql", "-", "--json"], environment(story_store), statement)
    assert json.loads(seen.out) == [{"l": [1, 2], "s": {"a": 1.5}, "d": "2026-01-01", "ts_1": 1}]


def test_hostile_values_stay_text(story_store: Path) -> None:
    """Names and values that a statement makes up cannot move the cursor."""
    made_up = "SELECT chr(27) || '[2J' AS \"a\x1b[1m\""
    for more in ([], ["--json"], ["--format", "csv"], ["--format", "markdown"]):
        assert "\x1b" not in watched(["sql", made_up, *more], environment(story_store)).out


def test_what_is_no_select_is_refused(story_store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Exit 6 with what is wanted instead; 2 for a flag that is off."""
    base = ["audit", "--store", str(story_store), "sql"]
    assert run([*base, "DELETE FROM events"]) == 6
    assert "DELETE is no SELECT; the record is read-only" in capfd.readouterr().err
    assert run([*base, "SELECT polcy FROM events"]) == 6
    assert 'referenced column "polcy" not found' in capfd.readouterr().err
    assert run([*base, "SELECT 1", "--format", "parquet"]) == 2
