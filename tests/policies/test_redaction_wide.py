"""A wider pattern of stage 1 sees everything that the proof it stands for would have seen."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies.redact.rules import ALL_RULES
from policies.redact.scan import Scanner
from policies.redact.view import plain

WIDE = [rule for rule in ALL_RULES if rule.wide]
SCANNER = Scanner(WIDE)


def test_there_are_some():
    """Else the test below shows nothing."""
    assert WIDE


@pytest.mark.parametrize("number", range(len(WIDE)), ids=[rule.id for rule in WIDE])
@settings(max_examples=50, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_a_wide_pattern_loses_nothing(number, data):
    """Whatever matches the proof is a candidate of its rule, by the engine itself."""
    rule = WIDE[number]
    flags = re.ASCII | re.MULTILINE | (re.IGNORECASE if rule.caseless else re.NOFLAG)
    proof = rule.proof.replace("(?P<secret>", "")
    text = data.draw(st.from_regex(re.compile(proof, flags), fullmatch=True))
    # Both stages see ASCII only (`view.py`).
    shown = plain(text).text
    if re.search(proof, shown, flags):
        assert number in SCANNER.scan([shown]).get(0, [])
