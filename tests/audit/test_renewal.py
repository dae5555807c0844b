"""A running collector takes new rules without a restart, and keeps the old ones if they are bad."""

import time

from audit.packs import Renewal, load_packs
from policies.redact.engine import Redactor
from policies.redact.fingerprint import FingerprintKey

KEY = FingerprintKey(b"k" * 32)
RULE = "rules:\n  - {{id: ab, action: mask, pattern: {pattern}}}\n"


class Rules:
    """A pack that changes, and what the renewal says and gives."""

    def __init__(self, folder) -> None:
        self.pack = folder / "p.yaml"
        self.said: list[str] = []
        self.write("x1")
        self.renewal = Renewal(self.make, [self.pack], self.said.append, every_s=0)

    def write(self, pattern: str) -> None:
        """Another pattern in the pack."""
        self.pack.write_text(RULE.format(pattern=pattern))

    def make(self) -> Redactor:
        """A redactor of the pack as it is now."""
        pack = load_packs([str(self.pack)])
        return Redactor(pack.rules, KEY, engine=False)

    def turns(self) -> Redactor | None:
        """Turns of the collector until something happened."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            if (made := self.renewal()) is not None or self.said:
                return made
            time.sleep(0.005)
        return None


def test_changed_rules_come_into_force(tmp_path) -> None:
    """And it is said by which digest the events that follow can be told."""
    rules = Rules(tmp_path)
    assert rules.renewal() is None
    rules.write("y22")
    made = rules.turns()
    assert made is not None
    assert made.redact_text("x1 y22")[0] == "x1 [REDACTED:ab]"
    assert rules.said == [f"redaction rules {made.digest} are in force"]


def test_bad_rules_change_nothing_and_are_named_once(tmp_path) -> None:
    """Fail closed means: the rules before stay in force, and somebody hears of it."""
    rules = Rules(tmp_path)
    rules.write("'(x'")
    assert rules.turns() is None
    [said] = rules.said
    assert "p.yaml:2:" in said
    assert said.endswith("the redaction rules before stay in force")
    for _ in range(5):
        assert rules.renewal() is None
    assert len(rules.said) == 1
