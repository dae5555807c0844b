"""A secret twice in a field, or with something behind it, is masked as surely as once."""

import json

import pytest

from policies.redact import default_redactor
from policies.redact.fingerprint import FingerprintKey
from policies.redact.rules import ALL_RULES

REDACTOR = default_redactor(FingerprintKey(b"x" * 32))
# Where two lines make one: a token or a key that goes on over the line end is one secret.
ONE_OVER_LINES = {"pem-der", "query-secret"}
HITS = [
    pytest.param(text, id=f"{rule.id}-{n}")
    for rule in ALL_RULES
    for n, text in enumerate(rule.hits)
]


def masks(text: str, column: str) -> int:
    """How many secrets are masked in a field."""
    return sum(REDACTOR.redact_text(text, column)[1].values())


@pytest.mark.parametrize("text", HITS)
def test_twice_in_a_field_is_masked_twice(text: str) -> None:
    """No pattern runs from the first mention to the last and leaves the first one open."""
    once = masks(json.dumps({"a": text}), "extra")
    assert masks(json.dumps({"a": text, "b": text}), "extra") >= 2 * once
    once = masks(json.dumps([text]), "command")
    assert masks(json.dumps([text, text]), "command") >= 2 * once


@pytest.mark.parametrize("text", HITS)
def test_a_file_ending_behind_it_hides_nothing(text: str) -> None:
    """`TOKEN.lock` is a token."""
    assert masks(f"/w/{text}.lock", "path_to") >= masks(f"/w/{text}", "path_to")


@pytest.mark.parametrize(
    "text", [hit.values[0] for hit in HITS if str(hit.id).rpartition("-")[0] not in ONE_OVER_LINES]
)
def test_on_two_lines_is_masked_on_both(text: str) -> None:
    """Line after line, as in the output of a tool."""
    assert masks(f"{text}\n{text}", "message") >= 2 * masks(text, "message")
