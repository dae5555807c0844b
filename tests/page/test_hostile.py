"""Whatever an agent writes stays text."""

from typing import Any

import pytest

from tests.page.conftest import Visit
from tests.page.world import XSS, World

NO_CODE = """() => ({
    hit: window.hit ?? null,
    scripts: [...document.scripts]
        .filter(one => !one.src.startsWith(`${location.origin}/web/`)).length,
    odd: document.querySelectorAll('img, iframe, svg, object, base, [onerror], [onload]').length,
})"""
CLEAN = {"hit": None, "scripts": 0, "odd": 0}


def test_attacks_in_every_field_are_shown_as_text(hostile_world: World, visit: Any) -> None:
    """List, panel, neighbours, top lists: no dialog, no script, no element; the text is there."""
    seen: Visit = visit(hostile_world)
    page = seen.page
    seen.ready()
    for index in range(seen.rows().count()):
        seen.rows().nth(index).click()
        page.wait_for_selector("#panel .fields")
        page.wait_for_selector("#panel .near")
        assert page.evaluate(NO_CODE) == CLEAN
        page.keyboard.press("Escape")
    listed = page.locator("#grid").inner_text() + page.locator("#tops").inner_text()
    assert "<script>window.hit=1" in listed
    assert "<img src=x onerror=window.hit=1>" in listed


@pytest.mark.parametrize("view", ["runs", "policies", "record"])
def test_attacks_do_nothing_in_the_other_views(hostile_world: World, visit: Any, view: str) -> None:
    seen: Visit = visit(hostile_world, f"/?view={view}")
    seen.page.wait_for_selector(f"#view-{view} h1")
    assert seen.page.evaluate(NO_CODE) == CLEAN
    if view == "policies":
        seen.page.wait_for_selector(".yaml.has-hits")
        text = seen.page.locator("#view-policies").inner_text()
        assert XSS[0] in text
        assert XSS[1] in text
        assert seen.page.evaluate(NO_CODE) == CLEAN
    if view == "runs":
        seen.page.locator("#view-runs tbody a").first.click()
        seen.page.wait_for_selector(".story")
        assert seen.page.evaluate(NO_CODE) == CLEAN


def test_attacks_in_the_address_do_nothing(hostile_world: World, visit: Any) -> None:
    """A link somebody made up: every part of the state holds an attack."""
    attack = "%3Cimg%20src=x%20onerror=window.hit=1%3E"
    seen: Visit = visit(hostile_world, f"/?q=grep:%22{attack}%22&since=all")
    seen.ready()
    assert seen.page.evaluate(NO_CODE) == CLEAN
    for part in ("event", "since", "until", "q"):
        seen.page.goto(f"{hostile_world.url}/?{part}={attack}")
        seen.page.wait_for_selector("#strip .item")
        assert seen.page.evaluate(NO_CODE) == CLEAN
    seen.page.goto(f"{hostile_world.url}/?view=runs&run={attack}")
    seen.page.wait_for_selector("#view-runs .story")  # in this store it is a run
    assert seen.page.evaluate(NO_CODE) == CLEAN
    # Refused requests are noted by the browser; nothing else may be wrong.
    assert all("Failed to load resource" in line for line in seen.wrong)
    seen.wrong.clear()


def test_hidden_characters_are_shown_as_the_command_line_shows_them(
    hostile_world: World, visit: Any
) -> None:
    """Escapes, bidi controls and zero-width characters, in the same words as `audit query`."""
    told = hostile_world.audit("query", "--grep", "reversed", "--kind", "decision")
    wanted = r"\x1b[31m\u202ereversed\u2066\u200bhidden"
    assert wanted in told
    seen: Visit = visit(hostile_world, "/?q=grep:reversed+kind:decision")
    seen.ready()
    shown = seen.rows().first.locator(".c-target").inner_text()
    assert shown.replace("\n", "") == f"/evil/{wanted}"
    body = seen.page.locator("body").inner_text()
    assert not any(char in body for char in "\x1b\u202e\u2066\u200b")


def test_the_corpus_holds_what_it_should() -> None:
    """Markup, event handlers, templates, escapes."""
    assert len(XSS) >= 8
    assert any("onerror" in one for one in XSS)
    assert any("\u202e" in one for one in XSS)
