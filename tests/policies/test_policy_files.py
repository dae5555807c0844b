"""Policies as files: the good ones are taken, the bad ones refused at the right place, in time."""

import contextlib
import json
import time
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.load import MAX_POLICY_BYTES, parse_policy
from policies.schema import policy_schema
from policies.yaml_text import MAX_PROBLEMS, YamlError

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpus" / "policies"
HEAD = "apiVersion: openclaw.jexmac.com/v2\nkind: SandboxPolicy\nmetadata: {name: x}\nspec:\n"
# What any refusal may take on a slow shared core.
MOST_S = 3.0


def expected() -> dict[str, list[str]]:
    """File name → what is said of it."""
    found = defaultdict(list)
    for line in (CORPUS / "bad" / "expected.txt").read_text("utf-8").splitlines():
        found[line.partition(":")[0]].append(line)
    return dict(found)


EXPECTED = expected()
BAD = sorted((CORPUS / "bad").glob("*.yaml"))


def faults(data: bytes, name: str = "p.yaml") -> list[str]:
    """What is wrong with a policy, as shown."""
    with pytest.raises(YamlError) as refused:
        parse_policy(data)
    return [problem.shown(name) for problem in refused.value.problems]


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_policy_is_refused_where_it_is_wrong(path: Path) -> None:
    """Line, column, words and hint, all faults at once."""
    assert faults(path.read_bytes(), path.name) == EXPECTED[path.name]


def test_the_corpus_covers_what_it_lists() -> None:
    """No expectation without a file, and enough kinds of mistakes."""
    assert EXPECTED.keys() == {path.name for path in BAD}
    assert len(BAD) >= 45


@pytest.mark.parametrize("path", sorted((CORPUS / "good").glob("*.yaml")), ids=lambda p: p.stem)
def test_a_good_policy_is_taken_as_it_is(path: Path) -> None:
    """Its text is kept to the byte, so that its digest is that of the file."""
    policy = parse_policy(path.read_bytes())
    assert policy.text.encode() == path.read_bytes()


def test_the_example_has_its_lines() -> None:
    """The numbers that the screens show: 12 refuses keys, 15 names programs, 17 network."""
    policy = parse_policy((ROOT / "examples" / "agent-readonly.yaml").read_bytes())
    assert len(policy.text.splitlines()) == 17
    shown = {name: policy.lines[name] for name in (
        "filesystem.allow[0]", "filesystem.deny[1]", "process.allow[4]", "network.egress.deny-all",
    )}  # fmt: skip
    assert list(shown.values()) == [(8, 9), (12, 12), (15, 15), (17, 17)]


def bomb() -> bytes:
    """Nine levels of nine aliases each."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    return ("\n".join(lines) + "\n").encode()


HOSTILE = {
    "bomb": bomb(),
    "deep flow": b"[" * 2000,
    "deep block": b"".join(b" " * n + b"a:\n" for n in range(2000)),
    "deep dashes": b"- " * 2000,
    "too large": HEAD.encode() + b"#" * MAX_POLICY_BYTES,
    "many unknown keys": HEAD.encode() + b"".join(b"  k%d: 1\n" % n for n in range(40_000)),
    "many bad rules": (HEAD + "  filesystem:\n    allow:\n").encode() + b"      - 1\n" * 40_000,
    "long key": HEAD.encode() + b"  " + b"n" * 900_000 + b": 1\n",
    "one long scalar": HEAD.encode() + b'  process: {allow: ["' + b"x" * 900_000 + b'/"]}\n',
    "many duplicates": HEAD.encode() + b"  process: 1\n" * 40_000,
    "nulls": b"\0" * 500_000,
    "not utf-8": b"\xff" * 500_000,
    "questions": b"? " * 100_000,
    "commas": b"[" + b"," * 400_000,
    "tabs": b"\t" * 400_000,
    "quotes": b"'" * 400_001,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_policy_costs_no_time(name: str) -> None:
    """Refused, in bounded time, with few and short words."""
    before = time.process_time()
    shown = faults(HOSTILE[name])
    assert time.process_time() - before < MOST_S
    assert 1 <= len(shown) <= MAX_PROBLEMS
    assert max(map(len, shown)) < 400


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 400), st.binary(max_size=6), st.sampled_from(sorted(EXPECTED)))
def test_no_text_breaks_the_loader(at: int, junk: bytes, name: str) -> None:
    """Any bytes give a policy or faults, nothing else."""
    data = (CORPUS / "bad" / name).read_bytes()
    with contextlib.suppress(YamlError):
        parse_policy(data[:at] + junk + data[at:])


def test_the_schema_knows_the_fields_of_the_loader() -> None:
    """What editors are told is what is taken: the example has no key that the schema lacks."""
    schema = policy_schema()
    assert json.loads(json.dumps(schema)) == schema
    spec = schema["properties"]["spec"]
    assert set(spec["properties"]) == {"filesystem", "process", "network"}
    rule = spec["properties"]["filesystem"]["properties"]["deny"]["items"]
    assert set(rule["properties"]) == {"path", "access"}
    assert not spec["additionalProperties"]
