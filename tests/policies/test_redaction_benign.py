"""What holds no secret is left alone: false positives by kind, on generated events."""

import importlib.util
from collections import Counter
from pathlib import Path

import pyarrow as pa

from audit_events.rows import batch_of
from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey
from policies.redact.rules import ALL_RULES

SPEC = importlib.util.spec_from_file_location(
    "benign", Path(__file__).parents[2] / "bench" / "benign.py"
)
assert SPEC
assert SPEC.loader
BENIGN = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(BENIGN)
TEXTS = 34_000
# The bound of the promise; the bench shows the rate of a million by kind.
MOST = 0.005


def test_benign_texts_are_left_alone():
    """Fewer than one in two hundred is touched, and no kind is touched as a kind."""
    gate = Redactor(ALL_RULES, FingerprintKey(b"k" * 32))
    kinds, texts = zip(*BENIGN.texts(TEXTS), strict=True)
    column = pa.array(texts, pa.string())
    rows = len(texts)
    masked, _ = gate.redact(
        batch_of({"message": column, "redactions": pa.array([0] * rows, pa.int32())}, rows),
        gate.initial_state(),
    )
    out = masked.column("message").to_pylist()
    touched = Counter(
        kind for kind, text, new in zip(kinds, texts, out, strict=True) if text != new
    )
    assert sum(touched.values()) <= MOST * rows, touched
    assert all(number <= rows / len(BENIGN.KINDS) / 20 for number in touched.values()), touched
