"""Everything by keys alone."""

from typing import Any

from tests.page.conftest import Visit
from tests.page.world import World


def selected(page: Any) -> int:
    return int(page.locator('#grid .row[aria-selected="true"] .c-seq').inner_text())


def test_the_keyboard_path(world: World, visit: Any) -> None:
    """Filter, walk, open, go through events with the panel open, close: no mouse."""
    seen: Visit = visit(world, "/?since=all")
    page = seen.page
    seen.ready()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.type("deny")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.search.includes('q=deny')")
    seen.ready()
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "grid"
    page.keyboard.press("j")
    first = selected(page)
    page.keyboard.press("j")
    second = selected(page)
    assert second < first
    page.keyboard.press("k")
    assert selected(page) == first
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel .fields")
    page.keyboard.press("ArrowDown")
    page.wait_for_function("seq => location.search.includes(`event=${seq}`)", arg=second)
    page.keyboard.press("End")
    last = selected(page)
    assert last < second
    page.keyboard.press("Home")
    assert selected(page) == first
    assert page.get_attribute("#grid", "aria-activedescendant") == f"row-{first}"
    page.keyboard.press("Escape")
    page.wait_for_selector("#panel", state="hidden")
    assert page.evaluate("document.activeElement.id") == "grid"


def test_the_timeline_zooms_by_keys(world: World, visit: Any) -> None:
    """Arrows choose a bar and read it out, Shift extends, Enter zooms in, minus zooms out."""
    seen: Visit = visit(world, "/?since=1h")
    page = seen.page
    seen.ready()
    page.keyboard.press("t")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert "+09" in page.locator("#readout").inner_text()
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_url("**until=**")
    narrow = page.url
    seen.ready()
    page.keyboard.press("-")
    page.wait_for_function("url => location.href !== url", arg=narrow)


def test_help_names_the_keys(world: World, visit: Any) -> None:
    """`?` opens it, Esc closes it, and the views have keys of their own."""
    seen: Visit = visit(world)
    page = seen.page
    seen.ready()
    page.keyboard.press("?")
    assert "to the filter" in page.locator("dialog[open]").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_selector("#view-runs h1")


def test_tab_reaches_every_control(world: World, visit: Any) -> None:
    """The focus goes through the page in its order and never gets stuck."""
    seen: Visit = visit(world)
    page = seen.page
    seen.ready()
    names = []
    for _ in range(60):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.id || document.activeElement.className"))
    for wanted in ("skip", "zone", "theme", "help", "q", "range", "live", "chart", "grid", "pick"):
        assert wanted in names
    assert names.index("q") < names.index("range") < names.index("chart") < names.index("grid")
