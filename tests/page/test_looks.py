"""How the page looks: contrast, small screens, large letters, and the pictures of docs/page.md."""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.page.conftest import PHONE, Visit, collected
from tests.page.world import World

CONTRAST = (Path(__file__).parent / "contrast.js").read_text().split("\n", 1)[1]
IMAGES = Path(__file__).parents[2] / "docs" / "images"
VIEWS = {
    "events": ("/?since=1h", "#tops .top-list"),
    "event": ("/?since=1h&q=deny", "#panel .yaml .is-marked"),
    "runs": ("/?view=runs", "#view-runs table"),
    "run": ("/?view=runs&run=7f3a91c2", ".story"),
    "policies": ("/?view=policies", ".yaml.has-hits"),
    "record": ("/?view=record", "#view-record table"),
    "empty": ("/?q=deny+path:/nowhere", ".ways dd:nth-of-type(3)"),
}
# 1280 x 800 with letters of 200 % is a window of 640 x 400.
SCREENS = {"phone": PHONE, "zoomed": {"width": 640, "height": 400}}
SIDEWAYS = """() => {
    const wide = document.documentElement.clientWidth;
    const out = [...document.querySelectorAll('body *')].filter(node => node.checkVisibility()
        && node.getBoundingClientRect().right > wide + 1
        && !node.closest('.strip, .scroll, .yaml, pre, .row, .foot, .hidden, .chart, .near'));
    const over = document.documentElement.scrollWidth - wide;
    return {over, out: out.map(node => node.className || node.tagName)};
}"""


def opened(visit: Any, world: World, view: str, **options: Any) -> Visit:
    path, stands = VIEWS[view]
    seen: Visit = visit(world, path, **options)
    if view == "event":
        seen.ready()
        seen.rows().filter(has_text="id_ed25519").first.click()
    seen.page.wait_for_selector(stands, state="attached")
    if "view=" not in path:
        seen.ready()
    return seen


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_text_stands_out_as_wcag_aa_asks(world: World, visit: Any, view: str, scheme: str) -> None:
    """4.5 to 1, large letters 3 to 1, computed from the styles of all that is seen."""
    seen = opened(visit, world, view, color_scheme=scheme)
    found = seen.page.evaluate(CONTRAST)
    assert found["checked"] > 15
    assert found["wrong"] == []


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_the_switch_overrides_the_system(world: World, visit: Any, theme: str) -> None:
    """The chosen look is kept over a reload and has the same contrast."""
    other = "light" if theme == "dark" else "dark"
    seen = opened(visit, world, "events", color_scheme=other)
    page = seen.page
    page.click("#theme")
    page.reload()
    seen.ready()
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") == (theme == "light")
    assert page.evaluate(CONTRAST)["wrong"] == []


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("view", VIEWS)
def test_nothing_lies_beside_a_small_screen(
    world: World, visit: Any, view: str, screen: str
) -> None:
    """On a phone, and at 1280 pixels with letters of 200 %, no view scrolls sideways."""
    seen = opened(visit, world, view, viewport=SCREENS[screen])
    assert seen.page.evaluate(SIDEWAYS) == {"over": 0, "out": []}


def test_large_letters_keep_the_list_useful(world: World, visit: Any) -> None:
    """With the reader's own letter size doubled rows grow and do not overlap."""
    seen = opened(visit, world, "events")
    page = seen.page
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function("() => document.querySelector('#grid').clientHeight > 200")
    page.reload()
    seen.ready()
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    page.keyboard.press("j")
    boxes = [box.bounding_box() for box in seen.rows().all()[:6]]
    tops = sorted((box["y"], box["height"]) for box in boxes)
    assert all(a + height <= b + 1 for (a, height), (b, _) in pairwise(tops))


def test_a_decision_is_told_without_colour(world: World, visit: Any) -> None:
    """DENY in capitals, allow in small letters, gaps and the rest by their word."""
    seen = opened(visit, world, "events")
    words = set(seen.rows().locator(".c-decision").all_inner_texts())
    assert words <= {"DENY", "allow", "tool", "gap", "note", "?"}
    assert {"DENY", "allow"} <= words


@pytest.fixture(scope="module")
def story_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The shipped story alone, as other tests have not added to it."""
    with collected(World(tmp_path_factory.mktemp("story"))) as world:
        yield world


@pytest.mark.skipif("SHOTS" not in os.environ, reason="SHOTS=1 writes the pictures of docs/page.md")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["events", "event", "run", "policies"])
def test_pictures(story_world: World, visit: Any, view: str, scheme: str) -> None:
    """As a person sees the page."""
    seen = opened(visit, story_world, view, color_scheme=scheme)
    IMAGES.mkdir(exist_ok=True)
    seen.page.wait_for_load_state("load")
    seen.page.screenshot(path=IMAGES / f"page-{view}-{scheme}.png", animations="disabled")


@pytest.mark.skipif("SHOTS" not in os.environ, reason="SHOTS=1 writes the pictures of docs/page.md")
def test_picture_of_a_phone(story_world: World, visit: Any) -> None:
    seen = opened(visit, story_world, "events", viewport=PHONE)
    IMAGES.mkdir(exist_ok=True)
    seen.page.screenshot(path=IMAGES / "page-phone-light.png", animations="disabled")
