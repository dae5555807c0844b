"""A gap is seen whatever the filter: in the strip, on the timeline, under the list, when empty."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.page.conftest import Visit
from tests.page.world import World, served, story

REASON = "Must be admin to run 'stream' command"
# Pixels of the canvas in the colour of the hatching.
HATCHED = """() => {
    const canvas = document.querySelector('#chart canvas');
    const wanted = getComputedStyle(document.documentElement).getPropertyValue('--gap-line').trim();
    const rgb = [1, 3, 5].map(at => parseInt(wanted.slice(at, at + 2), 16));
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
        if (rgb.every((value, part) => Math.abs(data[at + part] - value) < 24)) count += 1;
    }
    return count;
}"""


@pytest.fixture(scope="module")
def holed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A store whose record has an open gap of ten minutes."""
    world = World(tmp_path_factory.mktemp("holed"))
    now = datetime.now(UTC)
    world.write(*story(now - timedelta(minutes=1)))
    world.audit("collect", str(world.log), "--once")
    since = int((now - timedelta(minutes=10)).timestamp() * 1_000_000)
    with closing(sqlite3.connect(world.folder / "store" / "spool.db")) as con, con:
        con.execute(
            "INSERT INTO gaps (source, from_ts, reason) VALUES (?, ?, ?)",
            ("unified-log", since, REASON),
        )
    with served(world):
        yield world


def test_an_open_gap_is_told_and_hatched(holed: World, visit: Any) -> None:
    """INCOMPLETE in the strip, a band over the bars, a note under the list."""
    seen: Visit = visit(holed, "/?since=1h&q=deny")
    seen.ready()
    page = seen.page
    strip = page.locator("#strip").inner_text()
    assert "INCOMPLETE unified-log since" in strip
    assert REASON in strip
    assert "record incomplete: 1 gap" in page.locator("#foot").inner_text()
    assert page.evaluate(HATCHED) > 100
    page.locator("#foot a").click()
    page.wait_for_selector("#view-record table")
    assert REASON in page.locator("#view-record").inner_text()


def test_no_answer_over_a_gap_is_never_no(holed: World, visit: Any) -> None:
    """An empty list names the gap before anything else."""
    seen: Visit = visit(holed, "/?since=1h&q=path:/nowhere")
    seen.page.wait_for_selector(".ways dd")
    text = seen.page.locator("#empty").inner_text()
    assert text.startswith("No event found, but the record is incomplete")
    assert REASON in text
    assert "No event matches" not in text


def test_without_a_gap_nothing_is_hatched(world: World, visit: Any) -> None:
    """The counterpart, so that the pixels mean something."""
    seen: Visit = visit(world, "/?since=1h")
    seen.ready()
    assert seen.page.evaluate(HATCHED) == 0
