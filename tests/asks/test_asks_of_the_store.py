"""What users reported of stores, questions and exports, tried through the real commands.

What is shown elsewhere is listed in tests/asks/test_asks.py.
"""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.asks.askkit import now_text, numbered, sandbox_event
from tests.asks.conftest import Sandbox
from tests.collector.storekit import environment
from tests.collector.trail_check import Writer

# --- the store


def test_a_question_of_a_window_opens_only_the_files_of_the_window(sandbox: Sandbox) -> None:
    """The files of other days may even be gone: nobody looks at them."""
    for day in range(20, 28):
        sandbox.write({"ts": f"2026-07-{day}T10:00:00Z"}, {"ts": f"2026-07-{day}T11:00:00Z"})
    sandbox.house.collect()
    for path in (sandbox.house.root / "events").glob("date=2026-07-2[0-6]/*.parquet"):
        path.unlink()
    asked = sandbox.ask("query", "--count", "--since", "2026-07-27T00:00:00Z")
    assert (asked.code, asked.out.split()[0]) == (0, "2")
    assert sandbox.ask("query", "--count").code == 8


def test_a_time_in_any_unit_lands_in_its_hour(sandbox: Sandbox) -> None:
    """Seconds to nanoseconds, offsets; what is no time is a counted reject, never 1970."""
    moment = datetime(2026, 7, 28, 9, 3, 12, tzinfo=UTC)
    epoch = int(moment.timestamp())
    stamps = [epoch, epoch * 10**3, epoch * 10**6, epoch * 10**9, "2026-07-28T18:03:12+09:00",
              "2026-07-28T09:03:12Z", "2026-07-28T04:03:12.000000-05:00"]  # fmt: skip
    sandbox.write(*({"ts": stamp} for stamp in stamps), {"ts": "yesterday"}, {"ts": -1e300})
    summary = sandbox.house.collect()
    times = {event["ts"] for event in sandbox.ask("query", "--json").events}
    assert times == {"2026-07-28T09:03:12.000000Z"}
    assert (summary.counts.stored, sum(summary.counts.rejected.values())) == (len(stamps), 2)


def test_a_year_of_partitions_with_and_without_a_column_is_one_question(sandbox: Sandbox) -> None:
    """A day where no event has a pid, one where all do: one explicit schema, no binder error."""
    sandbox.write({"ts": "2026-07-26T10:00:00Z"})
    sandbox.house.collect()
    sandbox.write({"ts": "2026-07-27T10:00:00Z", "pid": 5, "uid": 501, "dst": "10.0.0.1:443"})
    sandbox.house.collect()
    events = sandbox.ask("query", "--json").events
    assert [event.get("pid") for event in events] == [None, 5]
    assert sandbox.count("--pid", "5") == 1


def test_host_and_date_together_are_the_intersection(sandbox: Sandbox) -> None:
    """What grep finds by both, a question by both finds."""
    for day in (26, 27):
        for host in ("node-a", "node-b"):
            sandbox.write({"ts": f"2026-07-{day}T10:00:00Z", "host": host})
    sandbox.house.collect()
    window = ["--since", "2026-07-27T00:00:00Z", "--until", "2026-07-28T00:00:00Z"]
    assert sandbox.count("--host", "node-a") == 2
    assert sandbox.count(*window) == 2
    assert sandbox.count("--host", "node-a", *window) == 1


# --- questions and exports


