"""The screens that are kept as goldens, and how they are drawn.

`python -m tests.audit.tmux_screens write` draws them anew; read the difference before you commit
it. `… print` is what runs in a pane: every screen, one after the other, in one process.
"""

import re
import sys
import tempfile
from pathlib import Path
from typing import Final

from audit import nothing
from audit.main import run
from tests.audit.screen_store import busy
from tests.audit.story import NOW
from tests.audit.terminal import environment
from tests.audit.tmux import Pane, Picture

WIDTHS: Final = (60, 80, 120, 200)
FOLDER: Final = Path(__file__).parent / "goldens"
# The person who asks has a home of another name than the agents'.
HOME: Final = "/Users/oncall"
SCREENS: Final[dict[str, list[str]]] = {
    "situation": [],
    "query": ["query", "--resource", "filesystem", "--path", "/workspace", "--since", "1h",
              "-n", "3"],
    "query-week": ["query", "--deny", "--since", "7d"],
    "query-columns": ["query", "--deny", "--columns", "seq,sandbox,rule,path", "-n", "4"],
    "nothing": ["query", "--deny", "--path", f"{HOME}/.ssh", "--since", "17:50",
                "--until", "18:04"],
    "nothing-gap": ["query", "--process", "nobody", "--deny"],
    "nothing-sandbox": ["query", "-s", "agent-dmeo", "--since", "17:50", "--until", "18:04"],
    "nothing-run": ["query", "-r", "zzzz", "--since", "17:50", "--until", "18:04"],
    "show-run": ["show", "last", "-s", "agent-demo"],
    "show-event": ["show", "4930", "-C", "3"],
    "explain-network": ["explain", "4712"],
    "explain-deny": ["explain", "4925"],
    "explain-no-rule": ["explain", "4930"],
    "stats": ["stats", "--by", "rule"],
    "stats-day": ["stats", "--deny", "--by", "rule,day", "--since", "7d"],
    "stats-path": ["stats", "--path", "**/.ssh", "--since", "1w", "--by", "sandbox,process"],
    "runs": ["runs"],
    "gaps": ["gaps", "--since", "7d"],
    "status": ["status"],
    "tail": ["tail", "-n", "9"],
    "tail-deny": ["tail", "--deny", "-s", "agent-demo", "-n", "20"],
}  # fmt: skip
# What differs between machines.
_VARY: Final = (
    (re.compile(r"disk [0-9.]+ [kMGT]?B free"), "disk 168 GB free"),
    (re.compile(r"sandtrail [0-9]+\.[0-9]+\.[0-9]+\S*"), "sandtrail 1.0.0"),
)
_NAME: Final = re.compile(r"^=== ([a-z-]+)$")


def main(word: str) -> None:
    """Print the screens, or write the goldens."""
    if word == "print":
        # A slow machine says less in the time that it has; here all of it is wanted.
        nothing.MAX_SEARCH_S = 60.0  # type: ignore[misc]
        for name, words in SCREENS.items():
            print(f"=== {name}", flush=True)
            code = run(["audit", *words], now=lambda: NOW)
            print(f"[{code}]", flush=True)
        return
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        made = busy(Path(folder) / "store")
        by_width = {width: screens(picture(made.paths.root, width)) for width in WIDTHS}
        made.close()
    for name in SCREENS:
        parts = [f"=== {width} columns\n{by_width[width][name]}" for width in WIDTHS]
        (FOLDER / f"{name}.txt").write_text("".join(parts), encoding="utf-8")


def picture(store: Path, columns: int) -> Picture:
    """Every screen in one pane."""
    program = [sys.executable, "-m", "tests.audit.tmux_screens", "print"]
    with Pane(program, environment(store, HOME=HOME), columns) as pane:
        return pane.over()


def screens(seen: Picture) -> dict[str, str]:
    """Each screen by its name."""
    found: dict[str, str] = {}
    name = ""
    for line in seen.lines:
        if match := _NAME.match(line):
            name = match[1]
            found[name] = ""
        elif name:
            found[name] += f"{steady(line)}\n"
    return found


def steady(line: str) -> str:
    """A line without what differs between machines."""
    for pattern, instead in _VARY:
        line = pattern.sub(instead, line)
    return line


def golden(name: str, columns: int) -> str:
    """A screen as it was accepted."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    _, found, rest = text.partition(f"=== {columns} columns\n")
    assert found, f"no golden of {name} at {columns} columns"
    return re.split(r"^=== [0-9]+ columns\n", rest, maxsplit=1, flags=re.M)[0]


if __name__ == "__main__":
    main(sys.argv[1])
