"""A text that comes again is answered as the first time, and no secret is kept for that."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from audit_events.rows import batch_of
from policies.redact.engine import Redactor
from policies.redact.fields import Masked
from policies.redact.fingerprint import FingerprintKey
from policies.redact.mask import Masker
from policies.redact.recent import MAX_CHARS, MOST, Recent
from policies.redact.rules import ALL_RULES

TEXTS = [
    "password=hunter2x", "token: k3ks88dkfj2kfj2kf8dQ", "mysql -phunter2 shop", "max_tokens=8736",
    "[REDACTED:password] password=hunter2x", "nothing to see", "",
]  # fmt: skip


def messages(gate: Redactor, texts: list[str]) -> list[str]:
    """What the gate makes of these messages."""
    columns = {
        "message": pa.array(texts, pa.string()),
        "command": pa.array([None] * len(texts), pa.string()),
        "redactions": pa.array([0] * len(texts), pa.int32()),
    }
    batch = batch_of(columns, len(texts))
    return gate.redact(batch, gate.initial_state())[0].column("message").to_pylist()


GATE = Redactor(ALL_RULES, FingerprintKey(b"k" * 32))


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12))
def test_what_comes_again_gets_the_same_answer(texts: list[str]) -> None:
    """One gate that has seen much, and one that asks its rules again."""
    assert messages(GATE, texts) == [GATE.redact_text(text, trusted=False)[0] for text in texts]


def test_a_trusted_text_is_another_question() -> None:
    """A marker is kept if it is ours, and escaped if it comes from a source."""
    gate = Redactor(ALL_RULES, FingerprintKey(b"k" * 32))
    batch = batch_of({"message": pa.array([TEXTS[4]]), "redactions": pa.array([0], pa.int32())}, 1)
    ours = gate.mask_again(batch, gate.initial_state())[0].column("message").to_pylist()
    theirs = gate.redact(batch, gate.initial_state())[0].column("message").to_pylist()
    assert ours == ["[REDACTED:password] password=[REDACTED:password]"]
    assert theirs != ours


def test_an_error_is_not_remembered(monkeypatch) -> None:
    """Else one bad moment of a rule would mask a text for good."""
    gate = Redactor(ALL_RULES, FingerprintKey(b"k" * 32))

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(Masker, "patches", broken)
        assert messages(gate, ["password=hunter2x"]) == ["[REDACTED:redactor-error]"]
    assert messages(gate, ["password=hunter2x"]) == ["password=[REDACTED:password]"]


def test_no_secret_is_kept_and_memory_is_bounded() -> None:
    """Neither the question nor more than so many answers."""
    recent = Recent()
    for number in range(MOST + 5):
        recent.masked("message", f"hunter2x{number}", False, lambda: Masked("masked", {}))  # type: ignore[arg-type]
    assert len(recent._answers) <= MOST
    assert "hunter2x" not in repr(vars(recent))
    long = "x" * (MAX_CHARS + 1)
    before = len(recent._answers)
    recent.masked("message", long, False, lambda: Masked(long, {}))  # type: ignore[arg-type]
    assert len(recent._answers) == before
