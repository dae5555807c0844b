"""From opening the page on a large archive to its first events on the screen, in a real Chromium.

`cold` is the first page after the service has started, when nothing is remembered yet.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import big_store
import httpx
from measure import AUDIT, Table, facts
from playwright.sync_api import Browser, sync_playwright
from serve_load import free_port

HERE = Path(__file__).parent
VISITS = 4
ROWS_SEEN = "[role=row] >> nth=5"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"


def visit(browser: Browser, link: str) -> tuple[float, float]:
    """(first contentful paint, first events on the screen) in ms."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    start = time.perf_counter()
    page.goto(link, wait_until="commit")
    page.wait_for_selector(ROWS_SEEN)
    rows = (time.perf_counter() - start) * 1000
    painted = float(page.evaluate(PAINT))
    context.close()
    return painted, rows


def visits(store: Path) -> list[tuple[float, float]]:
    """Some visits of a service that has just started."""
    port = free_port()
    service = subprocess.Popen(
        [AUDIT, "serve", "--port", str(port), "--store", str(store)], stderr=subprocess.DEVNULL
    )
    try:
        wait(port)
        with sync_playwright() as player:
            browser = player.chromium.launch(
                executable_path="/usr/bin/chromium", args=["--no-sandbox"]
            )
            return [visit(browser, link(store)) for _ in range(VISITS)]
    finally:
        service.terminate()
        service.wait()


def wait(port: int) -> None:
    """Until the service answers."""
    for _ in range(600):
        try:
            httpx.get(f"http://127.0.0.1:{port}/healthz")
        except httpx.HTTPError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("the service does not answer")


def link(store: Path) -> str:
    """A way in."""
    said = subprocess.run(
        [AUDIT, "serve", "link", "--store", str(store)], capture_output=True, text=True, check=True
    )
    return said.stdout.split()[-1]


def main() -> None:
    """Measure twice and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=Path(tempfile.gettempdir()) / "sandtrail-big")
    parser.add_argument("--events", type=int, default=20_000_000)
    parser.add_argument("--days", type=int, default=20)
    parser.add_argument("--out", type=Path, default=HERE / "PAINT.md")
    args = parser.parse_args()
    store = big_store.build(args.root, args.events, args.days)
    table = Table(
        "First paint", f"{args.events:,} events; goal: first useful paint within 1,000 ms.",
        ("service", "visit", "first contentful paint ms", "first events ms"),
    )  # fmt: skip
    for start in (1, 2):
        for number, (painted, rows) in enumerate(visits(store)):
            state = f"started {start}, {'cold' if number == 0 else 'warm'}"
            table.add(state, number + 1, f"{painted:.0f}", f"{rows:.0f}")
    title = "# First paint\n\nWritten by `bench/first_paint.py`; do not edit."
    args.out.write_text(
        "\n\n".join([title, (__doc__ or "").strip(), "\n".join(facts()), table.markdown()])
    )
    print(args.out.read_text())


if __name__ == "__main__":
    main()
