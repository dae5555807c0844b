"""A real browser on the real service. What needs the browser is marked `page`: `make test-page`."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.page.world import EXAMPLES, XSS, World, hostile, served, story

ROOT = Path(__file__).parents[2]
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.page)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser; it is one process for all tests."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: make test-page"
    )
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no chromium on this machine: make test-page")
    with playwright.sync_playwright() as driver:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=program, args=sandbox)
        yield browser
        browser.close()


@contextmanager
def collected(world: World) -> Iterator[World]:
    """A collector on a log file that holds the story of a minute ago, and the service."""
    told = story(datetime.now(UTC) - timedelta(minutes=1))
    world.write(*told)
    policy = str(EXAMPLES / "agent-readonly.yaml")
    world.audit("policy", "apply", "-f", policy, "--sandbox", "agent-demo")
    with world.running("collect", str(world.log)), served(world):
        world.wait_stored(len(told))
        yield world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """What all tests share; some add events."""
    with collected(World(tmp_path_factory.mktemp("page"))) as world:
        yield world


@pytest.fixture(scope="session")
def hostile_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A store in which every field holds an attack."""
    world = World(tmp_path_factory.mktemp("hostile"))
    # A policy's own name is bounded when it is applied; its text and the sandbox are not.
    policy = world.folder / "policy.yaml"
    text = (EXAMPLES / "agent-readonly.yaml").read_text()
    policy.write_text(text.replace("path: /workspace", f"path: '/w/{XSS[0]}'"))
    world.audit("policy", "apply", "-f", str(policy), "--sandbox", f"evil {XSS[1]}")
    world.write(*hostile(datetime.now(UTC) - timedelta(minutes=2)))
    world.audit("collect", str(world.log), "--once")
    with served(world):
        yield world


class Visit:
    """A page in a context of its own, and what went wrong in it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.wrong: list[str] = []
        page.on("pageerror", lambda error: self.wrong.append(f"{error}"))
        page.on("console", self._console)
        page.on("dialog", self._dialog)

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"{message.type}: {message.text} {message.location}")

    def _dialog(self, dialog: Any) -> None:
        self.wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def until(self, script: str, arg: Any = None) -> None:
        """Wait for a condition, told as the body of a function of `arg`."""
        self.page.wait_for_function(f"arg => {script}", arg=arg)

    def has(self, selector: str, text: str) -> None:
        """Wait until an element's text holds a word."""
        script = "document.querySelector(arg[0])?.textContent.includes(arg[1])"
        self.until(script, [selector, text])

    def rows(self) -> Any:
        return self.page.locator("#grid .row:not([hidden])")

    def ready(self) -> None:
        """Until the list, the counts and the top lists of the question stand."""
        self.page.wait_for_selector("#view-events:not([aria-busy])")

    def go(self, path: str) -> None:
        self.page.goto(self.page.url.split("/?")[0].rstrip("/") + path)
        self.ready()


@pytest.fixture
def visit(chromium: Any) -> Iterator[Any]:
    """`visit(world, viewport=…, color_scheme=…)` signs in by a link; nothing may go wrong."""
    opened: list[tuple[Any, Visit]] = []

    def open_page(world: World, path: str = "/", **options: Any) -> Visit:
        context = chromium.new_context(
            **{"viewport": WIDE, "timezone_id": "Asia/Tokyo", "locale": "en-GB", **options}
        )
        context.set_default_timeout(45_000)  # a machine may be busy
        found = Visit(context.new_page())
        opened.append((context, found))
        base, _, code = world.link().partition("/#")
        found.page.goto(f"{base}{path}#{code}")
        return found

    yield open_page
    for context, _ in opened:
        context.close()
    assert [found.wrong for _, found in opened if found.wrong] == []
