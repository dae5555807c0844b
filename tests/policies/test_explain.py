"""Why, and what would change it: every advice is tried, on every style of YAML."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.decide import Judge, Operation
from policies.explain import explanation, shown_lines
from policies.load import parse_policy

ROOT = Path(__file__).parents[2]
GOOD = {path.stem: path for path in (ROOT / "tests/corpus/policies/good").glob("*.yaml")}
PATH = st.sampled_from(
    ["/workspace/x", "/workspace", "/etc/passwd", "/a/.ssh/k", "/w [x]*?/\\y", '/q"uote', "/ü/é",
     "/work space/a1/[id]/f", "/", "/tmp/x: y", "/#x", "/a\tb"]
)  # fmt: skip
OPERATION = st.one_of(
    st.builds(Operation, st.just("filesystem"), st.sampled_from(["read", "write", "rename"]), PATH,
              st.none() | PATH),
    st.builds(Operation, st.just("process"), st.just("exec"),
              st.sampled_from(["/bin/git", "/bin/node", "/bin/no", "/x/true", "/x/a b", "/x/7z"])),
    st.builds(Operation, st.just("network"), st.just("connect"), host=st.sampled_from(
        ["github.com", "192.0.2.7", "2001:db8::1", "x.example.org", "*"]),
        port=st.sampled_from([443, 22, 8080, None])),
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(GOOD)), OPERATION, st.booleans())
def test_an_edit_gives_the_other_decision(name: str, operation: Operation, macos: bool) -> None:
    """The edited text is a policy, decides the other way, and differs in those lines alone."""
    policy = parse_policy(GOOD[name].read_bytes())
    found = explanation(policy, operation, macos=macos)
    if found is None or found.flip.edit is None:
        assert found is None or found.flip.words
        return
    edit = found.flip.edit
    edited = parse_policy(edit.applied(policy.text).encode())
    verdict = Judge(edited, macos=macos).decide(operation)
    assert verdict is not None
    assert verdict.decision != found.verdict.decision
    old, new = policy.text.split("\n"), edited.text.split("\n")
    assert new[: edit.first - 1] == old[: edit.first - 1]
    kept = len(old) - max(edit.last, edit.first - 1)
    assert new[len(new) - kept :] == old[len(old) - kept :]


@pytest.mark.parametrize(
    ("style", "operation", "lines"),
    [
        ("  process:\n    allow:\n      - git\n", Operation("process", "exec", "/b/rg"),
         ("      - rg",)),
        ("  process:\n    allow:\n    - git\n", Operation("process", "exec", "/b/rg"),
         ("    - rg",)),
        ("  process: {allow: [git]}\n", Operation("process", "exec", "/b/rg"),
         ("  process: {allow: [git, rg]}",)),
        ("  network: {egress: deny-all}\n", Operation("process", "exec", "/b/rg"),
         ("  process:", "    allow: [rg]")),
        ("  network: {egress: allow-all}\n", Operation("filesystem", "read", "/x"),
         ("  filesystem:", "    allow:", "      - path: /x", "        access: [read]")),
        ("  process:\n    allow: [a,\n      b]\n", Operation("process", "exec", "/b/rg"),
         ("      b, rg]",)),
    ],
)  # fmt: skip
def test_the_edit_keeps_the_style(style: str, operation: Operation, lines: tuple) -> None:
    """Indentation and brackets as the author wrote them."""
    head = "apiVersion: openclaw.jexmac.com/v2\nkind: SandboxPolicy\nmetadata: {name: x}\nspec:\n"
    found = explanation(parse_policy((head + style).encode()), operation)
    assert found is not None
    assert found.flip.edit is not None
    assert found.flip.edit.lines == lines


def test_three_lines_are_shown_around_a_rule() -> None:
    """Its own among them, at both ends of a file too; a long rule is shown from its start."""
    text = "\n".join(str(n) for n in range(1, 21))
    numbers = {lines: [n for n, _, _ in shown_lines(text, lines)] for lines in
               ((1, 1), (10, 10), (20, 20), (5, 6), (2, 19))}  # fmt: skip
    assert list(numbers.values()) == [
        [1, 2, 3], [9, 10, 11], [18, 19, 20], [4, 5, 6, 7], [2, 3, 4, 5, 6, 7, 8, 9],
    ]  # fmt: skip
