"""The screens in a real tmux at 60, 80, 120 and 200 columns, and what must equal the pty's."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.audit.screen_store import busy
from tests.audit.story import ADMIN, StoryStore, at, file_event
from tests.audit.terminal import command, environment, watched
from tests.audit.test_screens import G4, G5, G6, G24
from tests.audit.tmux import MISSING, PROGRAM, Pane, Picture, seen
from tests.audit.tmux_screens import HOME, SCREENS, WIDTHS, golden, picture, screens, steady

pytestmark = pytest.mark.skipif(PROGRAM is None, reason=MISSING)

# A line made to be pasted is never broken by us; the terminal shows all of it.
PASTED = re.compile(r"^  try:  ")
# SGR colours and strengths as tmux writes them.
_PAINT = re.compile(r"\x1b\[([0-9;]*)m")


@pytest.fixture(scope="module")
def busy_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoryStore]:
    """A collector at work, three sources, gaps, an export, a policy."""
    store = busy(tmp_path_factory.mktemp("busy") / "store")
    yield store
    store.close()


@pytest.fixture(scope="module")
def pictures(busy_store: StoryStore) -> dict[int, Picture]:
    """All screens at each width."""
    return {width: picture(busy_store.paths.root, width) for width in WIDTHS}


@pytest.mark.parametrize("name", SCREENS)
def test_a_screen_is_what_was_accepted(pictures: dict[int, Picture], name: str) -> None:
    """To the blank, header, footer and exit code included, at every width."""
    for width in WIDTHS:
        assert screens(pictures[width])[name] == golden(name, width), f"{name} at {width}"


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_wraps(pictures: dict[int, Picture], width: int) -> None:
    """What tmux joins again because it had to break it would differ from what is shown."""
    joined = [line for line in pictures[width].joined if not PASTED.match(line)]
    assert max(map(len, joined)) <= width
    wrapped = [line for line in joined if line not in pictures[width].lines]
    assert wrapped == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["status", "show-run", "gaps", "runs", "query-week"])
def test_tmux_and_the_pty_show_the_same(busy_store: StoryStore, name: str, width: int) -> None:
    """stdout on a bare terminal is what the golden has between header and footer."""
    bare = watched(SCREENS[name], environment(busy_store.paths.root, HOME=HOME), width)
    *shown, code = golden(name, width).splitlines()
    before = len(shown) - len(bare.lines) - len(bare.err.splitlines())
    assert before == 0
    told = bare.err.splitlines()
    kept = [steady(line) for line in bare.lines]
    places = range(len(told) + 1)
    assert any(shown == [*told[:n], *kept, *told[n:]] for n in places)
    assert code == f"[{bare.code}]"


@pytest.mark.parametrize(("width", "lines"), [(80, G4), (120, G5), (200, G6)])
def test_the_seven_records_in_tmux(story_store: Path, width: int, lines: str) -> None:
    """G4, G5, G6 below their header."""
    shown = seen(["tail", "-n", "7"], environment(story_store), width)
    assert shown.text == f"newest 7 · times +09 · mini-tokyo-07 · 7kq2m\n{lines}"
    assert shown.code == 0


def test_the_table_of_query_in_tmux(story_store: Path) -> None:
    """G24 between header and footer."""
    shown = seen(SCREENS["query"], environment(story_store), 80)
    header, *lines, footer = shown.lines
    assert lines == G24.splitlines()
    assert header == "filesystem · path /workspace · 17:05+09 to now · mini-tokyo-07 · 7kq2m"
    assert footer == "newest 3 lines (214 events), more match; --count for the number, -n 0 for all"


LIVE = {
    80: """\
deny · agent-demo · newest 20, then live · times +09 · mini-tokyo-07 · 7kq2m
── agent-demo · run 7f3a91c2
18:03:12+09 DENY  connect 140.82.113.4:443        network.egress.deny-all   4712
18:03:13+09 DENY  read    …/agent/.ssh/id_ed25519  ×3  filesystem.deny[1]   4925
18:03:13+09 DENY  exec    /opt/homebrew/bin/node     process.default-deny   4929
18:07:40+09 DENY  read    /etc/master.passwd      filesystem.default-deny   5120
18:07:40+09 DENY  … ×411 more in 4.1 s            filesystem.default-deny   5531
18:09:02+09 gap   unified-log: Must be admin to run 'stream' command  …now
""",
    60: """\
deny · agent-demo · newest 20, then live · times +09
  mini-tokyo-07 · 7kq2m
