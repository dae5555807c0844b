"""Our table beside a maintained one (Kingfisher's, Apache-2.0): what it knows and we do not, shows.

Each of its rules gives a few texts that it would find; our redactor must mask the secret in them.
Only facts are compared, no pattern is copied. Rules that know a key only by the name of a service
beside it, with the odd separators of that set, are where we differ; those that know a token by its
own shape must be ours too.
"""

import re
import warnings
from random import Random

import pytest

from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey
from policies.redact.mask import MARKER
from policies.redact.rules import ALL_RULES
from tests.policies.regex_sampling import sample

kingfisher = pytest.importorskip("kingfisher_sdk", reason="no wheel for this platform")

SAMPLES = 3
TAIL_CHARS = 10
# Of all its rules; and of those whose token has a prefix of its own.
LEAST_ALL, LEAST_PREFIXED = 0.5, 0.95
PREFIX = re.compile(
    r"(?:\\b)?(?:\(\?i\))?\(?(?:\\b)?([A-Za-z0-9]+(?:[_.+:/-]|\\\.|\\-)[A-Za-z0-9_-]*)"
)


def known() -> list[tuple[str, str]]:
    """(id, pattern) of every rule that shows its findings."""
    rules = kingfisher.Rules()
    return [
        (rule["id"], rules.detail(rule["id"])["pattern"])
        for rule in rules.metadata()
        if rule["visible"]
    ]


def masked(gate: Redactor, rng: Random, pattern: str) -> bool | None:
    """Whether the secrets of some texts are gone; None if no text could be made."""
    matches = [found for _ in range(SAMPLES) if (found := sample(rng, pattern)) is not None]
    if not matches:
        return None
    for match in matches:
        secret = (match[1] if match.re.groups and match[1] else match[0])[-TAIL_CHARS:]
        if secret in MARKER.sub("\0", gate.redact_text(match.string)[0]):
            return False
    return True


def test_we_know_what_a_maintained_set_knows() -> None:
    """Nearly all tokens with a prefix, and at least half of everything."""
    gate, rng = Redactor(ALL_RULES, FingerprintKey(b"k" * 32)), Random(5)
    answers: dict[str, bool] = {}
    prefixed: dict[str, bool] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, pattern in known():
            try:
                answer = masked(gate, rng, pattern)
            except re.error:
                continue
            if answer is not None:
                answers[name] = answer
                if PREFIX.match(pattern):
                    prefixed[name] = answer
    assert len(answers) > 400
    assert sum(answers.values()) >= LEAST_ALL * len(answers), sorted(
        n for n in answers if not answers[n]
    )
    lost = sorted(name for name in prefixed if not prefixed[name])
    assert sum(prefixed.values()) >= LEAST_PREFIXED * len(prefixed), lost
