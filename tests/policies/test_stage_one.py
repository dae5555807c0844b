"""Stage 1 sees what stage 2 would mask, by all of our rules compiled together as they are used.

The engine can lose matches of one pattern for what else it was compiled with (KNOWN_ANSWERS in
policies/redact/scan.py): no test of a rule by itself shows that.
"""

import os
import re
from random import Random

import pytest

from policies.redact.rule import Rule
from policies.redact.rules import ALL_RULES
from policies.redact.scan import Scanner
from tests.policies.regex_sampling import seen_by

SEED = int(os.environ.get("SANDTRAIL_SEED", "20261129"))
QUICK, FULL = 25, 300  # texts a rule
SCANNER = Scanner(ALL_RULES)
RULES = [pytest.param(number, id=rule.id) for number, rule in enumerate(ALL_RULES)]


def lost(number: int, rule: Rule, count: int) -> list[str]:
    """Texts in which the proof of a rule matches, by `re`, and stage 1 does not see it."""
    flags = re.ASCII | re.MULTILINE | (re.IGNORECASE if rule.caseless else re.NOFLAG)
    proof = rule.proof.replace("(?P<secret>", "")
    texts = list(seen_by(Random(f"{SEED} {rule.id}"), proof, flags, count))
    assert texts, "no text was made for this rule"
    return [text for text in texts if number not in SCANNER.scan([text]).get(0, ())]


@pytest.mark.parametrize("number", RULES)
def test_no_proof_is_lost_among_the_others(number: int) -> None:
    """A few texts a rule, others with each seed."""
    assert not lost(number, ALL_RULES[number], QUICK), f"seed {SEED}"


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_no_proof_of_any_rule_is_lost_in_hundreds_of_texts() -> None:
    """The same at full length."""
    found = {rule.id: lost(number, rule, FULL) for number, rule in enumerate(ALL_RULES)}
    print(f"seed {SEED}, {len(ALL_RULES)} rules, {FULL} texts each")
    assert not {rule: texts[:3] for rule, texts in found.items() if texts}


def test_a_users_rules_do_not_change_what_ours_see() -> None:
    """They are compiled apart; this pattern and two of ours lose a third one in one automaton."""
    wide = (
        r"(?:pass(?:w(?:or)?d|phrase|code)?|pwd|secret|token|[_ -]key|apikey|credential)s?"
        r"[A-Za-z0-9_-]*[\"'`]?[ ]*(?:[,;|\t]|\\[\\tnr]|\r?\n|[ ]{2})"
    )
    users = Rule("mine", "mine", "a user's", wide, caseless=True, user=True)
    number = next(n for n, rule in enumerate(ALL_RULES) if rule.id == "password-by-name")
    scanner = Scanner([users, *ALL_RULES])
    assert number + 1 in scanner.scan(["PWD =x"])[0]