── agent-demo · run 7f3a91c2
18:03:12+09 DENY  connect     network.egress.deny-all   4712
    140.82.113.4:443
18:03:13+09 DENY  read             filesystem.deny[1]   4925
    /Users/agent/.ssh/id_ed25519  ×3
18:03:13+09 DENY  exec           process.default-deny   4929
    /opt/homebrew/bin/node
18:07:40+09 DENY  read        filesystem.default-deny   5120
    /etc/master.passwd
18:07:40+09 DENY  … ×411 more in 4.1 s
                              filesystem.default-deny   5531
18:09:02+09 gap   unified-log: Must be admin to run '…  …now
""",
}
STOPPED = "stopped: 417 events in 5 lines, 1 gap, 0 missed"


@pytest.mark.parametrize("width", WIDTHS)
def test_live_denials_fold_in_tmux(own_store: StoryStore, width: int) -> None:
    """G3: the first at once, the repeats in one line, the gap whatever the filters, Ctrl-C."""
    own_store.collector()
    words = ["tail", "-f", "--deny", "-s", "agent-demo"]
    env = environment(own_store.paths.root)
    with Pane(command(words), env, width) as pane:
        pane.until("4929")
        passwd = ("read", "/etc/master.passwd", "filesystem.default-deny", 20)
        own_store.append([file_event(5120, "18:07:40.000", "deny", "cat[4099]", *passwd)])
        pane.until("5120")
        own_store.append([
            file_event(5121 + n, f"18:07:4{n // 100}.{n % 100:02}", "deny", "cat[4099]", *passwd)
            for n in range(411)
        ])  # fmt: skip
        pane.until("5531")
        own_store.gap("unified-log", at("18:09:02"), None, ADMIN)
        pane.until("…now")
        pane.keys("C-c")
        shown = pane.over()
    assert max(map(len, shown.joined)) <= width
    assert shown.joined == shown.lines
    assert shown.code == 130
    *lines, typed, last = shown.lines
    assert (typed, last) == ("^C", STOPPED)
    if width in LIVE:
        assert lines == LIVE[width].splitlines()
    else:
        assert sum("filesystem.default-deny" in line for line in lines) == 2
        assert any("… ×411 more in 4.1 s" in line for line in lines)
        assert re.search(rf"gap   unified-log: {ADMIN}  …now$", lines[-1])


def test_colours_are_those_of_sixteen(busy_store: StoryStore) -> None:
    """DENY bold red, its rule red, allow dim, ×N bold, a mask cyan; and the same words."""
    env = environment(busy_store.paths.root, NO_COLOR="")
    with Pane(command(["query", "--since", "7d", "-n", "0"]), env, 80) as pane:
        pane.over()
        pieces = list(_pieces("\n".join(pane.painted())))
    paints: dict[str, set[str]] = {}
    for text, paint in pieces:
        for word in ("DENY", "filesystem.deny[1]", "allow", "×3", "[REDACTED]"):
            if word in text:
                paints.setdefault(word, paint)
    assert paints["DENY"] == {"1", "31"}
    assert paints["filesystem.deny[1]"] == {"31"}
    assert paints["allow"] == {"2"}
    assert paints["×3"] == {"1"}
    assert paints["[REDACTED]"] == {"36"}
    plain = seen(["query", "--since", "7d", "-n", "0"], environment(busy_store.paths.root), 80)
    bare = "".join(text for text, _ in pieces).split("\n")
    assert [line.rstrip() for line in bare] == plain.lines


@pytest.mark.parametrize("more", [{"NO_COLOR": "1"}, {"NO_COLOR": "", "TERM": "dumb"}])
def test_no_colour_where_none_is_wanted(story_store: Path, more: dict[str, str]) -> None:
    """NO_COLOR and TERM=dumb: not one escape reaches the screen."""
    with Pane(command(["tail", "-n", "7"]), environment(story_store, **more), 80) as pane:
        pane.over()
        assert "\x1b" not in "".join(pane.painted())


def _pieces(text: str) -> Iterator[tuple[str, set[str]]]:
    """The stretches of a capture with the colours and strengths that are on, from line to line."""
    paint: set[str] = set()
    for n, part in enumerate(_PAINT.split(text)):
        if n % 2:
            for code in part.split(";"):
                if code in ("", "0"):
                    paint = set()
                elif code == "39":
                    paint = paint - {str(number) for number in range(30, 38)}
                elif code != "49":
                    paint = paint | {code}
        elif part:
            yield part, paint