@pytest.mark.parametrize("zone", ["America/Chicago", "Asia/Kolkata"])
def test_the_last_hour_is_the_same_hour_in_every_zone(
    sandbox: Sandbox, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are UTC, the watch is local: same events, and each printed time has an offset."""
    sandbox.write({"ts": now_text(minutes=5), "pid": 1}, {"ts": now_text(minutes=90), "pid": 2})
    sandbox.house.collect()
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert [e["pid"] for e in sandbox.ask("query", "--json", "--since", "1h").events] == [1]
        assert sandbox.ask("query", "--since", "1h").out.split()[0].endswith("Z")
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()


def export_all(sandbox: Sandbox, events: int) -> None:
    """Everything in one file: no cap, and the manifest counts the same."""
    Writer(sandbox.house.folder / "log", rotate_every=1 << 40).write(events)
    sandbox.house.collect()
    out = sandbox.house.folder / "all.ndjson"
    assert sandbox.ask("export", "-o", str(out)).code == 0
    with out.open("rb") as file:
        assert sum(1 for _ in file) == events
    manifest = json.loads(Path(f"{out}.manifest.json").read_bytes())
    assert manifest["rows"] == events


def test_an_export_has_no_cap_and_a_limit_is_told(sandbox: Sandbox) -> None:
    """12,000 events are 12,000 lines; ten of them say that there are more."""
    export_all(sandbox, 12_000)
    ten = sandbox.house.folder / "ten.json"
    asked = sandbox.ask("export", "-n", "10", "-o", str(ten))
    assert "more match" in asked.err
    assert len(json.loads(ten.read_bytes())) == 10


@pytest.mark.torture
@pytest.mark.timeout(600)
def test_an_export_of_250000_has_no_cap(sandbox: Sandbox) -> None:
    """The whole figure."""
    export_all(sandbox, 250_000)


def test_a_night_of_nothing_of_one_and_of_many(sandbox: Sandbox) -> None:
    """Each event goes out once; a night again gives nothing new."""
    sandbox.log.touch()
    sandbox.house.collect()
    got = []
    for night, events in enumerate((0, 1, 1_000, 0)):
        sandbox.write(*numbered(len(got) + 1, len(got) + events))
        sandbox.house.collect()
        out = sandbox.house.folder / f"night{night}.ndjson"
        assert sandbox.ask("export", "--cursor", "siem", "-o", str(out)).code == 0
        got += [json.loads(line)["pid"] for line in out.read_text().splitlines()] if events else []
    assert got == list(range(1, 1_002))


def test_an_export_holds_plain_strings(sandbox: Sandbox) -> None:
    """No field needs a second decoding on the receiver's side, not even bytes that are no UTF-8."""
    sandbox.write(json.dumps({**sandbox_event(), "path": "/w/@"}).encode().replace(b"@", b"\xff"))
    sandbox.house.collect()
    out = sandbox.house.folder / "plain.ndjson"
    sandbox.ask("export", "-o", str(out))
    event = json.loads(out.read_bytes())
    assert event["path"].startswith("/w/")
    assert len(event["path"]) == 4
    assert all(isinstance(value, str | int) for value in event.values())


def test_head_ends_a_long_answer_quietly(sandbox: Sandbox) -> None:
    """A real pipe: no traceback, the line that came is whole, the exit is 0."""
    Writer(sandbox.house.folder / "log", rotate_every=1 << 40).write(8_000)
    sandbox.house.collect()
    ran = subprocess.run(
        ["bash", "-c", '"$0" -m audit.main --store "$1" query -n 0 --format ndjson | head -1;'
         ' echo "${PIPESTATUS[0]}"', sys.executable, str(sandbox.house.root)],
        env={**environment(sandbox.house), "PYTHONUNBUFFERED": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    first, code = ran.stdout.splitlines()
    assert json.loads(first)["pid"] == 1
    assert (code, ran.stderr) == ("0", "")


def test_a_sandbox_that_is_gone_is_still_answered_for(sandbox: Sandbox) -> None:
    """Its log is deleted with it; the record stays."""
    sandbox.write({"sandbox": "short-lived"}, {"sandbox": "other"})
    sandbox.house.collect()
    sandbox.log.unlink()
    sandbox.house.collect()
    out = sandbox.house.folder / "gone.json"
    assert sandbox.ask("export", "--sandbox", "short-lived", "-o", str(out)).code == 0
    assert len(json.loads(out.read_bytes())) == 1


def test_a_store_that_cannot_be_written_is_no_silence(sandbox: Sandbox) -> None:
    """An error before anything is read, not an empty success."""
    sandbox.write({"pid": 1})
    (sandbox.house.folder / "store").write_bytes(b"in the way")
    asked = sandbox.ask("collect", "--once", str(sandbox.log))
    assert asked.code == 5
    assert os.fspath(sandbox.house.root) in asked.err
