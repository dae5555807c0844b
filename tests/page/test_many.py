"""100,000 events in the window: the list scrolls, and only what is in sight is in the document."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.page.conftest import Visit
from tests.page.world import World, served, stamp

MANY = 100_000
MAX_ROWS_IN_DOCUMENT = 150
SCROLL = """steps => new Promise(done => {
    const grid = document.querySelector('#grid'), frames = [];
    let left = steps, last = performance.now();
    const step = () => {
        const now = performance.now();
        frames.push(now - last);
        last = now;
        grid.scrollTop += 900;
        if (left-- > 0) requestAnimationFrame(step);
        else done(frames.slice(1).sort((a, b) => a - b));
    };
    requestAnimationFrame(step);
})"""


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    world = World(tmp_path_factory.mktemp("busy"))
    start = datetime.now(UTC) - timedelta(hours=2)
    world.write(
        *(
            {
                "ts": stamp(start + timedelta(milliseconds=60 * number)), "sandbox": "agent-demo",
                "syscall": "open", "resource": "filesystem", "access": "read",
                "decision": "deny" if number % 50 == 0 else "allow",
                "path": f"/workspace/Sources/App/Feature/File{number}.swift", "process": "rg",
                "pid": 9, "policy_rule": "filesystem.allow[0]", "enforcer": "openclaw",
            }
            for number in range(MANY)
        )
    )  # fmt: skip
    world.audit("collect", str(world.log), "--once")
    with served(world):
        yield world


def test_a_hundred_thousand_rows_scroll(busy: World, visit: Any) -> None:
    """All of them are reached by `End`, pages are fetched on the way, few rows are elements."""
    seen: Visit = visit(busy, "/?since=all")
    page = seen.page
    seen.ready()
    page.keyboard.press("j")
    for _ in range(80):
        if page.locator("#foot").inner_text().startswith("all"):
            break
        held = page.locator("#foot").inner_text()
        page.keyboard.press("End")
        seen.until("document.querySelector('#foot').textContent !== arg", held)
    assert "100,000" in page.locator("#foot").inner_text()
    page.keyboard.press("End")
    page.wait_for_selector("#row-1")
    assert page.locator("#grid .row").count() <= MAX_ROWS_IN_DOCUMENT
    page.keyboard.press("Home")
    frames = page.evaluate(SCROLL, 240)
    print(
        f"100,000 rows, 240 steps of 900 px: frame median {frames[120]:.1f} ms,"
        f" p95 {frames[228]:.1f} ms, worst {frames[-1]:.1f} ms"
    )
    print(f"heap {page.evaluate('performance.memory.usedJSHeapSize') / 1e6:.0f} MB")
    # A frame that takes this long is no scrolling any more, on any machine.
    assert frames[120] < 100
    assert page.locator("#grid .row").count() <= MAX_ROWS_IN_DOCUMENT


def test_the_first_rows_come_before_the_rest(busy: World, visit: Any) -> None:
    """The first answer is small: the newest rows with the columns of the list only."""
    seen: Visit = visit(busy, "/?since=all")
    seen.ready()
    with seen.page.expect_response(lambda answer: "/v1/events?" in answer.url) as first:
        seen.page.reload()
    body = first.value.json()
    assert len(body["events"]) == 200
    assert "source_position" not in body["events"][0]
    seen.page.wait_for_selector("#grid .row .c-seq:not(:empty)")
    shown = seen.page.evaluate("performance.now()")
    print(f"first rows of {MANY:,} after {shown:.0f} ms")
