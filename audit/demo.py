"""`audit demo`: an agent's run, collected into a throw-away store, and what to ask it."""

import json
import shlex
import tempfile
import threading
from dataclasses import replace
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from audit import commands
from audit import screen as output
from audit.asking import Question
from audit.call import Call
from audit.listing import newest_lines, text_of
from audit.render import Renderer
from audit.render_fold import Line
from audit.render_time import day
from audit_events.errors import Exit, SourceError
from audit_events.layout import StorePaths
from query.contracts import Window
from query.times import display_zone

LOG: Final = "agent-demo.jsonl"
HOST: Final = "mini-tokyo-07"
RUN: Final = {"run": ("last",), "sandbox": ("agent-demo",)}
SHOWN_LINES: Final = 3
_NEXT: Final = (
    ("runs", "runs --since {since}", "what ran, what was refused in it"),
    ("explain", "explain {seq}", "which line of which policy, and what would allow it"),
    ("show", "show last", "the run as a story"),
    ("tail", "tail", "the newest events"),
)


def demo(call: Call, *, quiet: bool) -> Exit:
    """Collect, show three lines of the run, and name three commands to go on with."""
    from audit.collecting import run_collector

    screen = output.screen(call)
    root = throw_away_store()
    own = replace(call, store=str(root), config=None, environ={**call.environ, "AUDIT_CONFIG": ""})
    with as_file(example(LOG)) as log:
        said = run_collector(
            own, [str(log)], [], None,
            host=None, once=True, stop=threading.Event(), voice=screen.voice,
        )  # fmt: skip
    if not quiet:
        screen.voice.line(said[0])
        screen.voice.line(f"demo store: {root} (removed at reboot)")
    store, zone = StorePaths(root), display_zone()
    lines = _best_lines(store, Question(RUN, Window(), zone))
    if screen.terminal and not quiet:
        output.put([""])
    output.put_painted(text_of(lines, screen, Renderer(screen.look(zone, call.now()))))
    if not quiet:
        if screen.terminal:
            output.put([""])
        for line in _invitation(call.prog, root, lines, day(lines[0].row["ts"], zone)):
            screen.voice.line(line)
    return Exit.DONE


def example(name: str) -> Traversable:
    """A shipped example: part of the wheel, or of the source tree around us."""
    packaged = files("audit") / "examples" / name
    if packaged.is_file():
        return packaged
    beside = Path(__file__).resolve().parents[1] / "examples" / name
    if not beside.is_file():
        raise SourceError(f"the example {name} was not installed", hint="reinstall sandtrail")
    return beside


def throw_away_store() -> Path:
    """An empty store's folder with settings of its own; its key lies beside it, as it must."""
    root = Path(tempfile.mkdtemp(prefix="sandtrail-demo-"))
    keys = root.with_name(root.name + ".keys")
    keys.mkdir(mode=0o700)
    settings = root / "audit.toml"
    settings.touch(mode=0o600)
    settings.write_text(f"host = {json.dumps(HOST)}\nkeys = {json.dumps(str(keys))}\n")
    return root


def _best_lines(store: StorePaths, asked: Question) -> list[Line]:
    """The first line of the run and its refusals, as many as one takes in at a glance."""
    found = newest_lines(store, asked, None, oldest=True, merged=True).lines
    refused = [line for line in found[1:] if line.row.get("decision") == "deny"]
    return [*found[:1], *refused][:SHOWN_LINES]


def _invitation(prog: str, root: Path, lines: list[Line], since: str) -> list[str]:
    known = commands.names()
    seq = next((line.row["seq"] for line in lines if line.row.get("decision") == "deny"), "last")
    there = [(words, why) for verb, words, why in _NEXT if verb in known][:3]
    shown = [(f"{prog} {words.format(seq=seq, since=since)}", why) for words, why in there]
    wide = max(len(words) for words, _ in shown) + 3
    lead = f"try next, with  export AUDIT_STORE={shlex.quote(str(root))}"
    return [lead, *(f"  {words:<{wide}}{why}" for words, why in shown)]
