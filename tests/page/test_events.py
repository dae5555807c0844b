"""Look, filter, zoom and open, in a real browser."""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.page.conftest import Visit
from tests.page.world import World

YAML_LINE = '- path: "**/.ssh/**"'


def asked(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_the_first_page_shows_the_newest_events_and_drops_the_code(
    world: World, visit: Any
) -> None:
    """Events, counts, top lists and the state of the record stand; no secret is in the address."""
    seen: Visit = visit(world)
    page = seen.page
    seen.ready()
    assert "#" not in page.url
    assert "code" not in page.evaluate("JSON.stringify(history.state) + location.href")
    newest = [int(text) for text in seen.rows().locator(".c-seq").all_inner_texts()]
    assert newest == sorted(newest, reverse=True)
    assert newest[0] >= 3_411
    assert re.search(r"7 deny · 3,\d+ allow", page.locator("#readout").inner_text())
    assert "/Users/agent/.ssh/id_ed25519" in page.locator("#tops").inner_text()
    assert "complete" in page.locator("#strip").inner_text()
    assert "collector running" in page.locator("#strip").inner_text()
    assert page.locator("#zone").inner_text() == "Times +09:00"
    assert page.locator(".chip").first.inner_text().startswith("[REDACTED:openclaw-token:")
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    print(f"first contentful paint {paint:.0f} ms")


def test_a_filter_narrows_and_back_undoes_it(world: World, visit: Any) -> None:
    """The grammar of the command line; the address holds it; back and forward work."""
    seen: Visit = visit(world)
    page = seen.page
    seen.ready()
    page.fill("#q", "deny agent-demo")
    page.press("#q", "Enter")
    seen.has("#said", "deny")
    seen.ready()
    assert set(seen.rows().locator(".c-decision").all_inner_texts()) == {"DENY"}
    assert set(seen.rows().locator(".c-sandbox").all_inner_texts()) == {"agent-demo"}
    assert asked(page)["q"] == ["deny agent-demo"]
    page.go_back()
    seen.ready()
    page.wait_for_selector("#grid .row.is-allow:not([hidden])")
    assert page.input_value("#q") == ""
    page.go_forward()
    page.wait_for_function("() => document.querySelector('#q').value === 'deny agent-demo'")


def test_a_wrong_filter_says_what_is_wrong_and_what_to_do(world: World, visit: Any) -> None:
    """The service's own error with its hint; what was shown stays."""
    seen: Visit = visit(world)
    page = seen.page
    seen.ready()
    page.fill("#q", "decison:deny")
    page.press("#q", "Enter")
    page.wait_for_selector("#said.is-error")
    said = page.locator("#said").inner_text()
    assert "error" in said
    assert "hint:" in said
    assert page.get_attribute("#q", "aria-invalid") == "true"
    assert seen.rows().count() > 10
    # The browser itself notes the refused request; nothing else may be wrong.
    assert all("400" in line for line in seen.wrong)
    seen.wrong.clear()


def test_completion_offers_names_and_values(world: World, visit: Any) -> None:
    """A combobox: names of filters, then the values in this store, by keys alone."""
    seen: Visit = visit(world)
    page = seen.page
    seen.ready()
    page.keyboard.press("/")
    page.keyboard.type("sand")
    page.wait_for_selector("#offers li")
    assert page.get_attribute("#q", "aria-expanded") == "true"
    page.keyboard.press("ArrowDown")
    assert page.get_attribute("#q", "aria-activedescendant") == "offer-0"
    page.keyboard.press("Enter")
    assert page.input_value("#q") == "sandbox:"
    seen.has("#offers", "build-1")
    page.keyboard.type("build-1")
    page.keyboard.press("Enter")
    seen.has("#said", "build-1")


def test_brushing_the_timeline_zooms_and_zoom_out_widens(world: World, visit: Any) -> None:
    """A drag over the bars becomes the window; only its events are listed."""
    seen: Visit = visit(world, "/?since=1h")
    page = seen.page
    seen.ready()
    over = page.locator("#chart .u-over").bounding_box()
    middle = over["y"] + over["height"] / 2
    page.mouse.move(over["x"] + over["width"] * 0.2, middle)
    page.mouse.down()
    page.mouse.move(over["x"] + over["width"] * 0.75, middle, steps=5)
    page.mouse.up()
    page.wait_for_url("**until=**")
    seen.ready()
    window = asked(page)
    assert window["since"][0] < window["until"][0]
    assert page.locator("#live").inner_text() == "Past"
    low, high = window["since"][0], window["until"][0]
    times = page.evaluate(
        "() => [...document.querySelectorAll('#grid .row:not([hidden]) .c-time')].map(n => n.title)"
    )
    assert times
    for text in times:
        utc = page.evaluate("t => new Date(t.replace(' ', 'T') + ':00').toISOString()", text)
        assert low <= utc < high
    page.click("#zoom-out")
    page.wait_for_function("old => location.search !== old", arg=urlsplit(page.url).query)
    seen.ready()
    assert asked(page)["since"][0] < low


def test_an_event_opens_with_its_rule_line_and_neighbours(world: World, visit: Any) -> None:
    """Every field, the rule's YAML with the line marked, why, what would change it, the run."""
    seen: Visit = visit(world, "/?q=deny+rule:filesystem.deny.1")
    page = seen.page
    seen.ready()
    seen.rows().first.click()
    page.wait_for_selector("#panel .yaml")
    panel = page.locator("#panel")
    assert YAML_LINE in panel.locator(".yaml .is-marked").inner_text()
    assert "read /Users/agent/.ssh/id_ed25519" in panel.locator("h2").inner_text()
    text = panel.inner_text()
    for word in ("filesystem.deny[1]", "Why", "What would change it", "event_id", "agent-readonly"):
        assert word in text
    page.wait_for_selector(".near .is-self")
    assert panel.locator(".near li").count() >= 11
    assert asked(page)["event"]
    page.locator(".near button.pick").first.click()
    seen.until("!document.querySelector('#panel h2').textContent.includes('id_ed25519')")
    page.keyboard.press("Escape")
    page.wait_for_selector("#panel", state="hidden")


def test_a_top_list_narrows_the_filter(world: World, visit: Any) -> None:
    """A click on a value asks for it; `not` leaves it out."""
    seen: Visit = visit(world)
    page = seen.page
    seen.ready()
    page.locator("#tops .top-list", has_text="Rules").locator("button.pick").first.click()
    page.wait_for_function("() => location.search.includes('rule')")
    seen.ready()
    assert "rule:" in page.input_value("#q")
    assert set(seen.rows().locator(".c-decision").all_inner_texts()) == {"DENY"}


def test_an_empty_answer_says_which_filter_emptied_it(world: World, visit: Any) -> None:
    """Counts without each filter, and the ways out."""
    seen: Visit = visit(world, "/?q=deny+path:/nowhere")
    seen.page.wait_for_function("() => document.querySelectorAll('.ways dd').length === 3")
    ways = seen.page.locator("#empty").inner_text()
    assert "No event matches" in ways
    assert re.search(r"without path\s+7", ways)


def test_times_switch_to_utc(world: World, visit: Any) -> None:
    """The offset stands in the head; the choice outlives a reload."""
    seen: Visit = visit(world)
    page = seen.page
    seen.ready()
    tokyo = seen.rows().locator(".c-time").first.get_attribute("title")
    page.click("#zone")
    page.wait_for_function("() => document.querySelector('#zone').textContent === 'Times UTC'")
    seen.ready()
    assert tokyo.endswith("+09")
    assert seen.rows().locator(".c-time").first.get_attribute("title").endswith("+00")
    page.reload()
    seen.ready()
    assert page.locator("#zone").inner_text() == "Times UTC"


def test_runs_stories_policies_and_the_record(world: World, visit: Any) -> None:
    """The other views: a run as a story with the refusing line, hits beside each line."""
    seen: Visit = visit(world, "/?view=runs")
    page = seen.page
    page.click("text=7f3a91c2")
    page.wait_for_selector(".story")
    story = page.locator(".story").inner_text()
    assert "REFUSED" in story
    assert "line 17" in story
    assert "egress: deny-all" in story
    page.locator("nav >> text=Policies").click()
    page.wait_for_selector(".yaml.has-hits")
    assert "never hit" in page.locator(".yaml li", has_text="Keychains").inner_text()
    assert page.locator(".yaml li", has_text=".ssh").locator("button").inner_text().strip() == "3"
    page.locator("nav >> text=Record").click()
    page.wait_for_selector("#view-record h1")
    assert "stored" in page.locator("#view-record").inner_text()


def test_a_spent_link_says_what_to_do(world: World, visit: Any, chromium: Any) -> None:
    """Signed out: the command that prints a new link, and nothing else."""
    seen: Visit = visit(world)
    seen.ready()
    context = chromium.new_context()
    page = context.new_page()
    page.goto(world.url + "/#code=" + "A" * 43)
    page.wait_for_selector("#signed-out")
    assert "audit serve link" in page.locator("#signed-out").inner_text()
    assert "#" not in page.url
    assert not page.locator("#grid").is_visible()
    context.close()


def test_signing_out_ends_the_session(world: World, visit: Any) -> None:
    """From the help; the same address then says what to do."""
    seen: Visit = visit(world)
    page = seen.page
    seen.ready()
    page.keyboard.press("?")
    page.click("text=Sign out of this browser")
    page.wait_for_selector("#signed-out")
    page.reload()
    page.wait_for_selector("#signed-out")
    assert "audit serve link" in page.locator("#signed-out").inner_text()
    # The browser itself notes the refusals; nothing else may be wrong.
    assert all("401" in line for line in seen.wrong)
    seen.wrong.clear()


@pytest.mark.parametrize("path", ["/?since=all", "/?since=all&q=deny"])
def test_the_address_alone_restores_the_view(world: World, visit: Any, path: str) -> None:
    """A shared link opens what its sender saw."""
    seen: Visit = visit(world, path)
    seen.ready()
    assert seen.page.locator("#range").inner_text() == "All time"
    assert seen.page.input_value("#q") == ("deny" if "deny" in path else "")
